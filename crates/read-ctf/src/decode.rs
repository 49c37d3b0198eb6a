//! The event loop: header, class, plan, sink.
//!
//! This is where all analyses spend their time. The two shapes of header that nearly every tracer
//! writes (an id and a time, or LTTng's short and long forms) are read by direct loads; any other
//! header runs a plan like the rest.

use slowpath_model::{
    Diagnostic, DiagnosticCode, Event, EventClassId, FieldId, PacketId, Place, Projection,
    Timestamp,
};
use slowpath_source::{Decoder, EventSink};

use crate::bits;
use crate::fields::scopes;
use crate::layout::{ByteOrder, FieldLayout, IntegerLayout, Role, StreamLayout, StructureLayout};
use crate::machine::{Damage, Machine, advance_clock, align_up, load_all, note_ranges, window};
use crate::plan::{ByteRange, Compiler, Load, Plan, Target, Window, role_target};
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
    /// Those of all event classes that need nothing else, class by class.
    loads: Vec<Load>,
    ranges: Vec<ByteRange>,
}

/// What the event loop needs of a class, in one place. Most classes are of a fixed size and hold
/// only what loads and ranges can read; the others have a plan.
#[derive(Clone, Copy)]
struct Entry {
    /// Slots that never have a value.
    absent: u128,
    /// The size behind the header, in bits; [`Entry::PLANNED`] where the plan has to run.
    bits: u64,
    /// From where to where they lie in the stream's list.
    loads: (u32, u32),
    ranges: (u32, u32),
    /// Position in the stream's plans; [`Entry::UNKNOWN`] for ids that no class has.
    plan: u32,
    class: EventClassId,
    /// Slots that arrive.
    slots: u16,
    wanted: bool,
    /// Whether there is anything to read.
    reads: bool,
}

/// How an event of one class is decoded after its header, where that takes a plan.
struct EventPlan {
    plan: Plan,
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
    /// The bits of the clock that it has.
    mask: u64,
    /// The size of the whole header.
    header_bits: u64,
}

impl Entry {
    const PLANNED: u64 = u64::MAX;
    const UNKNOWN: u32 = u32::MAX;
}

/// From an event's id to its class.
enum ClassTable {
    Dense(Vec<Entry>),
    Sparse(std::collections::HashMap<u64, Entry>),
}

impl ClassTable {
    /// Larger ids make the table sparse.
    const MOST_DENSE: u64 = 1 << 14;

    fn new(entries: Vec<(u64, Entry)>) -> Self {
        let largest = entries.iter().map(|&(id, _)| id).max();
        match largest {
            Some(largest @ ..Self::MOST_DENSE) => {
                let unknown = Entry {
                    plan: Entry::UNKNOWN,
                    ..entries[0].1
                };
                let mut table = vec![unknown; largest as usize + 1];
                for (id, entry) in entries {
                    table[id as usize] = entry;
                }
                Self::Dense(table)
            }
            _ => Self::Sparse(entries.into_iter().collect()),
        }
    }

    #[inline(always)]
    fn get(&self, id: u64) -> Option<&Entry> {
        let entry = match self {
            Self::Dense(table) => table.get(usize::try_from(id).ok()?)?,
            Self::Sparse(table) => table.get(&id)?,
        };
        (entry.plan != Entry::UNKNOWN).then_some(entry)
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
        let stream = &self.streams[raw.stream_class];
        let _ = events(
            stream,
            &mut machine,
            raw.stated(),
            clock,
            &mut Delivery(sink),
        );
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
        let mut compiled = Self {
            header: direct.map_or(HeaderPlan::General(general), HeaderPlan::Direct),
            alignment: header.alignment.max(1),
            classes: ClassTable::new(Vec::new()),
            plans: Vec::new(),
            loads: Vec::new(),
            ranges: Vec::new(),
        };
        let mut entries = Vec::new();
        for (event, class) in stream.events.iter().zip(first_class..) {
            let class = EventClassId(class);
            let fields = projection.fields(class);
            let (wanted, absent) = slots_by_field(fields.unwrap_or_default());
            let mut compiler = Compiler::new(aligned, &wanted);
            scopes(stream, event).for_each(|(_, structure)| compiler.scope(structure));
            let (plan, _) = compiler.finish();
            let mut entry = Entry {
                absent,
                bits: Entry::PLANNED,
                loads: (0, 0),
                ranges: (0, 0),
                plan: compiled.plans.len() as u32,
                class,
                slots: fields.map_or(0, <[_]>::len) as u16,
                wanted: fields.is_some(),
                reads: false,
            };
            compiled.add_fixed(&plan, &mut entry);
            entries.push((event.id, entry));
            compiled.plans.push(EventPlan {
                conditional: plan.conditional_slots(),
                plan,
            });
        }
        compiled.classes = ClassTable::new(entries);
        compiled
    }

