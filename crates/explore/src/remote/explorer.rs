//! The explorer's side of the wire: has an agent on another machine do what a [`Runner`](crate::run::Runner) does here.
//!
//! Each thing to do has a number of its own. When the connection is cut, the same number is asked for again over a new one, so that it
//! is done once and its result counts once. Where the agent cannot be reached for longer than the specification's patience,
//! the trial does not count.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use slowpath_platform::signals::SignalPipe;
use slowpath_platform::wait::wait_readable;

use super::message::{
    ALIVE, ANY, BUSY, Channel, Hello, Inbox, Number, OTHER_TOKEN, Order, Report, SILENCE,
    Specification, Task, VERSION, WRITE_LIMIT, Welcome, write,
};
use crate::run::{Ended, RunError, StopRun};
use crate::spec::{RemoteAgent, Spec};
use crate::store::Planned;

/// How long one attempt to connect may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);
/// How long to wait between two of them.
const PAUSE: Duration = Duration::from_millis(300);

/// An agent on another machine, and the way to it.
#[derive(Debug)]
pub(crate) struct Remote<'run> {
    agent: RemoteAgent,
    token: String,
    exploration: String,
    specification: Specification,
    signals: &'run SignalPipe,
    link: Option<Link>,
    output: PathBuf,
    /// Whether the agent was unreachable for longer than anybody waits.
    is_lost: bool,
    /// Whether it has ever let this explorer in: before, it does nothing for it.
    is_welcome: bool,
}

/// Connections to the agent.
#[derive(Debug)]
struct Link {
    control: TcpStream,
    inbox: Inbox,
    data: Option<(TcpStream, Inbox)>,
    last_heard: Instant,
    last_told: Instant,
}

/// Why an attempt to do something over a connection ended.
enum Cut {
    /// The connection is of no use any more.
    Link(String),
    /// Nothing helps.
    Error(RunError),
}

impl From<io::Error> for Cut {
    fn from(cause: io::Error) -> Self {
        Self::Link(cause.to_string())
    }
}

type Done = Result<Option<Ended>, String>;

impl<'run> Remote<'run> {
    /// For the trials of a specification, which is sent along with all that it names.
    ///
    /// # Errors
    /// Where the token cannot be read.
    pub(crate) fn new(
        spec: &Spec,
        text: &str,
        agent: &RemoteAgent,
        exploration: &str,
        signals: &'run SignalPipe,
    ) -> Result<Self, RunError> {
        let path = spec.folder.join(&agent.token_file);
        let token = std::fs::read_to_string(&path).map_err(|cause| {
            let what = format!("its token cannot be read from {}: {cause}", path.display());
            RunError::agent(
                &agent.address,
                what,
                "token_file starts from the folder of the specification",
            )
        })?;
        Ok(Self {
            agent: agent.clone(),
            token: token.trim().to_owned(),
            exploration: exploration.to_owned(),
            specification: with_templates(spec, text),
            signals,
            link: None,
            output: PathBuf::from("output"),
            is_lost: false,
            is_welcome: false,
        })
    }

    /// Runs a trial there.
    ///
    /// # Errors
    /// As those of a runner, and where the agent cannot be reached to begin with.
    pub(crate) fn run(
        &mut self,
        planned: &Planned,
        limit: Option<Duration>,
        stop_run: Option<StopRun<'_>>,
    ) -> Result<Ended, RunError> {
        let task = Task::Trial {
            id: planned.id,
            batch: planned.batch,
            configuration: planned.configuration.clone(),
            limit_ms: limit.map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
            is_watched: stop_run.is_some(),
        };
        match self.perform(task, stop_run)? {
            Some(Ok(Some(ended))) => Ok(ended),
            Some(Ok(None)) => Err(self.error("it did not understand".to_owned(), "")),
            Some(Err(what)) => Err(self.error(what, "")),
            // The configuration has no part in that.
            None => {
                let what = format!("it could not be reached for {:?}", self.agent.patience);
                let hint = "the trial does not count: --resume goes on, and runs it again";
                Err(self.error(what, hint))
            }
        }
    }

