//! Copies of packets with all their times moved: large traces out of small ones.
//!
//! Times of fewer than 64 bits are left as they are, so the shift must be a multiple of 2^32
//! cycles (no tracer writes more than 32 bits of a time and fewer than 64).

use slowpath_model::{Event, PacketId, Projection};
use slowpath_source::Decoder;

use crate::bits;
use crate::decode::CtfDecoder;
use crate::layout::{ByteOrder, FieldLayout, IntegerLayout, Role, StructureLayout};
use crate::machine::{Damage, Machine, no_option};
use crate::plan::register_target;
use crate::trace::CtfTrace;
use crate::walk::{self, Decoding};

/// A shift that leaves the lowest 32 bits of every time alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockShift(u64);

impl ClockShift {
    /// The smallest shift of at least `cycles` cycles.
    pub fn at_least(cycles: u64) -> Self {
        Self(cycles.next_multiple_of(1 << 32))
    }

    /// In cycles.
    pub fn cycles(self) -> u64 {
        self.0
    }
}

/// A number in a packet that the copy changes.
struct Stamp {
    byte: usize,
    order: ByteOrder,
    role: Role,
}

impl CtfTrace {
    /// The bytes of `packet` with its times `shift` later and its sequence number moved by
    /// `sequence_step`; `None` where the packet or its layout does not allow it.
    pub fn shifted_packet(
        &self,
        packet: PacketId,
        shift: ClockShift,
        sequence_step: u64,
    ) -> Option<Vec<u8>> {
        let (raw, file) = self.raw_packet(packet)?;
        let begin = raw.offset as usize;
        let mut copy = file.get().get(begin..begin + raw.size as usize)?.to_vec();
        for stamp in self.stamps(packet)? {
            let field: &mut [u8; 8] = copy.get_mut(stamp.byte..)?.first_chunk_mut()?;
            let step = match stamp.role {
                Role::PacketSequenceNumber => sequence_step,
                _ => shift.cycles(),
            };
            *field = match stamp.order {
                ByteOrder::Little => u64::from_le_bytes(*field).wrapping_add(step).to_le_bytes(),
                ByteOrder::Big => u64::from_be_bytes(*field).wrapping_add(step).to_be_bytes(),
            };
        }
        Some(copy)
    }

    /// Where the packet's 64-bit times and sequence number are.
    fn stamps(&self, packet: PacketId) -> Option<Vec<Stamp>> {
        let (raw, file) = self.raw_packet(packet)?;
        let stream = self.layout.streams.get(raw.stream_class)?;
        let mut machine = self.plans.enter(raw, file.get())?;
        let mut stamps = Vec::new();
        machine.at = 0;
        for structure in [&self.layout.packet_header, &stream.packet_context]
            .into_iter()
            .flatten()
        {
            find_in_structure(&mut machine, structure, &mut stamps).ok()?;
        }
        let mut positions = Vec::new();
        let every_event = Projection::every_event(self.class_count());
        let decoder = CtfDecoder::new(self, &every_event);
        decoder.decode(packet, &mut |event: &Event<'_>| {
            positions.push(event.position);
        });
        if let Some(header) = &stream.event_header {
            for position in positions {
                machine.at = position;
                find_in_structure(&mut machine, header, &mut stamps).ok()?;
            }
        }
        Some(stamps)
    }
}

fn find_in_structure(
    machine: &mut Machine<'_>,
    structure: &StructureLayout,
    stamps: &mut Vec<Stamp>,
) -> Result<(), Damage> {
    machine.align(structure.alignment)?;
    for member in &structure.members {
        find(machine, &member.class, stamps)?;
    }
    Ok(())
}

fn find(
    machine: &mut Machine<'_>,
    class: &FieldLayout,
    stamps: &mut Vec<Stamp>,
) -> Result<(), Damage> {
    match class {
        FieldLayout::Structure(structure) => find_in_structure(machine, structure, stamps),
        FieldLayout::Variant(variant) => {
            machine.align(variant.alignment)?;
            let word = machine.values[usize::from(register_target(variant.selector))];
            let selector = walk::selector(word, variant.selector_signed);
            let fits = |&(first, last): &(i128, i128)| (first..=last).contains(&selector);
            let mut options = variant.options.iter();
            let option = options.find(|option| option.ranges.iter().any(fits));
            find(machine, &option.ok_or(no_option(selector))?.class, stamps)
        }
        FieldLayout::Integer(integer) => {
            machine.align(integer.alignment)?;
            note(machine, integer, stamps);
            walk::field(machine, class, &mut Decoding)
        }
        other => walk::field(machine, other, &mut Decoding),
    }
}

fn note(machine: &Machine<'_>, integer: &IntegerLayout, stamps: &mut Vec<Stamp>) {
    let role = integer.role.filter(|role| {
        let moved = [
            Role::ClockTimestamp,
            Role::PacketEndTimestamp,
            Role::PacketSequenceNumber,
        ];
        moved.contains(role)
    });
    let Some(role) = role else {
        return;
    };
    let whole = integer.bits == 64 && machine.at.is_multiple_of(8) && !integer.reversed_bits;
    let zero = bits::read(machine.bytes, machine.at, 64, integer.byte_order, false) == 0;
    // A tracer that does not know a time writes 0.
    if whole && (role == Role::PacketSequenceNumber || !zero) {
        stamps.push(Stamp {
            byte: (machine.at / 8) as usize,
            order: integer.byte_order,
            role,
        });
    }
}
