//! What all analysis commands share: the traces to read, the window, workers, and how a run ends.

use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use slowpath_engine::Options;
use slowpath_kernel::Extent;
use slowpath_model::{Diagnostic, Severity, TimeRange, Timestamp, shown, shown_lines};
use slowpath_session::{
    Experiment, NotOpened, OpenError, RecordedRequests, SpanFile, open, open_to_show, span_files,
};

/// Which traces to read, and how.
#[derive(Args, Clone)]
pub struct InputArgs {
    /// Recordings, CTF traces, trace.dat files, or folders with any of them. Files of spans (Jaeger,
    /// OTLP) add to these; alone they do for `info` and `services` only.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Begin of the window: nanoseconds since the epoch, or an offset from the first event of all such
    /// as +2.5s, +300ms, +10us; compared with each host's own clock.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub begin: Option<TimePoint>,
    /// End of the window (not inside it any more), as --begin.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub end: Option<TimePoint>,
    /// Workers; by default as many as there are processors.
    #[arg(long, short, value_name = "N", value_parser = at_least_one)]
    pub jobs: Option<NonZeroUsize>,
    /// Bytes of a trace that a worker takes at a time; the result does not depend on it.
    #[arg(long, value_name = "BYTES", hide = true)]
    pub chunk_bytes: Option<u64>,
}

/// A point in time as users write it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimePoint {
    /// Nanoseconds since the epoch.
    Epoch(i64),
    /// Nanoseconds from the first event.
    Offset(i64),
}

pub(crate) fn parse_time(text: &str) -> Result<TimePoint, String> {
    let explain = || {
        format!(
            "`{text}` is neither nanoseconds since the epoch nor an offset with a unit, s, ms, us or ns, such as +2.5s"
        )
    };
    if let Some(offset) = text.strip_prefix('+') {
        let digits = offset.trim_end_matches(|symbol: char| symbol.is_alphabetic());
        let scale = match &offset[digits.len()..] {
            "s" => 1e9,
            "ms" => 1e6,
            "us" | "µs" => 1e3,
            "ns" => 1.0,
            _ => return Err(explain()),
        };
        let number: f64 = digits.parse().map_err(|_| explain())?;
        if number < 0.0 {
            return Err(explain());
        }
        return Ok(TimePoint::Offset((number * scale).round() as i64));
    }
    text.parse().map(TimePoint::Epoch).map_err(|_| explain())
}

/// In which larger unit than nanoseconds `number` lies in the time from `first` to `last`, before which it lies as it is.
fn meant_unit(number: i64, first: Timestamp, last: Timestamp) -> Option<&'static str> {
    let units = [
        ("seconds", 1_000_000_000),
        ("milliseconds", 1_000_000),
        ("microseconds", 1_000),
    ];
    // Written without the fraction, it is up to one unit too early.
    let lies_in = |&(_, ns): &(_, i64)| {
        let earliest = first.ns().saturating_sub(ns);
        (number.checked_mul(ns)).is_some_and(|at| (earliest..=last.ns()).contains(&at))
    };
    let is_before = number > 0 && number < first.ns();
    let (unit, _) = units.into_iter().find(lies_in).filter(|_| is_before)?;
    Some(unit)
}

/// A number of rows, requests and the like.
pub(crate) fn how_many(text: &str) -> Result<usize, String> {
    (text.parse()).map_err(|_| "a whole number from 0 on is wanted".to_owned())
}

/// A number of workers.
pub(crate) fn at_least_one(text: &str) -> Result<NonZeroUsize, String> {
    (text.parse()).map_err(|_| "a whole number from 1 on is wanted".to_owned())
}

/// The files of spans at or below `paths`, and what could not be looked into.
///
/// # Errors
/// Where a path cannot be read or holds none; the diagnostics have been printed then.
pub(crate) fn open_span_files(
    paths: &[PathBuf],
) -> anyhow::Result<(Vec<SpanFile>, Vec<Diagnostic>)> {
    patiently(paths, || span_files(paths)).map_err(unopenable)
}

impl InputArgs {
    /// All of the traces at these paths.
    pub fn all_of(paths: &[PathBuf], jobs: Option<NonZeroUsize>) -> Self {
        Self {
            paths: paths.to_vec(),
            begin: None,
            end: None,
            jobs,
            chunk_bytes: None,
        }
    }

    /// Opens the traces.
    ///
    /// # Errors
    /// Where nothing could be read (the diagnostics have been printed then), or only spans.
    pub fn open(&self) -> anyhow::Result<Experiment> {
        let experiment = self.open_or_only_spans()?;
        if experiment.traces.is_empty() {
            let told = experiment.opening_diagnostics().cloned().collect();
            return Err(unopenable((OpenError::OnlySpans, told)));
        }
        Ok(experiment)
    }

    /// Opens the traces, of which there may be none where there are spans.
    ///
    /// # Errors
    /// Where nothing could be read; the diagnostics have been printed then.
    pub fn open_or_only_spans(&self) -> anyhow::Result<Experiment> {
        let opened = patiently(&self.paths, || open(&self.paths, workers(self.jobs)));
        opened.map_err(unopenable)
    }

