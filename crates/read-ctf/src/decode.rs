//! The event loop: header, class, plan, sink.
//!
//! This is where all analyses spend their time: the loop is compiled for each shape of header (`header`) and
//! for each use, and what is rare is asked for only where something common has already failed.

use std::collections::{HashMap, HashSet};

use slowpath_model::{
    Diagnostic, DiagnosticCode, Event, EventClassId, FieldId, PacketId, Place, Projection,
    Timestamp,
};
use slowpath_source::{Decoder, EventSink};

use crate::fields::scopes;
use crate::header::{Header, HeaderPlan, HeaderRead};
use crate::layout::{StreamLayout, StructureLayout};
use crate::machine::{Damage, Machine, align_up, load_all, note_ranges, whole_window, window};
use crate::packets::RawPacket;
use crate::plan::{ByteRange, Compiler, Load, Plan, Target};
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

impl Entry {
    /// More bits than any packet has, and few enough for a position to be added.
    const PLANNED: u64 = 1 << 62;
    const UNKNOWN: u32 = u32::MAX;

    /// Of an id that no class has.
    const OF_NO_CLASS: Self = Self {
        absent: 0,
        bits: Self::PLANNED,
        loads: (0, 0),
        ranges: (0, 0),
        plan: Self::UNKNOWN,
        class: EventClassId(0),
        slots: 0,
        wanted: false,
        reads: false,
    };
}

/// From an event's id to its class.
struct ClassTable {
    /// By id.
    small: Vec<Entry>,
    /// Those whose ids are larger.
    large: HashMap<u64, Entry>,
}

impl ClassTable {
    /// Ids below it are looked up by position.
    const SMALL: u64 = 1 << 14;

    fn new(entries: Vec<(u64, Entry)>) -> Self {
        let (small, large): (Vec<_>, Vec<_>) =
            (entries.into_iter()).partition(|(id, _)| *id < Self::SMALL);
        let length = small.iter().map(|(id, _)| *id as usize + 1).max();
        let mut table = vec![Entry::OF_NO_CLASS; length.unwrap_or(0)];
        for (id, entry) in small {
            table[id as usize] = entry;
        }
        Self {
            small: table,
            large: large.into_iter().collect(),
        }
    }

    #[inline(always)]
    fn get(&self, id: u64) -> &Entry {
        let small = usize::try_from(id).ok().and_then(|id| self.small.get(id));
        small.unwrap_or_else(|| self.get_large(id))
    }

