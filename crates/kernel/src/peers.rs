//! Whose packets ended waits for the network: address and port of the other end of a connection.
//!
//! A pass over the events of received packets: those that have headers (LTTng's) tell the other end, all of them
//! the device. Several packets may be received before any thread is woken: a peer is told only where all of them are
//! of one, those of the loopback device not counted where there are others. Which recorded host has an address is
//! not known here (`network`).

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};
use slowpath_concepts::{Concepts, Fact, FactKind};
use slowpath_engine::{Analysis, Cancelled, Chunk, Options, Outcome};
use slowpath_model::{CpuId, Event, Projection, TimeRange, Timestamp};
use slowpath_source::{Packet, Source};

use crate::InterruptedWait;
use crate::answer::{Answer, answer};
use crate::interrupted::{Times, interrupts};

/// Whose packet it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Peer {
    /// The machine's own: it came over the loopback device.
    Loopback,
    /// The other end of a TCP connection.
    Other {
        /// `None` where the tracer does not tell it (IPv6).
        address: Option<Ipv4Addr>,
        /// Its port.
        port: u16,
    },
}

impl Peer {
    /// The address of the other end, where it is told.
    pub fn address(self) -> Option<Ipv4Addr> {
        match self {
            Self::Loopback => None,
            Self::Other { address, .. } => address,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loopback => write!(f, "this machine itself (loopback)"),
            Self::Other {
                address: Some(address),
                port,
            } => write!(f, "{address}:{port}"),
            Self::Other { port, .. } => write!(f, "port {port}"),
        }
    }
}

/// Finds whose packets ended `waits`, in their order; `None` where the trace does not tell, or the
/// packets that came together are of several.
///
/// # Errors
///
/// Where it was cancelled.
pub fn peers(
    source: &dyn Source,
    waits: &[InterruptedWait],
    options: &Options<'_>,
) -> Result<Outcome<Vec<Option<Peer>>>, Cancelled> {
    answer(source, &Peers::new(source, waits), options)
}

struct Peers<'waits> {
    concepts: Concepts,
    waits: &'waits [InterruptedWait],
    interrupts: BTreeMap<CpuId, Times>,
}

/// What a chunk, or several, told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Told {
    /// Packets in interrupts that ended waits; those that are not TCP have no peer.
    received: Vec<(CpuId, Timestamp, Option<Peer>)>,
    /// Only while a chunk is passed over.
    cpu: Option<CpuId>,
}

impl<'waits> Peers<'waits> {
    fn new(source: &dyn Source, waits: &'waits [InterruptedWait]) -> Self {
        let with = |kind| Concepts::resolve(source.schema(), &[kind]);
        let headers = with(FactKind::SegmentReceived);
        Self {
            concepts: match headers.has(FactKind::SegmentReceived) {
                true => headers,
                false => with(FactKind::PacketReceived),
            },
            waits,
            interrupts: interrupts(waits.iter()),
        }
    }
}

impl Answer for Peers<'_> {
    type Report = Vec<Option<Peer>>;

    fn projection(&self) -> &Projection {
        self.concepts.projection()
    }

    fn range(&self) -> TimeRange {
        TimeRange::ALL
    }

    fn report(&self, mut told: Told) -> Vec<Option<Peer>> {
        told.received.sort_unstable();
        let peer = |wait: &InterruptedWait| {
            let is_before = |(cpu, at): (CpuId, Timestamp), bound| (cpu, at) < (wait.cpu, bound);
            let place = |bound| {
                (told.received).partition_point(|&(cpu, at, _)| is_before((cpu, at), bound))
            };
            let during = &told.received[place(wait.interrupt.begin)..place(wait.interrupt.end)];
            let peers = during.iter().map(|(_, _, peer)| *peer);
            let mut of_others = peers.filter(|peer| *peer != Some(Peer::Loopback));
            let Some(first) = of_others.next() else {
                return during.first()?.2;
            };
            first.filter(|_| of_others.all(|peer| peer == first))
        };
        self.waits.iter().map(peer).collect()
    }
}