    /// Has restored what trials changed.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn restore(&mut self) -> Result<(), String> {
        match self.perform(Task::Restore, None) {
            Ok(Some(done)) => done.map(|_| ()),
            Ok(None) => Err(format!(
                "the agent at {} cannot be reached",
                self.agent.address
            )),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Whether the agent may have run anything.
    pub(crate) fn may_have_run(&self) -> bool {
        self.is_welcome
    }

    /// Where the output of trials is, there.
    pub(crate) fn output_folder(&self) -> PathBuf {
        self.output.clone()
    }

    fn error(&self, what: String, hint: &'static str) -> RunError {
        RunError::agent(&self.agent.address, what, hint)
    }

    /// Has something done once; `None` where the connection was cut for too long.
    fn perform(
        &mut self,
        task: Task,
        mut stop_run: Option<StopRun<'_>>,
    ) -> Result<Option<Done>, RunError> {
        let attempt = fastrand::u64(..);
        let is_watched = stop_run.is_some();
        let order = Order::Do {
            attempt,
            task,
            specification: self.specification.clone(),
        };
        let mut was_sent = false;
        let mut is_enough = false;
        let mut since = Instant::now();
        loop {
            let tried = match self.link.take() {
                Some(link) => Ok(link),
                None => self.connect(is_watched),
            };
            let tried = tried.and_then(|mut link| {
                if is_watched && link.data.is_none() {
                    link.data = Some(self.open(Channel::Data)?);
                }
                write(&mut link.control, &order)?;
                was_sent = true;
                let done = self.attend(&mut link, attempt, &mut stop_run, &mut is_enough);
                // As long as it was heard it was not cut.
                since = link.last_heard;
                self.link = Some(link);
                done
            });
            match tried {
                Ok(done) => {
                    self.is_lost = false;
                    return Ok(Some(done));
                }
                Err(Cut::Error(error)) => return Err(error),
                Err(Cut::Link(what)) => {
                    self.link = None;
                    // Nobody waits twice for one that is not there.
                    if !was_sent && (self.is_lost || since.elapsed() >= SILENCE) {
                        let hint = "start there `slowpath explore --agent`, with the same token; then --resume goes on";
                        return Err(self.error(format!("it cannot be reached: {what}"), hint));
                    }
                    if since.elapsed() >= self.agent.patience {
                        self.is_lost = true;
                        return Ok(None);
                    }
                }
            }
            if self.signals.interrupts_sleep(PAUSE)
                && let Some(signal) = self.signals.next()
            {
                return Err(RunError::Interrupted(signal));
            }
        }
    }

    fn connect(&mut self, is_watched: bool) -> Result<Link, Cut> {
        let (control, inbox) = self.open(Channel::Control)?;
        let data = match is_watched {
            true => Some(self.open(Channel::Data)?),
            false => None,
        };
        let now = Instant::now();
        Ok(Link {
            control,
            inbox,
            data,
            last_heard: now,
            last_told: now,
        })
    }

    /// A connection, and what came behind the welcome.
    fn open(&mut self, channel: Channel) -> Result<(TcpStream, Inbox), Cut> {
        let mut last = None;
        let mut opened = None;
        for address in self.agent.address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT_LIMIT) {
                Ok(stream) => {
                    opened = Some(stream);
                    break;
                }
                Err(cause) => last = Some(cause),
            }
        }
        let mut stream =
            opened.ok_or_else(|| last.unwrap_or_else(|| io::ErrorKind::NotFound.into()))?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(WRITE_LIMIT))?;
        stream.set_read_timeout(Some(Duration::from_millis(500)))?;
        let hello = Hello {
            version: VERSION,
            token: self.token.clone(),
            exploration: self.exploration.clone(),
            channel,
        };
        write(&mut stream, &hello)?;
        let mut inbox = Inbox::default();
        let begin = Instant::now();
        let welcome: Welcome = loop {
            if !inbox.fill(&mut stream)? || begin.elapsed() > SILENCE {
                return Err(Cut::Link("it does not answer".to_owned()));
            }
            if let Some(welcome) = inbox.next(ANY)? {
                break welcome;
            }
        };
        match welcome.refused {
            Some(why) => {
                let hint = match &*why {
                    OTHER_TOKEN => {
                        "token_file of [agent] names a file with the token that the agent was given"
                    }
                    BUSY => {
                        "wait until that one has ended, or start another agent at another port; then --resume goes on"
                    }
                    _ => "",
                };
                Err(Cut::Error(self.error(format!("it refuses: {why}"), hint)))
            }
            None => {
                // What it says from now on is read where there is something.
                stream.set_read_timeout(Some(Duration::from_millis(1)))?;
                self.is_welcome = true;
                self.output = PathBuf::from(welcome.output);
                Ok((stream, inbox))
            }
        }
    }

    /// Listens until the attempt has been done.
    fn attend(
        &self,
        link: &mut Link,
        attempt: u64,
        stop_run: &mut Option<StopRun<'_>>,
        is_enough: &mut bool,
    ) -> Result<Done, Cut> {
        if *is_enough {
            write(&mut link.control, &Order::Enough { attempt })?;
        }
        loop {
            let mut descriptors = vec![link.control.as_fd()];
            descriptors.extend(self.signals.descriptors());
            descriptors.extend(link.data.iter().map(|(stream, _)| stream.as_fd()));
            let readable = wait_readable(&descriptors, Duration::from_millis(200))?;
            if let Some(signal) = self.signals.next() {
                return Err(Cut::Error(RunError::Interrupted(signal)));
            }
            if readable[0] {
                if !link.inbox.fill(&mut link.control)? {
                    return Err(Cut::Link("it has hung up".to_owned()));
                }
                link.last_heard = Instant::now();
                while let Some(report) = link.inbox.next::<Report>(ANY)? {
                    // Of an earlier attempt nobody wants to know any more.
                    if let Report::Done {
                        attempt: of,
                        result,
                    } = report
                        && of == attempt
                    {
                        return Ok(result.and_then(|trial| match trial.map(|one| one.ended()) {
                            Some(None) => {
                                Err("it tells an outcome that is not known here".to_owned())
                            }
                            known => Ok(known.flatten()),
                        }));
                    }
                }
            }
            if readable.get(4) == Some(&true) {
                self.look(link, attempt, stop_run, is_enough)?;
            }
            if link.last_heard.elapsed() >= SILENCE {
                return Err(Cut::Link("nothing is heard from it".to_owned()));
            }
            if link.last_told.elapsed() >= ALIVE {
                link.last_told = Instant::now();
                write(&mut link.control, &Order::Alive)?;
            }
        }
    }

    /// Shows numbers to the policy.
    fn look(
        &self,
        link: &mut Link,
        attempt: u64,
        stop_run: &mut Option<StopRun<'_>>,
        is_enough: &mut bool,
    ) -> Result<(), Cut> {
        let (Some((stream, inbox)), Some(stop_run)) = (&mut link.data, stop_run) else {
            return Ok(());
        };
        if !inbox.fill(stream)? {
            return Err(Cut::Link("it has hung up".to_owned()));
        }
        while let Some(number) = inbox.next::<Number>(ANY)? {
            if number.attempt == attempt && !*is_enough && stop_run(&number.metric, number.value) {
                *is_enough = true;
                write(&mut link.control, &Order::Enough { attempt })?;
            }
        }
        Ok(())
    }
}

/// Reads once more what the specification names.
fn with_templates(spec: &Spec, text: &str) -> Specification {
    let templates = RefCell::new(BTreeMap::new());
    let load = |path: &Path| {
        let template = std::fs::read_to_string(path)?;
        let name = path.strip_prefix(&spec.folder).unwrap_or(path);
        let name = name.display().to_string();
        templates.borrow_mut().insert(name, template.clone());
        Ok(template)
    };
    // It could be read a moment ago; where it cannot now, the agent says what is missing.
    let _ = Spec::parse(text, "", &spec.name, &spec.folder, &load);
    Specification {
        name: spec.name.clone(),
        text: text.to_owned(),
        templates: templates.into_inner(),
    }
}
