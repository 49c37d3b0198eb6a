//! Reads the beginnings of packets: header and context.
//!
//! Which packets a file has is found out elsewhere (`scan.rs`). Every packet of a trace has been
//! read here once without a fault, so that entering it again cannot fail.

use slowpath_model::DiagnosticCode;

use crate::layout::{FieldLayout, MemberLayout, Role, StructureLayout, TraceLayout};
use crate::machine::Machine;
use crate::plan::{Compiler, Plan, role_target, target_count};

/// By how much of a second events may lie outside of the times that their packet states: a thousandth.
const STATED_WITHIN: u64 = 1000;

/// One packet as the stream file states it.
#[derive(Clone, Debug)]
pub(crate) struct RawPacket {
    /// Position of its file.
    pub(crate) file: usize,
    /// In bytes.
    pub(crate) offset: u64,
    /// In bytes, as far as the file goes.
    pub(crate) size: u64,
    /// In bits, as far as the file goes.
    pub(crate) content_bits: u64,
    /// Position of its stream class in the layout.
    pub(crate) stream_class: usize,
    /// Id of its stream within the class.
    pub(crate) stream_instance: Option<u64>,
    /// The clock's value when it begins: where not stated, that of its first event, or behind the packet before
    /// it, as soon as that is known.
    pub(crate) begin: Option<u64>,
    /// The clock's value at its first event, if that can be of the packet.
    pub(crate) first_event: Option<u64>,
    /// The clock's value when it ends: where not stated, that of its last event, as soon as that is known.
    pub(crate) end: Option<u64>,
    /// Not where it was never closed, as its tracer crashed.
    pub(crate) states_end: bool,
    pub(crate) discarded: Option<u64>,
    pub(crate) sequence: Option<u64>,
    pub(crate) cpu: Option<u64>,
    /// What followed it in its file is missing.
    pub(crate) is_cut_off: bool,
    /// Packets before it that are there, and left out for their times.
    pub(crate) left_out_before: u64,
}

impl RawPacket {
    /// From when to when its events are, by the clock, where that is stated.
    pub(crate) fn stated(&self) -> Option<(u64, u64)> {
        let end = self.end.filter(|_| self.states_end);
        self.begin.zip(end)
    }

    /// What its first event's time is counted from: its begin, or that event itself.
    pub(crate) fn first_clock(&self) -> Option<u64> {
        let begin = self.begin?;
        Some(self.first_event.map_or(begin, |first| first.min(begin)))
    }
}

/// The plans for the beginnings of packets.
pub(crate) struct PacketPlans {
    header: Plan,
    header_roles: Roles,
    header_magic: bool,
    uuid: Option<UuidPlace>,
    /// By stream class: the context's plan and the roles it has.
    contexts: Vec<(Plan, Roles)>,
    /// By stream class: the event header's plan.
    event_headers: Vec<Plan>,
    /// By stream class: the part of a second that is [`STATED_WITHIN`], in cycles.
    slack: Vec<u64>,
    targets: usize,
}

/// Which roles a structure has, by `Role as usize`.
#[derive(Clone, Copy, Default)]
struct Roles([bool; 12]);

impl Roles {
    fn of(structure: Option<&StructureLayout>) -> Self {
        let mut roles = Self::default();
        for member in structure.iter().flat_map(|structure| &structure.members) {
            roles.add(&member.class);
        }
        roles
    }

    fn add(&mut self, class: &FieldLayout) {
        let role = match class {
            FieldLayout::Integer(integer) => integer.role,
            FieldLayout::VariableInteger(integer) => integer.role,
            FieldLayout::StaticArray { role, .. } | FieldLayout::StaticBlob { role, .. } => *role,
            FieldLayout::Structure(structure) => {
                structure
                    .members
                    .iter()
                    .for_each(|member| self.add(&member.class));
                None
            }
            FieldLayout::Variant(variant) => {
                variant
                    .options
                    .iter()
                    .for_each(|option| self.add(&option.class));
                None
            }
            FieldLayout::Optional(optional) => {
                self.add(&optional.class);
                None
            }
            _ => None,
        };
        if let Some(role) = role {
            self.0[role as usize] = true;
        }
    }

    fn has(self, role: Role) -> bool {
        self.0[role as usize]
    }
}