    #[cold]
    fn get_large(&self, id: u64) -> &Entry {
        self.large.get(&id).unwrap_or(&Entry::OF_NO_CLASS)
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
    /// How many events of a packet can be read.
    pub(crate) fn events_in(&self, packet: &RawPacket, file: &[u8]) -> u64 {
        let mut events = 0;
        self.each_of(packet, None, file, &mut |_: &Event<'_>| events += 1);
        events
    }

    /// The clock's value at the last event of a packet, before that of the `next` one.
    pub(crate) fn last_clock(
        &self,
        packet: &RawPacket,
        next: Option<u64>,
        file: &[u8],
    ) -> Option<u64> {
        let mut last = None;
        self.each_of(packet, next, file, &mut |event: &Event<'_>| {
            last = Some(event.at.ns() as u64);
        });
        last
    }

    /// Gives the events of a packet with the clock's values as their times.
    fn each_of(
        &self,
        packet: &RawPacket,
        next: Option<u64>,
        file: &[u8],
        note: &mut dyn EventSink,
    ) {
        let Some(mut machine) = self.trace.plans.enter(packet, file) else {
            return;
        };
        let bounds = self.trace.plans.bounds(packet, next);
        // What is damaged is reported when the packet is decoded for its events.
        let stream = &self.streams[packet.stream_class];
        let _ = stream.events(
            &mut machine,
            bounds,
            ClockScale::CYCLES,
            &mut Delivery(note),
        );
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
        let mut registers = HashSet::new();
        let behind = (stream.events.iter()).flat_map(|event| scopes(stream, event));
        for (_, structure) in behind {
            structure.references(&mut |register| {
                registers.insert(register);
            });
        }
        let mut compiled = Self {
            header: HeaderPlan::of(header, &registers, general),
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

    /// Completes `entry` if its plan is no more than a block of loads and ranges.
    fn add_fixed(&mut self, plan: &Plan, entry: &mut Entry) {
        let Some((bits, block)) = plan.fixed() else {
            return;
        };
        if let Some(block) = block {
            if block.has_numbers {
                return;
            }
            let begins = (self.loads.len() as u32, self.ranges.len() as u32);
            self.loads.extend(&block.loads);
            self.ranges.extend(&block.ranges);
            entry.loads = (begins.0, self.loads.len() as u32);
            entry.ranges = (begins.1, self.ranges.len() as u32);
            entry.reads = true;
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
        let (back, fault) = self.go_through(packet, &mut Delivery(sink));
        if fault.is_some() {
            sink.gap(self.trace.end_of(packet));
        }
        back.into_iter().chain(fault).collect()
    }

    fn tally(&self, packet: PacketId, tell: &mut dyn FnMut(EventClassId, u64)) -> Vec<Diagnostic> {
        let mut tally = Tally(vec![0; self.trace.class_count()]);
        let (back, fault) = self.go_through(packet, &mut tally);
        let counted = tally.0.into_iter().zip(0..);
        counted
            .filter(|&(count, _)| count > 0)
            .for_each(|(count, class)| tell(EventClassId(class), count));
        back.into_iter().chain(fault).collect()
    }
}

/// What the event loop is for. A type parameter of the loop: each is compiled for its own use.
trait Receiver {
    /// Whether it looks at values.
    const TAKES_VALUES: bool;

    /// A wanted event of this class; what else there is to know about it is made if asked for.
    fn receive<'event>(&mut self, class: EventClassId, event: impl FnOnce() -> Event<'event>);
}

/// Hands events on.
struct Delivery<'sink>(&'sink mut dyn EventSink);

impl Receiver for Delivery<'_> {
    const TAKES_VALUES: bool = true;

    #[inline]
    fn receive<'event>(&mut self, _: EventClassId, event: impl FnOnce() -> Event<'event>) {
        self.0.event(&event());
    }
}

/// Counts events by class.
struct Tally(Vec<u64>);

impl Receiver for Tally {
    const TAKES_VALUES: bool = false;

    #[inline]
    fn receive<'event>(&mut self, class: EventClassId, _: impl FnOnce() -> Event<'event>) {
        if let Some(count) = self.0.get_mut(class.index()) {
            *count += 1;
        }
    }
}

