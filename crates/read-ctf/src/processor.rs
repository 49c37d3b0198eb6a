//! Which processor a stream is of, where its packets contradict each other.
//!
//! LTTng has a buffer for each processor, so a stream is of one. Streams of other tracers may be of several.

use std::collections::BTreeMap;

use slowpath_model::{Diagnostic, DiagnosticCode, Place};

use crate::packets::RawPacket;

/// Takes all packets of a stream to be of the processor that most of them name (of several, the one that is named
/// first), and says which named another one.
pub(crate) fn agree(
    packets: &mut [RawPacket],
    file_name: impl Fn(&RawPacket) -> String,
) -> Option<Diagnostic> {
    let mut named: BTreeMap<u64, usize> = BTreeMap::new();
    for cpu in packets.iter().filter_map(|packet| packet.cpu) {
        *named.entry(cpu).or_default() += 1;
    }
    let most = named.values().copied().max()?;
    let mut in_order = packets.iter().filter_map(|packet| packet.cpu);
    let agreed = in_order.find(|cpu| named.get(cpu) == Some(&most))?;
    let mut told: Option<Diagnostic> = None;
    for packet in packets {
        let Some(other) = packet.cpu.replace(agreed).filter(|cpu| *cpu != agreed) else {
            continue;
        };
        let told = told.get_or_insert_with(|| {
            let place = Place {
                file: file_name(packet),
                byte: Some(packet.offset),
                ..Place::default()
            };
            let what = format!("the packet names processor {other}, its stream is of {agreed}");
            Diagnostic::new(DiagnosticCode::OtherProcessor, place, what)
        });
        told.count = Some(told.count.unwrap_or(0) + 1);
    }
    told
}