    /// Completes `entry` if its plan is no more than a block of loads and ranges, or steps over
    /// all fields.
    fn add_fixed(&mut self, plan: &Plan, entry: &mut Entry) {
        let Some(blocks) = plan.blocks() else {
            return;
        };
        let bits = blocks.iter().map(|block| block.bits).sum();
        match &blocks[..] {
            blocks if blocks.iter().all(|block| block.is_empty()) => {}
            [block] if !block.has_numbers => {
                let begins = (self.loads.len() as u32, self.ranges.len() as u32);
                self.loads.extend(&block.loads);
                self.ranges.extend(&block.ranges);
                entry.loads = (begins.0, self.loads.len() as u32);
                entry.ranges = (begins.1, self.ranges.len() as u32);
                entry.reads = true;
            }
            _ => return,
        }
        entry.bits = bits;
    }
}

/// The slots that want each field, by the field's number, and the slots that want none.
fn slots_by_field(fields: &[Option<FieldId>]) -> (Vec<Vec<Target>>, u128) {
    let mut wanted: Vec<Vec<Target>> = Vec::new();
    let mut absent = 0;
    for (slot, field) in fields.iter().enumerate() {
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
    (wanted, absent)
}

impl Decoder for CtfDecoder<'_> {
    fn decode(&self, packet: PacketId, sink: &mut dyn EventSink) -> Vec<Diagnostic> {
        let diagnostics = self.go_through(packet, &mut Delivery(sink));
        if !diagnostics.is_empty() {
            sink.gap(self.trace.end_of(packet));
        }
        diagnostics
    }

    fn tally(&self, packet: PacketId, tell: &mut dyn FnMut(EventClassId, u64)) -> Vec<Diagnostic> {
        let mut tally = Tally(vec![0; self.trace.class_count()]);
        let diagnostics = self.go_through(packet, &mut tally);
        let counted = tally.0.into_iter().zip(0..);
        counted
            .filter(|&(count, _)| count > 0)
            .for_each(|(count, class)| tell(EventClassId(class), count));
        diagnostics
    }
}

/// What the event loop is for. A type parameter of the loop: each is compiled for its own use.
trait Receiver {
    /// A wanted event of this class; what else there is to know about it is made if asked for.
    fn receive<'event>(&mut self, class: EventClassId, event: impl FnOnce() -> Event<'event>);
}

/// Hands events on.
struct Delivery<'sink>(&'sink mut dyn EventSink);

impl Receiver for Delivery<'_> {
    #[inline]
    fn receive<'event>(&mut self, _: EventClassId, event: impl FnOnce() -> Event<'event>) {
        self.0.event(&event());
    }
}

/// Counts events by class.
struct Tally(Vec<u64>);

impl Receiver for Tally {
    #[inline]
    fn receive<'event>(&mut self, class: EventClassId, _: impl FnOnce() -> Event<'event>) {
        if let Some(count) = self.0.get_mut(class.index()) {
            *count += 1;
        }
    }
}

