//! Finds the packets of stream files: by their index where it fits, else from packet to packet.
//!
//! Files of one stream (tracefile rotation) are joined, losses between packets are counted, and
//! packets without a begin time get one, so that every packet can be decoded on its own.

use slowpath_model::{Diagnostic, DiagnosticCode, Place};
use slowpath_source::NamedBytes;

use crate::index_file::{self, IndexEntry};
use crate::layout::{FieldLayout, Role, StructureLayout, TraceLayout};
use crate::machine::Machine;
use crate::plan::{Compiler, Plan, role_target, target_count};

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
    /// Clock values, where stated.
    pub(crate) begin: Option<u64>,
    pub(crate) end: Option<u64>,
    pub(crate) discarded: Option<u64>,
    pub(crate) sequence: Option<u64>,
    pub(crate) cpu: Option<u64>,
}

/// The plans for the beginnings of packets.
pub(crate) struct PacketPlans {
    header: Plan,
    header_roles: Roles,
    header_magic: bool,
    /// By stream class: the context's plan and the roles it has.
    contexts: Vec<(Plan, Roles)>,
    /// By stream class: the event header's plan.
    event_headers: Vec<Plan>,
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
        let header_roles = Roles::of(layout.packet_header.as_ref());
        Self {
            header,
            header_roles,
            header_magic: header_roles.has(Role::PacketMagic),
            contexts: contexts.collect(),
            event_headers: event_headers.collect(),
            targets: target_count(layout.register_count),
        }
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
        machine.clock = packet.begin.unwrap_or(0);
        Some(machine)
    }

    /// Reads an event header at the machine's position: the id of the event's class.
    pub(crate) fn event_id(&self, stream_class: usize, machine: &mut Machine<'_>) -> Option<u64> {
        machine.values[usize::from(role_target(Role::EventClassId))] = 0;
        machine.run(self.event_headers.get(stream_class)?).ok()?;
        Some(machine.role(Role::EventClassId))
    }

    /// Reads the header and context of the packet at `offset`. The error is what is wrong with it.
    fn read(
        &self,
        layout: &TraceLayout,
        file: usize,
        content: &[u8],
        offset: u64,
    ) -> Result<(RawPacket, Option<String>), (DiagnosticCode, String)> {
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
        let has = self.header_roles;
        let stated = |machine: &Machine<'_>, roles: Roles, role: Role| {
            roles.has(role).then(|| machine.role(role))
        };
        let stream_class = match stated(&machine, has, Role::StreamClassId) {
            Some(id) => layout
                .streams
                .iter()
                .position(|stream| stream.id == id)
                .ok_or((
                    DiagnosticCode::UnknownStreamClass,
                    format!(
                        "the packet names stream class {id}, which the metadata does not describe"
                    ),
                ))?,
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
        let packet = RawPacket {
            file,
            offset,
            size: total_bits.min(available) / 8,
            content_bits: content_bits.min(available),
            stream_class,
            stream_instance,
            begin: get(Role::ClockTimestamp),
            end: get(Role::PacketEndTimestamp),
            discarded: get(Role::DiscardedEventCounter),
            sequence: get(Role::PacketSequenceNumber),
            cpu: get(Role::CpuId),
        };
        Ok((packet, cut))
    }

    /// All packets of a stream file.
    pub(crate) fn scan(
        &self,
        layout: &TraceLayout,
        file: usize,
        stream: &NamedBytes,
        index: Option<&NamedBytes>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<RawPacket> {
        let content = stream.get();
        if let Some(index) = index {
            match self.by_index(layout, file, content, index) {
                Ok(packets) => return packets,
                Err(what) => {
                    let place = Place {
                        file: index.name.clone(),
                        ..Place::default()
                    };
                    let code = DiagnosticCode::InvalidIndex;
                    diagnostics.push(Diagnostic::new(code, place, what));
                }
            }
        }
        let mut packets = Vec::new();
        let mut offset = 0;
        while offset < content.len() as u64 {
            let place = Place {
                file: stream.name.clone(),
                byte: Some(offset),
                ..Place::default()
            };
            match self.read(layout, file, content, offset) {
                Ok((packet, cut)) => {
                    if let Some(what) = cut {
                        let code = DiagnosticCode::TruncatedPacket;
                        diagnostics.push(Diagnostic::new(code, place, what));
                    }
                    offset += packet.size.max(1);
                    packets.push(packet);
                }
                Err((code, what)) => {
                    diagnostics.push(Diagnostic::new(code, place, what));
                    break;
                }
            }
        }
        packets
    }

    /// The packets by the index, where it fits the file; what does not fit otherwise.
    fn by_index(
        &self,
        layout: &TraceLayout,
        file: usize,
        content: &[u8],
        index: &NamedBytes,
    ) -> Result<Vec<RawPacket>, String> {
        let entries = index_file::parse(index.get())?;
        let size = content.len() as u64;
        let mut expected = 0;
        for entry in &entries {
            let end = entry.offset.saturating_add(entry.packet_bits / 8);
            if entry.offset != expected || entry.packet_bits < 8 || end > size {
                let offset = entry.offset;
                return Err(format!(
                    "its packet at byte {offset} does not fit the stream"
                ));
            }
            if entry.content_bits > entry.packet_bits || entry.packet_bits % 8 != 0 {
                return Err(format!(
                    "its packet at byte {} has impossible sizes",
                    entry.offset
                ));
            }
            expected = end;
        }
        if expected != size {
            return Err(format!("it covers {expected} of the stream's {size} bytes"));
        }
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let (first, _) = self
            .read(layout, file, content, 0)
            .map_err(|(_, what)| what)?;
        let agrees = |entry: &IndexEntry| {
            entry.packet_bits == first.size * 8
                && first.begin.is_none_or(|begin| begin == entry.begin)
        };
        if !agrees(&entries[0]) {
            return Err("its first packet is not the stream's".to_owned());
        }
        let stream_class = layout.streams[first.stream_class].id;
        let packet = |entry: &IndexEntry| {
            (entry.stream_class == stream_class).then(|| RawPacket {
                offset: entry.offset,
                size: entry.packet_bits / 8,
                content_bits: entry.content_bits,
                begin: first.begin.map(|_| entry.begin),
                end: first.end.map(|_| entry.end),
                discarded: first.discarded.map(|_| entry.discarded),
                sequence: first.sequence.and(entry.sequence),
                ..first.clone()
            })
        };
        let packets: Option<Vec<RawPacket>> = entries.iter().map(packet).collect();
        packets.ok_or_else(|| "its packets are of several stream classes".to_owned())
    }
}

/// Packets and events lost before each packet of one stream: (events, packets).
///
/// The counter of lost events runs over the stream and is written at the end of a packet, so its
/// growth belongs to the packet; a stream's first packet counts from zero.
pub(crate) fn losses(packets: &[&RawPacket]) -> Vec<(u64, u64)> {
    let mut before: Option<&RawPacket> = None;
    let mut losses = Vec::with_capacity(packets.len());
    for &packet in packets {
        let discarded = packet.discarded.unwrap_or(0);
        let counted = before.and_then(|before| before.discarded).unwrap_or(0);
        let missing = before
            .and_then(|before| before.sequence)
            .zip(packet.sequence)
            .map_or(0, |(earlier, later)| {
                later.saturating_sub(earlier).saturating_sub(1)
            });
        losses.push((discarded.saturating_sub(counted), missing));
        before = Some(packet);
    }
    losses
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