impl CtfDecoder<'_> {
    /// Gives the wanted events of a packet to `receiver`; says where time goes back, and why events are missing
    /// at its end.
    fn go_through(
        &self,
        packet: PacketId,
        receiver: &mut impl Receiver,
    ) -> (Option<Diagnostic>, Option<Diagnostic>) {
        let Some((raw, file)) = self.trace.raw_packet(packet) else {
            return (None, None);
        };
        let Some(mut machine) = self.trace.plans.enter(raw, file.get()) else {
            return (None, None);
        };
        let clock = self.trace.clock_of(raw.stream_class);
        let bounds = self.trace.plans.bounds(raw, self.trace.next_event(packet));
        let stream = &self.streams[raw.stream_class];
        let (back, end) = stream.events(&mut machine, bounds, clock, receiver);
        let tell = |code, (bit, cycles): (u64, u64), what| {
            let place = Place {
                file: file.name.clone(),
                byte: Some(raw.offset + bit / 8),
                at: Some(clock.time(cycles)),
                ..Place::default()
            };
            Diagnostic::new(code, place, what)
        };
        let back = back.map(|StepBack { place, from, to }| {
            let what = format!(
                "an event's clock is {to}, that of an event before it {from}: it and what follows is taken to \
                 happen at {from}, until the clock is there again"
            );
            tell(DiagnosticCode::TimeGoesBack, (place, from), what)
        });
        let fault = end.err().map(|fault| {
            let (code, what) = fault.explained(raw.stated().unwrap_or(bounds));
            tell(code, (machine.at, machine.clock), what)
        });
        (back, fault)
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
    /// Times are cycles.
    const CYCLES: Self = Self {
        offset_ns: 0,
        frequency: 1_000_000_000,
    };

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

/// Where the clock of a packet's events goes back.
struct StepBack {
    /// Where the event is, in bits behind the packet's begin.
    place: u64,
    /// The latest clock before, and the event's.
    from: u64,
    to: u64,
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

impl Fault {
    /// In words; the packet has events from `begin` to `end` by its clock.
    fn explained(self, (begin, end): (u64, u64)) -> (DiagnosticCode, String) {
        let invalid = |what| (DiagnosticCode::InvalidEvent, what);
        match self {
            Self::UnknownClass(id) => (
                DiagnosticCode::UnknownEventClass,
                format!("no event class of its stream has the id {id}"),
            ),
            Self::OutsidePacket(at) => invalid(format!(
                "an event's clock is {at}, which lies outside of its packet's, {begin} to {end}"
            )),
            Self::Blank => invalid("all bytes of an event, and of its time, are zero".to_owned()),
            Self::Damage(damage) => invalid(format!("an event cannot be decoded: {damage}")),
        }
    }
}

impl From<Damage> for Fault {
    fn from(damage: Damage) -> Self {
        Self::Damage(damage)
    }
}

/// A packet whose events are on their way to a receiver.
struct Passage<'run, 'packet, H, R> {
    header: &'run H,
    stream: &'run StreamPlan,
    machine: &'run mut Machine<'packet>,
    receiver: &'run mut R,
    clock: ClockScale,
    /// Its clock at the begin.
    begin: u64,
    /// The clocks that events may have.
    bounds: (u64, u64),
    /// Before this clock no event is taken to happen: behind the first one whose clock goes back, what it was before.
    not_before: u64,
    back: Option<StepBack>,
}

impl<'run, 'packet, H: Header, R: Receiver> Passage<'run, 'packet, H, R> {
    /// Decodes events until the packet's content ends, or the clock is not where the packet says.
    ///
    /// Position and clock are kept in locals: the machine has them only while it runs a plan, and when
    /// this returns.
    fn run(&mut self) -> Result<(), Fault> {
        let alignment = H::ALIGNMENT.unwrap_or(self.stream.alignment);
        let end = self.machine.end;
        let (mut at, mut cycles) = (self.machine.at, self.machine.clock);
        loop {
            let begin = align_up(at, alignment);
            if begin >= end {
                (self.machine.at, self.machine.clock) = (begin.min(end), cycles);
                return Ok(());
            }
            let read = match self.plain_header(begin, cycles) {
                Some(read) => read,
                None => self.any_header(begin, cycles)?,
            };
            let entry = self.stream.classes.get(read.id);
            let fields = begin + read.bits;
            let mut absent = entry.absent;
            if R::TAKES_VALUES && absent != 0 {
                // Else they would have what the event before has there.
                self.machine.values[..usize::from(entry.slots)].fill(0);
            }
            (at, cycles) = (fields + entry.bits, read.clock);
            if at > end {
                self.machine.at = begin;
                absent |= self.run_plan(entry, read.id, read.bits, read.clock)?;
                (at, cycles) = (self.machine.at, self.machine.clock);
            } else if R::TAKES_VALUES && entry.reads {
                let origin = (begin / 8) as usize;
                let fields = (fields / 8) as usize;
                self.stream.read(entry, self.machine, fields, origin);
            }
            if cycles > self.bounds.1 {
                return Err(self.outside(begin, cycles));
            }
            if entry.wanted {
                self.deliver(entry, begin, cycles, absent);
            }
            if H::MAY_BE_EMPTY && at == begin {
                // An event without a bit would repeat for ever.
                return Ok(());
            }
        }
    }

    /// Why nothing is read from the event at bit `begin` on, whose clock its packet cannot have.
    #[cold]
    fn outside(&mut self, begin: u64, cycles: u64) -> Fault {
        (self.machine.at, self.machine.clock) = (begin, self.begin);
        Fault::OutsidePacket(cycles)
    }

    /// The header at bit `begin`, if nothing about it is special and the file goes on far enough behind it.
    #[inline(always)]
    fn plain_header(&self, begin: u64, cycles: u64) -> Option<HeaderRead> {
        let window = whole_window(self.machine.bytes, (begin / 8) as usize)?;
        self.header.read_plain(window, cycles)
    }

    /// The same for any header, one that lets the clock go back among them.
    #[inline(never)]
    fn any_header(&mut self, begin: u64, cycles: u64) -> Result<HeaderRead, Fault> {
        let (read, may_be_blank) = self.header.read(self.machine, begin, cycles)?;
        let fields = begin + read.bits;
        if may_be_blank
            && fields <= self.machine.end
            && is_blank(self.stream, self.machine, begin, fields)
        {
            (self.machine.at, self.machine.clock) = (begin, self.begin);
            return Err(Fault::Blank);
        }
        if read.clock < cycles {
            if read.clock < self.bounds.0 {
                return Err(self.outside(begin, read.clock));
            }
            self.not_before = self.not_before.max(cycles);
            self.back.get_or_insert(StepBack {
                place: begin,
                from: cycles,
                to: read.clock,
            });
        }
        Ok(read)
    }

    /// Decodes the event at which the machine stands by the plan of its class; its header says this id and clock and
    /// has so many bits. Returns the slots that have no value.
    // The numbers one by one: as a `HeaderRead` they would be written to memory for every event.
    #[inline(never)]
    fn run_plan(&mut self, entry: &Entry, id: u64, bits: u64, clock: u64) -> Result<u128, Fault> {
        let machine = &mut *self.machine;
        let begin = machine.at;
        machine.step_over(bits)?;
        machine.clock = clock;
        let Some(plan) = self.stream.plans.get(entry.plan as usize) else {
            machine.at = begin;
            return Err(Fault::UnknownClass(id));
        };
        machine.origin = (begin / 8) as usize;
        if plan.conditional != 0 {
            machine.chosen = 0;
            machine.values[..usize::from(entry.slots)].fill(0);
        }
        machine.run(&plan.plan)?;
        Ok(plan.conditional & !machine.chosen)
    }

    #[inline(always)]
    fn deliver(&mut self, entry: &Entry, begin: u64, cycles: u64, absent: u128) {
        let (machine, clock) = (&*self.machine, self.clock);
        let cycles = cycles.max(self.not_before);
        self.receiver.receive(entry.class, || Event {
            class: entry.class,
            at: clock.time(cycles),
            position: begin,
            bytes: machine
                .bytes
                .get((begin / 8) as usize..)
                .unwrap_or_default(),
            values: &machine.values[..usize::from(entry.slots)],
            absent,
        });
    }
}

impl StreamPlan {
    /// Gives the events of a packet to `receiver` as far as the clock is within `bounds`; says where it goes back.
    fn events<R: Receiver>(
        &self,
        machine: &mut Machine<'_>,
        bounds: (u64, u64),
        clock: ClockScale,
        receiver: &mut R,
    ) -> (Option<StepBack>, Result<(), Fault>) {
        macro_rules! pass {
            ($header:expr) => {{
                let mut passage = Passage {
                    header: $header,
                    stream: self,
                    begin: machine.clock,
                    machine,
                    receiver,
                    clock,
                    bounds,
                    not_before: 0,
                    back: None,
                };
                let end = passage.run();
                (passage.back, end)
            }};
        }
        match &self.header {
            HeaderPlan::Compact(header) => pass!(header),
            HeaderPlan::Large(header) => pass!(header),
            HeaderPlan::Direct(header) => pass!(header),
            HeaderPlan::General(header) => pass!(header),
        }
    }

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
    let entry = stream.classes.get(0);
    let mut end = fields + entry.bits;
    if end > machine.end {
        (machine.at, machine.origin) = (fields, (begin / 8) as usize);
        let plan = stream.plans.get(entry.plan as usize);
        if plan.is_none_or(|plan| machine.run(&plan.plan).is_err()) {
            return false;
        }
        end = machine.at;
    }
    let event = machine.bytes.get((begin / 8) as usize..(end / 8) as usize);
    event.is_some_and(|event| event.iter().all(|byte| *byte == 0))
}
