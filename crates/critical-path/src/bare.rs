//! A path before its threads and causes have names: plain numbers, cheap to have of many windows.
//!
//! The walk makes these; names and words are looked up only for paths that somebody reads.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use slowpath_kernel::timelines::{Interrupt, Timelines};
use slowpath_model::{HostId, ThreadId, TimeRange, Timestamp};

use crate::hosts::Spread;
use crate::lists::{BareLinks, Pieces};
use crate::walk::Walker;
use crate::{Correction, CriticalPath, Hosts, Link, LinkKind, Segment, State};

/// Who is told a path without the names of threads and the words for what happened, backwards in time: cheap to
/// have of very many windows. [`critical_path`] is the same in words.
pub trait Backwards<'lines> {
    /// The piece before all that were told; all of them cover the window without a gap or an overlap. The
    /// one told last may only go on with it ([`Piece::goes_on_in`]).
    fn piece(&mut self, piece: Piece<'lines>);

    /// The link before all that were told.
    fn link(&mut self, link: BareLink<'lines>);
}

/// A path that may be very long.
#[derive(Debug, Default)]
struct BarePath<'lines> {
    pieces: Pieces<'lines>,
    links: BareLinks<'lines>,
}

impl<'lines> Backwards<'lines> for BarePath<'lines> {
    fn piece(&mut self, piece: Piece<'lines>) {
        self.pieces.push(&piece);
    }

    fn link(&mut self, link: BareLink<'lines>) {
        self.links.push(&link);
    }
}

/// One thread in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'lines> {
    /// When, by the clock of the host that was asked about; the next piece begins where this one ends.
    pub range: TimeRange,
    /// When, by the clock of the host that it is on.
    pub recorded: TimeRange,
    /// Where it is.
    pub host: HostId,
    /// Whose state it is.
    pub thread: ThreadId,
    /// The state.
    pub state: State,
    /// How many threads wait for each other here: 0 in the thread that was asked about.
    pub depth: u32,
    /// What the state is about.
    pub detail: Detail<'lines>,
}

/// What a state is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Detail<'lines> {
    /// The system call in which the thread waits, where the trace tells.
    pub call: Option<&'lines str>,
    /// What else there is to say.
    pub cause: Cause,
}

/// What ended a wait or interrupted a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Nothing to say.
    #[default]
    None,
    /// An interrupt.
    Interrupt(Interrupt),
    /// A lock was given up while the thread handled a signal: by whom is not known.
    CutShort,
    /// A signal had stopped the thread, and another one let it go on.
    Stopped,
    /// Its control group was frozen (as `docker pause` does), and a thread of another process let it go on.
    Frozen,
    /// Of a request of an event loop: which of several things that the loop had to do it waited for is not known.
    SeveralEvents,
    /// Something else, in words.
    Words(&'static str),
}

/// The path goes from one thread to another; see [`Link`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BareLink<'lines> {
    /// When, by the clock of the host that was asked about.
    pub at: Timestamp,
    /// The hosts of the two threads.
    pub hosts: [HostId; 2],
    /// The thread that the path comes from, in the order of time.
    pub from: ThreadId,
    /// The thread in which it goes on.
    pub to: ThreadId,
    /// Why.
    pub kind: LinkKind,
    /// The system call in which the waiting thread waits or waited, where the trace tells.
    pub call: Option<&'lines str>,
}

/// Where the time of `thread` within `window` went, as far as one host alone tells.
///
/// Many paths can be asked of the same time lines; each costs a few binary searches per segment.
pub fn critical_path(lines: &Timelines, thread: ThreadId, window: TimeRange) -> CriticalPath {
    critical_path_among(&Hosts::one(Some(lines)), HostId(0), thread, window)
}

/// Where the time of a thread of `host` within `window` went, through the other hosts as well.
pub fn critical_path_among(
    hosts: &Hosts<'_>,
    host: HostId,
    thread: ThreadId,
    window: TimeRange,
) -> CriticalPath {
    let mut path = BarePath::default();
    Walker::new(hosts).walk(host, thread, window, &mut path);
    let visited = path.pieces.iter().map(|piece| piece.host);
    let mut words = Words::of(hosts, host, window.begin, visited);
    CriticalPath {
        host,
        thread,
        window,
        segments: (path.pieces.iter())
            .map(|piece| words.segment(&piece))
            .collect(),
        links: path.links.iter().map(|link| words.link(&link)).collect(),
        corrections: words.corrections(),
    }
}

/// Names and words for the pieces of a path; each is made once and shared, so that long paths stay small.
#[derive(Debug)]
pub struct Words<'run, 'lines> {
    hosts: &'run Hosts<'lines>,
    spread: Spread,
    names: FxHashSet<Arc<str>>,
    details: FxHashMap<(HostId, Detail<'lines>), Arc<str>>,
}

impl<'run, 'lines> Words<'run, 'lines> {
    /// The words for a path that was asked of `own` at `begin` and is on the hosts `visited`.
    pub fn of(
        hosts: &'run Hosts<'lines>,
        own: HostId,
        begin: Timestamp,
        visited: impl Iterator<Item = HostId>,
    ) -> Self {
        Self {
            hosts,
            spread: Spread::of(hosts, own, begin, visited),
            names: FxHashSet::default(),
            details: FxHashMap::default(),
        }
    }

