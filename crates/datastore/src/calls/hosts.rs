//! Services and data stores of several hosts in one order of time, by the clock of the first.
//!
//! A request was received after it was sent and before its answer came: that leaves only some offsets between the clocks
//! of two hosts possible (as for packets: Mills, RFC 5905, section 8). A command was executed after it was sent, which
//! tells the same in one direction. Clocks that may agree are left alone.

use rustc_hash::FxHashMap;
use slowpath_model::{Diagnostic, DiagnosticCode, Place, TimeRange, Timestamp};

use super::Heard;
use super::commands::wire_of;
use super::services::{Call, Connection, ConnectionAt, Received, ReceivedAt, ServiceAt, Services};
use super::wires::{HostAt, Wire, is_between_hosts};
use crate::server::Server;

/// Commands that take longer on their way, all of them, are held for those of a host whose clock is ahead.
const LONGEST_WAY_NS: i64 = 100_000_000;
/// Smaller corrections are not worth a word.
const WORTH_SAYING_NS: i64 = 1_000_000;

/// A data store and where it runs.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) host: HostAt,
    /// Its number on that host.
    pub(crate) number: u32,
    pub(crate) server: Server,
}

/// What services and data stores of all hosts told.
#[derive(Debug, Default)]
pub(crate) struct Together {
    pub(crate) services: Services,
    pub(crate) stores: Vec<Store>,
    /// When events may be missing.
    pub(crate) lost: Vec<TimeRange>,
    /// Events that do not say whose they are.
    pub(crate) nameless: u64,
}

impl Together {
    /// By the first host's clock, as far as what hosts sent to each other tells it.
    pub(crate) fn of(mut hosts: Vec<Heard>, names: &[&str]) -> (Self, Vec<Diagnostic>) {
        let ahead = clocks_ahead(&hosts);
        for (heard, ahead_ns) in hosts.iter_mut().zip(&ahead) {
            if *ahead_ns != 0 {
                heard.set_back(*ahead_ns);
            }
        }
        let services = hosts
            .iter_mut()
            .map(|heard| std::mem::take(&mut heard.services));
        let mut together = Self {
            services: merged(services.collect()),
            ..Self::default()
        };
        for (heard, host) in hosts.into_iter().zip(0..) {
            let numbers = heard.servers.numbers();
            let servers = heard.servers.all.into_iter().zip(numbers);
            together
                .stores
                .extend(servers.map(|(server, number)| Store {
                    host: HostAt(host),
                    number,
                    server,
                }));
            together.lost.extend(heard.lost);
            together.nameless = together.nameless.saturating_add(heard.nameless);
        }
        together.lost = TimeRange::union(together.lost);
        (together, said(&ahead, names))
    }
}

/// The services of all hosts, what they told in the order of time.
fn merged(hosts: Vec<Services>) -> Services {
    let mut all = Services::default();
    let mut received = Vec::new();
    let mut calls = Vec::new();
    let mut commands = Vec::new();
    for (host, position) in hosts.into_iter().zip(0..) {
        let (services, connections) = (all.services.len(), all.connections.len());
        let connection = |at: ConnectionAt| ConnectionAt::of(connections + at.index());
        (all.services).extend(host.services.into_iter().map(|mut service| {
            service.host = HostAt(position);
            service
        }));
        all.connections
            .extend(host.connections.into_iter().map(|mut connection| {
                connection.service = ServiceAt::of(services + connection.service.index());
                connection
            }));
        // What caused something is among the requests of its own host.
        let first = received.len();
        let cause = |cause: Option<ReceivedAt>| Some(ReceivedAt::of(first + cause?.index()));
        received.extend(host.received.into_iter().map(|mut one| {
            one.connection = connection(one.connection);
            one
        }));
        calls.extend(host.calls.into_iter().map(|mut one| {
            (one.connection, one.cause) = (connection(one.connection), cause(one.cause));
            one
        }));
        commands.extend(host.commands.into_iter().map(|mut one| {
            (one.connection, one.cause) = (connection(one.connection), cause(one.cause));
            one
        }));
    }
    let mut order: Vec<usize> = (0..received.len()).collect();
    order.sort_by_key(|&at| received[at].at);
    let mut place = vec![ReceivedAt(0); received.len()];
    for (now, before) in order.iter().enumerate() {
        place[*before] = ReceivedAt::of(now);
    }
    received.sort_by_key(|one| one.at);
    calls.sort_by_key(|one| one.at);
    commands.sort_by_key(|one| one.at);
    let causes = (calls.iter_mut().map(|one| &mut one.cause))
        .chain(commands.iter_mut().map(|one| &mut one.cause));
    for cause in causes.flatten() {
        *cause = place[cause.index()];
    }
    (all.received, all.calls, all.commands) = (received, calls, commands);
    all
}

