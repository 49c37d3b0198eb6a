//! Which request that one service sent is which that another one received.
//!
//! By the four numbers of the connection (addresses and ports of both ends), by when it was open, as ports are used
//! again, and by the order on it. Who sends a request tells so before it writes, so each is received after that and,
//! over HTTP/1.1 without pipelining, before the next one is sent on that connection. What does not fit is not joined.

use rustc_hash::{FxHashMap, FxHashSet};

use super::services::{Call, CallAt, ConnectionAt, Received, ReceivedAt, Services};
use super::wires::{Turns, WireAt, Wires};

/// HTTP/1.1 as the agent numbers it.
const HTTP_1: u8 = 11;

/// What became of each request, by its position.
pub(crate) struct JoinedRequests {
    /// For each that was received: who sent it.
    pub(crate) senders: Vec<Joined<CallAt>>,
    /// For each that was sent: who received it.
    pub(crate) receivers: Vec<Joined<ReceivedAt>>,
}

/// What is known of the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joined<T> {
    /// It is this one.
    To(T),
    /// It was not recorded.
    Outside,
    /// It was recorded, but which one it is is not certain.
    Uncertain,
}

impl<T: Copy> Joined<T> {
    pub(crate) fn to(self) -> Option<T> {
        match self {
            Self::To(other) => Some(other),
            Self::Outside | Self::Uncertain => None,
        }
    }
}

/// Joins what was sent to what was received.
pub(crate) fn join(services: &Services, wires: &Wires) -> JoinedRequests {
    let sent = Sent::of(services, wires);
    let received = services.received.iter().zip(0..);
    let mut senders: Vec<_> = received
        .map(|(received, position)| sent.sender_of(received, ReceivedAt(position)))
        .collect();
    let mut claims = vec![0_u32; services.calls.len()];
    for call in senders.iter().filter_map(|sender| sender.to()) {
        claims[call.index()] += 1;
    }
    let mut receivers = receivers_recorded(services, wires);
    for (sender, position) in senders.iter_mut().zip(0..) {
        let Some(call) = sender.to() else { continue };
        if claims[call.index()] == 1 {
            receivers[call.index()] = Joined::To(ReceivedAt(position));
        } else {
            *sender = Joined::Uncertain;
        }
    }
    JoinedRequests { senders, receivers }
}

/// Requests over wires at whose other end somebody was recorded are not sent outside.
fn receivers_recorded(services: &Services, wires: &Wires) -> Vec<Joined<ReceivedAt>> {
    let received = services.received.iter().map(|received| received.connection);
    let recorded: FxHashSet<WireAt> = received
        .filter_map(|one| wires.of_connection(one))
        .collect();
    let calls = services.calls.iter().map(|call| {
        let wire = wires.of_connection(call.connection);
        match wire.is_some_and(|wire| recorded.contains(&wire)) {
            true => Joined::Uncertain,
            false => Joined::Outside,
        }
    });
    calls.collect()
}

/// All requests that were sent, by where and as which.
pub(crate) struct Calls<'run> {
    services: &'run Services,
    by_connection: FxHashMap<ConnectionAt, Vec<CallAt>>,
    by_number: FxHashMap<(ConnectionAt, u32), CallAt>,
}

impl<'run> Calls<'run> {
    pub(crate) fn of(services: &'run Services) -> Self {
        let mut by_connection: FxHashMap<ConnectionAt, Vec<CallAt>> = FxHashMap::default();
        let mut by_number = FxHashMap::default();
        for (call, position) in services.calls.iter().zip(0..) {
            let calls = by_connection.entry(call.connection).or_default();
            calls.push(CallAt(position));
            by_number.insert((call.connection, call.message.number), CallAt(position));
        }
        Self {
            services,
            by_connection,
            by_number,
        }
    }

    pub(crate) fn get(&self, position: CallAt) -> &'run Call {
        &self.services.calls[position.index()]
    }

    /// The one over the connection that is the one received, by the order on it alone.
    pub(crate) fn find(&self, connection: ConnectionAt, received: &Received) -> Option<CallAt> {
        let number = received.message.number;
        let known = self.by_number.get(&(connection, number));
        let by_number = known.copied().filter(|_| number != 0);
        by_number.or_else(|| self.by_bytes(connection, received))
    }

    /// For connections that are older than the recording of one end: the last request before whose head less had
    /// been sent than was received with this one.
    fn by_bytes(&self, connection: ConnectionAt, received: &Received) -> Option<CallAt> {
        let bytes = received.message.received;
        let calls = self.by_connection.get(&connection)?;
        let after = calls.partition_point(|position| self.get(*position).message.sent < bytes);
        let position = calls[after.checked_sub(1)?];
        let call = self.get(position);
        let is_old = received.message.number == 0 || call.message.number == 0;
        // Without an answer nothing shows that the next one has not been lost.
        let is_certain = is_old && call.message.version == HTTP_1 && call.answered.is_some();
        is_certain.then_some(position)
    }
}

/// Who sent what was received, over all wires.
struct Sent<'run> {
    calls: Calls<'run>,
    wires: &'run Wires,
    turns: Turns,
}

impl<'run> Sent<'run> {
    fn of(services: &'run Services, wires: &'run Wires) -> Self {
        let uses = services.calls.iter().map(|call| (call.connection, call.at));
        Self {
            calls: Calls::of(services),
            wires,
            turns: Turns::of(wires, uses),
        }
    }

    fn sender_of(&self, received: &Received, at: ReceivedAt) -> Joined<CallAt> {
        let wire = self.wires.of_connection(received.connection);
        let Some(wire) = wire.filter(|wire| self.turns.know(*wire)) else {
            return Joined::Outside;
        };
        let turn = self.turns.at(wire, received.at);
        let found = turn.and_then(|connection| self.calls.find(connection, received));
        let fits = found.filter(|position| {
            let call = self.calls.get(*position);
            // Whatever it is made for was received before, so that none is below itself.
            fits(call, received) && call.cause.is_none_or(|cause| cause < at)
        });
        fits.map_or(Joined::Uncertain, Joined::To)
    }
}

/// Whether what both ends tell can be of one request.
fn fits(call: &Call, received: &Received) -> bool {
    let (sent, got) = (&call.message, &received.message);
    let in_time = call.at <= received.at && call.answered.is_none_or(|at| received.at <= at);
    let in_bytes = sent.version != HTTP_1 || sent.sent < got.received;
    in_time && in_bytes && sent.is_same(got)
}