impl Analysis for Peers<'_> {
    type State = Told;

    fn begin(&self, chunk: &Chunk) -> Told {
        Told {
            cpu: Some(chunk.processor()),
            ..Told::default()
        }
    }

    fn skips(&self, packet: &Packet) -> bool {
        let is_idle = |cpu| !(self.interrupts.get(&cpu)).is_some_and(|t| t.touch(packet.range));
        packet.cpu.is_some_and(is_idle)
    }

    fn event(&self, told: &mut Told, event: &Event<'_>) {
        let Some(cpu) = told.cpu else { return };
        let Some(Fact::PacketReceived(packet)) = self.concepts.fact(event) else {
            return;
        };
        let times = self.interrupts.get(&cpu);
        if !times.is_some_and(|times| times.contain(event.at)) {
            return;
        }
        let other_end = packet.segment.map(|segment| {
            let bytes = <[u8; 4]>::try_from(segment.addresses[0]);
            Peer::Other {
                address: bytes.ok().map(Ipv4Addr::from),
                port: segment.ports[0],
            }
        });
        let peer = match packet.device {
            b"lo" => Some(Peer::Loopback),
            _ => other_end,
        };
        told.received.push((cpu, event.at, peer));
    }

    fn end(&self, told: &mut Told, _chunk: &Chunk) {
        told.cpu = None;
    }

    fn merge(&self, earlier: &mut Told, later: Told) {
        earlier.received.extend(later.received);
    }
}

#[cfg(test)]
mod tests {
    use slowpath_drawn::DrawnTrace;

    use super::*;
    use crate::answer::every_way;

    fn received(at: i64, cpu: u32, address: &str, port: u16) -> String {
        let tcp = "network_header.ipv4.transport_header.tcp";
        format!(
            "cpu{cpu} {at} net_if_receive_skb skbaddr=0x1 name=eth0 network_header.ipv4.saddr=hex:{address} \
             network_header.ipv4.daddr=hex:0a000001 {tcp}.source_port={port} {tcp}.dest_port=9 {tcp}.seq=1 \
             {tcp}.ack_seq=1 {tcp}.flags=16\n"
        )
    }

    fn looped(at: i64) -> String {
        format!("cpu0 {at} netif_receive_skb skbaddr=0x1 len=52 name=lo\n")
    }

    /// A wait on processor 0 that an interrupt from `begin` on ended.
    fn wait(begin: i64, end: i64) -> InterruptedWait {
        let range = |begin, end| TimeRange::new(Timestamp::from_ns(begin), Timestamp::from_ns(end));
        InterruptedWait {
            range: range(5, end),
            cpu: CpuId(0),
            interrupt: range(begin, end + 1),
        }
    }

    #[test]
    fn the_loopback_device_tells_of_packets_without_headers_whose_they_are() {
        let from_elsewhere = "cpu0 21 netif_receive_skb skbaddr=0x2 len=52 name=eth0\n";
        let drawing = looped(10) + &looped(20) + from_elsewhere;
        let trace = DrawnTrace::parse(&drawing).unwrap();
        let waits = [wait(9, 12), wait(19, 22)];
        let found = every_way::ask(&trace, |source| Peers::new(source, &waits));
        assert_eq!(found, [Some(Peer::Loopback), None]);
    }

    #[test]
    fn a_peer_is_told_where_all_packets_that_came_together_are_of_one() {
        let drawing = received(10, 0, "0a000002", 80)
            + &received(11, 0, "0a000002", 80)
            + &received(20, 0, "0a000002", 80)
            + &received(21, 0, "0a000003", 443)
            + &received(30, 0, "0a000003", 443)
            + &received(31, 1, "0a000002", 80);
        let trace = DrawnTrace::parse(&drawing).unwrap();
        let waits = [wait(9, 12), wait(19, 22), wait(29, 32), wait(40, 50)];
        let found = every_way::ask(&trace, |source| Peers::new(source, &waits));
        let words = |peer: &Option<Peer>| peer.map_or(String::new(), |peer| peer.to_string());
        let found: Vec<String> = found.iter().map(words).collect();
        assert_eq!(found, ["10.0.0.2:80", "", "10.0.0.3:443", ""]);
    }
}
