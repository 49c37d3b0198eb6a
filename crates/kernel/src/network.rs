//! Packets between the hosts of an experiment: which segment that one received another had sent, and
//! how their clocks relate, as these packets show.
//!
//! A TCP segment is known by its addresses, ports, numbers and flags, whoever looks at it. Who sent it
//! and whom it woke is not kept here: that is the matter of the hosts' time lines.

use std::collections::BTreeMap;

use slowpath_concepts::Segment;
use slowpath_model::{CpuId, HostId, Nanoseconds, ThreadId, TimeRange, Timestamp};

use crate::alignment::{Alignment, Passage, align};
use crate::timelines::Timelines;

/// No segment is on its way for longer (RFC 9293, maximum segment lifetime); what was sent before is
/// another one with the same numbers.
const LIFETIME_NS: i64 = 120_000_000_000;

/// A TCP segment that a host sent or received; copies of it are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentSeen {
    /// See [`identity`].
    pub(crate) identity: u64,
    /// See [`connection`].
    pub(crate) connection: u64,
    /// By the host's clock.
    pub(crate) at: Timestamp,
    /// On which of the host's processors.
    pub(crate) cpu: CpuId,
    /// It was sent, else received.
    pub(crate) sent: bool,
}

impl SegmentSeen {
    pub(crate) fn row(self) -> [u64; 4] {
        let word = u64::from(self.cpu.0) | u64::from(self.sent) << 32;
        let at = self.at.ns().cast_unsigned();
        [self.identity, self.connection, at, word]
    }

    pub(crate) fn from_row(&[identity, connection, at, word]: &[u64; 4]) -> Self {
        Self {
            identity,
            connection,
            at: Timestamp::from_ns(at.cast_signed()),
            cpu: CpuId(word as u32),
            sent: word >> 32 != 0,
        }
    }
}

/// A number for a segment that no other has but by chance (one pair of 10¹⁰ segments).
pub(crate) fn identity(segment: &Segment<'_>) -> u64 {
    let [from, to] = segment.addresses.map(number);
    let [source, destination] = segment.ports.map(u64::from);
    mixed([
        from << 32 | to,
        source << 48 | destination << 32 | u64::from(segment.sequence),
        u64::from(segment.acknowledgement) << 16 | u64::from(segment.flags),
    ])
}

/// A number for a segment's connection, whichever way the segment goes.
pub(crate) fn connection(segment: &Segment<'_>) -> u64 {
    let [from, to] = segment.addresses.map(number);
    let [source, destination] = segment.ports.map(u64::from);
    let ends = [from << 16 | source, to << 16 | destination];
    mixed([ends[0].min(ends[1]), ends[0].max(ends[1])])
}

fn number(bytes: &[u8]) -> u64 {
    (bytes.iter()).fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// The finaliser of SplitMix64 after each word.
fn mixed<const N: usize>(words: [u64; N]) -> u64 {
    words.into_iter().fold(0, |mixed: u64, word| {
        let mut mixed = (mixed ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    })
}

/// Where a segment that was received comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The host that sent it.
    pub host: HostId,
    /// The processor there.
    pub cpu: CpuId,
    /// When, by that host's clock.
    pub sent: Timestamp,
}

/// How the clocks of two hosts relate, by the packets between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockRelation {
    /// The two hosts; the first one's clock is the reference.
    pub hosts: (HostId, HostId),
    /// How to read the second one's clock as the first one's.
    pub alignment: Alignment,
}

/// The packets between hosts, and their clocks.
#[derive(Debug, Default)]
pub struct Network {
    /// By host.
    hosts: Vec<OfHost>,
    relations: Vec<ClockRelation>,
}

#[derive(Debug, Default)]
struct OfHost {
    /// In the order of processor and time.
    arrivals: Vec<Arrival>,
    /// In the order of connection and time: the threads that sent on it, each once until another did.
    senders: Vec<(u64, Timestamp, ThreadId)>,
    clock: Clock,
}

/// A segment of another recorded host.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    cpu: CpuId,
    at: Timestamp,
    connection: u64,
    from: HostId,
    /// `None` where the sending is not in that host's trace, which has other segments of the connection.
    origin: Option<Origin>,
}

