//! The path for people: an indented time line, a summary that adds up, and what dominated.
//!
//! Plain text built from plain data; nothing is computed here that the path does not say.

use std::fmt::{self, Display, Formatter};

use slowpath_model::{Nanoseconds, ThreadId};

use crate::{CriticalPath, Link, LinkKind, Segment, Share, State};

/// Prints the time line, the summary and the sentence.
impl Display for CriticalPath {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (who, length) = (self.named(self.thread), self.window.length());
        writeln!(
            f,
            "Critical path of {who}: {length} from {}\n",
            self.window.begin.ns()
        )?;
        writeln!(
            f,
            "{:>12}  {:>12}  {:<13} thread",
            "offset", "duration", "state"
        )?;
        let mut links = self.links.iter().peekable();
        for segment in &self.segments {
            while let Some(link) = links.next_if(|link| link.at <= segment.range.begin) {
                self.write_link(f, link, segment)?;
            }
            self.write_segment(f, segment)?;
        }
        self.write_summary(f)?;
        writeln!(f, "\n{}", self.verdict())
    }
}

impl CriticalPath {
    /// One sentence: what took most of the time.
    pub fn verdict(&self) -> String {
        let who = self.named(self.thread);
        let Some(most) = self.shares().into_iter().next() else {
            return format!("{who}: the window is empty.");
        };
        let percent = percent(most.length, self.window.length());
        let (share, length) = (named(most.thread, &most.comm), most.length);
        let did = what_it_did(&most);
        if most.thread == self.thread {
            format!("What dominated: {who} {did} for {length} ({percent:.0} % of the window).")
        } else {
            format!(
                "What dominated: {who} waited while {share} {did} for {length} ({percent:.0} % of \
                 the window)."
            )
        }
    }

    fn write_segment(&self, f: &mut Formatter<'_>, segment: &Segment) -> fmt::Result {
        let offset = segment.range.begin.since(self.window.begin).to_string();
        let duration = segment.range.length().to_string();
        let (indent, who) = (indent(segment), named(segment.thread, &segment.comm));
        write!(
            f,
            "{offset:>12}  {duration:>12}  {:<13} {indent}{who}",
            segment.state.name()
        )?;
        if !segment.detail.is_empty() {
            write!(f, ": {}", segment.detail)?;
        }
        writeln!(f)
    }

    fn write_link(&self, f: &mut Formatter<'_>, link: &Link, before: &Segment) -> fmt::Result {
        let offset = link.at.since(self.window.begin).to_string();
        let (from, to) = (self.named(link.from), self.named(link.to));
        let what = match link.kind {
            LinkKind::Wait => format!("{from} waits for {to}"),
            LinkKind::WakeUp => format!("{from} wakes {to}"),
            LinkKind::Creation => format!("{from} creates {to}"),
            LinkKind::Packet => format!("{from} has sent a packet to {to}"),
        };
        let call = match &link.call {
            Some(call) => format!(" in {call}"),
            None => String::new(),
        };
        writeln!(
            f,
            "{offset:>12}  {:>12}  {:<13} {}> {what}{call}",
            "",
            "",
            indent(before)
        )
    }

    fn write_summary(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let total = self.window.length();
        let mut line = |name: &str, length: Nanoseconds| {
            let percent = percent(length, total);
            let length = length.to_string();
            writeln!(f, "{name:<13} {length:>12}  {percent:>5.1} %")
        };
        line("\nSummary", total)?;
        let mut states: Vec<(State, Nanoseconds)> = self.summary().into_iter().collect();
        states.sort_by_key(|(_, length)| std::cmp::Reverse(*length));
        states
            .into_iter()
            .try_for_each(|(state, length)| line(state.name(), length))
    }

    /// A thread by the last name that it has on the path.
    fn named(&self, thread: ThreadId) -> String {
        let mut segments = self.segments.iter().rev();
        let segment = segments.find(|segment| segment.thread == thread);
        named(thread, segment.map_or("", |segment| &segment.comm))
    }
}

fn indent(segment: &Segment) -> String {
    "  ".repeat(segment.depth as usize)
}

fn named(thread: ThreadId, comm: &str) -> String {
    match comm {
        "" => format!("thread {thread}"),
        _ => format!("{comm} ({thread})"),
    }
}

fn percent(part: Nanoseconds, whole: Nanoseconds) -> f64 {
    100.0 * part.get() as f64 / whole.get().max(1) as f64
}

fn what_it_did(share: &Share) -> &'static str {
    match share.state {
        State::Running => "ran",
        State::Preempted => "was ready to run but had lost its processor",
        State::WaitCpu => "was woken but waited for a processor",
        State::Interrupted => "was interrupted",
        State::Blocked => "was blocked in the kernel",
        State::Timer => "slept until a time it had set",
        State::BlockDevice => "waited for a disk",
        State::Network => "waited for the network",
        State::UserInput => "waited for input",
        State::Ipi => "waited for another processor to be told",
        State::Unknown => "did what the trace does not tell",
    }
}
