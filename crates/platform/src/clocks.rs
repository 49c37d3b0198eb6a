//! The kernel's clocks as nanoseconds, where the standard library hides their zero.

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

fn read(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(time.tv_nsec)
}
