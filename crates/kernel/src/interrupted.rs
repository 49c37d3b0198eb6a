//! Waits that an interrupt ended, and what a processor did in that interrupt before the wake-up.
//!
//! Whatever the interrupt dealt with just before it woke the thread is what the thread waited for: a
//! completed disk request, a packet. Time lines tell when and where that was; passes of their own
//! (`disks`, `peers`) read what happened there.

use std::collections::BTreeMap;

use slowpath_model::{CpuId, ThreadId, TimeRange, Timestamp};

use crate::timelines::{Doing, Timelines, WakeUp, Waker};

/// An interrupt completes a request and wakes who waits for it at once: what was completed longer before
/// the wake-up is another one.
const COMPLETED_NS: i64 = 2_000_000;
/// Packets that are received one right after the other are handed on together.
const RECEIVED_NS: i64 = 100_000;

/// A wait that an interrupt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterruptedWait {
    /// From its begin to the wake-up.
    pub range: TimeRange,
    /// The processor that was interrupted.
    pub cpu: CpuId,
    /// When the interrupt dealt with what was waited for; the wake-up, or the receipt of the packet that
    /// led to it, is the last point of it.
    pub interrupt: TimeRange,
}

impl InterruptedWait {
    /// The wait in which `thread` was right before `at`, where an interrupt ended it that was not for a
    /// packet.
    pub fn by_device(lines: &Timelines, thread: ThreadId, at: Timestamp) -> Option<Self> {
        Self::ended(lines, thread, at, |wake| match wake.by {
            Waker::Interrupt(_) => Some((wake.begin, COMPLETED_NS)),
            _ => None,
        })
    }

    /// The same where a packet that nobody of this host sent ended it.
    pub fn by_packet(lines: &Timelines, thread: ThreadId, at: Timestamp) -> Option<Self> {
        Self::ended(lines, thread, at, |wake| match wake.by {
            Waker::Arrival { received, .. } => Some((received, RECEIVED_NS)),
            _ => None,
        })
    }

    /// `dealt_with`: the last point at which the interrupt dealt with what was waited for, and how long
    /// before it may have begun to, in nanoseconds.
    fn ended(
        lines: &Timelines,
        thread: ThreadId,
        at: Timestamp,
        dealt_with: impl Fn(WakeUp) -> Option<(Timestamp, i64)>,
    ) -> Option<Self> {
        let stretch = lines.stretch_before(thread, at);
        let Doing::Blocked {
            wake: Some(wake), ..
        } = stretch.doing
        else {
            return None;
        };
        let (last, before) = dealt_with(wake)?;
        let begin = Timestamp::from_ns(last.ns().saturating_sub(before));
        let begin = begin.max(stretch.range.begin).min(last);
        let past = Timestamp::from_ns(last.ns().saturating_add(1));
        Some(Self {
            range: TimeRange::new(stretch.range.begin.min(wake.begin), wake.begin),
            cpu: wake.cpu,
            interrupt: TimeRange::new(begin, past),
        })
    }
}

/// Times that a pass looks at: whether something lies in them is asked for each event.
#[derive(Debug, Default)]
pub(crate) struct Times(Vec<TimeRange>);

impl Times {
    /// Puts together what overlaps.
    pub(crate) fn of(ranges: Vec<TimeRange>) -> Self {
        Self(TimeRange::union(ranges))
    }

    pub(crate) fn contain(&self, at: Timestamp) -> bool {
        let past = self.0.partition_point(|range| range.begin <= at);
        self.0[..past]
            .last()
            .is_some_and(|range| range.contains(at))
    }

    pub(crate) fn touch(&self, other: TimeRange) -> bool {
        let first = self.0.partition_point(|range| range.end <= other.begin);
        (self.0.get(first)).is_some_and(|range| range.begin <= other.end)
    }
}

/// The interrupts of waits, by processor.
pub(crate) fn interrupts<'waits>(
    waits: impl Iterator<Item = &'waits InterruptedWait>,
) -> BTreeMap<CpuId, Times> {
    let mut by_cpu: BTreeMap<CpuId, Vec<TimeRange>> = BTreeMap::new();
    for wait in waits {
        by_cpu.entry(wait.cpu).or_default().push(wait.interrupt);
    }
    let times = |(cpu, ranges)| (cpu, Times::of(ranges));
    by_cpu.into_iter().map(times).collect()
}