impl Heard {
    /// Its clock was so far ahead.
    fn set_back(&mut self, ahead_ns: i64) {
        let set = |at: &mut Timestamp| *at = Timestamp::from_ns(at.ns().saturating_sub(ahead_ns));
        for received in &mut self.services.received {
            set(&mut received.at);
            received.answered.as_mut().map(set);
        }
        for call in &mut self.services.calls {
            set(&mut call.at);
            call.answered.as_mut().map(set);
        }
        for command in &mut self.services.commands {
            set(&mut command.at);
        }
        for range in &mut self.lost {
            set(&mut range.begin);
            set(&mut range.end);
        }
        let servers = self.servers.all.iter_mut();
        for batch in servers.flat_map(|server| server.kept_mut().values_mut().flatten()) {
            set(&mut batch.begin);
            set(&mut batch.read_end);
            batch.write_start.as_mut().map(set);
            set(&mut batch.ended);
            for command in &mut batch.commands {
                set(&mut command.start);
            }
        }
    }
}

/// By how much each host's clock is ahead of the first one's; 0 where that is not known.
fn clocks_ahead(hosts: &[Heard]) -> Vec<i64> {
    let mut ahead = vec![0; hosts.len()];
    if hosts.len() < 2 {
        return ahead;
    }
    let wires: Vec<UsedOnce<'_>> = hosts.iter().map(UsedOnce::of).collect();
    let mut is_known = vec![false; hosts.len()];
    for start in 0..hosts.len() {
        // Those that are reached from it, or that it is left alone with.
        let mut reached = match is_known[start] {
            true => continue,
            false => vec![start],
        };
        is_known[start] = true;
        while let Some(one) = reached.pop() {
            for other in 0..hosts.len() {
                if is_known[other] {
                    continue;
                }
                if let Some(offset) = offset(&wires[one], &wires[other]) {
                    is_known[other] = true;
                    ahead[other] = ahead[one].saturating_add(offset);
                    reached.push(other);
                }
            }
        }
    }
    ahead
}

/// Of a host, the wires of which it had one end only, and once: there, numbers mean the same at both ends.
struct UsedOnce<'run> {
    calls: FxHashMap<(Wire, u32), &'run Call>,
    received: FxHashMap<(Wire, u32), &'run Received>,
    /// When the first command was sent.
    commands: FxHashMap<Wire, Timestamp>,
    /// When it was executed, where the connection was told of from its first byte on.
    executed: FxHashMap<Wire, Timestamp>,
}

impl<'run> UsedOnce<'run> {
    fn of(heard: &'run Heard) -> Self {
        let services = &heard.services;
        let connections = services.connections.iter().map(Connection::wire);
        let servers = heard.servers.all.iter();
        let clients = servers.flat_map(|server| server.addresses.values().filter_map(wire_of));
        let mut times: FxHashMap<Wire, u32> = FxHashMap::default();
        for wire in connections.chain(clients) {
            *times.entry(wire).or_default() += 1;
        }
        let is_once = |wire: &Wire| times[wire] == 1 && is_between_hosts(wire);
        let once = |at: ConnectionAt, number: u32| {
            let connection = &services.connections[at.index()];
            let service = &services.services[connection.service.index()];
            let wire = connection.wire();
            (number != 0 && !service.is_mixed && is_once(&wire)).then_some((wire, number))
        };
        let first = services.commands.iter().filter(|one| one.number == 1);
        let servers = heard.servers.all.iter();
        let batches = servers.flat_map(|server| {
            (server.kept().iter()).filter_map(|(client, batches)| {
                let wire = server.addresses.get(client).and_then(wire_of)?;
                let first = batches
                    .first()
                    .filter(|batch| batch.bytes_before == Some(0))?;
                Some((wire, first.commands.first()?.start))
            })
        });
        Self {
            calls: (services.calls.iter())
                .filter_map(|one| Some((once(one.connection, one.message.number)?, one)))
                .collect(),
            received: (services.received.iter())
                .filter_map(|one| Some((once(one.connection, one.message.number)?, one)))
                .collect(),
            commands: first
                .filter_map(|one| Some((once(one.connection, one.number)?.0, one.at)))
                .collect(),
            executed: batches.filter(|(wire, _)| is_once(wire)).collect(),
        }
    }
}