/// The way from a host's clock to one that all hosts which can be compared have in common.
#[derive(Clone, Debug, Default)]
struct Clock {
    /// The host of that clock; `None` where no packet tells of the host's own.
    common: Option<HostId>,
    /// Each alignment, and whether it leads from its clock to its reference.
    steps: Vec<(Alignment, bool)>,
}

/// A segment seen by one of several hosts.
type Seen = (HostId, SegmentSeen);

impl Network {
    /// Finds the segments of hosts again on the others: `hosts` by [`HostId`], with time lines that were
    /// built among hosts ([`Timelines::build_among_hosts`]). Takes about 100 bytes for each segment.
    pub fn of(hosts: &[Option<&Timelines>]) -> Self {
        let mut all: Vec<Seen> = Vec::new();
        for (lines, host) in hosts.iter().zip((0..).map(HostId)) {
            let segments = lines.iter().flat_map(|lines| lines.segments());
            all.extend(segments.map(|segment| (host, segment)));
        }
        // Of one host what was sent comes first: who receives a segment at the time at which it was
        // sent has received its own.
        all.sort_unstable_by_key(|(host, seen)| {
            (seen.identity, *host, seen.at, !seen.sent, seen.cpu)
        });
        let groups = || {
            all.chunk_by(|(_, one), (_, other)| one.identity == other.identity)
                .filter_map(Copies::of)
        };
        let mut network = Self {
            hosts: hosts.iter().map(|_| OfHost::default()).collect(),
            relations: relations(groups()),
        };
        network.compare_clocks();
        let ends = ends(&all);
        for seen in all.chunk_by(|(_, one), (_, other)| one.identity == other.identity) {
            network.add_arrivals(seen, &ends);
        }
        for host in &mut network.hosts {
            (host.arrivals).sort_unstable_by_key(|arrival| (arrival.cpu, arrival.at));
        }
        for (of_host, lines) in network.hosts.iter_mut().zip(hosts) {
            of_host.senders = lines.map(senders).unwrap_or_default();
        }
        network
    }

    /// Where the segment comes from that woke `thread` of `host`, the last one before that having been
    /// received on `cpu` at the end of `wait`.
    ///
    /// The kernel receives several packets before it looks for who waits for them. So the last one on a
    /// connection on which the thread itself was the last to send is taken, if one came during the
    /// wait; else the last one of all.
    pub fn origin(
        &self,
        host: HostId,
        thread: ThreadId,
        cpu: CpuId,
        wait: TimeRange,
    ) -> Option<Origin> {
        let is_wanted = |arrival: &Arrival| arrival.origin.is_some();
        self.arrival(host, thread, cpu, wait, is_wanted)?.origin
    }

    /// The other recorded host of the connection on which that segment came, and whether it is known when
    /// it was sent.
    pub fn peer(
        &self,
        host: HostId,
        thread: ThreadId,
        cpu: CpuId,
        wait: TimeRange,
    ) -> Option<(HostId, bool)> {
        let arrival = self.arrival(host, thread, cpu, wait, |_| true)?;
        Some((arrival.from, arrival.origin.is_some()))
    }

    fn arrival(
        &self,
        host: HostId,
        thread: ThreadId,
        cpu: CpuId,
        wait: TimeRange,
        is_wanted: impl Fn(&Arrival) -> bool,
    ) -> Option<Arrival> {
        /// What the kernel takes from a device in one go (`NAPI_POLL_WEIGHT`).
        const AT_A_TIME: usize = 64;
        let arrivals = &self.hosts.get(host.index())?.arrivals;
        let past = arrivals.partition_point(|arrival| (arrival.cpu, arrival.at) <= (cpu, wait.end));
        let recent = arrivals[..past].iter().rev();
        let recent = recent.take_while(|arrival| arrival.cpu == cpu && arrival.at > wait.begin);
        let mut recent = recent.filter(|arrival| is_wanted(arrival)).take(AT_A_TIME);
        let is_own =
            |arrival: &&Arrival| self.sender(host, arrival.connection, arrival.at) == Some(thread);
        let own = recent.clone().find(is_own);
        own.or_else(|| recent.next().filter(|last| last.at == wait.end))
            .copied()
    }

