//! Links between the nodes of a cluster: which message that one node handed over is which that another one got.
//!
//! By the two ends of the connection, and by the order on it, as messages come: what is received is the first of what was
//! handed over and not received yet. What was on its way when recording began, or is missing, would shift that order
//! unseen, so joining counts from where a link rested with nothing on its way; until a link has done so, what is joined
//! of it waits, and is dropped where more comes in than went out. In bounded memory.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_concepts::{BusKind, BusMessage, BusMoment, StoreClientId};
use slowpath_engine::Distribution;
use slowpath_model::{Nanoseconds, Timestamp};

use crate::calls::told::Endpoint;
use crate::findings::SLOW;
use crate::server::Address;
use crate::told::{Told, What};
use crate::totals::{Asked, Keeps};

/// A link on which nothing has been on its way for so long rests: all that was handed over was received.
const RESTED: Nanoseconds = Nanoseconds(10_000_000);
/// So many messages of a link wait to be received, or for the link to rest.
const MOST_WAITING: usize = 1 << 16;
/// So many where nobody is known who could receive them.
const MOST_FOR_NOBODY: usize = 1 << 12;

/// A server, by its position among those of its host.
pub(crate) type ServerAt = usize;

/// One way over a connection, by its position among all.
type WayAt = usize;

/// All links between servers of a host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Links {
    /// By server and descriptor.
    ends: BTreeMap<ServerAt, FxHashMap<i32, End>>,
    ways: Vec<Way>,
    /// By server: what it hands on to its clients now.
    handing_on: BTreeMap<ServerAt, HandingOn>,
    latest: Option<Timestamp>,
    pub(crate) hops: Vec<Hop>,
    pub(crate) deliveries: Vec<Delivery>,
}

/// A server's end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct End {
    out: WayAt,
    back: WayAt,
}

/// What goes one way over one connection.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Way {
    ends: (Endpoint, Endpoint),
    from: Option<ServerAt>,
    to: Option<ServerAt>,
    /// Several servers have such an end: in networks of their own. Nothing is joined.
    is_mixed: bool,
    waiting: VecDeque<Sent>,
    waiting_bytes: u64,
    /// All that was handed over had been received since then.
    empty_since: Option<Timestamp>,
    received: Option<Timestamp>,
    /// It has rested, so the order is known.
    is_certain: bool,
    /// Joined before that.
    unsettled: Vec<Passed>,
    sum: Sum,
}

/// A message that was handed over.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Sent {
    at: Timestamp,
    kind: BusKind,
    bytes: u64,
    payload: Option<u64>,
}

/// A message that was received.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Passed {
    sent: Sent,
    received: Timestamp,
    /// Nothing was received since then, though something was there to be.
    stood_since: Timestamp,
    /// What there was then.
    waiting: u64,
    waiting_bytes: u64,
}

/// A message with something published, from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hop {
    pub(crate) from: ServerAt,
    pub(crate) to: ServerAt,
    pub(crate) sent: Timestamp,
    pub(crate) received: Timestamp,
    pub(crate) bytes: u64,
    pub(crate) payload: u64,
}

/// A published message that came from another node was written to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Delivery {
    pub(crate) server: ServerAt,
    pub(crate) client: StoreClientId,
    pub(crate) received: Timestamp,
    pub(crate) written: Timestamp,
}

/// What a server hands on to its clients of what other nodes sent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct HandingOn {
    /// The published message that it has just received, and over which way.
    now: Option<(Timestamp, WayAt)>,
    /// Clients for whom such a message lies ready, since it was received.
    ready: FxHashMap<StoreClientId, (Timestamp, WayAt)>,
}

/// All that went from one server to another.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sum {
    /// From handing over to receiving, of messages with something published.
    pub(crate) passing: Distribution,
    pub(crate) bytes: u64,
    pub(crate) longest: Option<(Timestamp, Nanoseconds)>,
    /// From receiving to having written it to a client.
    pub(crate) handing_on: Distribution,
    /// When the link stood still before such a message.
    pub(crate) stood: u64,
    pub(crate) stood_for: Nanoseconds,
    pub(crate) worst: Option<Stood>,
}

/// A link stood still.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Stood {
    pub(crate) since: Timestamp,
    pub(crate) length: Nanoseconds,
    /// Messages that were there to be read at the end, and their bytes.
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

