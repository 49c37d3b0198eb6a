//! Waits for packets from other hosts: whose packets, and whether that host was recorded as well.
//!
//! A peer is named by its host where the path leads there, by address and port where the received
//! packet has headers, and by nothing where neither tells. An address is that of a recorded host if a
//! path led there from a packet of that address.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use slowpath_critical_path::{LinkKind, State};
use slowpath_kernel::InterruptedWait;
use slowpath_kernel::peers::Peer;
use slowpath_model::{HostId, Nanoseconds, ThreadId, TimeRange, Timestamp};
use slowpath_requests::RequestPath;

use crate::finding::{Evidence, Finding, FindingId};
use crate::path::{Piece, Slow, Taken, each_once, listed, percent, place_of};

/// A wait for the network, with what is known of where its packet came from.
pub(crate) struct NetworkWait {
    piece: Piece,
    /// The recorded host whose packet it was.
    host: Option<HostId>,
    /// That host's trace has no sending of it, and lacks events of the time.
    unseen: bool,
    wait: Option<InterruptedWait>,
}

/// For how long each other host was waited for of which the trace does not tell what it did meanwhile, as
/// events are missing from it.
pub(crate) fn unseen(all: &[NetworkWait]) -> BTreeMap<HostId, Nanoseconds> {
    let mut unseen = BTreeMap::new();
    for one in all.iter().filter(|one| one.unseen) {
        if let Some(host) = one.host {
            *unseen.entry(host).or_default() += one.piece.segment.range.length();
        }
    }
    unseen
}

/// The waits on the requests' own host, where they are worth a finding; each once.
pub(crate) fn waits(slow: &Slow<'_>) -> Vec<InterruptedWait> {
    let all = network_waits(slow, &[]);
    if taken(&all).share(slow).is_none() {
        return Vec::new();
    }
    each_once(all.iter().filter_map(|one| one.wait))
}

/// All waits for the network. Of hosts that are `lacking` something it is not known when.
pub(crate) fn network_waits(slow: &Slow<'_>, lacking: &[HostId]) -> Vec<NetworkWait> {
    let hosts = slow.all.hosts();
    let lacks = |other: HostId, range: TimeRange| {
        lacking.contains(&other) || hosts.covers(other, range, slow.host) == Some(false)
    };
    let mut all = Vec::new();
    for (request, path) in &slow.paths {
        let origins = origins(path);
        // A wait may be cut in pieces; the path leads on from the first.
        let mut last: Option<(ThreadId, Timestamp, Option<HostId>)> = None;
        for piece in Slow::pieces_of(*request, path) {
            let segment = &piece.segment;
            if segment.state != State::Network {
                continue;
            }
            let (thread, begin) = (segment.thread, segment.range.begin);
            let earlier = last.filter(|(of, end, _)| (*of, *end) == (thread, begin));
            let led = (origins.get(&(begin, segment.host, thread)).copied())
                .or_else(|| earlier.and_then(|(_, _, host)| host));
            last = Some((thread, segment.range.end, led));
            let is_here = segment.host == slow.host;
            let end = segment.recorded.end;
            let told = (led.map(|host| (host, true)))
                .or_else(|| hosts.packet_from(segment.host, thread, end));
            let (host, is_sending_known) = told.unzip();
            let is_unknown = is_sending_known == Some(false);
            let unseen = is_unknown && host.is_some_and(|host| lacks(host, segment.range));
            let wait = is_here.then(|| InterruptedWait::by_packet(slow.lines, thread, end));
            let wait = wait.flatten();
            all.push(NetworkWait {
                piece,
                host,
                unseen,
                wait,
            });
        }
    }
    all
}

/// The hosts from which a path's packets came, by when they were sent and who waited for them.
fn origins(path: &RequestPath) -> BTreeMap<(Timestamp, HostId, ThreadId), HostId> {
    let links = path.path.links.iter();
    let between =
        links.filter(|link| link.kind == LinkKind::Packet && link.hosts[0] != link.hosts[1]);
    between
        .map(|link| ((link.at, link.hosts[1], link.to), link.hosts[0]))
        .collect()
}

