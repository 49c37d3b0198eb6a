//! The event loop: header, class, plan, sink.
//!
//! This is where all analyses spend their time. The two shapes of header that nearly every tracer
//! writes (an id and a time, or LTTng's short and long forms) are read by direct loads; any other
//! header runs a plan like the rest.

use slowpath_model::{
    Diagnostic, DiagnosticCode, Event, EventClassId, PacketId, Place, Projection, Timestamp,
};
use slowpath_source::{Decoder, EventSink};

use crate::bits;
use crate::fields::scopes;
use crate::layout::{ByteOrder, FieldLayout, IntegerLayout, Role, StreamLayout, StructureLayout};
use crate::machine::{Damage, Machine, advance_clock, align_up, load_word};
use crate::plan::{Compiler, Load, Plan, Target, role_target};
use crate::trace::CtfTrace;

/// A projection compiled for every stream class.
pub(crate) struct CtfDecoder<'trace> {
    trace: &'trace CtfTrace,
    streams: Vec<StreamPlan>,
}

/// How the events of one stream class are decoded.
struct StreamPlan {
    header: HeaderPlan,
    /// Alignment of event headers, in bits.
    alignment: u64,
    classes: ClassTable,
    plans: Vec<EventPlan>,
}

/// How an event of one class is decoded after its header.
struct EventPlan {
    class: EventClassId,
    wanted: bool,
    plan: Plan,
    /// The size in bits behind the header, where it is fixed and no field is wanted.
    step: Option<u64>,
    /// Slots that arrive.
    slots: usize,
    /// Slots that never have a value.
    absent: u128,
    /// Slots that have a value only if some choice falls that way.
    conditional: u128,
}

enum HeaderPlan {
    Direct(DirectHeader),
    General(Plan),
}

/// An id, and behind it a time; LTTng's `compact` and `large` headers have a longer form for ids
/// and times that do not fit, which the largest id value announces.
#[derive(Clone, Copy)]
struct DirectHeader {
    id: Load,
    short: TimeField,
    /// Ids from this one on announce the long form.
    escape: u64,
    long_id: Load,
    long: TimeField,
}

#[derive(Clone, Copy)]
struct TimeField {
    load: Load,
    bits: u32,
    /// The size of the whole header.
    header_bits: u64,
}

/// From an event's id to its plan.
enum ClassTable {
    Dense(Vec<u32>),
    Sparse(std::collections::HashMap<u64, u32>),
}

impl ClassTable {
    const NONE: u32 = u32::MAX;

    fn new(stream: &StreamLayout) -> Self {
        let ids = || stream.events.iter().map(|event| event.id).zip(0u32..);
        let largest = ids().map(|(id, _)| id).max().unwrap_or(0);
        if largest < 1 << 17 {
            let mut table = vec![Self::NONE; largest as usize + 1];
            ids().for_each(|(id, plan)| table[id as usize] = plan);
            Self::Dense(table)
        } else {
            Self::Sparse(ids().collect())
        }
    }

    #[inline]
    fn get(&self, id: u64) -> Option<usize> {
        let plan = match self {
            Self::Dense(table) => *table.get(usize::try_from(id).ok()?)?,
            Self::Sparse(table) => *table.get(&id)?,
        };
        (plan != Self::NONE).then_some(plan as usize)
    }
}

impl<'trace> CtfDecoder<'trace> {
    pub(crate) fn new(trace: &'trace CtfTrace, projection: &Projection) -> Self {
        let mut first_class = 0;
        let streams = trace.layout.streams.iter().map(|stream| {
            let plan = StreamPlan::new(stream, first_class, projection);
            first_class += stream.events.len() as u32;
            plan
        });
        Self {
            streams: streams.collect(),
            trace,
        }
    }
}

impl CtfDecoder<'_> {
    /// Decodes a packet and returns the clock's value behind it, in cycles.
    pub(crate) fn decode_to_clock(
        &self,
        packet: PacketId,
        sink: &mut dyn EventSink,
    ) -> Option<u64> {
        let (raw, file) = self.trace.raw_packet(packet)?;
        let mut machine = self.trace.plans.enter(raw, file.get())?;
        let clock = self.trace.clock_of(raw.stream_class);
        // What is damaged is reported when the packet is decoded for its events.
        let _ = events(&self.streams[raw.stream_class], &mut machine, clock, sink);
        Some(machine.clock)
    }
}