    /// Opens the traces, of which there may be none where there are spans or reports of transfers.
    ///
    /// # Errors
    /// Where nothing could be read; the diagnostics have been printed then.
    pub fn open_to_show(&self) -> anyhow::Result<Experiment> {
        let opened = patiently(&self.paths, || {
            open_to_show(&self.paths, workers(self.jobs))
        });
        opened.map_err(unopenable)
    }

    /// The window that --begin and --end choose.
    ///
    /// # Errors
    /// Where the end is not after the begin, all events lie outside, or the begin is in another unit.
    pub fn range(&self, experiment: &Experiment) -> anyhow::Result<TimeRange> {
        if self.begin.is_none() && self.end.is_none() {
            return Ok(TimeRange::ALL);
        }
        // Packets state when their buffers were opened, which is before the first event.
        let traces = experiment.traces.iter();
        let bounds = traces.filter_map(|trace| Extent::of(&*trace.source).bounds);
        let bounds = bounds.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
        let (first, last) = bounds.unwrap_or_default();
        if let Some(TimePoint::Epoch(number)) = self.begin
            && let Some(unit) = meant_unit(number, first, last)
        {
            anyhow::bail!(
                "the window begins before anything was recorded\n  hint: --begin {number} would fit as {unit}; \
                 nanoseconds are wanted"
            );
        }
        let point = |point: Option<TimePoint>, default: Timestamp| match point {
            None => default,
            Some(TimePoint::Epoch(ns)) => Timestamp::from_ns(ns),
            Some(TimePoint::Offset(ns)) => Timestamp::from_ns(first.ns().saturating_add(ns)),
        };
        let begin = point(self.begin, Timestamp::MIN);
        let end = point(self.end, Timestamp::MAX);
        let are_both_given = self.begin.is_some() && self.end.is_some();
        anyhow::ensure!(
            begin < end || !are_both_given,
            "the window is empty\n  hint: --begin must lie before --end"
        );
        anyhow::ensure!(
            bounds.is_none() || begin < end && begin <= last && end > first,
            "nothing was recorded then\n  hint: what was recorded covers {} from {} to {} (nanoseconds since the epoch)",
            last.since(first),
            first.ns(),
            last.ns()
        );
        Ok(TimeRange::new(begin, end))
    }

    /// How to run the analyses, with a progress bar where somebody watches.
    pub fn options(&self) -> Run {
        Run::new(self.jobs, self.chunk_bytes)
    }
}

/// The requests of every host, and what was wrong with the traces.
///
/// # Errors
/// Where the user ended it.
pub(crate) fn requests(
    experiment: &Experiment,
    run: &Run,
) -> anyhow::Result<(RecordedRequests, Vec<Diagnostic>)> {
    (experiment.requests(&run.engine())).map_err(|_| anyhow::anyhow!("interrupted"))
}

/// Opens what lies at `paths`; to who watches, a search that takes long says what it is about.
fn patiently<T>(paths: &[PathBuf], open: impl FnOnce() -> T) -> T {
    const LONG: Duration = Duration::from_secs(3);
    if !std::io::stderr().is_terminal() {
        return open();
    }
    let say = || {
        let names = paths.iter().map(|path| path.display().to_string());
        let names = shown(&names.collect::<Vec<_>>().join(", ")).to_string();
        eprintln!(
            "slowpath: still opening {names}\n  hint: of a folder every file below is looked at; to name that of a \
             recording is faster"
        );
    };
    say_if_slow(LONG, say, open)
}

/// Does `work`, and calls `say` meanwhile if it takes longer than that.
fn say_if_slow<T>(after: Duration, say: impl FnOnce() + Send, work: impl FnOnce() -> T) -> T {
    let (working, done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if done.recv_timeout(after) == Err(RecvTimeoutError::Timeout) {
                say();
            }
        });
        let result = work();
        drop(working);
        result
    })
}

/// Nothing could be opened: exit status 3.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Unopenable(OpenError);

/// Nothing is left to answer with, as data are missing or unreadable: exit status 1.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NothingLeft(String);

/// So many, or as many as there are processors.
fn workers(jobs: Option<NonZeroUsize>) -> NonZeroUsize {
    jobs.or_else(|| std::thread::available_parallelism().ok())
        .unwrap_or(NonZeroUsize::MIN)
}

/// A run of analyses: workers and progress.
pub struct Run {
    jobs: NonZeroUsize,
    chunk_bytes: Option<u64>,
    report: Box<dyn Fn(u64, u64) + Sync>,
}

impl Run {
    pub(crate) fn new(jobs: Option<NonZeroUsize>, chunk_bytes: Option<u64>) -> Self {
        let bar = ProgressBar::hidden();
        let watched = std::io::stderr().is_terminal() && std::io::stdout().is_terminal();
        let style = "{bar:40} {bytes}/{total_bytes} {eta}";
        if watched && let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        let report = move |done: u64, total: u64| {
            // A bar for what is over at once only flickers.
            if watched && total > 64 << 20 {
                if bar.is_hidden() {
                    bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
                }
                bar.set_length(total);
                bar.set_position(done);
                if done == total {
                    bar.finish_and_clear();
                }
            }
        };
        Self {
            jobs: workers(jobs),
            chunk_bytes,
            report: Box::new(report),
        }
    }