fn taken(all: &[NetworkWait]) -> Taken {
    let mut taken = Taken::default();
    for NetworkWait { piece, .. } in all {
        taken.add(piece.request, piece.whose(), piece.segment.range);
    }
    taken
}

/// About `all` waits; `waits` are those that [`waits`] gave, `peers` whose packets ended them.
pub(crate) fn finding(
    slow: &Slow<'_>,
    all: &[NetworkWait],
    waits: &[InterruptedWait],
    peers: &[Option<Peer>],
) -> Option<Finding> {
    let mut taken = taken(all);
    taken.share(slow)?;
    let peer_of = |one: &NetworkWait| *peers.get(place_of(&one.wait?, waits)?)?;
    let mut hosts: BTreeMap<Ipv4Addr, HostId> = BTreeMap::new();
    for one in all {
        if let (Some(host), Some(address)) = (one.host, peer_of(one).and_then(Peer::address)) {
            hosts.insert(address, host);
        }
    }
    let mut threads: BTreeMap<String, Nanoseconds> = BTreeMap::new();
    let mut causes: BTreeMap<String, Nanoseconds> = BTreeMap::new();
    // Peers that are no recorded host.
    let mut strangers: BTreeMap<String, Nanoseconds> = BTreeMap::new();
    let mut recorded = Nanoseconds::ZERO;
    let mut looped = Nanoseconds::ZERO;
    let mut unseen: BTreeMap<String, Nanoseconds> = BTreeMap::new();
    for one in all {
        let segment = &one.piece.segment;
        let length = segment.range.length();
        *threads.entry(slow.thread(one.piece.whose())).or_default() += length;
        if !segment.detail.is_empty() {
            *causes.entry(segment.detail.to_string()).or_default() += length;
        }
        let peer = peer_of(one);
        let address = peer.and_then(Peer::address);
        let host = one.host.or_else(|| hosts.get(&address?).copied());
        let host = host.map(|host| slow.host_name(host));
        if let Some(host) = &host {
            recorded += length;
            if one.unseen {
                *unseen.entry(host.clone()).or_default() += length;
            }
        }
        match (host, peer) {
            (Some(host), Some(peer)) => taken.blame(format!("{host} ({peer})"), length),
            (Some(host), None) => taken.blame(host, length),
            (None, Some(Peer::Loopback)) => {
                taken.blame(Peer::Loopback.to_string(), length);
                looped += length;
            }
            (None, Some(peer)) => {
                taken.blame(peer.to_string(), length);
                *strangers.entry(peer.to_string()).or_default() += length;
            }
            (None, None) => {}
        }
    }
    let most = taken
        .most_blamed()
        .map(|(peer, length)| (peer.to_owned(), length));
    let of_peers = most.as_ref().map_or(String::new(), |_| {
        format!(
            " The packets that they waited for came from: {}.",
            taken.blamed()
        )
    });
    let causes = match causes.is_empty() {
        true => String::new(),
        false => format!(" ({})", listed(&causes, 3)),
    };
    let of_unseen = match unseen.is_empty() {
        true => String::new(),
        false => format!(
            " What the sender did meanwhile is missing from its recording for: {}.",
            listed(&unseen, 4)
        ),
    };
    let explanation = format!(
        "{} waited for the network for {} in all{causes}, in these threads: \
         {}.{of_peers}{of_unseen}",
        taken.slow_requests(),
        taken.total,
        listed(&threads, 4)
    );
    let title = match &most {
        Some((peer, length)) if length.get() * 2 > taken.total.get() => {
            format!("Network: requests wait for {peer}")
        }
        _ => "Network: requests wait for other hosts".to_owned(),
    };
    let what = "waited for the network for";
    let mut evidence = match most.is_some() {
        true => taken.evidence_by(slow, what, "peer"),
        false => taken.evidence(slow, what),
    };
    for told in &mut evidence {
        let is_told = |one: &&NetworkWait| {
            one.unseen
                && told.range == Some(one.piece.segment.range)
                && told.request == Some(slow.key(one.piece.request))
        };
        if all.iter().any(|one| is_told(&one)) {
            told.text += "; what the sender did meanwhile is missing";
        }
    }
    evidence.push(Evidence::text(format!(
        "by thread: {}",
        listed(&threads, 6)
    )));
    let is_alone = slow.all.hosts().ids().count() == 1;
    let of_strangers: Nanoseconds = strangers.values().copied().sum();
    let there = match () {
        // A few packets of others do not matter.
        () if of_strangers > Nanoseconds::ZERO && of_strangers.get() * 10 >= taken.total.get() => {
            format!(
                "Record on the hosts of these addresses as well to see what they did meanwhile: {}",
                names(&strangers)
            )
        }
        () if recorded > Nanoseconds::ZERO => of_recorded(recorded, &unseen),
        () if looped.get() * 2 > taken.total.get() => {
            "No thread sent these packets at the time: TCP sends what it held back, for an acknowledgement that is \
             delayed, or what was lost, from a timer of its own. Set TCP_NODELAY, or write each message in one piece"
                .to_owned()
        }
        () if is_alone => {
            "Record on the other host as well to see what it did meanwhile".to_owned()
        }
        () => "The traces do not tell whose packets these were: where it is none of the recorded hosts, \
               record there as well"
            .to_owned(),
    };
    let advice = format!("{there}; make fewer calls, or several at once.");
    taken.finding(
        slow,
        FindingId::NetworkWait,
        title,
        explanation,
        evidence,
        &advice,
    )
}

