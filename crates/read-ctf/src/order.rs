//! Whether the times that packets of a stream state follow each other.
//!
//! A packet's begin is what its events' times are counted from: one damaged number moves them all. So a
//! packet whose times do not lie between those of its neighbours, which agree with each other, is left
//! out. Overlaps alone are told: tracers leave them where they close a packet late.

use slowpath_model::{Diagnostic, DiagnosticCode, Place};

use crate::packets::RawPacket;

/// Takes the packets out of a stream whose times contradict those around them, and says so.
pub(crate) fn leave_out_of_order(
    packets: &mut Vec<RawPacket>,
    file_name: impl Fn(&RawPacket) -> String,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut kept: Vec<RawPacket> = Vec::with_capacity(packets.len());
    let mut overlaps = 0;
    let mut all = std::mem::take(packets).into_iter().peekable();
    while let Some(packet) = all.next() {
        let (before, after) = (kept.last().and_then(times), all.peek().and_then(times));
        let Some(own) = times(&packet) else {
            kept.push(packet);
            continue;
        };
        if !fits(before, own, after) {
            let place = Place {
                file: file_name(&packet),
                byte: Some(packet.offset),
                ..Place::default()
            };
            let what = format!(
                "the packet's clock goes from {} to {}, which the packets around it contradict",
                own.0, own.1
            );
            diagnostics.push(Diagnostic::new(DiagnosticCode::InvalidPacket, place, what));
            if let Some(last) = kept.last_mut() {
                last.is_cut_off = true;
            }
            continue;
        }
        overlaps += u64::from(before.is_some_and(|before| own.0 < before.1));
        kept.push(packet);
    }
    if let Some(first) = kept.first()
        && overlaps > 0
    {
        let place = Place {
            file: file_name(first),
            ..Place::default()
        };
        let what = format!("{overlaps} packets begin before the packet before them ends");
        diagnostics.push(Diagnostic {
            count: Some(overlaps),
            ..Diagnostic::new(DiagnosticCode::TimeGoesBack, place, what)
        });
    }
    *packets = kept;
}

/// From when to when, by the stream's clock, where a packet states both: the end of one that was never
/// closed, as its tracer crashed, is 0.
fn times(packet: &RawPacket) -> Option<(u64, u64)> {
    packet.begin().zip(packet.end.filter(|end| *end > 0))
}

/// Whether a packet's times are possible between those of its neighbours. Where these contradict each
/// other, nothing tells which packet is wrong.
fn fits(before: Option<(u64, u64)>, own: (u64, u64), after: Option<(u64, u64)>) -> bool {
    match (before, after) {
        (Some(before), Some(after)) if before.1 <= after.0 => {
            before.0 <= own.0 && own.0 <= own.1 && own.1 <= after.1
        }
        (Some(before), None) => before.0 <= own.0,
        _ => true,
    }
}