    /// How many workers.
    pub fn jobs(&self) -> NonZeroUsize {
        self.jobs
    }

    /// Shows that so many of all bytes are done.
    pub(crate) fn progress(&self, done: u64, total: u64) {
        (self.report)(done, total);
    }

    /// What the engine wants to know.
    pub fn engine(&self) -> Options<'_> {
        Options {
            chunk_bytes: self.chunk_bytes,
            progress: Some(&*self.report),
            ..Options::new(self.jobs)
        }
    }

    /// The same for packets that touch `range` only.
    pub fn engine_in(&self, range: TimeRange) -> Options<'_> {
        Options {
            range,
            ..self.engine()
        }
    }
}

/// What was wrong with the input, collected while a command runs.
#[derive(Default)]
pub struct Report {
    damaged: bool,
    printed: usize,
    more: usize,
}

impl Report {
    /// Begins with what was found while opening.
    pub fn begin(experiment: &Experiment) -> Self {
        Self::default().with_opened(experiment)
    }

    /// Prints and counts what was found wrong while opening one more.
    #[must_use]
    pub fn with_opened(self, experiment: &Experiment) -> Self {
        self.with(experiment.opening_diagnostics().cloned().collect())
    }

    /// Prints and counts more diagnostics.
    #[must_use]
    pub fn with(mut self, diagnostics: Vec<Diagnostic>) -> Self {
        const MOST_PRINTED: usize = 20;
        for diagnostic in &diagnostics {
            let severity = diagnostic.code.severity();
            self.damaged |= severity == Severity::Error;
            if severity == Severity::Note {
                continue;
            }
            if self.printed < MOST_PRINTED {
                print_diagnostic(diagnostic);
                self.printed += 1;
            } else {
                self.more += 1;
            }
        }
        self
    }

    /// The error of a command that has nothing to answer with, for the reason `why`: a question to be asked
    /// otherwise, or, where the input was damaged, [`NothingLeft`].
    pub fn nothing(&self, why: String) -> anyhow::Error {
        match self.damaged {
            true => NothingLeft(why).into(),
            false => anyhow::Error::msg(why),
        }
    }

    /// Whether something could not be read.
    pub fn is_of_damaged_input(&self) -> bool {
        self.damaged
    }

    /// The exit status: 0, or 1 where the input was damaged.
    pub fn exit_status(&self) -> u8 {
        if self.more > 0 {
            eprintln!("... and {} more of the kind", self.more);
        }
        u8::from(self.damaged)
    }
}

/// Prints what was found before nothing could be opened.
pub(crate) fn unopenable((error, diagnostics): NotOpened) -> anyhow::Error {
    diagnostics.iter().for_each(print_diagnostic);
    Unopenable(error).into()
}

fn print_diagnostic(diagnostic: &Diagnostic) {
    eprintln!("{}", shown_lines(&diagnostic.to_string()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_slow_is_talked_about() {
        let is_talked_about = |after: Duration, work: Duration| {
            let (said, hears) = mpsc::channel();
            let say = move || said.send(()).expect("somebody hears");
            assert_eq!(say_if_slow(after, say, || std::thread::sleep(work)), ());
            hears.recv().is_ok()
        };
        let (short, long) = (Duration::from_millis(1), Duration::from_secs(600));
        assert!(is_talked_about(short, Duration::from_millis(300)));
        assert!(!is_talked_about(long, short));
    }

    #[test]
    fn times_in_other_units_are_no_begin_of_all() {
        let at = Timestamp::from_ns;
        let (first, last) = (at(1_795_239_808_700_000_000), at(1_795_239_809_000_000_000));
        let meant = |number| meant_unit(number, first, last);
        assert_eq!(meant(1_795_239_808), Some("seconds"));
        assert_eq!(meant(1_795_239_808_701), Some("milliseconds"));
        assert_eq!(meant(1_795_239_808_701_000), Some("microseconds"));
        // An hour before, in whichever unit, all of it, and within it.
        assert_eq!(meant(1_795_236_208), None);
        assert_eq!(meant(1_795_236_208_000_000_000), None);
        assert_eq!(meant(0), None);
        assert_eq!(meant(1_795_239_808_701_000_000), None);
    }

    #[test]
    fn times_as_users_write_them() {
        let check = |text: &str, expected| assert_eq!(parse_time(text).ok(), expected, "{text}");
        check(
            "1795239881959548519",
            Some(TimePoint::Epoch(1_795_239_881_959_548_519)),
        );
        check("+2.5s", Some(TimePoint::Offset(2_500_000_000)));
        check("+300ms", Some(TimePoint::Offset(300_000_000)));
        check("+10us", Some(TimePoint::Offset(10_000)));
        check("+7ns", Some(TimePoint::Offset(7)));
        check("+7", None);
        check("soon", None);
        check("+3h", None);
        check("+-1s", None);
    }
}