/// What to do about waits for recorded hosts, of which `recorded` in all: where what some of these did is
/// missing, nobody knows whether the packets were on their way.
fn of_recorded(recorded: Nanoseconds, unseen: &BTreeMap<String, Nanoseconds>) -> String {
    let missing: Nanoseconds = unseen.values().copied().sum();
    let gaps = format!(
        "Record without gaps on {} to see what was done there meanwhile",
        names(unseen)
    );
    let look = "Look at the network between the hosts (distance, queues, packets sent again)";
    if missing.get() * 2 > recorded.get() {
        return gaps;
    }
    // Less does not change the answer.
    if missing.get() * 10 >= recorded.get() {
        return format!(
            "{gaps}: that is not known for {missing} of {recorded} ({}). For the rest the packets were on \
             their way. {look}",
            percent(missing, recorded)
        );
    }
    format!(
        "What the other recorded hosts did is on the paths already (`slowpath critical-path --span`): \
         here the packets were on their way. {look}"
    )
}

/// Those that were waited for longest.
fn names(peers: &BTreeMap<String, Nanoseconds>) -> String {
    let mut ranked: Vec<(&String, &Nanoseconds)> = peers.iter().collect();
    ranked.sort_by_key(|(name, length)| (std::cmp::Reverse(**length), *name));
    let names: Vec<&str> = ranked
        .iter()
        .take(3)
        .map(|(name, _)| name.as_str())
        .collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_sender_s_recording_has_gaps_the_network_is_not_blamed_for_them() {
        let advice = |missing: u64| {
            let missing = BTreeMap::from([("store".to_owned(), Nanoseconds(missing))]);
            of_recorded(Nanoseconds(1_000), &missing)
        };
        let says = |missing: u64, words: &str| advice(missing).contains(words);
        assert!(says(600, "without gaps on store") && !says(600, "Look at the network"));
        assert!(
            says(374, "not known for 374 ns of 1.000 µs (37 %)"),
            "{}",
            advice(374)
        );
        assert!(says(374, "without gaps on store") && says(374, "For the rest"));
        assert!(says(50, "on the paths already") && !says(50, "gaps"));
    }
}
