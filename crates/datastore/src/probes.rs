//! What the kernel's probes tell of a data store, put into the words of its agent.
//!
//! A probe at a function's return does not know for whom it ran, and none knows how many bytes were moved: the first
//! follows from the entry before on the same thread, the second from the system calls between the two. Whose connection a
//! client is follows from the looks of the recorder, which say that a descriptor was one socket for a while.

#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_concepts::{
    Concepts, Fact, FactKind, StoreClientId, StoreFunction, StoreProbe, SyscallId,
};
use slowpath_model::{Event, Nanoseconds, StreamId, ThreadId, Timestamp};
use slowpath_source::Source;

use crate::server::Address;
use crate::told::{Process, Told, What, address_of, text};

/// Without any of these there are no probes.
pub(crate) const PROBE_FACTS: &[FactKind] = &[
    FactKind::StoreEntered,
    FactKind::StoreReturned,
    FactKind::StoreClientMade,
    FactKind::StoreClientBlocked,
    FactKind::StoreClientReleased,
];
/// What is wanted beside them.
const BESIDE: &[FactKind] = &[FactKind::StoreSocket, FactKind::SyscallExit];

/// `kinds` of fact in `source`, and what makes sense of probes where there are any.
pub(crate) fn resolve(source: &dyn Source, kinds: &[FactKind]) -> Concepts {
    let concepts = Concepts::resolve(source.schema(), kinds);
    if !PROBE_FACTS.iter().any(|&kind| concepts.has(kind)) {
        return concepts;
    }
    let kinds = [kinds, BESIDE].concat();
    Concepts::resolve_calls(source.schema(), &kinds, |call| moves(call).is_some())
}

/// Which way a system call moves the bytes of a connection.
fn moves(call: &str) -> Option<Moved> {
    match call {
        "read" => Some(Moved::In),
        "write" | "writev" => Some(Moved::Out),
        _ => None,
    }
}

/// Which way bytes went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Moved {
    In,
    Out,
}

/// What a probe, or something beside it, said.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Probe {
    Entered {
        function: StoreFunction,
        command: Box<str>,
    },
    Returned(StoreFunction),
    ClientMade,
    ClientBlocked,
    ClientReleased,
    Socket(Box<Socket>),
    /// The thread moved bytes; 0: the other end has closed.
    Bytes(Moved, u64),
}

/// What a look at a descriptor found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Socket {
    address: Address,
    listens: bool,
    /// It was this socket from then …
    since: Timestamp,
    asked: Timestamp,
    /// … until then.
    answered: Timestamp,
    /// Bytes read of it at some time between `asked` and `answered`.
    read: Option<u64>,
}

/// Which system calls move bytes, by number.
#[derive(Debug, Default)]
pub(crate) struct Movers(Vec<(SyscallId, Moved)>);

impl Movers {
    pub(crate) fn of(concepts: &Concepts) -> Self {
        let names = concepts.syscall_names().iter().zip(0..);
        let movers = names.filter_map(|(name, id)| Some((SyscallId(id), moves(name)?)));
        Self(movers.collect())
    }

    /// The bytes that a system call moved, where `fact` is the end of one that moves some.
    pub(crate) fn told(&self, fact: &Fact<'_>, at: Timestamp, stream: StreamId) -> Option<Told> {
        let Fact::SyscallExit(exit) = fact else {
            return None;
        };
        let (_, moved) = self.0.iter().find(|(id, _)| Some(*id) == exit.call)?;
        let bytes = u64::try_from(exit.ret).ok()?;
        Some(Told {
            at,
            stream,
            process: Process::default(),
            thread: exit.thread,
            descriptor: -1,
            client: StoreClientId::default(),
            is_probed: true,
            what: What::Probe(Probe::Bytes(*moved, bytes)),
        })
    }
}

impl Probe {
    /// What `probe` says, that of `event`.
    pub(crate) fn of(probe: &StoreProbe<'_>, event: &Event<'_>) -> Self {
        match probe {
            StoreProbe::Entered { function, command } => Self::Entered {
                function: *function,
                command: text(command),
            },
            StoreProbe::Returned(function) => Self::Returned(*function),
            StoreProbe::ClientMade => Self::ClientMade,
            StoreProbe::ClientBlocked => Self::ClientBlocked,
            StoreProbe::ClientReleased => Self::ClientReleased,
            StoreProbe::Socket {
                address,
                listens,
                since,
                asked,
                answered,
                read,
            } => {
                let before = |ago: &Nanoseconds| {
                    let ago = i64::try_from(ago.get()).unwrap_or(i64::MAX);
                    Timestamp::from_ns(event.at.ns().saturating_sub(ago))
                };
                Self::Socket(Box::new(Socket {
                    address: address_of(address),
                    listens: *listens,
                    since: before(since),
                    asked: before(asked),
                    answered: before(answered),
                    read: *read,
                }))
            }
        }
    }
}

