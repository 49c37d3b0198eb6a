//! Services and data stores of several hosts in one order of time, by the clock of the first.
//!
//! A request was received after it was sent and before its answer came: that leaves only some offsets between the clocks
//! of two hosts possible (as for packets: Mills, RFC 5905, section 8). A command was executed after it was sent, which
//! tells the same in one direction. Clocks that may agree are left alone.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use slowpath_model::{Diagnostic, DiagnosticCode, Place, TimeRange, Timestamp};

use super::Heard;
use super::commands::wire_of;
use super::requests::Calls;
use super::services::{Connection, ConnectionAt, ReceivedAt, Role, ServiceAt, Services};
use super::wires::{HostAt, Wire, is_between_hosts};
use crate::batch::Batch;
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
        for (heard, ahead) in hosts.iter_mut().zip(&ahead) {
            if ahead.ns != 0 {
                heard.set_back(ahead.ns);
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

/// By how much a host's clock is ahead of the first one's; 0 where that is not known.
#[derive(Clone, Copy, Debug, Default)]
struct Ahead {
    ns: i64,
    /// Somewhere between the two only commands went.
    is_one_sided: bool,
}

/// By how much each host's clock is ahead.
fn clocks_ahead(hosts: &[Heard]) -> Vec<Ahead> {
    let mut ahead = vec![Ahead::default(); hosts.len()];
    if hosts.len() < 2 {
        return ahead;
    }
    let told: Vec<(Pair, Apart)> = (bounds(hosts).into_iter())
        .filter_map(|(pair, bounds)| Some((pair, bounds.apart()?)))
        .collect();
    let mut is_known = vec![false; hosts.len()];
    for start in 0..hosts.len() {
        is_known[start] = true;
        // Of those that lead on, first what tells most exactly: a host that answers one of them may only be
        // given commands by another one, which tells little.
        while let Some(((first, second), apart)) = (told.iter())
            .filter(|((first, second), _)| is_known[*first] != is_known[*second])
            .min_by_key(|(pair, apart)| (apart.uncertain, *pair))
        {
            let (from, to, further) = match is_known[*first] {
                true => (*first, *second, apart.ahead),
                false => (*second, *first, apart.ahead.saturating_neg()),
            };
            ahead[to] = Ahead {
                ns: ahead[from].ns.saturating_add(further),
                is_one_sided: ahead[from].is_one_sided || apart.uncertain == u64::MAX,
            };
            is_known[*first] = true;
            is_known[*second] = true;
        }
    }
    ahead
}

/// Two hosts, the one that comes first among them first.
type Pair = (usize, usize);

/// What two hosts sent each other says of how far the second one's clock is ahead of the first one's.
#[derive(Debug, Default)]
struct Bounds {
    /// At least so far, each.
    least: Vec<i64>,
    /// At most so far, each.
    most: Vec<i64>,
}

/// By how much the second one's clock is ahead, and how much that may be wrong.
#[derive(Clone, Copy, Debug)]
struct Apart {
    ahead: i64,
    uncertain: u64,
}

/// Of each pair of hosts that sent each other anything, what each request and command says. What is sent is found where it
/// arrives by the order on its connection alone, as joining it asks the clocks, too.
fn bounds(hosts: &[Heard]) -> BTreeMap<Pair, Bounds> {
    let wires: Vec<FxHashMap<Wire, u32>> = hosts.iter().map(Heard::wires).collect();
    let senders = senders(hosts, &wires);
    let calls: Vec<Calls<'_>> = (hosts.iter())
        .map(|heard| Calls::of(&heard.services))
        .collect();
    let commands: Vec<FxHashMap<(ConnectionAt, u64), Timestamp>> = hosts
        .iter()
        .map(|heard| commands(&heard.services))
        .collect();
    let mut all: BTreeMap<Pair, Bounds> = BTreeMap::new();
    for (heard, host) in hosts.iter().zip(0..) {
        let other_end = |wire: &Wire| {
            let is_once = wires[host].get(wire) == Some(&1);
            let sender = senders.get(wire).copied().flatten();
            sender.filter(|(sender, _)| is_once && *sender != host)
        };
        let services = &heard.services;
        let from: Vec<_> = (services.connections.iter())
            .map(|connection| {
                let service = &services.services[connection.service.index()];
                let is_receiver = connection.role == Role::Server && !service.is_mixed;
                other_end(&connection.wire()).filter(|_| is_receiver)
            })
            .collect();
        for received in &services.received {
            let Some((sender, connection)) = from[received.connection.index()] else {
                continue;
            };
            let Some(call) = calls[sender].find(connection, received) else {
                continue;
            };
            let call = calls[sender].get(call);
            if call.message.is_same(&received.message) {
                let answered = call.answered.map(|at| ahead(received.at, at));
                note(
                    &mut all,
                    (sender, host),
                    answered,
                    ahead(received.at, call.at),
                );
            }
        }
        for (wire, batches) in heard.clients() {
            let Some((sender, connection)) = other_end(&wire) else {
                continue;
            };
            for (byte, start) in firsts(batches) {
                if let Some(sent) = commands[sender].get(&(connection, byte)) {
                    note(&mut all, (sender, host), None, ahead(start, *sent));
                }
            }
        }
    }
    all
}

fn ahead(there: Timestamp, here: Timestamp) -> i64 {
    there.ns().saturating_sub(here.ns())
}

/// The receiver's clock is ahead of the sender's by at least, at most so much.
fn note(
    all: &mut BTreeMap<Pair, Bounds>,
    (sender, receiver): (usize, usize),
    least: Option<i64>,
    most: i64,
) {
    if sender < receiver {
        let bounds = all.entry((sender, receiver)).or_default();
        bounds.least.extend(least);
        bounds.most.push(most);
    } else {
        let bounds = all.entry((receiver, sender)).or_default();
        bounds.most.extend(least.map(i64::saturating_neg));
        bounds.least.push(most.saturating_neg());
    }
}

/// Whose connection the sending end of a wire is; `None` where several had it, on one host or on several.
fn senders(
    hosts: &[Heard],
    wires: &[FxHashMap<Wire, u32>],
) -> FxHashMap<Wire, Option<(usize, ConnectionAt)>> {
    let mut senders: FxHashMap<Wire, Option<(usize, ConnectionAt)>> = FxHashMap::default();
    for (heard, host) in hosts.iter().zip(0..) {
        let services = &heard.services;
        for (connection, position) in services.connections.iter().zip(0..) {
            let wire = connection.wire();
            if connection.role == Role::Server || !is_between_hosts(&wire) {
                continue;
            }
            let service = &services.services[connection.service.index()];
            let is_once = wires[host].get(&wire) == Some(&1) && !service.is_mixed;
            let sender = is_once.then_some((host, ConnectionAt(position)));
            (senders.entry(wire))
                .and_modify(|known| *known = None)
                .or_insert(sender);
        }
    }
    senders
}

/// When the command was sent that begins at a byte of its connection.
fn commands(services: &Services) -> FxHashMap<(ConnectionAt, u64), Timestamp> {
    let commands = services.commands.iter();
    commands
        .map(|command| ((command.connection, command.begin), command.at))
        .collect()
}

impl Heard {
    /// How often a wire had an end here. Of those with one, numbers and bytes mean the same at both ends.
    fn wires(&self) -> FxHashMap<Wire, u32> {
        let connections = self.services.connections.iter().map(Connection::wire);
        let servers = self.servers.all.iter();
        let clients = servers.flat_map(|server| server.addresses.values().filter_map(wire_of));
        let mut wires: FxHashMap<Wire, u32> = FxHashMap::default();
        for wire in connections.chain(clients) {
            *wires.entry(wire).or_default() += 1;
        }
        wires
    }

    /// What clients of data stores sent, and over which wire.
    fn clients(&self) -> impl Iterator<Item = (Wire, &[Batch])> {
        self.servers.all.iter().flat_map(|server| {
            (server.kept().iter()).filter_map(|(client, batches)| {
                let wire = server.addresses.get(client).and_then(wire_of)?;
                Some((wire, &batches[..]))
            })
        })
    }
}

/// The first command of each batch of a client: at which byte of the connection it begins, and when it was executed.
/// Should batches be missing, it is taken for one that was sent before it, which tells less and nothing wrong.
fn firsts(batches: &[Batch]) -> impl Iterator<Item = (u64, Timestamp)> {
    let mut read = None;
    batches.iter().filter_map(move |batch| {
        let before = batch.bytes_before.or(read);
        read = before.map(|before| before.saturating_add(batch.bytes_read));
        Some((before?, batch.commands.first()?.start))
    })
}

impl Bounds {
    /// `None` where nothing tells.
    fn apart(mut self) -> Option<Apart> {
        let (least, most) = (self.least.iter().max(), self.most.iter().min());
        let (lowest, highest) = match (least.copied(), most.copied()) {
            (None, None) => return None,
            // Only what takes time on its way tells.
            (None, Some(most)) if most > LONGEST_WAY_NS => return Some(Apart::one_sided(most)),
            (Some(least), None) if least < -LONGEST_WAY_NS => return Some(Apart::one_sided(least)),
            (None, Some(most)) => return Some(Apart::one_sided(most.min(0))),
            (Some(least), None) => return Some(Apart::one_sided(least.max(0))),
            (Some(least), Some(most)) if least <= most => (least, most),
            // The clocks drift: what most say.
            (Some(_), Some(_)) => (middle(&mut self.least), middle(&mut self.most)),
        };
        let may_agree = lowest <= 0 && highest >= 0;
        let between = ((i128::from(lowest) + i128::from(highest)) / 2) as i64;
        Some(Apart {
            ahead: if may_agree { 0 } else { between },
            uncertain: highest.abs_diff(lowest),
        })
    }
}

impl Apart {
    fn one_sided(ahead: i64) -> Self {
        Self {
            ahead,
            uncertain: u64::MAX,
        }
    }
}

fn middle(values: &mut [i64]) -> i64 {
    values.sort_unstable();
    values[values.len() / 2]
}

fn said(ahead: &[Ahead], names: &[&str]) -> Vec<Diagnostic> {
    let others = || ahead.iter().zip(names).skip(1);
    let place = |name: &str| Place {
        file: format!("hosts {} and {name}", names[0]),
        ..Place::default()
    };
    let apart = others().filter(|(ahead, _)| ahead.ns.unsigned_abs() >= WORTH_SAYING_NS as u64);
    let diagnostics = apart.map(|(ahead, name)| {
        let (far, way) = (ahead.ns.unsigned_abs() as f64 / 1e9, ahead.ns.signum());
        let way = if way > 0 { "ahead of" } else { "behind" };
        let message = format!(
            "the clock of {name} is {far:.6} s {way} that of {}, as requests and commands between hosts show: \
             times here are by the clock of {}",
            names[0], names[0]
        );
        Diagnostic::new(DiagnosticCode::HostClocksApart, place(name), message)
    });
    let one_sided = others().filter(|(ahead, _)| ahead.is_one_sided);
    let uncertain = one_sided.map(|(_, name)| {
        let message = format!(
            "only commands tell how the clock of {name} goes with that of {}: how long they were on their way or queued may \
             be wrong by a tenth of a second",
            names[0]
        );
        Diagnostic::new(DiagnosticCode::HostClocksUncertain, place(name), message)
    });
    diagnostics.chain(uncertain).collect()
}