impl CtfDecoder<'_> {
    /// Gives the wanted events of a packet to `receiver`; says what was wrong.
    fn go_through(&self, packet: PacketId, receiver: &mut impl Receiver) -> Vec<Diagnostic> {
        let Some((raw, file)) = self.trace.raw_packet(packet) else {
            return Vec::new();
        };
        let Some(mut machine) = self.trace.plans.enter(raw, file.get()) else {
            return Vec::new();
        };
        let clock = self.trace.clock_of(raw.stream_class);
        let stream = &self.streams[raw.stream_class];
        let Err(fault) = events(stream, &mut machine, raw.stated(), clock, receiver) else {
            return Vec::new();
        };
        let (code, what) = match fault {
            Fault::OutsidePacket(at) => (
                DiagnosticCode::InvalidEvent,
                format!(
                    "an event's clock is {at}, which lies outside of its packet's, {} to {}",
                    raw.stated().0,
                    raw.stated().1
                ),
            ),
            Fault::UnknownClass(id) => (
                DiagnosticCode::UnknownEventClass,
                format!("no event class of its stream has the id {id}"),
            ),
            Fault::Blank => (
                DiagnosticCode::InvalidEvent,
                "all bytes of an event, and of its time, are zero".to_owned(),
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
    /// The clock at an event that its packet cannot hold.
    OutsidePacket(u64),
    /// An event all of whose bytes are zero, as a file system leaves them after a power loss.
    Blank,
    Damage(Damage),
}

impl From<Damage> for Fault {
    fn from(damage: Damage) -> Self {
        Self::Damage(damage)
    }
}

/// Decodes events until the packet's content ends, or the clock is not between the two values `stated`; it may be
/// a millisecond off.
///
/// Position and clock are kept in locals: the machine has them only while it runs a plan, and when
/// this returns.
fn events(
    stream: &StreamPlan,
    machine: &mut Machine<'_>,
    stated: (u64, u64),
    clock: ClockScale,
    receiver: &mut impl Receiver,
) -> Result<(), Fault> {
    let (bytes, end) = (machine.bytes, machine.end);
    // barectf opens a packet after it has taken the time of its first event; LTTng once closed them too early.
    let slack = clock.frequency / 1_000;
    let earliest = stated.0.saturating_sub(slack);
    let longest = stated.1.saturating_add(slack).saturating_sub(earliest);
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
                let mut copy = None;
                let window = window(bytes, origin, &mut copy);
                let (id, time) = direct.read(window);
                at = begin + time.header_bits;
                if at > end {
                    machine.at = begin;
                    let bits = time.header_bits;
                    return Err(Damage::PastEnd { bits }.into());
                }
                let value = time.load.unsigned(time.load.word(window));
                cycles = advance_clock(cycles, value, time.mask);
                if id | value == 0 && direct.is_of_lttng() && is_blank(stream, machine, begin, at) {
                    (machine.at, machine.clock) = (begin, stated.0);
                    return Err(Fault::Blank);
                }
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
        let Some(entry) = stream.classes.get(id) else {
            (machine.at, machine.clock) = (begin, cycles);
            return Err(Fault::UnknownClass(id));
        };
        let mut absent = entry.absent;
        if entry.bits <= end - at {
            if entry.reads {
                stream.read(entry, machine, (at / 8) as usize, origin);
            }
            at += entry.bits;
        } else {
            (machine.at, machine.clock) = (at, cycles);
            machine.origin = origin;
            let plan = &stream.plans[entry.plan as usize];
            if plan.conditional != 0 {
                machine.chosen = 0;
                machine.values[..usize::from(entry.slots)].fill(0);
            }
            machine.run(&plan.plan)?;
            absent |= plan.conditional & !machine.chosen;
            (at, cycles) = (machine.at, machine.clock);
        }
        // One comparison for both bounds: what is before the first one wraps.
        if cycles.wrapping_sub(earliest) > longest {
            (machine.at, machine.clock) = (begin, stated.0);
            return Err(Fault::OutsidePacket(cycles));
        }
        if entry.wanted {
            receiver.receive(entry.class, || Event {
                class: entry.class,
                at: clock.time(cycles),
                position: begin,
                bytes: event_bytes,
                values: &machine.values[..usize::from(entry.slots)],
                absent,
            });
        }
        if at == begin {
            // An event without a bit would repeat for ever.
            return Ok(());
        }
    }
}

impl StreamPlan {
    /// Reads the fields of an event that needs no plan; they begin at byte `begin`.
    #[inline(always)]
    fn read(&self, entry: &Entry, machine: &mut Machine<'_>, begin: usize, origin: usize) {
        let mut copy = None;
        let window = window(machine.bytes, begin, &mut copy);
        let slice = |(from, to): (u32, u32)| from as usize..to as usize;
        let loads = self.loads.get(slice(entry.loads)).unwrap_or_default();
        load_all(loads, window, &mut machine.values);
        let ranges = self.ranges.get(slice(entry.ranges)).unwrap_or_default();
        note_ranges(ranges, begin - origin, &mut machine.values);
    }
}

/// Whether all bytes of the event with id 0 that begins at bit `begin` are zero; its header ends at bit `fields`.
#[cold]
#[inline(never)]
fn is_blank(stream: &StreamPlan, machine: &mut Machine<'_>, begin: u64, fields: u64) -> bool {
    let Some(entry) = stream.classes.get(0) else {
        return false;
    };
    let end = if entry.bits <= machine.end - fields {
        fields + entry.bits
    } else {
        (machine.at, machine.origin) = (fields, (begin / 8) as usize);
        let plan = &stream.plans[entry.plan as usize];
        if machine.run(&plan.plan).is_err() {
            return false;
        }
        machine.at
    };
    let event = machine.bytes.get((begin / 8) as usize..(end / 8) as usize);
    event.is_some_and(|event| event.iter().all(|byte| *byte == 0))
}

impl DirectHeader {
    /// Whether there are two forms. Other tracers' clocks may begin at 0, and events without a value be right.
    fn is_of_lttng(&self) -> bool {
        self.escape != u64::MAX
    }

    /// The id, and where the time is.
    #[inline(always)]
    fn read(&self, window: &Window) -> (u64, &TimeField) {
        let id = self.id.unsigned(self.id.word(window));
        if id < self.escape {
            (id, &self.short)
        } else {
            let long_id = self.long_id.unsigned(self.long_id.word(window));
            (long_id, &self.long)
        }
    }
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
            byte: u8::try_from(self.bit / 8).ok()?,
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
            mask: bits::mask(integer.bits),
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