impl StreamPlan {
    fn new(stream: &StreamLayout, first_class: u32, projection: &Projection) -> Self {
        let no_header = StructureLayout::new(Vec::new(), 1);
        let header = stream.event_header.as_ref().unwrap_or(&no_header);
        let (general, aligned) = {
            let mut compiler = Compiler::new(header.alignment, &[]);
            compiler.header(header);
            compiler.finish()
        };
        let direct = direct_header(header);
        let plans = stream
            .events
            .iter()
            .zip(first_class..)
            .map(|(event, class)| {
                let class = EventClassId(class);
                let fields = projection.fields(class);
                let slots = fields.map_or(0, <[_]>::len);
                let mut wanted: Vec<Vec<Target>> = Vec::new();
                let mut absent = 0;
                for (slot, field) in fields.unwrap_or_default().iter().enumerate() {
                    match field {
                        Some(field) => {
                            let position = field.index();
                            if wanted.len() <= position {
                                wanted.resize(position + 1, Vec::new());
                            }
                            wanted[position].push(slot as Target);
                        }
                        None => absent |= 1 << slot,
                    }
                }
                let mut compiler = Compiler::new(aligned, &wanted);
                scopes(stream, event).for_each(|(_, structure)| compiler.scope(structure));
                let (plan, _) = compiler.finish();
                EventPlan {
                    class,
                    wanted: fields.is_some(),
                    slots,
                    absent,
                    conditional: plan.conditional_slots(),
                    step: plan.fixed_step(),
                    plan,
                }
            });
        Self {
            plans: plans.collect(),
            header: direct.map_or(HeaderPlan::General(general), HeaderPlan::Direct),
            alignment: header.alignment.max(1),
            classes: ClassTable::new(stream),
        }
    }
}

impl Decoder for CtfDecoder<'_> {
    fn decode(&self, packet: PacketId, sink: &mut dyn EventSink) -> Vec<Diagnostic> {
        let Some((raw, file)) = self.trace.raw_packet(packet) else {
            return Vec::new();
        };
        let Some(mut machine) = self.trace.plans.enter(raw, file.get()) else {
            return Vec::new();
        };
        let clock = self.trace.clock_of(raw.stream_class);
        let stream = &self.streams[raw.stream_class];
        let Err(fault) = events(stream, &mut machine, clock, sink) else {
            return Vec::new();
        };
        let (code, what) = match fault {
            Fault::UnknownClass(id) => (
                DiagnosticCode::UnknownEventClass,
                format!("no event class of its stream has the id {id}"),
            ),
            Fault::Damage(damage) => (
                DiagnosticCode::InvalidEvent,
                format!("an event cannot be decoded: {damage}"),
            ),
        };
        let place = Place {
            file: file.name.clone(),
            byte: Some(raw.offset + machine.at / 8),
            at: Some(clock.time(machine.clock)),
            ..Place::default()
        };
        vec![Diagnostic::new(code, place, what)]
    }
}

/// From cycles to time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockScale {
    /// Nanoseconds since the epoch at cycle 0.
    pub(crate) offset_ns: i64,
    /// Cycles per second.
    pub(crate) frequency: u64,
}

impl ClockScale {
    #[inline]
    pub(crate) fn time(self, cycles: u64) -> Timestamp {
        let ns = match self.frequency {
            1_000_000_000 => cycles as i64,
            0 => 0,
            frequency => (u128::from(cycles) * 1_000_000_000 / u128::from(frequency)) as i64,
        };
        Timestamp::from_ns(self.offset_ns.wrapping_add(ns))
    }
}

/// Why the events of a packet end early.
pub(crate) enum Fault {
    UnknownClass(u64),
    Damage(Damage),
}

impl From<Damage> for Fault {
    fn from(damage: Damage) -> Self {
        Self::Damage(damage)
    }
}

/// Decodes events until the packet's content ends.
///
/// Position and clock are kept in locals: the machine has them only while it runs a plan, and when
/// this returns.
fn events(
    stream: &StreamPlan,
    machine: &mut Machine<'_>,
    clock: ClockScale,
    sink: &mut dyn EventSink,
) -> Result<(), Fault> {
    let (bytes, end) = (machine.bytes, machine.end);
    let (mut at, mut cycles) = (machine.at, machine.clock);
    loop {
        let begin = align_up(at, stream.alignment);
        if begin >= end {
            (machine.at, machine.clock) = (begin.min(end), cycles);
            return Ok(());
        }
        let origin = (begin / 8) as usize;
        let event_bytes = bytes.get(origin..).unwrap_or_default();
        let id = match &stream.header {
            HeaderPlan::Direct(direct) => {
                let (id, time) = direct.read(event_bytes);
                at = begin + time.header_bits;
                if at > end {
                    machine.at = begin;
                    let bits = time.header_bits;
                    return Err(Damage::PastEnd { bits }.into());
                }
                cycles = advance_clock(cycles, load(event_bytes, &time.load), time.bits);
                id
            }
            HeaderPlan::General(plan) => {
                (machine.at, machine.clock) = (begin, cycles);
                machine.values[usize::from(role_target(Role::EventClassId))] = 0;
                machine.run(plan)?;
                (at, cycles) = (machine.at, machine.clock);
                machine.role(Role::EventClassId)
            }
        };
        let Some(event) = stream
            .classes
            .get(id)
            .and_then(|plan| stream.plans.get(plan))
        else {
            (machine.at, machine.clock) = (begin, cycles);
            return Err(Fault::UnknownClass(id));
        };
        let mut absent = event.absent;
        if let Some(bits) = event.step
            && bits <= end - at
        {
            at += bits;
        } else {
            (machine.at, machine.clock) = (at, cycles);
            machine.origin = origin;
            machine.chosen = 0;
            if event.conditional != 0 {
                machine.values[..event.slots].fill(0);
            }
            machine.run(&event.plan)?;
            absent |= event.conditional & !machine.chosen;
            (at, cycles) = (machine.at, machine.clock);
        }
        if event.wanted {
            sink.event(&Event {
                class: event.class,
                at: clock.time(cycles),
                position: begin,
                bytes: event_bytes,
                values: &machine.values[..event.slots],
                absent,
            });
        }
        if at == begin {
            // An event without a bit would repeat for ever.
            return Ok(());
        }
    }
}

