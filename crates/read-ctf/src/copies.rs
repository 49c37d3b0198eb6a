//! Packets that are there twice, as where somebody copied a file of a stream beside it.

use std::cmp::Reverse;
use std::collections::HashMap;

use slowpath_model::{Diagnostic, DiagnosticCode, Place, counted};
use slowpath_source::NamedBytes;

use crate::packets::RawPacket;

/// Leaves out of a stream what another of its files has as well: byte for byte or as far as its bytes go, which is said
/// where that file lies in the same folder (snapshots of one session may share packets); and what states the same number
/// and times with other bytes, as one of them is damaged: of these one stays that more files have, or of which more events
/// can be read.
pub(crate) fn leave_out_copies(
    packets: &mut Vec<RawPacket>,
    files: &[NamedBytes],
    events: impl Fn(&RawPacket) -> u64,
) -> Vec<Diagnostic> {
    if packets.iter().all(|packet| packet.file == packets[0].file) {
        return Vec::new();
    }
    let bytes = |packet: &RawPacket| {
        let range = packet.offset as usize..(packet.offset + packet.size) as usize;
        files[packet.file].get().get(range)
    };
    let goes_on = |of: &RawPacket, own: &RawPacket| {
        let bytes = bytes(of).zip(bytes(own));
        bytes.is_some_and(|(of, own)| of.starts_with(own))
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
    let (mut of_folder, mut differing) = (Vec::new(), Vec::new());
    for ((_, stated, sequence), mut alike) in alike {
        // The longest first, of which others may be the beginning.
        alike.sort_by_key(|&position| (Reverse(packets[position].size), position));
        let takes_time = stated.is_some_and(|(begin, end)| begin < end);
        let is_one = stated.is_some() && (sequence.is_some() || takes_time);
        let (first, others) = (alike[0], &alike[1..]);
        let differs = |other: &usize| {
            let (of, own) = (&packets[first], &packets[*other]);
            of.file != own.file && !goes_on(of, own)
        };
        let damaged = is_one && others.iter().any(differs);
        if damaged {
            // What several files have is whole, most likely.
            let all = alike.clone();
            alike.sort_by_cached_key(|&position| {
                let own = &packets[position];
                let same = |other: &&usize| {
                    let other = &packets[**other];
                    goes_on(own, other) || goes_on(other, own)
                };
                Reverse((all.iter().filter(same).count(), events(own)))
            });
        }
        for (rank, &position) in alike.iter().enumerate() {
            let own = &packets[position];
            let mut before = alike[..rank].iter().map(|before| &packets[*before]);
            let original = before.find(|of| of.file != own.file && (damaged || goes_on(of, own)));
            let Some(original) = original else { continue };
            is_copy[position] = true;
            if damaged && !goes_on(original, own) {
                differing.push(position);
            } else if folder(&files[own.file]) == folder(&files[original.file]) {
                of_folder.push(position);
            }
        }
    }
    let told = |mut positions: Vec<usize>, what: &str| {
        positions.sort_unstable();
        let first = &packets[*positions.first()?];
        let place = Place {
            file: files[first.file].name.clone(),
            byte: Some(first.offset),
            ..Place::default()
        };
        let count = positions.len() as u64;
        let what = counted(count, "packet is", "packets are") + what;
        Some(Diagnostic {
            count: Some(count),
            ..Diagnostic::new(DiagnosticCode::CopiedPacket, place, what)
        })
    };
    let alike = told(of_folder, " in another file of the stream, too");
    let unlike = " in another file of the stream with other content; of each one is read that more files have, or that has more events";
    let diagnostics = alike.into_iter().chain(told(differing, unlike)).collect();
    let mut copies = is_copy.into_iter();
    packets.retain(|_| !copies.next().unwrap_or(false));
    diagnostics
}

/// Where a file lies.
pub(crate) fn folder(file: &NamedBytes) -> Option<&str> {
    Some(file.name.rsplit_once('/')?.0)
}