/// By how much the second host's clock is ahead of the first one's; `None` where they sent each other nothing.
fn offset(first: &UsedOnce<'_>, second: &UsedOnce<'_>) -> Option<i64> {
    let there = bounds(first, second);
    let back = bounds(second, first);
    let back =
        back.map(|(least, most)| (most.map(i64::wrapping_neg), least.map(i64::wrapping_neg)));
    let both: Vec<_> = there.chain(back).collect();
    let mut least: Vec<i64> = both.iter().filter_map(|(least, _)| *least).collect();
    let mut most: Vec<i64> = both.iter().filter_map(|(_, most)| *most).collect();
    let (lowest, highest) = match (least.iter().max(), most.iter().min()) {
        (None, None) => return None,
        // Only what takes time on its way tells.
        (None, Some(&most)) if most > LONGEST_WAY_NS => (most, most),
        (None, Some(&most)) => (i64::MIN, most),
        (Some(&least), None) if least < -LONGEST_WAY_NS => (least, least),
        (Some(&least), None) => (least, i64::MAX),
        (Some(&least), Some(&most)) if least <= most => (least, most),
        // The clocks drift: what most say.
        _ => (middle(&mut least), middle(&mut most)),
    };
    if lowest <= 0 && highest >= 0 {
        return Some(0);
    }
    Some(match (lowest, highest) {
        (i64::MIN, most) => most,
        (least, i64::MAX) => least,
        (least, most) => ((i128::from(least) + i128::from(most)) / 2) as i64,
    })
}

/// What each request and first command that the first host sent to the second says of how far the second one's clock
/// is ahead: at least, at most.
fn bounds<'run>(
    first: &'run UsedOnce<'run>,
    second: &'run UsedOnce<'run>,
) -> impl Iterator<Item = (Option<i64>, Option<i64>)> {
    let ahead = |there: Timestamp, here: Timestamp| there.ns().saturating_sub(here.ns());
    let requests = second.received.iter().filter_map(move |(key, received)| {
        let call = first.calls.get(key)?;
        let least = call.answered.map(|answered| ahead(received.at, answered));
        call.message
            .is_same(&received.message)
            .then(|| (least, Some(ahead(received.at, call.at))))
    });
    let commands = second.executed.iter().filter_map(move |(wire, start)| {
        let sent = first.commands.get(wire)?;
        Some((None, Some(ahead(*start, *sent))))
    });
    requests.chain(commands)
}

fn middle(values: &mut [i64]) -> i64 {
    values.sort_unstable();
    values[values.len() / 2]
}

fn said(ahead: &[i64], names: &[&str]) -> Vec<Diagnostic> {
    let apart = ahead.iter().zip(names).skip(1);
    let apart = apart.filter(|(ahead, _)| ahead.unsigned_abs() >= WORTH_SAYING_NS as u64);
    let diagnostics = apart.map(|(ahead, name)| {
        let (far, way) = (ahead.unsigned_abs() as f64 / 1e9, ahead.signum());
        let way = if way > 0 { "ahead of" } else { "behind" };
        let place = Place {
            file: format!("hosts {} and {name}", names[0]),
            ..Place::default()
        };
        let message = format!(
            "the clock of {name} is {far:.6} s {way} that of {}, as requests and commands between hosts show: \
             times here are by the clock of {}",
            names[0], names[0]
        );
        Diagnostic::new(DiagnosticCode::HostClocksApart, place, message)
    });
    diagnostics.collect()
}
