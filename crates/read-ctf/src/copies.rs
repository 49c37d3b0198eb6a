//! Packets that are there twice, as where somebody copied a file of a stream beside it.

use std::collections::HashMap;

use slowpath_model::{Diagnostic, DiagnosticCode, Place, counted};
use slowpath_source::NamedBytes;

use crate::packets::RawPacket;

/// A packet that is read: its file and its bytes.
type Kept<'file> = (usize, Option<&'file [u8]>);

/// Leaves out of a stream what another of its files has as well, byte for byte, and says so.
pub(crate) fn leave_out_copies(
    packets: &mut Vec<RawPacket>,
    files: &[NamedBytes],
) -> Option<Diagnostic> {
    if packets.iter().all(|packet| packet.file == packets[0].file) {
        return None;
    }
    let bytes = |packet: &RawPacket| {
        let range = packet.offset as usize..(packet.offset + packet.size) as usize;
        files[packet.file].get().get(range)
    };
    // By what packets state, which is read already.
    let mut known: HashMap<_, Vec<Kept>> = HashMap::new();
    let mut copies = 0;
    let mut first: Option<(usize, u64)> = None;
    packets.retain(|packet| {
        // Equal events may have happened twice where nothing tells when.
        if packet.begin.is_none() && packet.sequence.is_none() {
            return true;
        }
        let stated = (packet.begin, packet.end, packet.sequence, packet.size);
        let alike = known.entry(stated).or_default();
        let own = bytes(packet);
        let is_copy = (alike.iter()).any(|&(file, of)| file != packet.file && of == own);
        if is_copy {
            copies += 1;
            first.get_or_insert((packet.file, packet.offset));
        } else {
            alike.push((packet.file, own));
        }
        !is_copy
    });
    let (file, offset) = first?;
    let place = Place {
        file: files[file].name.clone(),
        byte: Some(offset),
        ..Place::default()
    };
    let what = counted(copies, "packet is", "packets are") + " in another file of the stream, too";
    Some(Diagnostic {
        count: Some(copies),
        ..Diagnostic::new(DiagnosticCode::CopiedPacket, place, what)
    })
}