    /// The thread of `host` that was the last to send on a connection before `at`.
    fn sender(&self, host: HostId, connection: u64, at: Timestamp) -> Option<ThreadId> {
        let senders = &self.hosts.get(host.index())?.senders;
        let past = senders.partition_point(|(on, since, _)| (*on, *since) < (connection, at));
        let (on, _, thread) = senders.get(past.checked_sub(1)?)?;
        (*on == connection).then_some(*thread)
    }

    /// The clocks of every two hosts with packets between them.
    pub fn relations(&self) -> &[ClockRelation] {
        &self.relations
    }

    /// What the clock of `to` showed when that of `from` showed `at`; `None` where no packets tell.
    pub fn translate(&self, at: Timestamp, from: HostId, to: HostId) -> Option<Timestamp> {
        if from == to {
            return Some(at);
        }
        let (from, to) = self.clocks(from, to)?;
        let read = |at, (alignment, forward): (Alignment, bool)| match forward {
            true => alignment.to_reference(at),
            false => alignment.from_reference(at),
        };
        let common = from.steps.iter().fold(at, |at, &step| read(at, step));
        let back = to.steps.iter().rev();
        Some(back.fold(common, |at, &(alignment, forward)| {
            read(at, (alignment, !forward))
        }))
    }

    /// By how much a translated time may be off; `None` where packets went one way only.
    pub fn uncertainty(&self, from: HostId, to: HostId) -> Option<Nanoseconds> {
        let (from, to) = self.clocks(from, to)?;
        let steps = from.steps.iter().chain(&to.steps);
        steps.map(|(alignment, _)| alignment.uncertainty).sum()
    }

    fn clocks(&self, from: HostId, to: HostId) -> Option<(&Clock, &Clock)> {
        let clock = |host: HostId| self.hosts.get(host.index()).map(|host| &host.clock);
        let (from, to) = (clock(from)?, clock(to)?);
        (from.common.is_some() && from.common == to.common).then_some((from, to))
    }

    /// Finds for each host a way to a common clock, over the relations that are known best.
    fn compare_clocks(&mut self) {
        let mut best: Vec<&ClockRelation> = self.relations.iter().collect();
        best.sort_by_key(|relation| {
            let uncertainty = relation.alignment.uncertainty;
            (uncertainty.is_none(), uncertainty, relation.hosts)
        });
        for first in 0..self.hosts.len() {
            if self.hosts[first].clock.common.is_some() {
                continue;
            }
            let common = Some(HostId(first as u32));
            self.hosts[first].clock.common = common;
            loop {
                let is_reached = |host: HostId| self.hosts[host.index()].clock.common == common;
                let next = best
                    .iter()
                    .find(|relation| is_reached(relation.hosts.0) != is_reached(relation.hosts.1));
                let Some(relation) = next else { break };
                let (reference, host) = relation.hosts;
                let (near, far, forward) = match is_reached(reference) {
                    true => (reference, host, true),
                    false => (host, reference, false),
                };
                let mut steps = vec![(relation.alignment, forward)];
                steps.extend_from_slice(&self.hosts[near.index()].clock.steps);
                self.hosts[far.index()].clock = Clock { common, steps };
            }
        }
    }

    /// Adds the segments of others that hosts received: of `seen`, all that was seen of one segment.
    fn add_arrivals(&mut self, seen: &[Seen], ends: &[(u64, HostId)]) {
        let copies = Copies::of(seen);
        for of_host in seen.chunk_by(|(one, _), (other, _)| one == other) {
            let (host, first) = of_host[0];
            if first.sent {
                // It is this host's own.
                continue;
            }
            for (_, received) in of_host.iter().filter(|(_, seen)| !seen.sent) {
                let copies = copies.as_ref();
                let origin = copies.and_then(|of| self.first_sending(of, host, received.at));
                let from = origin.map(|origin| origin.host);
                let from = from.or_else(|| other_end(ends, received.connection, host));
                let Some(from) = from else { continue };
                self.hosts[host.index()].arrivals.push(Arrival {
                    cpu: received.cpu,
                    at: received.at,
                    connection: received.connection,
                    from,
                    origin,
                });
            }
        }
    }

