//! Waiting for several descriptors at once, with a limit: poll(2) without its record keeping.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Waits until one of `descriptors` is readable (or broken), at most `limit`; says for each whether
/// it is. An interruption by a signal counts as nothing readable.
///
/// # Errors
/// When poll(2) refuses, which it does for too many descriptors.
pub fn wait_readable(descriptors: &[BorrowedFd<'_>], limit: Duration) -> io::Result<Vec<bool>> {
    let mut entries: Vec<_> = descriptors
        .iter()
        .map(|one| PollFd::from_borrowed_fd(*one, PollFlags::IN))
        .collect();
    let limit = Timespec {
        tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: limit.subsec_nanos().into(),
    };
    match poll(&mut entries, Some(&limit)) {
        Ok(_) => Ok(entries
            .iter()
            .map(|entry| !entry.revents().is_empty())
            .collect()),
        Err(rustix::io::Errno::INTR) => Ok(vec![false; descriptors.len()]),
        Err(cause) => Err(cause.into()),
    }
}
