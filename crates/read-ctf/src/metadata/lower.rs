//! From drafts to the layout: named classes become copies where they are used, references become
//! registers, well-known names become roles.
//!
//! Nodes of the layout and comparisons of names are counted, so that a small text cannot ask for
//! unbounded memory or time.

mod classes;
mod registers;
mod roles;

use std::collections::{HashMap, HashSet};

use super::draft::{
    Draft, DraftClass, DraftEvent, DraftMember, DraftStream, DraftTrace, Language, Origin, Part,
    Reference,
};
use super::reference::{Found, Search, Target, at_positions, register_of};
use super::{Fault, Notes};
use crate::layout::{
    ClockLayout, EventLayout, MemberLayout, Register, StreamLayout, StructureLayout, TraceLayout,
};
use registers::Registers;

/// More than this no tracer writes; a thousandth is usual.
const MOST_NODES: u64 = 1 << 20;
/// Bounds the time spent on finding fields by name.
const MOST_WORK: u64 = 1 << 26;

/// Makes the layout of a trace.
pub(super) fn lower(mut trace: DraftTrace, notes: &mut Notes) -> Result<TraceLayout, Fault> {
    if trace.streams.is_empty() && !trace.events.is_empty() {
        trace.streams.push(DraftStream::default());
    }
    let trace = &trace;
    let clock_positions = trace.clocks.iter().enumerate().rev();
    let mut lowering = Lowering {
        trace,
        clock_positions: clock_positions
            .map(|(position, clock)| (clock.name.as_str(), position))
            .collect(),
        clocks: trace.clocks.clone(),
        stream_clock: None,
        part: Part::PacketHeader,
        parts: Default::default(),
        frames: Vec::new(),
        via: Vec::new(),
        registers: Registers::default(),
        nodes: 0,
        work: 0,
        notes,
    };
    lowering.part(Part::PacketHeader, trace.packet_header.as_deref())?;
    let streams = lowering.streams()?;
    let mut layout = TraceLayout {
        major: match trace.language {
            Language::Tsdl => 1,
            Language::Json => 2,
        },
        uuid: trace.uuid,
        name: trace.name.clone(),
        environment: trace.environment.clone(),
        packet_header: lowering.take(Part::PacketHeader),
        streams,
        register_count: 0,
        clocks: lowering.clocks,
    };
    lowering.registers.settle(&mut layout);
    Ok(layout)
}

struct Lowering<'draft, 'notes> {
    trace: &'draft DraftTrace,
    clocks: Vec<ClockLayout>,
    clock_positions: HashMap<&'draft str, usize>,
    /// The clock that integers of the present stream class are mapped to.
    stream_clock: Option<usize>,
    /// The part of the packet or event at hand.
    part: Part,
    /// Parts that are done.
    parts: [Option<Done<'draft>>; 6],
    /// Structures around the field at hand, outermost first.
    frames: Vec<Frame<'draft>>,
    /// Options of variants between the innermost structure's member and the field at hand.
    via: Vec<&'draft str>,
    registers: Registers,
    nodes: u64,
    work: u64,
    notes: &'notes mut Notes,
}

struct Done<'draft> {
    members: &'draft [DraftMember],
    layout: StructureLayout,
}

/// A structure whose members are being lowered. The member at hand is the one at `lowered.len()`.
struct Frame<'draft> {
    members: &'draft [DraftMember],
    lowered: Vec<MemberLayout>,
    /// Options between the outer structure's member and this structure.
    via: Vec<&'draft str>,
}

/// Where members were searched.
#[derive(Clone, Copy)]
enum Room {
    Frame(usize),
    Done(Part),
}