impl Links {
    /// One more event of a server; those of a host come in the order of time.
    pub(crate) fn take(&mut self, server: ServerAt, told: &Told, asked: &Asked<'_>) {
        self.latest = Some(told.at);
        match &told.what {
            What::BusAddress(address) => self.connect(server, told.descriptor, address),
            What::Bus(message) => self.message(server, told, message, asked),
            What::ReplyQueued => self.ready(server, told.client),
            What::WriteEnd { .. } => self.written(server, told, asked),
            What::CallStart { .. } | What::ReadStart | What::WriteStart => {
                self.hands_on_no_more(server)
            }
            _ => {}
        }
    }

    /// Events are missing, or nothing follows.
    pub(crate) fn settle(&mut self, asked: &Asked<'_>) {
        for way in &mut self.ways {
            if let Some(latest) = self.latest {
                way.rest(latest, &mut self.hops, asked);
            }
            way.begin_anew();
        }
        self.handing_on.clear();
    }

    /// What went from one server to another.
    pub(crate) fn sums(&self) -> BTreeMap<(ServerAt, ServerAt), Sum> {
        let mut sums: BTreeMap<_, Sum> = BTreeMap::new();
        for way in &self.ways {
            if let Some(ends) = way.from.zip(way.to).filter(|_| way.sum.is_any()) {
                sums.entry(ends).or_default().merge(&way.sum);
            }
        }
        sums
    }

    fn connect(&mut self, server: ServerAt, descriptor: i32, address: &Address) {
        let own = Endpoint::new(&address.own_address, address.own_port);
        let peer = Endpoint::new(&address.peer_address, address.peer_port);
        let out = self.way((own.clone(), peer.clone()));
        let back = self.way((peer, own));
        let is_mixed = (self.ways[out].from.replace(server)).is_some_and(|known| known != server);
        self.ways[out].is_mixed |= is_mixed;
        let is_mixed = (self.ways[back].to.replace(server)).is_some_and(|known| known != server);
        self.ways[back].is_mixed |= is_mixed;
        let ends = self.ends.entry(server).or_default();
        ends.insert(descriptor, End { out, back });
    }

    fn way(&mut self, ends: (Endpoint, Endpoint)) -> WayAt {
        let known = self.ways.iter().position(|way| way.ends == ends);
        known.unwrap_or_else(|| {
            self.ways.push(Way::new(ends));
            self.ways.len() - 1
        })
    }

    fn message(&mut self, server: ServerAt, told: &Told, message: &BusMessage, asked: &Asked<'_>) {
        let ends = self.ends.get(&server);
        let Some(&End { out, back }) = ends.and_then(|ends| ends.get(&told.descriptor)) else {
            return;
        };
        let sent = Sent {
            at: told.at,
            kind: message.kind,
            bytes: message.bytes,
            payload: message.payload,
        };
        match message.moment {
            BusMoment::Sent if !self.ways[out].is_mixed => {
                self.ways[out].send(sent, &mut self.hops, asked);
            }
            BusMoment::Received if !self.ways[back].is_mixed => {
                self.ways[back].receive(sent, &mut self.hops, asked);
                let is_published = message.payload.is_some();
                let handing_on = self.handing_on.entry(server).or_default();
                handing_on.now = is_published.then_some((told.at, back));
            }
            _ => {}
        }
    }

    /// A client has something to be written: what has just been received, where anything has.
    fn ready(&mut self, server: ServerAt, client: StoreClientId) {
        if let Some(handing_on) = self.handing_on.get_mut(&server)
            && let Some(now) = handing_on.now
        {
            handing_on.ready.insert(client, now);
        }
    }

    fn hands_on_no_more(&mut self, server: ServerAt) {
        if let Some(handing_on) = self.handing_on.get_mut(&server) {
            handing_on.now = None;
        }
    }

    fn written(&mut self, server: ServerAt, told: &Told, asked: &Asked<'_>) {
        let handing_on = self.handing_on.get_mut(&server);
        let ready = handing_on.and_then(|handing_on| handing_on.ready.remove(&told.client));
        let Some((received, way)) = ready.filter(|_| asked.window.contains(told.at)) else {
            return;
        };
        let sum = &mut self.ways[way].sum;
        sum.handing_on.add(told.at.since(received));
        if asked.keeps == Keeps::Hops {
            self.deliveries.push(Delivery {
                server,
                client: told.client,
                received,
                written: told.at,
            });
        }
    }
}

impl Way {
    fn new(ends: (Endpoint, Endpoint)) -> Self {
        Self {
            ends,
            from: None,
            to: None,
            is_mixed: false,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            empty_since: None,
            received: None,
            is_certain: false,
            unsettled: Vec::new(),
            sum: Sum::default(),
        }
    }

