//! Packets that are there twice, as where somebody copied a file of a stream beside it.

use std::collections::HashMap;

use slowpath_model::{Diagnostic, DiagnosticCode, Place, counted};
use slowpath_source::NamedBytes;

use crate::packets::RawPacket;

/// Leaves out of a stream what another of its files has as well, byte for byte or as far as its bytes go, and says so where
/// that file lies in the same folder: snapshots of one session may share packets.
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
    let mut alike: HashMap<_, Vec<usize>> = HashMap::new();
    for (position, packet) in packets.iter().enumerate() {
        // Equal events may have happened twice where nothing tells when.
        if packet.begin.is_some() || packet.sequence.is_some() {
            let stated = (packet.begin, packet.stated(), packet.sequence);
            alike.entry(stated).or_default().push(position);
        }
    }
    let mut is_copy = vec![false; packets.len()];
    let mut of_folder = Vec::new();
    for alike in alike.values() {
        for &position in alike {
            let own = &packets[position];
            let original = alike.iter().find(|&&other| {
                let of = &packets[other];
                let comes_first = of.size > own.size || of.size == own.size && other < position;
                comes_first
                    && of.file != own.file
                    && bytes(of)
                        .zip(bytes(own))
                        .is_some_and(|(of, own)| of.starts_with(own))
            });
            if let Some(original) = original {
                is_copy[position] = true;
                let [own, of] =
                    [own.file, packets[*original].file].map(|file| folder(&files[file]));
                if own == of {
                    of_folder.push(position);
                }
            }
        }
    }
    let first = of_folder.iter().min().map(|position| &packets[*position]);
    let place = first.map(|first| Place {
        file: files[first.file].name.clone(),
        byte: Some(first.offset),
        ..Place::default()
    });
    let mut copies = is_copy.into_iter();
    packets.retain(|_| !copies.next().unwrap_or(false));
    let count = of_folder.len() as u64;
    let what = counted(count, "packet is", "packets are") + " in another file of the stream, too";
    Some(Diagnostic {
        count: Some(count),
        ..Diagnostic::new(DiagnosticCode::CopiedPacket, place?, what)
    })
}

/// Where a file lies.
pub(crate) fn folder(file: &NamedBytes) -> Option<&str> {
    Some(file.name.rsplit_once('/')?.0)
}
