//! What the benchmarks on made input share: numbers that look random, and this thread's CPU time.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};

/// A small generator of numbers that look random (xorshift64*); the same seed gives the same.
pub struct Numbers(pub u64);

impl Numbers {
    /// The next 64 bits; the lower ones are the worse.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`, which is below 2³¹.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 33) as usize % limit
    }
}

/// The CPU time that this thread has used, of its own and in the kernel.
///
/// # Errors
/// Where the kernel does not tell.
pub fn thread_cpu() -> anyhow::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD)?;
    let time = |time: nix::sys::time::TimeVal| {
        Duration::new(time.tv_sec() as u64, time.tv_usec() as u32 * 1000)
    };
    Ok(time(usage.user_time()) + time(usage.system_time()))
}
