//! A path before its threads and causes have names: plain numbers, cheap to have of many windows.
//!
//! The walk makes these; names and words are looked up only for paths that somebody reads.

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail<'lines> {
    /// The system call in which the thread waits, where the trace tells.
    pub call: Option<&'lines str>,
    /// What else there is to say.
    pub cause: Cause,
}

/// What ended a wait or interrupted a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    CriticalPath {
        thread,
        window,
        segments: (bare.pieces.iter())
            .map(|piece| piece.in_words(lines))
            .collect(),
        links: bare.links.iter().map(BareLink::in_words).collect(),
    }
}

impl Piece<'_> {
    /// The piece with the names of its thread and of what it is about.
    pub fn in_words(&self, lines: &Timelines) -> Segment {
        Segment {
            range: self.range,
            thread: self.thread,
            comm: lines.name(self.thread, self.range.end).into_owned(),
            state: self.state,
            depth: self.depth,
            detail: self.detail.in_words(lines),
        }
    }
}

impl Detail<'_> {
    /// For instance `in read, irq 5 nvme0q1`; empty where there is nothing to say.
    pub fn in_words(&self, lines: &Timelines) -> String {
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

impl BareLink<'_> {
    /// The link with a text of its own.
    pub fn in_words(&self) -> Link {
        Link {
            at: self.at,
            from: self.from,
            to: self.to,
            kind: self.kind,
            call: self.call.map(Into::into),
        }
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