    fn send(&mut self, sent: Sent, hops: &mut Vec<Hop>, asked: &Asked<'_>) {
        self.rest(sent.at, hops, asked);
        let most = match self.to {
            Some(_) => MOST_WAITING,
            None => MOST_FOR_NOBODY,
        };
        if self.waiting.len() == most {
            self.begin_anew();
        }
        self.waiting_bytes = self.waiting_bytes.saturating_add(sent.bytes);
        self.waiting.push_back(sent);
    }

    /// Whether it has rested until `at`: then the order is known.
    fn rest(&mut self, at: Timestamp, hops: &mut Vec<Hop>, asked: &Asked<'_>) {
        let rested = self.empty_since.filter(|_| self.waiting.is_empty());
        if rested.is_none_or(|since| at.since(since) < RESTED) {
            return;
        }
        self.is_certain = true;
        for passed in std::mem::take(&mut self.unsettled) {
            self.tell(&passed, hops, asked);
        }
    }

    fn receive(&mut self, got: Sent, hops: &mut Vec<Hop>, asked: &Asked<'_>) {
        let first = self.waiting.front().copied();
        let is_it = |sent: &Sent| {
            let same = (sent.kind, sent.bytes) == (got.kind, got.bytes);
            same && sent.at <= got.at
        };
        let Some(sent) = first.filter(is_it) else {
            // It was on its way before that was recorded.
            self.begin_anew();
            self.empty_since = Some(got.at);
            return;
        };
        let passed = Passed {
            sent,
            received: got.at,
            stood_since: self.received.map_or(sent.at, |before| before.max(sent.at)),
            waiting: self.waiting.len() as u64,
            waiting_bytes: self.waiting_bytes,
        };
        self.waiting.pop_front();
        self.waiting_bytes = self.waiting_bytes.saturating_sub(sent.bytes);
        self.received = Some(got.at);
        if self.waiting.is_empty() {
            self.empty_since = Some(got.at);
        }
        if self.is_certain {
            self.tell(&passed, hops, asked);
        } else if self.unsettled.len() < MOST_WAITING {
            self.unsettled.push(passed);
        } else {
            self.begin_anew();
        }
    }

    /// What is on its way is not known.
    fn begin_anew(&mut self) {
        self.waiting.clear();
        self.waiting_bytes = 0;
        self.unsettled.clear();
        self.empty_since = None;
        self.received = None;
        self.is_certain = false;
    }

    fn tell(&mut self, passed: &Passed, hops: &mut Vec<Hop>, asked: &Asked<'_>) {
        let (Some(from), Some(to)) = (self.from, self.to) else {
            return;
        };
        if !asked.window.contains(passed.received) {
            return;
        }
        if let Some(payload) = passed.sent.payload {
            self.sum.stand(passed);
            self.sum.pass(passed);
            if asked.keeps == Keeps::Hops {
                hops.push(Hop {
                    from,
                    to,
                    sent: passed.sent.at,
                    received: passed.received,
                    bytes: passed.sent.bytes,
                    payload,
                });
            }
        }
    }
}

impl Sum {
    fn is_any(&self) -> bool {
        self.passing.count() > 0 || self.handing_on.count() > 0 || self.stood > 0
    }

    fn merge(&mut self, other: &Self) {
        self.passing.merge(other.passing.clone());
        self.handing_on.merge(other.handing_on.clone());
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.longest =
            (self.longest.into_iter().chain(other.longest)).max_by_key(|longest| longest.1);
        self.stood += other.stood;
        self.stood_for += other.stood_for;
        self.worst = (self.worst.into_iter().chain(other.worst)).max_by_key(|worst| worst.length);
    }

    fn pass(&mut self, passed: &Passed) {
        let length = passed.received.since(passed.sent.at);
        self.passing.add(length);
        self.bytes = self.bytes.saturating_add(passed.sent.bytes);
        if self.longest.is_none_or(|(_, longest)| length > longest) {
            self.longest = Some((passed.sent.at, length));
        }
    }

    /// Adds the time in which nothing was received though something was there to be.
    fn stand(&mut self, passed: &Passed) {
        let length = passed.received.since(passed.stood_since);
        if length < SLOW {
            return;
        }
        self.stood += 1;
        self.stood_for += length;
        if self.worst.is_none_or(|worst| length > worst.length) {
            self.worst = Some(Stood {
                since: passed.stood_since,
                length,
                messages: passed.waiting,
                bytes: passed.waiting_bytes,
            });
        }
    }
}
