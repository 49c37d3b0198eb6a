//! The path for people: an indented time line, a summary that adds up, and what dominated.
//!
//! Plain text built from plain data; nothing is computed here that the path does not say.

use std::fmt::{self, Display, Formatter};

use rustc_hash::FxHashMap;
use slowpath_model::{HostId, Nanoseconds, ThreadId, TimeRange, shown};

use crate::{Cause, Correction, CriticalPath, Link, LinkKind, Segment, Share, State};

/// Prints the time line, the summary and the sentence.
impl Display for CriticalPath {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let who = self.own_name();
        let length = self.window.length();
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
        let names = self.names();
        let mut links = self.links.iter().peekable();
        for row in self.rows() {
            while let Some(link) = links.next_if(|link| link.at <= row.range.begin) {
                self.write_link(f, &link, &row.segment, &names)?;
            }
            self.write_row(f, &row)?;
        }
        for correction in &self.corrections {
            self.write_correction(f, correction)?;
        }
        writeln!(f)?;
        self.write_summary(f)?;
        write!(f, "\n{}", self.verdict())
    }
}

/// Threads by the last names that they have on the path.
type Names = FxHashMap<(HostId, ThreadId), String>;

/// One line of the time line: a segment, and those that are told with it.
struct Row {
    segment: Segment,
    range: TimeRange,
    interruptions: u32,
    interrupted: Nanoseconds,
}

impl Row {
    /// Whether the next segment belongs into the line as well: short interruptions are told in the line
    /// of the run that they interrupt, but not what it does for one request in that of another.
    fn goes_on(&self, next: &Segment, short: Nanoseconds) -> bool {
        let own = &self.segment;
        let is_short = next.state == State::Interrupted && next.range.length() < short;
        own.state == State::Running
            && (own.host, own.thread, own.depth) == (next.host, next.thread, next.depth)
            && (is_short || next.state == State::Running && own.detail == next.detail)
    }

    fn add(&mut self, next: &Segment) {
        self.range.end = next.range.end;
        if next.state == State::Interrupted {
            self.interruptions += 1;
            self.interrupted += next.range.length();
        }
    }
}

impl CriticalPath {
    /// One sentence: the state that took most of the time, and whose it mostly was.
    pub fn verdict(&self) -> String {
        let who = self.own_name();
        let longest = self.summary().into_iter().max_by_key(|(_, length)| *length);
        let of_state = |(state, length)| {
            let mut shares = self.shares().into_iter();
            let share = shares.find(|share| share.state == state)?;
            Some((share, length))
        };
        let Some((share, length)) = longest.and_then(of_state) else {
            return format!("{who}: the window is empty.");
        };
        let percent = percent(length, self.window.length());
        let state = share.state.name();
        let beginning = format!("What dominated: {state}, {length} ({percent:.0} % of the time)");
        let (did, part) = (self.what_it_did(&share), share.length);
        if (share.host, share.thread) == (self.host, self.thread) {
            format!("{beginning}: {who} {did} for {part}.")
        } else {
            let other = named(share.thread, &share.comm, share.host_name.as_deref());
            format!("{beginning}: {who} waited while {other} {did} for {part}.")
        }
    }

