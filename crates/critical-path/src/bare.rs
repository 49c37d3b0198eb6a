//! A path before its threads and causes have names: plain numbers, cheap to have of many windows.
//!
//! The walk makes these; names and words are looked up only for paths that somebody reads.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use slowpath_kernel::timelines::{Interrupt, Timelines};
use slowpath_model::{ThreadId, TimeRange, Timestamp};

use crate::walk::bare_path;
use crate::{CriticalPath, Link, LinkKind, Segment, State};

/// A path without the names of threads and the words for what happened: cheap to have of very many
/// windows. [`critical_path`] is the same in words.
#[derive(Clone, Debug)]
pub struct BarePath<'lines> {
    /// In the order of time; they cover the window without a gap or an overlap.
    pub pieces: Vec<Piece<'lines>>,
    /// In the order of time.
    pub links: Vec<BareLink<'lines>>,
}

/// One thread in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'lines> {
    /// When; the next piece begins where this one ends.
    pub range: TimeRange,
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
    /// Something else, in words.
    Words(&'static str),
}

/// The path goes from one thread to another; see [`Link`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BareLink<'lines> {
    /// When.
    pub at: Timestamp,
    /// The thread that the path comes from, in the order of time.
    pub from: ThreadId,
    /// The thread in which it goes on.
    pub to: ThreadId,
    /// Why.
    pub kind: LinkKind,
    /// The system call in which the waiting thread waits or waited, where the trace tells.
    pub call: Option<&'lines str>,
}

/// Where the time of `thread` within `window` went.
///
/// Many paths can be asked of the same time lines; each costs a few binary searches per segment.
pub fn critical_path(lines: &Timelines, thread: ThreadId, window: TimeRange) -> CriticalPath {
    let bare = bare_path(lines, thread, window);
    let mut words = Words::of(lines);
    CriticalPath {
        thread,
        window,
        segments: (bare.pieces.into_iter())
            .map(|piece| words.segment(&piece))
            .collect(),
        links: bare.links.iter().map(|link| words.link(link)).collect(),
    }
}

/// Names and words for the pieces of paths; each is made once and shared, so that long paths stay small.
#[derive(Debug)]
pub struct Words<'lines> {
    lines: &'lines Timelines,
    names: FxHashSet<Arc<str>>,
    details: FxHashMap<Detail<'lines>, Arc<str>>,
}

impl<'lines> Words<'lines> {
    /// The words for paths over these time lines.
    pub fn of(lines: &'lines Timelines) -> Self {
        Self {
            lines,
            names: FxHashSet::default(),
            details: FxHashMap::default(),
        }
    }

    /// The piece with the names of its thread and of what it is about.
    pub fn segment(&mut self, piece: &Piece<'lines>) -> Segment {
        let lines = self.lines;
        let detail = (self.details.entry(piece.detail))
            .or_insert_with(|| piece.detail.in_words(lines).into())
            .clone();
        Segment {
            range: piece.range,
            thread: piece.thread,
            comm: self.shared(&lines.name(piece.thread, piece.range.end)),
            state: piece.state,
            depth: piece.depth,
            detail,
        }
    }

    /// The link with a text of its own.
    pub fn link(&mut self, link: &BareLink<'lines>) -> Link {
        Link {
            at: link.at,
            from: link.from,
            to: link.to,
            kind: link.kind,
            call: link.call.map(|call| self.shared(call)),
        }
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

impl Detail<'_> {
    /// For instance `in read, irq 5 nvme0q1`; empty where there is nothing to say.
    fn in_words(&self, lines: &Timelines) -> String {
        let call = self.call.map(|call| format!("in {call}"));
        let cause = match self.cause {
            Cause::None => None,
            Cause::Words(words) => Some(words.to_owned()),
            Cause::Interrupt(interrupt) => Some(interrupt_name(lines, interrupt)),
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
