//! A critical path as plain data: segments that tile the window, links between threads, sums.

use std::collections::BTreeMap;
use std::sync::Arc;

use slowpath_model::{HostId, Nanoseconds, ThreadId, TimeRange, Timestamp};
use utoipa::ToSchema;

use crate::{Cause, Correction, Links, Segments};

/// What the path does in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ToSchema)]
#[schema(as = StateName, rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// The thread ran.
    Running,
    /// The thread could have gone on but lost its processor.
    Preempted,
    /// The thread had been woken and waited for a processor.
    WaitCpu,
    /// The thread had a processor, but an interrupt used it.
    Interrupted,
    /// The thread waited for something in the kernel that no thread of the trace stands for.
    Blocked,
    /// The thread waited for a time to come.
    Timer,
    /// The thread waited for a disk.
    BlockDevice,
    /// The thread waited for a packet from another host, or a packet was on its way.
    Network,
    /// The thread waited for a keyboard, a mouse or a terminal.
    UserInput,
    /// The thread waited for another processor to be told.
    Ipi,
    /// The thread worked for another request. Only in paths of requests (crate `slowpath-requests`).
    BlockedByRequest,
    /// The trace does not tell.
    Unknown,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 12] = [
        Self::Running,
        Self::Preempted,
        Self::WaitCpu,
        Self::Interrupted,
        Self::Blocked,
        Self::Timer,
        Self::BlockDevice,
        Self::Network,
        Self::UserInput,
        Self::Ipi,
        Self::BlockedByRequest,
        Self::Unknown,
    ];

    /// The name in every output, for instance `BLOCK_DEVICE`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "RUNNING",
            Self::Preempted => "PREEMPTED",
            Self::WaitCpu => "WAIT_CPU",
            Self::Interrupted => "INTERRUPTED",
            Self::Blocked => "BLOCKED",
            Self::Timer => "TIMER",
            Self::BlockDevice => "BLOCK_DEVICE",
            Self::Network => "NETWORK",
            Self::UserInput => "USER_INPUT",
            Self::Ipi => "IPI",
            Self::BlockedByRequest => "BLOCKED_BY_REQUEST",
            Self::Unknown => "UNKNOWN",
        }
    }
}

/// A piece of the path: one thread in one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// When, by the clock of the path's host; the next segment begins where this one ends.
    pub range: TimeRange,
    /// When, as it was recorded: by the clock of the segment's own host.
    pub recorded: TimeRange,
    /// Where it is.
    pub host: HostId,
    /// The host's name, where the path lies on several hosts.
    pub host_name: Option<Arc<str>>,
    /// Whose state it is.
    pub thread: ThreadId,
    /// The thread's name at the end of the segment; empty where unknown.
    pub comm: Arc<str>,
    /// The state.
    pub state: State,
    /// How many threads wait for each other here: 0 in the thread that was asked about.
    pub depth: u32,
    /// The system call in which it waited, where the trace tells.
    pub call: Option<Arc<str>>,
    /// What ended its wait or interrupted it.
    pub cause: Cause,
    /// What the thread waited for or was interrupted by, in words for people; empty where there is no more to
    /// say than the state.
    pub detail: Arc<str>,
}

/// The path goes from one thread to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// When, by the clock of the path's host.
    pub at: Timestamp,
    /// The hosts of the two threads.
    pub hosts: [HostId; 2],
    /// Their names, where the path lies on several hosts.
    pub host_names: Option<[Arc<str>; 2]>,
    /// The thread that the path comes from, in the order of time.
    pub from: ThreadId,
    /// The thread in which it goes on.
    pub to: ThreadId,
    /// Why.
    pub kind: LinkKind,
    /// The system call in which the waiting thread waits or waited, where the trace tells.
    pub call: Option<Arc<str>>,
}

/// Why the path goes from one thread to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ToSchema)]
#[schema(rename_all = "kebab-case")]
pub enum LinkKind {
    /// `from` begins to wait for `to`.
    Wait,
    /// `from` wakes `to`.
    WakeUp,
    /// `from` creates `to`.
    Creation,
    /// `from` sends the packet that wakes `to`, or that `to` delivers.
    Packet,
    /// `from` gives up a mutex that `to` waits for; another thread has it next.
    Release,
}

impl LinkKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Wait,
        Self::WakeUp,
        Self::Creation,
        Self::Packet,
        Self::Release,
    ];

    /// The name in every output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::WakeUp => "wake-up",
            Self::Creation => "creation",
            Self::Packet => "packet",
            Self::Release => "release",
        }
    }
}

/// Where the time of a thread in a window went.
#[derive(Debug, PartialEq)]
pub struct CriticalPath {
    /// The host that was asked about: the path's times are by its clock.
    pub host: HostId,
    /// The thread that was asked about.
    pub thread: ThreadId,
    /// The window that was asked about.
    pub window: TimeRange,
    /// In the order of time; they cover the window without a gap or an overlap.
    pub segments: Segments,
    /// In the order of time.
    pub links: Links,
    /// How times of other hosts were corrected; empty where the path stays on its own host.
    pub corrections: Vec<Correction>,
}

/// A part of the path's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Where.
    pub host: HostId,
    /// Its name, where the path lies on several hosts.
    pub host_name: Option<Arc<str>>,
    /// Whose.
    pub thread: ThreadId,
    /// Its last name on the path.
    pub comm: Arc<str>,
    /// In which state.
    pub state: State,
    /// How long in all.
    pub length: Nanoseconds,
}

impl CriticalPath {
    /// Time by state; adds up to the window.
    pub fn summary(&self) -> BTreeMap<State, Nanoseconds> {
        let mut summary = BTreeMap::new();
        for segment in self.segments.iter() {
            *summary.entry(segment.state).or_default() += segment.range.length();
        }
        summary
    }

    /// Time by thread and state, the longest first; adds up to the window.
    pub fn shares(&self) -> Vec<Share> {
        let mut shares: BTreeMap<(HostId, ThreadId, State), Share> = BTreeMap::new();
        for segment in self.segments.iter() {
            let share = shares
                .entry((segment.host, segment.thread, segment.state))
                .or_insert_with(|| Share {
                    host: segment.host,
                    host_name: segment.host_name.clone(),
                    thread: segment.thread,
                    comm: Arc::default(),
                    state: segment.state,
                    length: Nanoseconds::ZERO,
                });
            share.length += segment.range.length();
            share.comm = segment.comm;
        }
        let mut shares: Vec<Share> = shares.into_values().collect();
        shares.sort_by_key(|share| std::cmp::Reverse(share.length));
        shares
    }
}
