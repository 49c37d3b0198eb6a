//! The agent: runs trials where the observed system is, for an explorer on another machine.
//!
//! It does one thing at a time, for one exploration. What it is doing goes on when the connection is cut, and its result is kept
//! until the explorer has asked for something else; when the explorer stays away for longer than [`PATIENCE`], trials are
//! ended and what they changed is restored. Who knows the token has commands run as the agent's user.

use std::collections::BTreeSet;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use slowpath_platform::signals::{EndSignal, SignalPipe, Trigger};
use slowpath_platform::wait::wait_readable;

use super::message::{
    ALIVE, ANY, BUSY, Channel, Hello, Inbox, MOST_OF_STRANGERS, Number, OTHER_TOKEN, Order, Report,
    SILENCE, Specification, Task, Trialled, VERSION, WRITE_LIMIT, Welcome, write,
};
use crate::run::{self, Runner};
use crate::spec::Spec;
use crate::store::Planned;

/// How long an explorer may stay away.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a stranger may take to say who it is.
const HELLO_LIMIT: Duration = Duration::from_secs(5);
/// Connections at a time.
const MOST_CONNECTIONS: usize = 16;
/// A token has so many letters at least.
const SHORTEST_TOKEN: usize = 16;

/// Why an agent cannot work.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Its address.
    #[error("{address} is no address to listen at: {what}\n  hint: {hint}")]
    Address {
        /// As it was given.
        address: String,
        /// What is wrong.
        what: String,
        /// What can be done.
        hint: &'static str,
    },
    /// Its token.
    #[error(
        "the token is too short\n  hint: write {SHORTEST_TOKEN} letters or more into its file, the same on both sides: openssl rand -hex 16"
    )]
    Token,
    /// Its folder.
    #[error("the folder {} cannot be used", .0.display())]
    Folder(PathBuf, #[source] io::Error),
    /// Something else.
    #[error("the agent cannot work")]
    Other(#[from] io::Error),
}

/// An agent that listens.
#[derive(Debug)]
pub struct Agent {
    listener: TcpListener,
    token: String,
    folder: PathBuf,
}

/// What came from an explorer.
enum Arrived {
    /// It is there, on this connection.
    Connected(u64, TcpStream),
    Order(u64, Order),
    Gone(u64),
}

impl Agent {
    /// Listens at `HOST:PORT`; whoever connects has to know the token. Output of trials goes to `folder`.
    ///
    /// # Errors
    /// Where that address would be open to anybody, or cannot be had.
    pub fn listen(address: &str, token: &str, folder: &Path) -> Result<Self, AgentError> {
        let wrong = |what: String, hint| AgentError::Address {
            address: address.to_owned(),
            what,
            hint,
        };
        let form = "HOST:PORT, as in 10.0.0.2:7400; port 0 takes any";
        let resolved: Vec<SocketAddr> = (address.to_socket_addrs())
            .map_err(|cause| wrong(cause.to_string(), form))?
            .collect();
        if resolved.iter().any(|one| one.ip().is_unspecified()) {
            let what = "it stands for every network that this machine is in".to_owned();
            let hint = "name the address that the explorer connects to";
            return Err(wrong(what, hint));
        }
        if token.len() < SHORTEST_TOKEN {
            return Err(AgentError::Token);
        }
        let listener =
            TcpListener::bind(&resolved[..]).map_err(|cause| wrong(cause.to_string(), form))?;
        let made = std::fs::create_dir_all(folder).and_then(|()| folder.canonicalize());
        let folder = made.map_err(|cause| AgentError::Folder(folder.to_owned(), cause))?;
        Ok(Self {
            listener,
            token: token.to_owned(),
            folder,
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// Where the system does not tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Works until a signal comes.
    ///
    /// # Errors
    /// Where it cannot listen any more.
    pub fn serve(
        self,
        signals: &SignalPipe,
        tell: &mut dyn FnMut(&str),
    ) -> Result<EndSignal, AgentError> {
        self.listener.set_nonblocking(true)?;
        let (sender, arrivals) = channel();
        let door = Arc::new(Door {
            token: self.token,
            output: self.folder.join("output"),
            owner: Mutex::new(None),
            data: Mutex::new(None),
            connections: AtomicUsize::new(0),
        });
        let mut desk = Desk::new(Arc::clone(&door), self.folder);
        let mut number = 0;
        loop {
            let mut descriptors = vec![self.listener.as_fd()];
            descriptors.extend(signals.descriptors());
            wait_readable(&descriptors, Duration::from_millis(50))?;
            if let Some(signal) = signals.next() {
                desk.put_away(tell);
                return Ok(signal);
            }
            if let Ok((stream, peer)) = self.listener.accept() {
                number += 1;
                receive(&door, stream, peer, number, &sender);
            }
            desk.turn(&arrivals, tell);
        }
    }
}

/// What connections share.
#[derive(Debug)]
struct Door {
    token: String,
    output: PathBuf,
    /// The exploration that the agent works for.
    owner: Mutex<Option<String>>,
    /// Where numbers of running workloads go.
    data: Mutex<Option<TcpStream>>,
    connections: AtomicUsize,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Door {
    /// The earlier connection is of no use any more.
    fn send_numbers_to(&self, data: Option<TcpStream>) {
        let earlier = std::mem::replace(&mut *locked(&self.data), data);
        if let Some(earlier) = earlier {
            let _ = earlier.shutdown(Shutdown::Both);
        }
    }
}

/// Hears what a connection has to say, in a thread of its own.
fn receive(
    door: &Arc<Door>,
    stream: TcpStream,
    peer: SocketAddr,
    number: u64,
    sender: &Sender<Arrived>,
) {
    if door.connections.fetch_add(1, Ordering::AcqRel) >= MOST_CONNECTIONS {
        door.connections.fetch_sub(1, Ordering::AcqRel);
        return;
    }
    let (door, sender) = (Arc::clone(door), sender.clone());
    let hear = move || {
        // What goes wrong with a connection is its own affair.
        let _ = converse(&door, stream, number, &sender);
        let _ = sender.send(Arrived::Gone(number));
        door.connections.fetch_sub(1, Ordering::AcqRel);
    };
    let name = format!("from {peer}");
    let _ = std::thread::Builder::new().name(name).spawn(hear);
}

fn converse(
    door: &Door,
    mut stream: TcpStream,
    number: u64,
    sender: &Sender<Arrived>,
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(WRITE_LIMIT))?;
    stream.set_read_timeout(Some(Duration::from_millis(500)))?;
    let mut inbox = Inbox::default();
    let begin = Instant::now();
    let hello = loop {
        if begin.elapsed() > HELLO_LIMIT || !inbox.fill(&mut stream)? {
            return Ok(());
        }
        if let Some(hello) = inbox.next::<Hello>(MOST_OF_STRANGERS)? {
            break hello;
        }
    };
    let refused = refusal(door, &hello);
    let welcome = Welcome {
        version: VERSION,
        output: match refused {
            None => door.output.display().to_string(),
            Some(_) => String::new(),
        },
        refused: refused.clone(),
    };
    write(&mut stream, &welcome)?;
    if refused.is_some() {
        return Ok(());
    }
    if hello.channel == Channel::Data {
        // Numbers that cannot be written at once are not worth waiting for.
        let numbers = stream.try_clone()?;
        numbers.set_write_timeout(Some(Duration::from_millis(200)))?;
        door.send_numbers_to(Some(numbers));
    } else {
        let _ = sender.send(Arrived::Connected(number, stream.try_clone()?));
    }
    while inbox.fill(&mut stream)? {
        while let Some(order) = inbox.next::<Order>(ANY)? {
            let _ = sender.send(Arrived::Order(number, order));
        }
    }
    Ok(())
}

/// Why somebody may not come in.
fn refusal(door: &Door, hello: &Hello) -> Option<String> {
    if hello.token != door.token {
        return Some(OTHER_TOKEN.to_owned());
    }
    if hello.version != VERSION {
        return Some(format!(
            "it speaks version {VERSION}, and the explorer version {}",
            hello.version
        ));
    }
    let is_word = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'-';
    if hello.exploration.is_empty() || !hello.exploration.bytes().all(is_word) {
        return Some("its exploration has no proper name".to_owned());
    }
    let mut owner = locked(&door.owner);
    match &*owner {
        Some(owner) if *owner != hello.exploration => Some(BUSY.to_owned()),
        _ => {
            *owner = Some(hello.exploration.clone());
            None
        }
    }
}

/// What the agent is doing, and for whom.
struct Desk {
    door: Arc<Door>,
    folder: PathBuf,
    /// The latest connection.
    explorer: Option<(u64, TcpStream)>,
    /// When it was last there, and when it was last told something.
    last_seen: Instant,
    last_told: Instant,
    doing: Option<Doing>,
    done: Option<(u64, Answer)>,
    /// Of trials whose changes are not restored yet.
    to_restore: Option<Specification>,
}

type Answer = Result<Option<Trialled>, String>;

/// Something that is being done.
struct Doing {
    attempt: u64,
    is_trial: bool,
    thread: JoinHandle<Option<Answer>>,
    end: Trigger,
    enough: Arc<AtomicBool>,
}

impl Desk {
    fn new(door: Arc<Door>, folder: PathBuf) -> Self {
        let now = Instant::now();
        Self {
            door,
            folder,
            explorer: None,
            last_seen: now,
            last_told: now,
            doing: None,
            done: None,
            to_restore: None,
        }
    }

    fn turn(&mut self, arrivals: &Receiver<Arrived>, tell: &mut dyn FnMut(&str)) {
        for arrived in arrivals.try_iter() {
            match arrived {
                Arrived::Connected(number, stream) => {
                    self.last_seen = Instant::now();
                    // The earlier one has been cut, though nobody may have noticed yet.
                    if let Some((_, earlier)) = self.explorer.replace((number, stream)) {
                        let _ = earlier.shutdown(Shutdown::Both);
                    }
                    tell("an explorer is connected");
                }
                Arrived::Order(number, order) if self.is_from(number) => {
                    self.last_seen = Instant::now();
                    self.order(order, tell);
                }
                Arrived::Gone(number) if self.is_from(number) => {
                    self.hang_up();
                    tell("the explorer is gone");
                }
                Arrived::Order(..) | Arrived::Gone(_) => {}
            }
        }
        if self
            .doing
            .as_ref()
            .is_some_and(|doing| doing.thread.is_finished())
        {
            self.finish();
        }
        let has_nothing_left = self.doing.is_none() && self.to_restore.is_none();
        if self.explorer.is_some() && self.last_seen.elapsed() >= SILENCE {
            tell("nothing is heard from the explorer");
            self.hang_up();
        } else if self.explorer.is_some() {
            if self.last_told.elapsed() >= ALIVE {
                self.report(&Report::Alive);
            }
        } else if has_nothing_left {
            *locked(&self.door.owner) = None;
        } else if self.last_seen.elapsed() >= PATIENCE {
            tell("the explorer stays away: its trials are ended and restored");
            self.put_away(tell);
        }
    }

    fn is_from(&self, number: u64) -> bool {
        self.explorer
            .as_ref()
            .is_some_and(|(latest, _)| *latest == number)
    }

    fn hang_up(&mut self) {
        if let Some((_, stream)) = self.explorer.take() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.door.send_numbers_to(None);
    }

    fn report(&mut self, report: &Report) {
        if let Some((_, stream)) = &mut self.explorer {
            self.last_told = Instant::now();
            if write(stream, report).is_err() {
                self.hang_up();
            }
        }
    }

    fn order(&mut self, order: Order, tell: &mut dyn FnMut(&str)) {
        match order {
            Order::Alive => {}
            Order::Enough { attempt } => {
                if let Some(doing) = self.doing.as_ref().filter(|doing| doing.attempt == attempt) {
                    doing.enough.store(true, Ordering::Release);
                }
            }
            Order::Do { attempt, .. }
                if self
                    .doing
                    .as_ref()
                    .is_some_and(|doing| doing.attempt == attempt) => {}
            Order::Do {
                attempt,
                task,
                specification,
            } => {
                if let Some((_, answer)) = self.done.as_ref().filter(|(done, _)| *done == attempt) {
                    let result = answer.clone();
                    self.report(&Report::Done { attempt, result });
                    return;
                }
                self.end_what_is_done();
                self.done = None;
                if let Err(cause) = self.begin(attempt, task, specification) {
                    tell(&format!("nothing can be begun: {cause}"));
                    self.done = Some((attempt, Err(cause.to_string())));
                    let result = Err(cause.to_string());
                    self.report(&Report::Done { attempt, result });
                }
            }
        }
    }

    fn begin(&mut self, attempt: u64, task: Task, specification: Specification) -> io::Result<()> {
        let (signals, end) = SignalPipe::of_trigger()?;
        let enough = Arc::new(AtomicBool::new(false));
        let is_trial = matches!(task, Task::Trial { .. });
        if is_trial {
            self.to_restore = Some(specification.clone());
        }
        let work = Work {
            attempt,
            task,
            specification,
            folder: self.folder.clone(),
            door: Arc::clone(&self.door),
            enough: Arc::clone(&enough),
        };
        let thread = std::thread::Builder::new()
            .name("trial".to_owned())
            .spawn(move || work.run(&signals))?;
        self.doing = Some(Doing {
            attempt,
            is_trial,
            thread,
            end,
            enough,
        });
        Ok(())
    }

    /// Takes note of what has been done.
    fn finish(&mut self) {
        let Some(doing) = self.doing.take() else {
            return;
        };
        let answer = match doing.thread.join() {
            Ok(Some(answer)) => answer,
            Ok(None) => return,
            Err(_) => Err("the agent failed; what it said is where it was started".to_owned()),
        };
        if !doing.is_trial && answer.is_ok() {
            self.to_restore = None;
        }
        self.done = Some((doing.attempt, answer.clone()));
        self.report(&Report::Done {
            attempt: doing.attempt,
            result: answer,
        });
    }

    fn end_what_is_done(&mut self) {
        if let Some(doing) = self.doing.take() {
            doing.end.fire();
            let _ = doing.thread.join();
        }
    }

    /// Ends everything and restores.
    fn put_away(&mut self, tell: &mut dyn FnMut(&str)) {
        self.end_what_is_done();
        self.done = None;
        if let Some(specification) = self.to_restore.take()
            && let Err(what) = restore(&specification, &self.folder)
        {
            tell(&format!(
                "what trials changed could not be restored: {what}"
            ));
        }
    }
}

/// One thing to do, in a thread of its own.
struct Work {
    attempt: u64,
    task: Task,
    specification: Specification,
    folder: PathBuf,
    door: Arc<Door>,
    enough: Arc<AtomicBool>,
}

impl Work {
    /// `None` where it was ended.
    fn run(self, signals: &SignalPipe) -> Option<Answer> {
        let Task::Trial {
            id,
            batch,
            configuration,
            limit_ms,
            is_watched,
        } = &self.task
        else {
            return Some(restore(&self.specification, &self.folder).map(|()| None));
        };
        let spec = match parse(&self.specification) {
            Ok(spec) => spec,
            Err(what) => return Some(Err(what)),
        };
        let planned = Planned {
            id: *id,
            batch: *batch,
            configuration: configuration.clone(),
        };
        let token = locked(&self.door.owner).clone().unwrap_or_default();
        // Of an agent that was killed.
        run::end_leftovers(&token);
        let runner = Runner::new(&spec, &self.folder, &token, BTreeSet::new(), signals);
        let mut runner = match runner {
            Ok(runner) => runner,
            Err(error) => return Some(Err(told(&error))),
        };
        let limit = limit_ms.map(Duration::from_millis);
        let mut show = |metric: &str, value: f64| {
            self.show(metric, value);
            self.enough.load(Ordering::Acquire)
        };
        let stop_run: Option<run::StopRun<'_>> = if *is_watched { Some(&mut show) } else { None };
        match runner.run(&planned, limit, &[], stop_run) {
            Ok(ended) => Some(Ok(Some(ended.into()))),
            Err(run::RunError::Interrupted(_)) => None,
            Err(error) => Some(Err(told(&error))),
        }
    }

    fn show(&self, metric: &str, value: f64) {
        let number = Number {
            attempt: self.attempt,
            metric: metric.to_owned(),
            value,
        };
        let is_cut = locked(&self.door.data)
            .as_mut()
            .is_some_and(|stream| write(stream, &number).is_err());
        if is_cut {
            self.door.send_numbers_to(None);
        }
    }
}

fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text += &format!(": {inner}");
        cause = inner.source();
    }
    text
}

/// Relative paths of a specification start from where the agent was started.
fn parse(specification: &Specification) -> Result<Spec, String> {
    let load = |path: &Path| {
        let name = path.strip_prefix(".").unwrap_or(path).display().to_string();
        let text = specification.templates.get(&name).cloned();
        text.ok_or_else(|| io::ErrorKind::NotFound.into())
    };
    let Specification { name, text, .. } = specification;
    Spec::parse(text, name, name, Path::new("."), &load).map_err(|error| error.to_string())
}

fn restore(specification: &Specification, folder: &Path) -> Result<(), String> {
    let spec = parse(specification)?;
    let here = std::env::current_dir().map_err(|cause| cause.to_string())?;
    run::restore(&spec, &here, folder)
}