/// Where the packet header has the trace's UUID.
struct UuidPlace {
    /// What stands before it.
    before: Plan,
    /// Alignment of its first byte, in bits.
    alignment: u64,
}

impl UuidPlace {
    /// Nothing where no tracer is named: traces made by hand, for tests, copy UUIDs carelessly
    /// (babeltrace's own do), and their streams are read all the same.
    fn of(layout: &TraceLayout) -> Option<Self> {
        let header = layout.packet_header.as_ref()?;
        if layout
            .environment
            .iter()
            .all(|(key, _)| key != "tracer_name")
        {
            return None;
        }
        let is_uuid = |member: &MemberLayout| match &member.class {
            FieldLayout::StaticArray {
                length,
                element,
                role,
                ..
            } => {
                let bytes = matches!(&**element, FieldLayout::Integer(byte) if byte.bits == 8);
                bytes && *length == 16 && *role == Some(Role::MetadataStreamUuid)
            }
            FieldLayout::StaticBlob { length, role } => {
                *length == 16 && *role == Some(Role::MetadataStreamUuid)
            }
            _ => false,
        };
        let position = header.members.iter().position(is_uuid)?;
        let mut before = Compiler::new(u64::MAX / 2 + 1, &[]);
        before.header(&StructureLayout::new(
            header.members[..position].to_vec(),
            1,
        ));
        Some(Self {
            before: before.finish().0,
            alignment: header.members[position].class.alignment().max(8),
        })
    }

    /// The UUID of the packet that `bytes` begin with.
    fn read(&self, bytes: &[u8], targets: usize) -> Option<[u8; 16]> {
        let mut machine = Machine::new(bytes, bytes.len() as u64 * 8, targets);
        machine.run(&self.before).ok()?;
        machine.align(self.alignment).ok()?;
        let begin = usize::try_from(machine.at / 8).ok()?;
        bytes.get(begin..)?.first_chunk().copied()
    }
}

/// A packet as [`PacketPlans::read`] found it.
pub(crate) struct ReadPacket {
    pub(crate) packet: RawPacket,
    /// How the file cuts it short.
    pub(crate) cut: Option<String>,
}

/// The magic number of CTF packets (CTF 1.8 §5.1).
const MAGIC: u64 = 0xc1fc_1fc1;

impl PacketPlans {
    pub(crate) fn new(layout: &TraceLayout) -> Self {
        let mut header = Compiler::new(u64::MAX / 2 + 1, &[]);
        if let Some(structure) = &layout.packet_header {
            header.header(structure);
        }
        let (header, aligned) = header.finish();
        let contexts = layout.streams.iter().map(|stream| {
            let mut context = Compiler::new(aligned, &[]);
            if let Some(structure) = &stream.packet_context {
                context.header(structure);
            }
            let roles = Roles::of(stream.packet_context.as_ref());
            (context.finish().0, roles)
        });
        let event_headers = layout.streams.iter().map(|stream| {
            let mut header = Compiler::new(1, &[]);
            if let Some(structure) = &stream.event_header {
                header.header(structure);
            }
            header.finish().0
        });
        let slack = layout.streams.iter().map(|stream| {
            let clock = stream.clock.and_then(|clock| layout.clocks.get(clock))?;
            Some(clock.frequency / STATED_WITHIN)
        });
        let header_roles = Roles::of(layout.packet_header.as_ref());
        Self {
            header,
            header_roles,
            header_magic: header_roles.has(Role::PacketMagic),
            uuid: UuidPlace::of(layout),
            contexts: contexts.collect(),
            event_headers: event_headers.collect(),
            slack: slack.map(Option::unwrap_or_default).collect(),
            targets: target_count(layout.register_count),
        }
    }

    /// The first and the last clock that events of a packet may have: [`STATED_WITHIN`] outside of what it states,
    /// as LTTng once closed packets too early, but not behind the first event of the packet that follows, `next`.
    pub(crate) fn bounds(&self, packet: &RawPacket, next: Option<u64>) -> (u64, u64) {
        let Some((begin, end)) = packet.stated() else {
            let next = next.filter(|next| packet.begin.is_some_and(|begin| begin <= *next));
            return (0, next.unwrap_or(u64::MAX));
        };
        let slack = self.slack(packet);
        let latest = end.saturating_add(slack);
        let next = next.filter(|next| end <= *next);
        (
            begin.saturating_sub(slack),
            next.map_or(latest, |next| latest.min(next)),
        )
    }

