//! The receiver of spans: OTLP in, files of the recording out.
//!
//! `listen` picks ports, `connections` makes room, `server` speaks gRPC and HTTP, `intake` decides what
//! becomes of a request, `store` writes, `forward` passes on, `rules` and `triggers` watch for latency.
//! Two threads of its own: one for the network, the only place with an async runtime, and one for the
//! disk. They start after the guardian was forked, which must not have them.

mod connections;
mod counts;
mod forward;
mod glance;
mod intake;
mod json;
mod listen;
mod partial_success;
mod raw_codec;
mod rules;
#[cfg(test)]
mod samples;
mod server;
mod store;
#[cfg(test)]
mod tests;
mod triggers;

use std::io::{self, PipeReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use slowpath_model::Timestamp;
use tokio::sync::oneshot;

pub use forward::{ForwardTarget, NoTarget};
pub use partial_success::PartialSuccess;
pub use rules::{NoRule, Rule};

use crate::error::RecordError;
use crate::manifest::{Mode, SpansPart};
use counts::Counts;
use forward::{ForwardQueue, Forwarder};
use intake::Intake;
use server::Server;
use store::{Store, TimeSpan};
use triggers::Triggers;

pub(crate) use listen::check_addresses;
pub(crate) use triggers::{MOST_OPERATIONS, News};

/// How long the end waits for a collector to take what is left.
const PATIENCE_AT_END: Duration = Duration::from_secs(2);

/// What the user asks of the receiver.
#[derive(Clone, Debug)]
pub struct SpanOptions {
    /// Where to listen.
    pub listen: SpansChoice,
    /// Who gets a copy of everything.
    pub forward: Option<ForwardTarget>,
    /// What takes a snapshot by itself.
    pub rules: Vec<Rule>,
}

/// Where spans are received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpansChoice {
    /// The usual ports of OTLP on loopback, or a free one where both are taken.
    Auto,
    /// Nowhere.
    Off,
    /// At these addresses, or not at all.
    At(Vec<SocketAddr>),
}

/// A running receiver.
#[derive(Debug)]
pub(crate) struct SpanReceiver {
    addresses: Vec<SocketAddr>,
    forward: Option<ForwardTarget>,
    intake: Arc<Intake>,
    counts: Arc<Counts>,
    news_of_rules: Option<PipeReader>,
    end: oneshot::Sender<()>,
    network: JoinHandle<()>,
    disk: JoinHandle<()>,
}

impl SpanReceiver {
    /// Starts one as `options` say, for the recording in `folder`; `None` where it is off.
    ///
    /// # Errors
    /// Where an address that was asked for cannot be had, or a thread.
    pub(crate) fn start(
        options: &SpanOptions,
        folder: &Path,
        mode: Mode,
        talk: &mut dyn FnMut(&str),
    ) -> Result<Option<Self>, RecordError> {
        if options.listen == SpansChoice::Off {
            return Ok(None);
        }
        let listeners = listen::listen(&options.listen, talk)?;
        let failed = RecordError::system("the receiver of spans could not be started");
        Self::with(listeners, options, folder, mode)
            .map(Some)
            .map_err(failed)
    }

    fn with(
        listeners: Vec<TcpListener>,
        options: &SpanOptions,
        folder: &Path,
        mode: Mode,
    ) -> io::Result<Self> {
        let addresses: io::Result<Vec<SocketAddr>> =
            listeners.iter().map(TcpListener::local_addr).collect();
        let counts = Arc::new(Counts::default());
        let (queue, forwarder) = match options.forward.clone() {
            Some(target) => {
                let (queue, forwarder) = ForwardQueue::new(target, Arc::clone(&counts));
                (Some(queue), Some(forwarder))
            }
            None => (None, None),
        };
        let (triggers, news_of_rules) = match &options.rules[..] {
            [] => (None, None),
            rules => {
                let (triggers, news) = Triggers::new(rules.to_vec())?;
                (Some(triggers), Some(news))
            }
        };
        let (store, disk) = Store::start(folder, mode, Arc::clone(&counts))?;
        let intake = Arc::new(Intake {
            store,
            forward: queue,
            triggers,
            counts: Arc::clone(&counts),
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let (end, ends) = oneshot::channel();
        let of_network = Arc::clone(&intake);
        let network = std::thread::Builder::new()
            .name("span-receiver".to_owned())
            .spawn(move || {
                runtime.block_on(serve(listeners, of_network, forwarder, ends));
                // A name that is still being looked up is not waited for.
                runtime.shutdown_background();
            })?;
        Ok(Self {
            addresses: addresses?,
            forward: options.forward.clone(),
            intake,
            counts,
            news_of_rules,
            end,
            network,
            disk,
        })
    }

    /// The URL at which a process of this machine finds it.
    pub(crate) fn endpoint(&self) -> String {
        listen::endpoint(&self.addresses)
    }

    /// The descriptor to wait on: readable when there is news of the rules.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.news_of_rules.as_ref().map(AsFd::as_fd)
    }

    /// What is to be told of the rules, once the descriptor is readable.
    pub(crate) fn take_news_of_rules(&mut self) -> News {
        if let Some(pipe) = &mut self.news_of_rules {
            // Says only that there are some.
            let _ = pipe.read(&mut [0; 16]);
        }
        let triggers = self.intake.triggers.as_ref();
        triggers.map_or_else(News::default, Triggers::take_news)
    }

    /// Writes the remembered spans of a time into the snapshot in `folder`.
    pub(crate) fn write_snapshot(&self, folder: &Path, begin: Timestamp, end: Timestamp) {
        self.intake.store.write_snapshot(folder, time(begin, end));
    }

    /// What has been counted so far.
    pub(crate) fn part(&self) -> SpansPart {
        self.counts.part(&self.addresses, self.forward.as_ref())
    }

    /// Receives no more, passes on and writes what is left; a flight recorder's spans of this time
    /// go to `folder`. What was counted in all.
    pub(crate) fn finish(self, folder: &Path, begin: Timestamp, end: Timestamp) -> SpansPart {
        // Where the threads have died, what they had counted stands.
        let _ = self.end.send(());
        let _ = self.network.join();
        self.intake.store.end(folder, time(begin, end));
        let _ = self.disk.join();
        let triggers = self.intake.triggers.as_ref();
        SpansPart {
            rules_without_spans: triggers.map_or_else(Vec::new, Triggers::without_spans),
            ..self.counts.part(&self.addresses, self.forward.as_ref())
        }
    }
}

fn time(begin: Timestamp, end: Timestamp) -> TimeSpan {
    let unsigned = |time: Timestamp| u64::try_from(time.ns()).unwrap_or(0);
    TimeSpan {
        begin_ns: unsigned(begin),
        end_ns: unsigned(end),
    }
}

async fn serve(
    listeners: Vec<TcpListener>,
    intake: Arc<Intake>,
    forwarder: Option<Forwarder>,
    ends: oneshot::Receiver<()>,
) {
    let server = Arc::new(Server::new(Arc::clone(&intake)));
    for listener in listeners {
        let listener = listener
            .set_nonblocking(true)
            .and_then(|()| tokio::net::TcpListener::from_std(listener));
        if let Ok(listener) = listener {
            tokio::spawn(Arc::clone(&server).accept(listener));
        }
    }
    if let Some(forwarder) = forwarder {
        tokio::spawn(forwarder.run());
    }
    // Also when the recording failed and has dropped its end.
    let _ = ends.await;
    if let Some(queue) = &intake.forward {
        queue.drain(PATIENCE_AT_END).await;
    }
}