/// What threads and clients are about, in the order of time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Probes {
    /// Functions that each thread is in, the outermost first.
    threads: FxHashMap<ThreadId, Vec<Frame>>,
    servers: Vec<Server>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Server {
    process: Process,
    /// By descriptor: the client that was read last, and when.
    read_last: FxHashMap<i32, (StoreClientId, Timestamp)>,
    clients: FxHashMap<StoreClientId, Client>,
    /// By descriptor: the other end of the connection when it was last looked at. Of no use once events were lost.
    looked_at: FxHashMap<i32, Address>,
    /// Events were lost.
    misses_some: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Frame {
    function: StoreFunction,
    process: Process,
    descriptor: i32,
    client: StoreClientId,
    command: Box<str>,
    /// It is told already.
    again: bool,
    /// Bytes moved in it; `None`: nothing was there.
    bytes: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Client {
    /// Its connection; negative: none, as of the client of scripts.
    descriptor: i32,
    /// Bytes read of its connection, where that is known.
    read: Option<u64>,
    /// When it was last read.
    read_until: Timestamp,
    /// It has replies to all that was read.
    is_answered: bool,
    is_addressed: bool,
    /// The command that has blocked it, and may be executed again.
    blocked_in: Option<Box<str>>,
}

impl Default for Client {
    fn default() -> Self {
        Self {
            descriptor: -1,
            read: None,
            read_until: Timestamp::MIN,
            is_answered: false,
            is_addressed: false,
            blocked_in: None,
        }
    }
}

impl Probes {
    /// Tells `told` on: as it is, or what it comes to where a probe said it.
    pub(crate) fn take(&mut self, told: Told, mut tell: impl FnMut(Told)) {
        let probe = match &told.what {
            What::Probe(probe) => probe,
            What::Gap { .. } => {
                self.miss();
                return tell(told);
            }
            _ => return tell(told),
        };
        match probe {
            Probe::Entered { function, command } => {
                if *function == StoreFunction::Read {
                    self.before_read(&told).into_iter().for_each(&mut tell);
                }
                let again = self.is_again(&told, *function, command);
                let entered = self.entered(&told, *function, command, again);
                if !again {
                    tell(entered);
                }
            }
            Probe::Returned(function) => {
                if let Some(returned) = self.returned(&told, *function) {
                    tell(returned);
                }
            }
            Probe::ClientMade => {
                let client = Client {
                    read: Some(0),
                    is_answered: true,
                    ..Client::default()
                };
                self.server(told.process)
                    .clients
                    .insert(told.client, client);
            }
            Probe::ClientBlocked => self.blocked(&told),
            Probe::ClientReleased => {
                if let Some(client) = self.server(told.process).clients.get_mut(&told.client) {
                    client.blocked_in = None;
                }
            }
            Probe::Bytes(moved, bytes) => self.moved(&told, *moved, *bytes),
            Probe::Socket(socket) => {
                if let Some(addressed) = self.addressed(&told, socket) {
                    tell(addressed);
                }
            }
        }
    }

    /// Returns, what was read and who was released may be missing.
    fn miss(&mut self) {
        self.threads.clear();
        for server in &mut self.servers {
            server.misses_some = true;
            for client in server.clients.values_mut() {
                client.read = None;
                client.blocked_in = None;
            }
        }
    }

    fn server(&mut self, process: Process) -> &mut Server {
        let known = (self.servers.iter()).position(|server| server.process == process);
        let place = known.unwrap_or_else(|| {
            self.servers.push(Server {
                process,
                ..Server::default()
            });
            self.servers.len() - 1
        });
        &mut self.servers[place]
    }

    fn blocked(&mut self, told: &Told) {
        let frames = told.thread.and_then(|thread| self.threads.get(&thread));
        let is_it =
            |frame: &&Frame| frame.function == StoreFunction::Call && frame.client == told.client;
        let frame = frames.and_then(|frames| frames.last()).filter(is_it);
        let command = frame.map(|frame| frame.command.clone());
        if let Some(client) = self.server(told.process).clients.get_mut(&told.client) {
            client.blocked_in = command;
        }
    }

    /// Whether a command is executed that was before, and has blocked its client since. What is read and written meanwhile
    /// is of commands around it.
    fn is_again(&mut self, told: &Told, function: StoreFunction, command: &str) -> bool {
        if function != StoreFunction::Call {
            return false;
        }
        let frames = told.thread.and_then(|thread| self.threads.get(&thread));
        let mut frames = frames.into_iter().flatten();
        let is_in_it = frames.any(|frame| frame.client == told.client);
        let client = self.server(told.process).clients.get_mut(&told.client);
        let blocked_in = client.and_then(|client| client.blocked_in.take());
        let is_same = blocked_in.is_some_and(|blocked_in| *blocked_in == *command);
        !is_in_it && is_same
    }

    fn entered(
        &mut self,
        told: &Told,
        function: StoreFunction,
        command: &str,
        again: bool,
    ) -> Told {
        let server = self.server(told.process);
        let client = server.clients.entry(told.client).or_default();
        if function == StoreFunction::Read {
            // I/O threads that were given the client have no descriptor to tell.
            if told.descriptor >= 0 {
                client.descriptor = told.descriptor;
            }
            client.is_answered = false;
            let now = (told.client, told.at);
            server.read_last.insert(client.descriptor, now);
        }
        let descriptor = client.descriptor;
        if let Some(thread) = told.thread {
            self.threads.entry(thread).or_default().push(Frame {
                function,
                process: told.process,
                descriptor,
                client: told.client,
                command: command.into(),
                again,
                bytes: None,
            });
        }
        let what = match function {
            StoreFunction::Read => What::ReadStart,
            StoreFunction::Call => What::CallStart {
                command: command.into(),
            },
            StoreFunction::Write => What::WriteStart,
        };
        Told {
            descriptor,
            what,
            ..told.clone()
        }
    }

    fn returned(&mut self, told: &Told, function: StoreFunction) -> Option<Told> {
        let frames = self.threads.get_mut(&told.thread?)?;
        let is_it = |frame: &Frame| frame.function == function && frame.process == told.process;
        let place = frames.iter().rposition(is_it)?;
        // Returns of what it called are missing.
        frames.truncate(place + 1);
        let frame = frames.pop().filter(|frame| !frame.again)?;
        if function == StoreFunction::Read && frame.bytes.is_none() && self.is_read(&frame) {
            return None;
        }
        let moved = frame.bytes.unwrap_or(0);
        let server = self.server(frame.process);
        if let Some(client) = server.clients.get_mut(&frame.client) {
            match function {
                StoreFunction::Read => {
                    client.read = client.read.map(|read| read.saturating_add(moved));
                    client.read_until = told.at;
                }
                StoreFunction::Write if moved > 0 => client.is_answered = true,
                _ => {}
            }
        }
        let bytes = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let bytes = frame.bytes.map_or(-1, bytes);
        let what = match function {
            StoreFunction::Read => What::ReadEnd { bytes, memory: 0 },
            StoreFunction::Call => What::CallEnd {
                command: frame.command,
            },
            StoreFunction::Write => What::WriteEnd { bytes },
        };
        Some(Told {
            descriptor: frame.descriptor,
            client: frame.client,
            what,
            ..told.clone()
        })
    }

    /// Whether a thread reads the client of this frame, which another one has left without reading: it was given the client
    /// there, and may have begun before.
    fn is_read(&self, left: &Frame) -> bool {
        let mut frames = self.threads.values().flatten();
        frames.any(|frame| {
            let is_its = frame.process == left.process && frame.client == left.client;
            is_its && frame.function == StoreFunction::Read
        })
    }

    /// What a command itself reads and writes is of no connection.
    fn moved(&mut self, told: &Told, moved: Moved, bytes: u64) {
        let frames = told.thread.and_then(|thread| self.threads.get_mut(&thread));
        let Some(frame) = frames.and_then(|frames| frames.last_mut()) else {
            return;
        };
        let fits = match frame.function {
            StoreFunction::Read => moved == Moved::In,
            StoreFunction::Call => false,
            StoreFunction::Write => moved == Moved::Out,
        };
        if fits {
            frame.bytes = Some(frame.bytes.unwrap_or(0).saturating_add(bytes));
        }
    }

    /// The address of the client that was read while the descriptor was that socket, or where the server listens.
    fn addressed(&mut self, told: &Told, socket: &Socket) -> Option<Told> {
        if socket.listens {
            return Some(Told {
                what: What::Listens(Box::new(socket.address.clone())),
                ..told.clone()
            });
        }
        let is_being_read = |frame: &Frame| {
            let is_it = frame.process == told.process && frame.descriptor == told.descriptor;
            is_it && frame.function == StoreFunction::Read
        };
        let is_being_read = self.threads.values().flatten().any(is_being_read);
        let server = self.server(told.process);
        (server.looked_at).insert(told.descriptor, socket.address.clone());
        let (number, at) = *server.read_last.get(&told.descriptor)?;
        let client = server.clients.get_mut(&number)?;
        if at < socket.since || at > socket.answered {
            return None;
        }
        // Nobody read it while the kernel counted.
        if client.read.is_none() && !is_being_read && client.read_until < socket.asked {
            client.read = socket.read;
        }
        if std::mem::replace(&mut client.is_addressed, true) {
            return None;
        }
        Some(Told {
            client: number,
            what: What::Address(Box::new(socket.address.clone())),
            ..told.clone()
        })
    }

    /// What is known of a client before it is read: where it was there before the recording began (else it had been seen
    /// being made), whose connection its descriptor was at any look since; how much had been read before the batch that
    /// begins now.
    fn before_read(&mut self, told: &Told) -> Option<Told> {
        let server = self.server(told.process);
        let Some(client) = server.clients.get(&told.client) else {
            let address =
                (server.looked_at.get(&told.descriptor)).filter(|_| !server.misses_some)?;
            let address = Box::new(address.clone());
            let client = server.clients.entry(told.client).or_default();
            client.is_addressed = true;
            return Some(Told {
                what: What::Address(address),
                ..told.clone()
            });
        };
        let read = client.read.filter(|_| client.is_answered)?;
        Some(Told {
            what: What::WasRead(read),
            ..told.clone()
        })
    }
}