    fn slack(&self, packet: &RawPacket) -> u64 {
        self.slack.get(packet.stream_class).copied().unwrap_or(0)
    }

    /// A machine that stands behind the packet's context, at the first event header.
    pub(crate) fn enter<'packet>(
        &self,
        packet: &RawPacket,
        file: &'packet [u8],
    ) -> Option<Machine<'packet>> {
        let bytes = file.get(packet.offset as usize..)?;
        let mut machine = Machine::new(bytes, packet.content_bits, self.targets);
        machine.run(&self.header).ok()?;
        machine
            .run(&self.contexts.get(packet.stream_class)?.0)
            .ok()?;
        machine.clock = packet.first_clock().unwrap_or(0);
        Some(machine)
    }

    /// Reads an event header at the machine's position: the id of the event's class.
    pub(crate) fn event_id(&self, stream_class: usize, machine: &mut Machine<'_>) -> Option<u64> {
        machine.values[usize::from(role_target(Role::EventClassId))] = 0;
        machine.run(self.event_headers.get(stream_class)?).ok()?;
        Some(machine.role(Role::EventClassId))
    }

    /// Whether packets begin with a magic number and these bytes do not.
    pub(crate) fn lacks_magic(&self, bytes: &[u8]) -> bool {
        let mut machine = Machine::new(bytes, bytes.len() as u64 * 8, self.targets);
        let read = machine.run(&self.header);
        self.header_magic && (read.is_err() || machine.role(Role::PacketMagic) != MAGIC)
    }

    /// Where in `content`, from the byte `from` on, packets may begin: at each magic number, in either byte order.
    /// None where packets have no such number.
    pub(crate) fn magic_numbers<'a>(
        &'a self,
        content: &'a [u8],
        from: usize,
    ) -> impl Iterator<Item = usize> {
        const FIRST_BYTE: u8 = 0xc1;
        let rest = content.get(from..).filter(|_| self.header_magic);
        let rest = rest.unwrap_or_default();
        let begins = memchr::memchr_iter(FIRST_BYTE, rest);
        let is_magic = |at: &usize| {
            let number = rest[*at..].first_chunk::<4>();
            number.is_some_and(|number| {
                [u32::from_le_bytes, u32::from_be_bytes]
                    .iter()
                    .any(|read| u64::from(read(*number)) == MAGIC)
            })
        };
        begins.filter(is_magic).map(move |at| from + at)
    }

    /// Reads the header and context of the packet at `offset`. The error is what is wrong with it.
    pub(crate) fn read(
        &self,
        layout: &TraceLayout,
        file: usize,
        content: &[u8],
        offset: u64,
    ) -> Result<ReadPacket, (DiagnosticCode, String)> {
        let bytes = content.get(offset as usize..).unwrap_or_default();
        let mut machine = Machine::new(bytes, bytes.len() as u64 * 8, self.targets);
        let invalid = |what: String| (DiagnosticCode::InvalidPacket, what);
        machine
            .run(&self.header)
            .map_err(|damage| invalid(format!("in the packet's header, {damage}")))?;
        if self.header_magic && machine.role(Role::PacketMagic) != MAGIC {
            let magic = machine.role(Role::PacketMagic);
            return Err(invalid(format!(
                "the packet's magic number is {magic:#x}, not {MAGIC:#x}"
            )));
        }
        let uuid = self.uuid.as_ref().zip(layout.uuid);
        if let Some((place, expected)) = uuid
            && let Some(found) = place.read(bytes, self.targets)
            && found != expected
        {
            return Err((
                DiagnosticCode::ForeignStream,
                format!(
                    "the packet is of the trace {}, the metadata of {}",
                    hexadecimal(found),
                    hexadecimal(expected)
                ),
            ));
        }
        let has = self.header_roles;
        let stated = |machine: &Machine<'_>, roles: Roles, role: Role| {
            roles.has(role).then(|| machine.role(role))
        };
        let stream_class = match stated(&machine, has, Role::StreamClassId) {
            Some(id) => layout
                .streams
                .iter()
                .position(|stream| stream.id == id)
                .ok_or_else(|| {
                    let what = format!(
                        "the packet names stream class {id}, which the metadata does not describe"
                    );
                    (DiagnosticCode::UnknownStreamClass, what)
                })?,
            None if layout.streams.is_empty() => {
                return Err(invalid("the metadata describes no stream class".to_owned()));
            }
            None => 0,
        };
        let stream_instance = stated(&machine, has, Role::StreamId);
        let (context, has) = &self.contexts[stream_class];
        machine
            .run(context)
            .map_err(|damage| invalid(format!("in the packet's context, {damage}")))?;
        let get = |role| stated(&machine, *has, role);

        let available = bytes.len() as u64 * 8;
        let total = get(Role::PacketTotalLength);
        let content_length = get(Role::PacketContentLength);
        let total_bits = total.or(content_length).unwrap_or(available);
        let content_bits = content_length.unwrap_or(total_bits);
        if total_bits == 0 || total_bits % 8 != 0 {
            return Err(invalid(format!(
                "the packet has an impossible size of {total_bits} bits"
            )));
        }
        if content_bits > total_bits {
            return Err(invalid(format!(
                "the packet's content of {content_bits} bits is larger than the packet of {total_bits} bits"
            )));
        }
        if machine.at > content_bits {
            return Err(invalid(format!(
                "the packet's content of {content_bits} bits is smaller than its header and context of {} bits",
                machine.at
            )));
        }
        let cut = (total_bits > available).then(|| {
            format!(
                "the packet has {} bytes but the file ends after {} of them",
                total_bits / 8,
                available / 8
            )
        });
        let begin = get(Role::ClockTimestamp);
        let end = get(Role::PacketEndTimestamp).filter(|end| *end > 0);
        let content_bits = content_bits.min(available);
        let mut packet = RawPacket {
            file,
            offset,
            size: total_bits.min(available) / 8,
            content_bits,
            stream_class,
            stream_instance,
            begin,
            first_event: None,
            end,
            states_end: end.is_some(),
            discarded: get(Role::DiscardedEventCounter),
            sequence: get(Role::PacketSequenceNumber),
            cpu: get(Role::CpuId),
            is_cut_off: false,
            left_out_before: 0,
        };
        packet.first_event = self.first_event(&packet, &mut machine);
        Ok(ReadPacket { packet, cut })
    }

    /// The clock at the event at which the machine stands, the first of `packet`, if that can be of the packet.
    ///
    /// It may lie before the begin that the packet states: barectf opens a packet after it has taken the time of
    /// the event that did not fit into the one before.
    fn first_event(&self, packet: &RawPacket, machine: &mut Machine<'_>) -> Option<u64> {
        let begin = packet.begin?;
        let earliest = begin.saturating_sub(self.slack(packet));
        let (_, latest) = self.bounds(packet, None);
        // Most headers have the clock's lower bits only: where they would be those of a time behind the packet,
        // they are of one before its begin.
        let clock = match self.first_from(begin, packet, machine)? {
            clock if clock > latest => self.first_from(earliest, packet, machine)?,
            clock => clock,
        };
        (earliest <= clock && clock <= latest).then_some(clock)
    }

    /// The clock at the event at which the machine stands, the first of `packet`, if it was at `clock` before.
    fn first_from(&self, clock: u64, packet: &RawPacket, machine: &mut Machine<'_>) -> Option<u64> {
        let first = machine.at;
        machine.clock = clock;
        let ran = machine.run(self.event_headers.get(packet.stream_class)?);
        let is_there = ran.is_ok() && machine.at <= packet.content_bits;
        machine.at = first;
        is_there.then_some(machine.clock)
    }

    /// When a packet begins that does not say so, if the clock was at `clock` before.
    pub(crate) fn begin_behind(&self, clock: u64, packet: &RawPacket, file: &[u8]) -> u64 {
        let machine = self.enter(packet, file);
        let first = machine.and_then(|mut machine| self.first_from(clock, packet, &mut machine));
        first.unwrap_or(clock)
    }
}

fn hexadecimal(uuid: [u8; 16]) -> String {
    uuid.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a header field of the packet's own bookkeeping is not to be shown to people.
pub(crate) fn is_bookkeeping(class: &FieldLayout) -> bool {
    let role = match class {
        FieldLayout::Integer(integer) => integer.role,
        FieldLayout::VariableInteger(integer) => integer.role,
        FieldLayout::StaticArray { role, .. } | FieldLayout::StaticBlob { role, .. } => *role,
        _ => None,
    };
    role.is_some_and(|role| role != Role::CpuId)
}