    /// The piece with the names of its host, its thread and of what it is about.
    pub fn segment(&mut self, piece: &Piece<'lines>) -> Segment {
        let lines = self.hosts.lines(piece.host);
        let detail = (self.details.entry((piece.host, piece.detail)))
            .or_insert_with(|| piece.detail.in_words(lines).into())
            .clone();
        let of_known = lines.filter(|_| piece.thread != ThreadId::IDLE);
        let comm = of_known.map(|lines| lines.name(piece.thread, piece.recorded.end));
        Segment {
            range: piece.range,
            recorded: piece.recorded,
            host: piece.host,
            host_name: self.spread.name(piece.host),
            thread: piece.thread,
            comm: self.shared(&comm.unwrap_or_default()),
            state: piece.state,
            depth: piece.depth,
            call: piece.detail.call.map(|call| self.shared(call)),
            cause: piece.detail.cause,
            detail,
        }
    }

    /// The link with a text of its own.
    pub fn link(&mut self, link: &BareLink<'lines>) -> Link {
        let [from, to] = link.hosts.map(|host| self.spread.name(host));
        Link {
            at: link.at,
            hosts: link.hosts,
            host_names: from.zip(to).map(|(from, to)| [from, to]),
            from: link.from,
            to: link.to,
            kind: link.kind,
            call: link.call.map(|call| self.shared(call)),
        }
    }

    /// How times of other hosts were corrected.
    pub fn corrections(self) -> Vec<Correction> {
        self.spread.corrections
    }

    fn shared(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let name: Arc<str> = name.into();
        self.names.insert(name.clone());
        name
    }
}

impl Piece<'_> {
    /// All of a window, of which nothing is known, and why; none if it is empty.
    pub fn unknown(
        host: HostId,
        thread: ThreadId,
        window: TimeRange,
        cause: Cause,
    ) -> Option<Self> {
        (!window.is_empty()).then_some(Self {
            range: window,
            recorded: window,
            host,
            thread,
            state: State::Unknown,
            depth: 0,
            detail: Detail { call: None, cause },
        })
    }

    /// Whether a piece only goes on with this one: it follows at once and differs in its times alone.
    pub fn goes_on_in(&self, later: &Self) -> bool {
        let times_apart = |piece: &Self| {
            (
                (piece.host, piece.thread),
                (piece.state, piece.depth),
                piece.detail,
            )
        };
        self.range.end == later.range.begin
            && self.recorded.end == later.recorded.begin
            && times_apart(self) == times_apart(later)
    }

    /// Grows by the piece that goes on in it.
    pub fn begin_with(&mut self, earlier: &Self) {
        self.range.begin = earlier.range.begin;
        self.recorded.begin = earlier.recorded.begin;
    }

    /// A time of the piece by the clock of its host, as the path tells it.
    pub fn shown(&self, recorded: Timestamp) -> Timestamp {
        if recorded >= self.recorded.end {
            return self.range.end;
        }
        let since = recorded
            .ns()
            .saturating_sub(self.recorded.begin.ns())
            .max(0);
        let shown = self.range.begin.ns().saturating_add(since);
        Timestamp::from_ns(shown).min(self.range.end)
    }
}

impl Detail<'_> {
    /// For instance `in read, irq 5 nvme0q1`; empty where there is nothing to say.
    fn in_words(&self, lines: Option<&Timelines>) -> String {
        let call = self.call.map(|call| format!("in {call}"));
        let cause = match self.cause {
            Cause::None => None,
            Cause::CutShort => Some("interrupted by a signal".to_owned()),
            Cause::Stopped => Some("stopped by a signal".to_owned()),
            Cause::Frozen => Some("frozen with its control group".to_owned()),
            Cause::SeveralEvents => Some(
                "its event loop had several things to do: which of them it waits for is not known"
                    .to_owned(),
            ),
            Cause::Words(words) => Some(words.to_owned()),
            Cause::Interrupt(interrupt) => lines.map(|lines| interrupt_name(lines, interrupt)),
        };
        let parts: Vec<String> = call.into_iter().chain(cause).collect();
        parts.join(", ")
    }
}

fn interrupt_name(lines: &Timelines, interrupt: Interrupt) -> String {
    match interrupt {
        Interrupt::Timer => "timer".into(),
        Interrupt::Ipi => "interrupt from another processor".into(),
        Interrupt::Softirq(softirq) => format!("softirq {}", softirq.name()),
        Interrupt::Irq(line) => {
            let names: Vec<&str> = lines.irq_names(line).collect();
            format!("irq {line} {}", names.join(" ")).trim_end().into()
        }
    }
}