impl DirectHeader {
    /// The id, and where the time is.
    #[inline]
    fn read(&self, bytes: &[u8]) -> (u64, &TimeField) {
        let id = load(bytes, &self.id);
        if id < self.escape {
            (id, &self.short)
        } else {
            (load(bytes, &self.long_id), &self.long)
        }
    }
}

#[inline]
fn load(window: &[u8], load: &Load) -> u64 {
    (load_word(window, load.byte as usize) << load.left) >> load.right
}

/// The header as an id and a time at fixed places, where it has that shape.
fn direct_header(header: &StructureLayout) -> Option<DirectHeader> {
    if header.alignment < 8 {
        return None;
    }
    let mut place = Placement::default();
    let [first, second] = &header.members[..] else {
        return None;
    };
    let FieldLayout::Integer(id) = &first.class else {
        return None;
    };
    let id_load = place.load(id, Role::EventClassId)?;
    match &second.class {
        FieldLayout::Integer(time) => {
            let short = place.time(time)?;
            Some(DirectHeader {
                id: id_load,
                short,
                escape: u64::MAX,
                long_id: id_load,
                long: short,
            })
        }
        FieldLayout::Variant(variant) if variant.alignment <= 1 && !variant.selector_signed => {
            let [compact, extended] = &variant.options[..] else {
                return None;
            };
            let escape = match (&compact.ranges[..], &extended.ranges[..]) {
                (&[(0, last)], &[(first, end)]) if last + 1 == first => {
                    let all = i128::from(bits::mask(id.bits));
                    (end == all && id.keep == Some(variant.selector)).then_some(first as u64)?
                }
                _ => return None,
            };
            let (short_id, short) = place.option(&compact.class)?;
            let (long_id, long) = place.option(&extended.class)?;
            if short_id.is_some() {
                return None;
            }
            Some(DirectHeader {
                id: id_load,
                short,
                escape,
                long_id: long_id?,
                long,
            })
        }
        _ => None,
    }
}

/// A position in a header of fixed layout.
#[derive(Clone, Copy, Default)]
struct Placement {
    bit: u64,
}

impl Placement {
    fn load(&mut self, integer: &IntegerLayout, role: Role) -> Option<Load> {
        self.bit = self.bit.next_multiple_of(integer.alignment);
        let shift = self.bit % 8;
        let straight = integer.role == Some(role)
            && integer.byte_order == ByteOrder::Little
            && !integer.reversed_bits
            && !integer.signed
            && shift + u64::from(integer.bits) <= 64;
        let load = Load {
            byte: u32::try_from(self.bit / 8).ok()?,
            target: 0,
            left: (64 - u64::from(integer.bits) - shift) as u8,
            right: (64 - integer.bits) as u8,
            sign: 0,
        };
        self.bit += u64::from(integer.bits);
        straight.then_some(load)
    }

    /// A time that ends its header.
    fn time(&mut self, integer: &IntegerLayout) -> Option<TimeField> {
        let load = self.load(integer, Role::ClockTimestamp)?;
        self.bit.is_multiple_of(8).then_some(TimeField {
            load,
            bits: integer.bits,
            header_bits: self.bit,
        })
    }

    /// A structure of an optional id and a time.
    fn option(mut self, class: &FieldLayout) -> Option<(Option<Load>, TimeField)> {
        let FieldLayout::Structure(structure) = class else {
            return None;
        };
        self.bit = self.bit.next_multiple_of(structure.alignment);
        match &structure.members[..] {
            [time] => match &time.class {
                FieldLayout::Integer(time) => Some((None, self.time(time)?)),
                _ => None,
            },
            [id, time] => match (&id.class, &time.class) {
                (FieldLayout::Integer(id), FieldLayout::Integer(time)) => {
                    let id = self.load(id, Role::EventClassId)?;
                    Some((Some(id), self.time(time)?))
                }
                _ => None,
            },
            _ => None,
        }
    }
}
