//! The kernel's clocks as nanoseconds, where the standard library hides their zero.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC`: nanoseconds since some moment near boot; the clock of ftrace's `mono` and of
/// LTTng's user-space events.
pub fn monotonic_ns() -> i64 {
    read(ClockId::Monotonic)
}

/// `CLOCK_REALTIME`: nanoseconds since the Unix epoch.
pub fn realtime_ns() -> i64 {
    read(ClockId::Realtime)
}

/// CPU time that this process has used, in nanoseconds, its children not included.
pub fn process_cpu_ns() -> u64 {
    u64::try_from(read(ClockId::ProcessCPUTime)).unwrap_or(0)
}

/// CPU time that this thread has used.
pub fn thread_cpu() -> Duration {
    Duration::from_nanos(u64::try_from(read(ClockId::ThreadCPUTime)).unwrap_or(0))
}

fn read(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(time.tv_nsec)
}

/// A clock that counts ticks of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickClock {
    /// `CLOCK_MONOTONIC`: a tick is a nanosecond.
    Monotonic,
    /// The counter of the processor: x86's time-stamp counter, ARM's virtual counter.
    Processor,
}

/// What a clock of ticks and `CLOCK_MONOTONIC` (in nanoseconds) say at one moment: the closest of some tries. `None` where this
/// machine has no such clock.
pub fn pair(clock: TickClock) -> Option<(u64, u64)> {
    let monotonic = || u64::try_from(monotonic_ns()).unwrap_or(0);
    if clock == TickClock::Monotonic {
        let now = monotonic();
        return Some((now, now));
    }
    let mut closest: Option<(u64, (u64, u64))> = None;
    for _ in 0..5 {
        let (before, at, after) = (processor_ticks()?, monotonic(), processor_ticks()?);
        let apart = after.wrapping_sub(before);
        if closest.is_none_or(|(known, _)| apart < known) {
            closest = Some((apart, (before.wrapping_add(apart / 2), at)));
        }
    }
    closest.map(|(_, pair)| pair)
}

#[cfg(target_arch = "x86_64")]
fn processor_ticks() -> Option<u64> {
    // SAFETY: every x86-64 processor has the instruction, and it has no effect but its result.
    #[expect(unsafe_code, reason = "an instruction of the processor")]
    Some(unsafe { core::arch::x86_64::_rdtsc() })
}

#[cfg(target_arch = "aarch64")]
fn processor_ticks() -> Option<u64> {
    let ticks: u64;
    // SAFETY: Linux lets every process read this register; reading it has no effect but its result.
    #[expect(unsafe_code, reason = "an instruction of the processor")]
    unsafe {
        core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags));
    }
    Some(ticks)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn processor_ticks() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_both_clocks_go_forward_together() {
        let begin = pair(TickClock::Monotonic).expect("a pair");
        assert_eq!(begin.0, begin.1);
        let Some(first) = pair(TickClock::Processor) else {
            eprintln!("SKIPPED: this processor has no counter that is known here");
            return;
        };
        std::thread::sleep(Duration::from_millis(2));
        let second = pair(TickClock::Processor).expect("a pair");
        assert!(second.0 > first.0 && second.1 >= first.1 + 2_000_000);
    }
}
