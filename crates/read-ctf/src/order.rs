//! Whether the times that packets of a stream state can be true.
//!
//! A packet's begin is what its events' times are counted from: one damaged number moves them all. So
//! packets are left out that lie outside the time of the recording, and those that contradict the
//! others. Overlaps alone are told: tracers leave them where they close a packet late. That events lie
//! between begin and end is for the decoder to see.

use slowpath_model::{Diagnostic, DiagnosticCode, Place, TimeRange, counted};
use slowpath_source::contradicting;

use crate::decode::ClockScale;
use crate::packets::RawPacket;

/// Takes the packets out of a stream whose times cannot be true, and says so; whether those were the
/// first ones is returned.
pub(crate) fn leave_out_of_order(
    packets: &mut Vec<RawPacket>,
    clock: ClockScale,
    recorded: TimeRange,
    file_name: impl Fn(&RawPacket) -> String,
    diagnostics: &mut Vec<Diagnostic>,
) -> bool {
    let outside: Vec<usize> = (packets.iter().enumerate())
        .filter(|(_, packet)| !was_recorded(packet, clock, recorded))
        .map(|(position, _)| position)
        .collect();
    let why = "is not the time of the recording";
    let mut is_begin = leave_out(packets, &outside, why, &file_name, diagnostics);
    let timed = packets.iter().enumerate();
    let timed: Vec<(usize, (u64, u64))> = timed
        .filter_map(|(position, packet)| Some((position, packet.first_clock().zip(packet.end)?)))
        .collect();
    let stated: Vec<(u64, u64)> = timed.iter().map(|(_, times)| *times).collect();
    let wrong: Vec<usize> = (contradicting(&stated).into_iter())
        .map(|position| timed[position].0)
        .collect();
    let why = "the packets around it contradict";
    is_begin |= leave_out(packets, &wrong, why, &file_name, diagnostics);
    let mut end_before = 0;
    let overlaps = packets.iter().filter(|packet| {
        let begins_earlier = packet.begin.is_some_and(|begin| begin < end_before);
        end_before = packet.end.unwrap_or(end_before);
        begins_earlier
    });
    let overlaps = overlaps.count() as u64;
    if let Some(first) = packets.first()
        && overlaps > 0
    {
        let place = Place {
            file: file_name(first),
            ..Place::default()
        };
        let what = counted(overlaps, "packet begins", "packets begin")
            + " before the packet before it ends";
        diagnostics.push(Diagnostic {
            count: Some(overlaps),
            ..Diagnostic::new(DiagnosticCode::TimeGoesBack, place, what)
        });
    }
    is_begin
}

/// Takes out the packets at `positions`, which are in order; whether the first one of all is among them.
fn leave_out(
    packets: &mut Vec<RawPacket>,
    positions: &[usize],
    why: &str,
    file_name: impl Fn(&RawPacket) -> String,
    diagnostics: &mut Vec<Diagnostic>,
) -> bool {
    if positions.is_empty() {
        return false;
    }
    let mut kept: Vec<RawPacket> = Vec::with_capacity(packets.len());
    let mut left_out_before = 0;
    let mut told: Option<Diagnostic> = None;
    for (position, mut packet) in std::mem::take(packets).into_iter().enumerate() {
        if positions.binary_search(&position).is_err() {
            packet.left_out_before += std::mem::take(&mut left_out_before);
            kept.push(packet);
            continue;
        }
        left_out_before += packet.left_out_before + 1;
        if let Some(last) = kept.last_mut() {
            last.is_cut_off = true;
        }
        told.get_or_insert_with(|| {
            let place = Place {
                file: file_name(&packet),
                byte: Some(packet.offset),
                ..Place::default()
            };
            let (begin, end) = (packet.begin.unwrap_or(0), packet.end.unwrap_or(0));
            let what = format!("the packet's clock goes from {begin} to {end}, which {why}");
            Diagnostic {
                count: Some(positions.len() as u64),
                ..Diagnostic::new(DiagnosticCode::InvalidPacket, place, what)
            }
        });
    }
    diagnostics.extend(told);
    *packets = kept;
    positions.first() == Some(&0)
}

/// Whether a packet lies in the time of the recording, as far as it states its own.
pub(crate) fn was_recorded(packet: &RawPacket, clock: ClockScale, recorded: TimeRange) -> bool {
    let end = packet.end.filter(|_| packet.states_end);
    packet.begin.into_iter().chain(end).all(|value| {
        let at = clock.time(value);
        recorded.begin <= at && at <= recorded.end
    })
}