    fn what_it_did(&self, share: &Share) -> &'static str {
        let of_share = |segment: &Segment| {
            (segment.host, segment.thread, segment.state) == (share.host, share.thread, share.state)
        };
        let all_are = |cause| {
            let mut segments = self.segments.iter().filter(of_share);
            segments.all(|segment| segment.cause == cause)
        };
        match share.state {
            State::Blocked if all_are(Cause::Stopped) => "was stopped by a signal",
            State::Blocked if all_are(Cause::Frozen) => "was frozen with its control group",
            State::Unknown if all_are(Cause::SeveralEvents) => {
                "waited, and its event loop does not tell what for"
            }
            state => what_it_did(state),
        }
    }

    fn rows(&self) -> impl Iterator<Item = Row> {
        let short = Nanoseconds(self.window.length().get() / 100);
        let mut segments = self.segments.iter().peekable();
        std::iter::from_fn(move || {
            let segment = segments.next()?;
            let mut row = Row {
                range: segment.range,
                segment,
                interruptions: 0,
                interrupted: Nanoseconds::ZERO,
            };
            while let Some(next) = segments.next_if(|next| row.goes_on(next, short)) {
                row.add(&next);
            }
            Some(row)
        })
    }

    fn write_row(&self, f: &mut Formatter<'_>, row: &Row) -> fmt::Result {
        let segment = &row.segment;
        let mut offset = row.range.begin.since(self.window.begin).to_string();
        if segment.host != self.host {
            offset.insert(0, '~');
        }
        let duration = row.range.length().to_string();
        let (indent, who) = (indent(segment), named_in(segment));
        write!(
            f,
            "{offset:>12}  {duration:>12}  {:<13} {indent}{who}",
            segment.state.name()
        )?;
        if !segment.detail.is_empty() {
            write!(f, ": {}", shown(&segment.detail))?;
        }
        match row.interruptions {
            0 => {}
            1 => write!(f, ": interrupted once for {}", row.interrupted)?,
            times => write!(
                f,
                ": interrupted {times} times for {} in all",
                row.interrupted
            )?,
        }
        writeln!(f)
    }

    fn write_link(
        &self,
        f: &mut Formatter<'_>,
        link: &Link,
        before: &Segment,
        names: &Names,
    ) -> fmt::Result {
        let offset = link.at.since(self.window.begin).to_string();
        let name = |host, thread| match names.get(&(host, thread)) {
            Some(name) => name.clone(),
            None => named(thread, "", None),
        };
        let from = name(link.hosts[0], link.from);
        let to = name(link.hosts[1], link.to);
        let what = match link.kind {
            LinkKind::Wait => format!("{from} waits for {to}"),
            LinkKind::WakeUp => format!("{from} wakes {to}"),
            LinkKind::Creation => format!("{from} creates {to}"),
            LinkKind::Packet => format!("{from} has sent a packet to {to}"),
            LinkKind::Release => format!("{from} gives up what {to} waits for"),
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
        line("Summary", total)?;
        let mut states: Vec<(State, Nanoseconds)> = self.summary().into_iter().collect();
        states.sort_by_key(|(_, length)| std::cmp::Reverse(*length));
        states
            .into_iter()
            .try_for_each(|(state, length)| line(state.name(), length))
    }

    fn write_correction(&self, f: &mut Formatter<'_>, correction: &Correction) -> fmt::Result {
        let Correction { host, ahead_ns, .. } = correction;
        let apart = Nanoseconds(ahead_ns.unsigned_abs());
        let side = if *ahead_ns < 0 { "behind" } else { "ahead" };
        let host = shown(host);
        write!(f, "~ on {host}: corrected, its clock is {apart} {side} ")?;
        match correction.uncertainty {
            Some(uncertainty) => writeln!(f, "(± {uncertainty})"),
            None => writeln!(f, "(or less: packets went one way only)"),
        }
    }

    /// The thread that was asked about.
    fn own_name(&self) -> String {
        let mut segments = self.segments.iter().rev();
        let is_own = |segment: &Segment| (segment.host, segment.thread) == (self.host, self.thread);
        match segments.find(is_own) {
            Some(segment) => named_in(&segment),
            None => named(self.thread, "", None),
        }
    }

    fn names(&self) -> Names {
        let mut names = Names::default();
        for segment in self.segments.iter().rev() {
            let thread = (segment.host, segment.thread);
            names.entry(thread).or_insert_with(|| named_in(&segment));
        }
        names
    }
}

fn indent(segment: &Segment) -> String {
    "  ".repeat(segment.depth as usize)
}

fn named_in(segment: &Segment) -> String {
    named(segment.thread, &segment.comm, segment.host_name.as_deref())
}

fn named(thread: ThreadId, comm: &str, host: Option<&str>) -> String {
    let thread = match comm {
        _ if thread == ThreadId::IDLE => "a thread that is not known".to_owned(),
        "" => format!("thread {thread}"),
        _ => format!("{} ({thread})", shown(comm)),
    };
    match host {
        Some(host) => format!("{thread} on {}", shown(host)),
        None => thread,
    }
}

fn percent(part: Nanoseconds, whole: Nanoseconds) -> f64 {
    100.0 * part.get() as f64 / whole.get().max(1) as f64
}

fn what_it_did(state: State) -> &'static str {
    match state {
        State::Running => "ran",
        State::Preempted => "was ready to run but had lost its processor",
        State::WaitCpu => "was woken but waited for a processor",
        State::Interrupted => "was interrupted",
        State::Blocked => "was blocked in the kernel",
        State::Timer => "waited until a time it had set",
        State::BlockDevice => "waited for a disk",
        State::Network => "waited for the network",
        State::UserInput => "waited for input",
        State::Ipi => "waited for another processor to be told",
        State::BlockedByRequest => "worked for another request",
        State::Unknown => "did what the trace does not tell",
    }
}

/// A name with its numbers left out, so that threads of one pool have one name: `worker-12` and `worker-7`
/// are `worker-*`.
pub fn without_numbers(name: &str) -> String {
    let mut short = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter.is_ascii_digit() {
            true if short.ends_with('*') => {}
            true => short.push('*'),
            false => short.push(letter),
        }
    }
    short
}
