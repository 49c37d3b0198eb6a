//! What a server sent to the other nodes of its cluster and got from them, by type of message.
//!
//! As told where messages are handed over: sent ones may lie in a buffer still. What clients published of it, and how
//! much more the bus carried for that, is the business of `findings/publishing.rs`.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slowpath_concepts::{BusKind, BusMessage, BusMoment};
use slowpath_model::{TimeRange, Timestamp};
use utoipa::ToSchema;

use crate::findings::Publishing;

const SECOND: i64 = 1_000_000_000;

/// What went over the bus, as one node saw it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Bus {
    /// Any message was told of, be it outside of the window.
    pub(crate) is_recorded: bool,
    kinds: BTreeMap<BusKind, Kind>,
    /// Whether copies of a message to all nodes go out, of which type.
    broadcast: Option<BusKind>,
    /// What was sent in one second since the epoch.
    second: Second,
    busiest: Second,
    pub(crate) publishing: Publishing,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Kind {
    sent: Moved,
    /// Of those, copies of a message that went to all other nodes.
    broadcast: Moved,
    received: Moved,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Moved {
    messages: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Second {
    number: i64,
    bytes: u64,
}

/// What a server sent and got over the bus of its cluster, all types together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = StoreBusVolume)]
pub struct BusVolume {
    /// Messages to other nodes.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Messages from other nodes.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// The most bytes that it sent in one second since the epoch.
    pub busiest_bytes: u64,
    /// Where that second begins.
    pub busiest_begin_ns: i64,
}

/// Messages of one type over the bus of one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = StoreBusMessages)]
pub struct BusRow {
    /// The server's number.
    pub server: u32,
    /// The type, as `CLUSTER INFO` names it.
    #[serde(rename = "type")]
    pub kind: String,
    /// Messages to other nodes.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Those of them that are copies of one to all nodes.
    pub broadcast: u64,
    /// Their bytes.
    pub broadcast_bytes: u64,
    /// Messages from other nodes.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
}

impl Bus {
    /// One more message; they come in the order of time.
    pub(crate) fn take(&mut self, message: &BusMessage, at: Timestamp, window: TimeRange) {
        self.is_recorded = true;
        match message.moment {
            BusMoment::BroadcastStart => self.broadcast = Some(message.kind),
            BusMoment::BroadcastEnd => self.broadcast = None,
            BusMoment::Sent | BusMoment::Received if window.contains(at) => self.count(message, at),
            BusMoment::Sent | BusMoment::Received => {}
        }
        self.publishing.take(message, at, window);
    }

    /// What is open may have ended where nothing is known.
    pub(crate) fn settle(&mut self) {
        self.broadcast = None;
        self.publishing.settle();
    }

    fn count(&mut self, message: &BusMessage, at: Timestamp) {
        let kind = self.kinds.entry(message.kind).or_default();
        if message.moment == BusMoment::Received {
            kind.received.add(message.bytes);
            return;
        }
        kind.sent.add(message.bytes);
        if self.broadcast == Some(message.kind) {
            kind.broadcast.add(message.bytes);
        }
        let number = at.ns().div_euclid(SECOND);
        if self.second.number != number {
            self.second = Second { number, bytes: 0 };
        }
        self.second.bytes = self.second.bytes.saturating_add(message.bytes);
        if self.second.bytes > self.busiest.bytes {
            self.busiest = self.second;
        }
    }

    pub(crate) fn volume(&self) -> BusVolume {
        let sum = |of: fn(&Kind) -> Moved| {
            let mut sum = Moved::default();
            for moved in self.kinds.values().map(of) {
                sum.messages = sum.messages.saturating_add(moved.messages);
                sum.bytes = sum.bytes.saturating_add(moved.bytes);
            }
            sum
        };
        let (sent, received) = (sum(|kind| kind.sent), sum(|kind| kind.received));
        BusVolume {
            sent: sent.messages,
            sent_bytes: sent.bytes,
            received: received.messages,
            received_bytes: received.bytes,
            busiest_bytes: self.busiest.bytes,
            busiest_begin_ns: self.busiest.number.saturating_mul(SECOND),
        }
    }

    /// A row for each type.
    pub(crate) fn rows(&self, server: u32) -> impl Iterator<Item = BusRow> {
        self.kinds.iter().map(move |(kind, totals)| BusRow {
            server,
            kind: kind.told_name(),
            sent: totals.sent.messages,
            sent_bytes: totals.sent.bytes,
            broadcast: totals.broadcast.messages,
            broadcast_bytes: totals.broadcast.bytes,
            received: totals.received.messages,
            received_bytes: totals.received.bytes,
        })
    }
}

impl Moved {
    fn add(&mut self, bytes: u64) {
        self.messages += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}
