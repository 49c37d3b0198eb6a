//! The hosts that a path may lead through, and how what it finds on another one is told.
//!
//! A path is asked of one host and told by that host's clock. What it does on another host is recorded
//! by the other clock: those times are kept, and the corrected ones stand beside them.

use std::sync::Arc;

use slowpath_kernel::InterruptedWait;
use slowpath_kernel::network::Network;
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{HostId, Nanoseconds, ThreadId, TimeRange, Timestamp};

/// A host.
#[derive(Clone, Copy, Debug)]
pub struct Host<'run> {
    /// Its name; empty where unknown.
    pub name: &'run str,
    /// Its threads over time, where its kernel was traced.
    pub lines: Option<&'run Timelines>,
}

/// All hosts of an experiment, by [`HostId`].
#[derive(Clone, Debug)]
pub struct Hosts<'run> {
    all: Vec<Host<'run>>,
    network: Option<&'run Network>,
}

/// How the times of a host were made those of the host that a path was asked of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// The host whose times were corrected.
    pub host: Arc<str>,
    /// Its clock is so many nanoseconds ahead; negative where it is behind.
    pub ahead_ns: i64,
    /// The corrected times may be off by so much; `None` where packets went one way only.
    pub uncertainty: Option<Nanoseconds>,
}

impl<'run> Hosts<'run> {
    /// Hosts with the packets between them, where these are known.
    pub fn new(all: Vec<Host<'run>>, network: Option<&'run Network>) -> Self {
        Self { all, network }
    }

    /// One host alone: [`HostId`] 0.
    pub fn one(lines: Option<&'run Timelines>) -> Self {
        Self::new(vec![Host { name: "", lines }], None)
    }

    /// Every host.
    pub fn ids(&self) -> impl Iterator<Item = HostId> + use<> {
        (0..self.all.len() as u32).map(HostId)
    }

    /// The time lines of a host.
    pub fn lines(&self, host: HostId) -> Option<&'run Timelines> {
        self.all.get(host.index())?.lines
    }

    /// The name of a host; empty where unknown.
    pub fn name(&self, host: HostId) -> &'run str {
        self.all.get(host.index()).map_or("", |host| host.name)
    }

    /// The recorded host whose packet ended the wait in which `thread` of `host` was right before `at`, by
    /// that host's clock; and whether the trace of the other one tells when it was sent.
    pub fn packet_from(
        &self,
        host: HostId,
        thread: ThreadId,
        at: Timestamp,
    ) -> Option<(HostId, bool)> {
        let wait = InterruptedWait::by_packet(self.lines(host)?, thread, at)?;
        let received = Timestamp::from_ns(wait.interrupt.end.ns().saturating_sub(1));
        let during = TimeRange::new(wait.range.begin, received);
        self.network?.peer(host, thread, wait.cpu, during)
    }

    /// Whether the trace of `other` has all events of `range`, which is told by the clock of `host`; none
    /// where the clocks cannot be compared.
    pub fn covers(&self, other: HostId, range: TimeRange, host: HostId) -> Option<bool> {
        let lines = self.lines(other)?;
        let there = |at| self.translate(at, host, other);
        Some(lines.covers(TimeRange::new(there(range.begin)?, there(range.end)?)))
    }

    /// A time of `from` by the clock of `to`; none where the two cannot be compared.
    pub fn translate(&self, at: Timestamp, from: HostId, to: HostId) -> Option<Timestamp> {
        match from == to {
            true => Some(at),
            false => self.network?.translate(at, from, to),
        }
    }

    pub(crate) fn network(&self) -> Option<&'run Network> {
        self.network
    }
}

/// What to say of the hosts of one path: nothing where it stays on its own.
#[derive(Debug, Default)]
pub(crate) struct Spread {
    names: Vec<(HostId, Arc<str>)>,
    /// By other host.
    pub(crate) corrections: Vec<Correction>,
}

impl Spread {
    /// Of a path that was asked of `own` at `begin` and is on `visited`, one after the other.
    pub(crate) fn of(
        hosts: &Hosts<'_>,
        own: HostId,
        begin: Timestamp,
        visited: impl Iterator<Item = HostId>,
    ) -> Self {
        let mut spread = Self::default();
        for host in visited.filter(|host| *host != own) {
            if spread.name(host).is_some() {
                continue;
            }
            if spread.names.is_empty() {
                spread.names.push((own, hosts.name(own).into()));
            }
            let name: Arc<str> = hosts.name(host).into();
            spread.names.push((host, name.clone()));
            let there = hosts
                .network
                .and_then(|all| all.translate(begin, own, host));
            spread.corrections.push(Correction {
                host: name,
                ahead_ns: there.unwrap_or(begin).ns().saturating_sub(begin.ns()),
                uncertainty: hosts.network.and_then(|all| all.uncertainty(own, host)),
            });
        }
        spread
    }

    /// The host's name, where the path lies on several.
    pub(crate) fn name(&self, host: HostId) -> Option<Arc<str>> {
        let found = self.names.iter().find(|(other, _)| *other == host);
        found.map(|(_, name)| name.clone())
    }
}