impl<'draft> Lowering<'draft, '_> {
    fn streams(&mut self) -> Result<Vec<StreamLayout>, Fault> {
        let streams = &self.trace.streams;
        let mut layouts = Vec::with_capacity(streams.len());
        for (stream, events) in streams.iter().zip(self.events_by_stream()?) {
            self.stream_clock = stream.clock;
            self.part(Part::PacketContext, stream.packet_context.as_deref())?;
            self.part(Part::EventHeader, stream.event_header.as_deref())?;
            self.part(Part::CommonContext, stream.common_context.as_deref())?;
            let events = self.events(&events)?;
            layouts.push(StreamLayout {
                id: stream.id.unwrap_or(0),
                name: stream.name.clone(),
                clock: self.stream_clock,
                packet_context: self.take(Part::PacketContext),
                event_header: self.take(Part::EventHeader),
                common_context: self.take(Part::CommonContext),
                events,
            });
        }
        Ok(layouts)
    }

    /// The events of each stream. Ids may be left out where there is only one stream.
    fn events_by_stream(&self) -> Result<Vec<Vec<&'draft DraftEvent>>, Fault> {
        let streams = &self.trace.streams;
        let mut positions = HashMap::new();
        for (position, stream) in streams.iter().enumerate() {
            if stream.id.is_none() && streams.len() > 1 {
                return Err(Fault::new(
                    stream.at,
                    "the stream has no `id` but is not the only one",
                ));
            }
            let id = stream.id.unwrap_or(0);
            if positions.insert(id, position).is_some() {
                return Err(Fault::new(
                    stream.at,
                    format!("there is a second stream with the id {id}"),
                ));
            }
        }
        let mut events = vec![Vec::new(); streams.len()];
        for event in &self.trace.events {
            let position = match event.stream_id {
                Some(id) => *positions.get(&id).ok_or_else(|| {
                    Fault::new(
                        event.at,
                        format!("the event's stream (id {id}) is not described"),
                    )
                })?,
                None if streams.len() == 1 => 0,
                None => {
                    return Err(Fault::new(
                        event.at,
                        "the event names no stream but there are several",
                    ));
                }
            };
            events[position].push(event);
        }
        Ok(events)
    }

    fn events(&mut self, events: &[&'draft DraftEvent]) -> Result<Vec<EventLayout>, Fault> {
        let mut ids = HashSet::with_capacity(events.len());
        let mut layouts = Vec::with_capacity(events.len());
        for event in events {
            let id = match event.id {
                Some(id) => id,
                None if layouts.is_empty() => 0,
                None => {
                    return Err(Fault::new(
                        event.at,
                        "the event has no `id` but is not the only one",
                    ));
                }
            };
            if !ids.insert(id) {
                return Err(Fault::new(
                    event.at,
                    format!("there is a second event with the id {id}"),
                ));
            }
            self.part(Part::SpecificContext, event.specific_context.as_deref())?;
            self.part(Part::Payload, event.payload.as_deref())?;
            layouts.push(EventLayout {
                id,
                name: event.name.clone(),
                log_level: event.log_level,
                emf_uri: event.emf_uri.clone(),
                specific_context: self.take(Part::SpecificContext),
                payload: self.take(Part::Payload),
            });
        }
        Ok(layouts)
    }

    /// Lowers a part of the packet or event; what follows may refer to it until it is taken.
    fn part(&mut self, part: Part, draft: Option<&'draft Draft>) -> Result<(), Fault> {
        let Some(draft) = draft else {
            return Ok(());
        };
        let DraftClass::Structure { members, alignment } = &draft.class else {
            return Err(Fault::new(
                draft.at,
                "expected a structure as a part of packets or events",
            ));
        };
        self.part = part;
        let layout = self.structure(members, *alignment)?;
        self.parts[part as usize] = Some(Done { members, layout });
        Ok(())
    }

    fn take(&mut self, part: Part) -> Option<StructureLayout> {
        self.parts[part as usize].take().map(|done| done.layout)
    }

    /// Counts nodes of the layout, and text as so many of them as it takes room.
    fn spend(&mut self, at: usize, nodes: usize, text: usize) -> Result<(), Fault> {
        self.nodes += nodes as u64 + text as u64 / 64;
        if self.nodes > MOST_NODES || self.work > MOST_WORK {
            return Err(Fault::new(
                at,
                "the metadata describes more fields than any trace can have",
            ));
        }
        Ok(())
    }

    /// Finds the field that `reference` names and has it keep its value. Where a choice stands in
    /// between there are several, one of which is decoded: all share a register.
    fn resolve(&mut self, reference: &Reference, what: &str) -> Result<Target<'draft>, Fault> {
        self.spend(reference.at, 0, 0)?;
        let unresolved = || {
            let shown = reference.shown();
            Fault::new(
                reference.at,
                format!("expected a field that is decoded before as {what}, found {shown}"),
            )
        };
        let wrong = |expected: &str| {
            let shown = reference.shown();
            Fault::new(
                reference.at,
                format!("expected {expected} as {what}, {shown} is none"),
            )
        };
        let (room, found) = self.search(reference).ok_or_else(unresolved)?;
        let mut target: Option<Target<'draft>> = None;
        for field in &found {
            let kept = self
                .register_at(room, &field.positions)
                .ok_or_else(|| wrong("an integer"))?;
            let register = match (*kept, target) {
                (Some(kept), Some(target)) => self.registers.join(kept, target.register),
                (Some(kept), None) => kept,
                (None, Some(target)) => target.register,
                (None, None) => self
                    .registers
                    .add()
                    .ok_or_else(|| wrong("one of at most 65535 fields referred to"))?,
            };
            if let Some(kept) = self.register_at(room, &field.positions) {
                *kept = Some(register);
            }
            let one = Target::of(field.draft, register).ok_or_else(|| wrong("an integer"))?;
            if target
                .is_some_and(|other| (other.signed, other.boolean) != (one.signed, one.boolean))
            {
                return Err(wrong("a field that has one type whatever is chosen"));
            }
            target = Some(one);
        }
        target.ok_or_else(unresolved)
    }

    fn register_at(&mut self, room: Room, positions: &[usize]) -> Option<&mut Option<Register>> {
        let members = match room {
            Room::Frame(frame) => &mut self.frames[frame].lowered,
            Room::Done(part) => &mut self.parts[part as usize].as_mut()?.layout.members,
        };
        let (first, rest) = positions.split_first()?;
        register_of(at_positions(&mut members.get_mut(*first)?.class, rest)?)
    }

    fn search(&mut self, reference: &Reference) -> Option<(Room, Vec<Found<'draft>>)> {
        let steps = &reference.steps;
        match reference.origin {
            Origin::Environment => None,
            Origin::Part(part) if part == self.part => self.search_frame(0, steps),
            Origin::Part(part) => self.search_part(part, steps),
            Origin::Enclosing(out) => {
                let frame = self.frames.len().checked_sub(out + 1)?;
                self.search_frame(frame, steps)
            }
            Origin::Outward => (0..self.frames.len())
                .rev()
                .find_map(|frame| self.search_frame(frame, steps))
                .or_else(|| self.search_parts_before(steps)),
        }
    }

    /// Searches the parts before the one at hand, the nearest first (CTF 1.8.3, §7.3.2).
    fn search_parts_before(&mut self, steps: &[String]) -> Option<(Room, Vec<Found<'draft>>)> {
        const NEAREST_FIRST: [Part; 5] = [
            Part::SpecificContext,
            Part::CommonContext,
            Part::EventHeader,
            Part::PacketContext,
            Part::PacketHeader,
        ];
        let at_hand = self.part;
        NEAREST_FIRST
            .into_iter()
            .filter(|part| *part < at_hand)
            .find_map(|part| self.search_part(part, steps))
    }

    fn search_part(&mut self, part: Part, steps: &[String]) -> Option<(Room, Vec<Found<'draft>>)> {
        let members = self.parts[part as usize].as_ref()?.members;
        self.search_members(Room::Done(part), members, members.len(), steps)
    }

    /// Searches a structure that is not done: its members so far, then the structure inside the
    /// member at hand.
    fn search_frame(
        &mut self,
        frame: usize,
        steps: &[String],
    ) -> Option<(Room, Vec<Found<'draft>>)> {
        let Frame {
            members, lowered, ..
        } = self.frames.get(frame)?;
        let (members, available) = (*members, lowered.len());
        let inside = self.search_members(Room::Frame(frame), members, available, steps);
        if inside.is_some() {
            return inside;
        }
        let (first, mut rest) = steps.split_first()?;
        let at_hand = members.get(available)?;
        let inner = self.frames.get(frame + 1)?;
        if at_hand.name != *first {
            return None;
        }
        if self.trace.language == Language::Tsdl {
            for option in &inner.via {
                rest = rest.split_first().filter(|(name, _)| name == option)?.1;
            }
        }
        self.search_frame(frame + 1, rest)
    }

    fn search_members(
        &mut self,
        room: Room,
        members: &'draft [DraftMember],
        available: usize,
        steps: &[String],
    ) -> Option<(Room, Vec<Found<'draft>>)> {
        let (first, rest) = steps.split_first()?;
        let mut search = Search::new(self.trace.language, &mut self.work);
        let position = search.position(members, available, first)?;
        search.member(members, position, rest);
        let found = search.found;
        (!found.is_empty()).then_some((room, found))
    }
}
