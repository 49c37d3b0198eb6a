//! What a trace says about its events: their classes and fields.
//!
//! Neutral between formats, so that a name is looked up once, in one place, for every tracer. Only
//! fields that can be asked for one by one are listed; how they are laid out is the reader's matter.

use crate::{EventClassId, FieldId, ThreadId, TimeRange};

/// What a trace says about itself and its events.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// What was traced.
    pub domain: TracerDomain,
    /// The tracer's name (`lttng-modules`, `lttng-ust`, `ftrace`, ...), empty when not said.
    pub tracer: String,
    /// The tracer's version, empty when not said.
    pub tracer_version: String,
    /// The host that was traced, empty when not said.
    pub host: String,
    /// Identifies the time from one start of the host to the next, in hexadecimal digits; empty when not
    /// said. LTTng's clocks carry it (the kernel's `boot_id`).
    pub boot: String,
    /// Identifies the tracing session, empty when not said: traces of one session go on where others
    /// of it end.
    pub session: String,
    /// Everything else that the trace states about its environment, in its order.
    pub environment: Vec<(String, String)>,
    /// Threads of 32-bit programs on a 64-bit kernel, as far as they are known, and when they were: their system calls
    /// have other numbers then.
    pub threads_of_32_bit: Vec<(ThreadId, TimeRange)>,
    /// Every event class of every stream class; [`EventClassId`] is the position.
    pub event_classes: Vec<EventClass>,
}

/// What was traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TracerDomain {
    /// An operating system kernel.
    Kernel,
    /// Processes in user space.
    User,
    /// The trace does not say.
    #[default]
    Unknown,
}

/// One kind of event.
#[derive(Clone, Debug)]
pub struct EventClass {
    /// The name as the tracer gives it, for instance `sched_switch`.
    pub name: String,
    /// Fields that can be asked for; [`FieldId`] is the position.
    pub fields: Vec<Field>,
}

/// One field of an event class.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name, members of nested structures joined by dots.
    pub name: String,
    /// Where it stands.
    pub scope: Scope,
    /// What its value is.
    pub kind: FieldKind,
}

/// The part of a packet or an event in which a field stands, outermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Once per packet, before its context.
    PacketHeader,
    /// Once per packet.
    PacketContext,
    /// The event's header: class and time.
    EventHeader,
    /// Context that all events of the stream carry.
    CommonContext,
    /// Context that only this event class carries.
    SpecificContext,
    /// The event's own fields.
    Payload,
}

/// What the value of a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// An unsigned integer, boolean or bit array of at most 64 bits.
    Unsigned,
    /// A signed integer of at most 64 bits.
    Signed,
    /// A floating-point number.
    Float,
    /// Text (without its terminator).
    Text,
    /// A run of bytes.
    Bytes,
    /// Anything else: decoded, but not to be asked for one by one.
    Compound,
}

impl Schema {
    /// The event classes with their ids.
    pub fn classes(&self) -> impl Iterator<Item = (EventClassId, &EventClass)> {
        (0..).map(EventClassId).zip(&self.event_classes)
    }
}

impl EventClass {
    /// The field called `name`, payload before contexts.
    pub fn field(&self, name: &str) -> Option<FieldId> {
        let named = |(_, field): &(u16, &Field)| field.name == name;
        (0..)
            .zip(&self.fields)
            .filter(named)
            .max_by_key(|(_, field)| field.scope)
            .map(|(position, _)| FieldId(position))
    }
}