    /// Of the copies of a segment the first: who sent that one wrote what is in it.
    fn first_sending(
        &self,
        copies: &Copies<'_>,
        host: HostId,
        received: Timestamp,
    ) -> Option<Origin> {
        let by_origin = self.translate(received, host, copies.origin)?;
        let earliest = by_origin.ns().saturating_sub(LIFETIME_NS);
        let mut sendings = copies.sent.iter();
        let (_, sent) = sendings.find(|(_, sent)| sent.sent && sent.at.ns() >= earliest)?;
        Some(Origin {
            host: copies.origin,
            cpu: sent.cpu,
            sent: sent.at,
        })
    }
}

/// The hosts that saw segments of each connection, in order.
fn ends(all: &[Seen]) -> Vec<(u64, HostId)> {
    let ends = all.iter().map(|(host, seen)| (seen.connection, *host));
    let mut ends: Vec<(u64, HostId)> = ends.collect();
    ends.sort_unstable();
    ends.dedup();
    ends
}

/// The only other host that saw segments of a connection of `host`.
fn other_end(ends: &[(u64, HostId)], connection: u64, host: HostId) -> Option<HostId> {
    let first = ends.partition_point(|(of, _)| *of < connection);
    let of_this = ends[first..].iter().take_while(|(of, _)| *of == connection);
    let mut others = of_this.filter(|(_, end)| *end != host);
    let (_, other) = others.next()?;
    others.next().is_none().then_some(*other)
}

/// The threads of a host that sent on each connection.
fn senders(lines: &Timelines) -> Vec<(u64, Timestamp, ThreadId)> {
    let sent = lines.segments().filter(|segment| segment.sent);
    let by_thread = sent.filter_map(|segment| {
        let thread = lines.sender(segment.cpu, segment.at)?;
        Some((segment.connection, segment.at, thread))
    });
    let mut senders: Vec<_> = by_thread.collect();
    senders.sort_unstable();
    senders.dedup_by_key(|(connection, _, thread)| (*connection, *thread));
    senders
}

/// A segment that one host sent and others received, with all its copies: sent again, or handed from
/// device to device.
struct Copies<'seen> {
    origin: HostId,
    /// What the origin saw of it, in the order of time.
    sent: &'seen [Seen],
    /// What all saw of it.
    received: &'seen [Seen],
}

impl<'seen> Copies<'seen> {
    /// `None` where nobody else received it, or where several hosts seem to have sent it.
    fn of(all: &'seen [Seen]) -> Option<Self> {
        let mut hosts = all.chunk_by(|(one, _), (other, _)| one == other);
        // A host that receives it before it sends it hands it on.
        let mut origins = hosts.by_ref().filter(|seen| seen[0].1.sent);
        let sent = origins.next()?;
        let (origin, _) = sent[0];
        (origins.next().is_none() && sent.len() < all.len()).then_some(Self {
            origin,
            sent,
            received: all,
        })
    }

    /// For each host that received it, from the first sending to the first receipt: that one cannot
    /// have come before.
    fn passages(&self) -> impl Iterator<Item = (HostId, Passage)> {
        let hosts = self.received.chunk_by(|(one, _), (other, _)| one == other);
        let others = hosts.filter(|seen| seen[0].0 != self.origin);
        others.map(|seen| {
            let (host, first) = seen[0];
            let passage = Passage {
                sent: self.sent[0].1.at,
                received: first.at,
            };
            (host, passage)
        })
    }
}

/// The clocks of every two hosts with segments between them.
fn relations<'seen>(all: impl Iterator<Item = Copies<'seen>>) -> Vec<ClockRelation> {
    // By sender and receiver.
    let mut passages: BTreeMap<(HostId, HostId), Vec<Passage>> = BTreeMap::new();
    for copies in all {
        for (host, passage) in copies.passages() {
            passages
                .entry((copies.origin, host))
                .or_default()
                .push(passage);
        }
    }
    let mut pairs: Vec<(HostId, HostId)> = (passages.keys())
        .map(|&(one, other)| (one.min(other), one.max(other)))
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    let between = |from, to| passages.get(&(from, to)).map_or(&[][..], Vec::as_slice);
    let relation = |(first, second)| {
        let alignment = align(between(first, second), between(second, first))?;
        Some(ClockRelation {
            hosts: (first, second),
            alignment,
        })
    };
    pairs.into_iter().filter_map(relation).collect()
}
