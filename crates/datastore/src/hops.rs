//! Published messages on their way between the nodes of a cluster, as plain data: how long they took from node to node
//! and on to clients, one by one where that is asked for, and where they lay unread.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slowpath_concepts::StoreClientId;
use slowpath_engine::Distribution;
use slowpath_model::Nanoseconds;
use utoipa::ToSchema;

use crate::bus::BusVolume;
use crate::findings::{BusStall, Finding, StalledLink};
use crate::links::Sum;
use crate::server::Servers;

const SECOND: i64 = 1_000_000_000;

/// Published messages that went from one server to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = StoreHops)]
pub struct HopRow {
    /// The number of the server that sent them.
    pub server: u32,
    /// The number of the one that got them.
    pub to_server: u32,
    /// How many were found at both.
    pub messages: u64,
    /// Their bytes over the bus.
    pub bytes: u64,
    /// How long they took, from when one handed them over until the other had read them whole: the mean.
    pub mean_ns: Nanoseconds,
    /// The median.
    pub p50_ns: Nanoseconds,
    /// The 99th percentile.
    pub p99_ns: Nanoseconds,
    /// The longest.
    pub max_ns: Nanoseconds,
    /// When that was handed over.
    #[schema(required)]
    pub longest_begin_ns: Option<i64>,
    /// Replies to subscribers that were written for them; of level full only.
    pub delivered: u64,
    /// How long these took, from when a message had been read until it was written: the median.
    pub delivery_p50_ns: Nanoseconds,
    /// The longest.
    pub delivery_max_ns: Nanoseconds,
}

/// Published messages between servers, one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hops {
    /// From node to node.
    pub hops: Vec<Hop>,
    /// And on to clients.
    pub deliveries: Vec<Delivery>,
}

/// A published message went from one server to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The number of the one that sent it.
    pub server: u32,
    /// When it handed it over.
    pub sent_ns: i64,
    /// The number of the one that got it.
    pub to_server: u32,
    /// When it had read it whole.
    pub received_ns: i64,
    /// Its bytes.
    pub bytes: u64,
    /// Those of them that a client published.
    pub payload: u64,
}

/// A published message that came from another server was written to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The number of the client's server.
    pub server: u32,
    /// The client.
    pub client: StoreClientId,
    /// When the server had read the message.
    pub received_ns: i64,
    /// When it had written it.
    pub written_ns: i64,
}

impl Hops {
    pub(crate) fn of(servers: &Servers) -> Self {
        let numbers = servers.numbers();
        let hops = servers.links.hops.iter().map(|hop| Hop {
            server: numbers[hop.from],
            sent_ns: hop.sent.ns(),
            to_server: numbers[hop.to],
            received_ns: hop.received.ns(),
            bytes: hop.bytes,
            payload: hop.payload,
        });
        let deliveries = servers.links.deliveries.iter().map(|delivery| Delivery {
            server: numbers[delivery.server],
            client: delivery.client,
            received_ns: delivery.received.ns(),
            written_ns: delivery.written.ns(),
        });
        Self {
            hops: hops.collect(),
            deliveries: deliveries.collect(),
        }
    }
}

/// What went between servers, by their numbers.
pub(crate) struct Between {
    sums: BTreeMap<(u32, u32), Sum>,
    /// Of each, what went over its bus.
    volumes: BTreeMap<u32, BusVolume>,
}

impl Between {
    pub(crate) fn of(servers: &Servers) -> Self {
        let numbers = servers.numbers();
        let sums = servers.links.sums().into_iter();
        Self {
            sums: sums
                .map(|((from, to), sum)| ((numbers[from], numbers[to]), sum))
                .collect(),
            volumes: (numbers.iter().zip(&servers.all))
                .map(|(number, server)| (*number, server.bus.volume()))
                .collect(),
        }
    }

    pub(crate) fn rows(&self) -> Vec<HopRow> {
        let rows = self.sums.iter().map(|(&(server, to_server), sum)| {
            let of = |distribution: &Distribution| distribution.clone().summary();
            let (passing, handing_on) = (of(&sum.passing), of(&sum.handing_on));
            let passing = passing.as_ref();
            let handing_on = handing_on.as_ref();
            HopRow {
                server,
                to_server,
                messages: sum.passing.count(),
                bytes: sum.bytes,
                mean_ns: passing.map(|passing| passing.mean).unwrap_or_default(),
                p50_ns: passing.map(|passing| passing.p50).unwrap_or_default(),
                p99_ns: passing.map(|passing| passing.p99).unwrap_or_default(),
                max_ns: passing.map(|passing| passing.max).unwrap_or_default(),
                longest_begin_ns: sum.longest.map(|(begin, _)| begin.ns()),
                delivered: sum.handing_on.count(),
                delivery_p50_ns: handing_on
                    .map(|handing_on| handing_on.p50)
                    .unwrap_or_default(),
                delivery_max_ns: handing_on
                    .map(|handing_on| handing_on.max)
                    .unwrap_or_default(),
            }
        });
        rows.collect()
    }

    /// Where what servers published lay unread for long at those that are `told`. One finding, as all links have the same remedy.
    pub(crate) fn stall(&self, told: impl Fn(u32) -> bool) -> Option<Finding> {
        let links = self.stalled().filter(|link| told(link.server));
        let mut links: Vec<StalledLink> = links.collect();
        links.sort_by_key(|link| (Reverse(link.stood_ns), link.server, link.from_server));
        Some(Finding::BusStall(BusStall {
            server: links.first()?.server,
            count: links.iter().map(|link| link.count).sum(),
            stood_ns: links.iter().map(|link| link.stood_ns).sum(),
            links,
        }))
    }

    fn stalled(&self) -> impl Iterator<Item = StalledLink> {
        self.sums
            .iter()
            .filter_map(|(&(from_server, server), sum)| {
                let worst = sum.worst?;
                let busiest = self.volumes.get(&from_server).copied().unwrap_or_default();
                let (begin, end) = (worst.since.ns(), (worst.since + worst.length).ns());
                let second = busiest.busiest_begin_ns;
                Some(StalledLink {
                    server,
                    from_server,
                    count: sum.stood,
                    stood_ns: sum.stood_for,
                    begin_ns: begin,
                    length_ns: worst.length,
                    messages: worst.messages,
                    bytes: worst.bytes,
                    busiest_bytes: busiest.busiest_bytes,
                    in_busiest_second: begin < second.saturating_add(SECOND) && end > second,
                })
            })
    }
}
