//! What clients published at a node of a cluster, and what its bus carried for that.
//!
//! `PUBLISH` sends every message to all other nodes, whoever has subscribed there, each copy with a header of its own.
//! Sharded messages have another type and do not come here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slowpath_concepts::{BusKind, BusMessage, BusMoment};
use slowpath_model::{Nanoseconds, TimeRange, Timestamp};

use super::{Amplified, MANY, PublishAmplification};

/// The bus carries so many times what was published.
const AMPLIFIED: u64 = 2;

/// Messages that went to all nodes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Publishing {
    /// The one of which copies go out now.
    open: Option<Open>,
    /// By the number of bits that the length of the payload has.
    by_size: BTreeMap<u32, Published>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Open {
    begin: Timestamp,
    payload: u64,
    copies: u64,
    bytes: u64,
}

/// Messages of about one length.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Published {
    least: u64,
    most: u64,
    messages: u64,
    copies: u64,
    most_copies: u64,
    payload: u64,
    bytes: u64,
    broadcasting: Nanoseconds,
}

impl Publishing {
    /// One more message over the bus; they come in the order of time.
    pub(crate) fn take(&mut self, message: &BusMessage, at: Timestamp, window: TimeRange) {
        if message.kind != BusKind::PUBLISH {
            return;
        }
        match message.moment {
            BusMoment::BroadcastStart => {
                self.open = message.payload.map(|payload| Open {
                    begin: at,
                    payload,
                    copies: 0,
                    bytes: 0,
                });
            }
            BusMoment::Sent => {
                if let Some(open) = &mut self.open {
                    open.copies += 1;
                    open.bytes = open.bytes.saturating_add(message.bytes);
                }
            }
            BusMoment::BroadcastEnd => {
                let ended = self.open.take().filter(|_| window.contains(at));
                if let Some(open) = ended {
                    self.add(open, at);
                }
            }
            BusMoment::Received => {}
        }
    }

    /// Copies may have gone out where nothing is known.
    pub(crate) fn settle(&mut self) {
        self.open = None;
    }

    fn add(&mut self, open: Open, ended: Timestamp) {
        let bits = u64::BITS - open.payload.leading_zeros();
        let row = self.by_size.entry(bits).or_insert(Published {
            least: open.payload,
            most: open.payload,
            messages: 0,
            copies: 0,
            most_copies: 0,
            payload: 0,
            bytes: 0,
            broadcasting: Nanoseconds(0),
        });
        row.least = row.least.min(open.payload);
        row.most = row.most.max(open.payload);
        row.messages += 1;
        row.copies += open.copies;
        row.most_copies = row.most_copies.max(open.copies);
        row.payload = row.payload.saturating_add(open.payload);
        row.bytes = row.bytes.saturating_add(open.bytes);
        row.broadcasting += ended.since(open.begin);
    }

    /// What stands out of it, if anything does.
    pub(super) fn amplification(&self, server: u32) -> Option<PublishAmplification> {
        let rows = || self.by_size.values();
        let sum = |of: fn(&Published) -> u64| rows().map(of).fold(0, u64::saturating_add);
        let messages = sum(|row| row.messages);
        let payload_bytes = sum(|row| row.payload);
        let bus_bytes = sum(|row| row.bytes);
        let is_amplified = bus_bytes > 0 && bus_bytes >= payload_bytes.saturating_mul(AMPLIFIED);
        (messages >= MANY && is_amplified).then(|| PublishAmplification {
            server,
            messages,
            copies: sum(|row| row.copies),
            most_copies: rows().map(|row| row.most_copies).max().unwrap_or_default(),
            payload_bytes,
            bus_bytes,
            factor: factor(bus_bytes, payload_bytes),
            broadcasting_ns: rows().map(|row| row.broadcasting).sum(),
            payloads: rows().map(Published::row).collect(),
        })
    }
}

impl Published {
    fn row(&self) -> Amplified {
        Amplified {
            least_bytes: self.least,
            most_bytes: self.most,
            messages: self.messages,
            copies: self.copies,
            payload_bytes: self.payload,
            bus_bytes: self.bytes,
            factor: factor(self.bytes, self.payload),
        }
    }
}

fn factor(bus: u64, payload: u64) -> Option<f64> {
    (payload > 0).then(|| bus as f64 / payload as f64)
}
