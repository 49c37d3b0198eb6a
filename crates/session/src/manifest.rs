//! `slowpath.json`, which a recording carries at its root (docs/formats/recording.md).

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use slowpath_model::{Diagnostic, DiagnosticCode, Place, TimeRange, Timestamp, counted};
use slowpath_read_spans::{bytes_to_sniff, sniff_spans};

/// The wall clock and that of the pages are read one after the other.
const CLOCKS_APART_NS: i64 = 1_000_000;
/// A killed recorder's guardian needs time to stop tracing, and so does the tracer of applications, which is
/// stopped after the kernel's.
const ENDS_LATER_NS: i64 = 15_000_000_000;
/// No machine runs longer than so, ten years.
const LONGEST_RUN_NS: i64 = 10 * 365 * 86_400 * 1_000_000_000;
/// Wall time that is kept right moves by less while something is recorded.
const MOST_ADJUSTED_NS: i64 = 1_000_000_000;

/// The version of the folder's format that is understood.
const FORMAT_VERSION: u32 = 1;

/// What a recording says about itself, as far as reading it needs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Manifest {
    /// Version of the folder's format.
    pub format_version: u32,
    /// The host that was recorded.
    pub host: String,
    /// Its kernel.
    pub kernel_release: String,
    /// Its architecture, as `uname -m` says.
    pub machine: String,
    /// Identifies one run of the host's kernel.
    pub boot_id: String,
    /// Clocks of the host.
    pub clocks: Vec<ClockOffset>,
    /// `standard` or `snapshot`.
    pub mode: String,
    /// The recorded command.
    pub command: Option<Vec<String>>,
    /// Who recorded kernel events.
    pub kernel: KernelPart,
    /// Present where applications' events were recorded.
    pub ust: Option<serde_json::Value>,
    /// Present where spans were to be received.
    pub spans: Option<SpansPart>,
    /// By path within the recording: the bytes of each file; empty where it does not say.
    pub files: BTreeMap<String, u64>,
    /// Folders of the snapshots that it took, each a recording of its own, oldest first.
    pub snapshots: Vec<String>,
    /// Why the recorder could not go on, where it could not.
    pub ended_because: Option<String>,
    /// Whether the recorder ended in order.
    pub complete: bool,
    /// When events could first be recorded, in nanoseconds since the epoch.
    pub begin_ns: i64,
    /// When tracing was stopped; equal to `begin_ns` until then.
    pub end_ns: i64,
}

/// What a recording says about kernel events.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct KernelPart {
    /// `ftrace`, `lttng` or `none`.
    pub tracer: String,
}

/// What a recording says about spans.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SpansPart {
    /// Spans that were understood and could not be kept.
    pub lost_spans: u64,
    /// Messages that were not understood or too large.
    pub refused_requests: u64,
}

/// How a clock of the host relates to wall time.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClockOffset {
    /// For instance `monotonic`.
    pub name: String,
    /// Epoch time minus the clock, in nanoseconds.
    pub offset_to_epoch_ns: i64,
    /// The same at the end, which differs where wall time was adjusted meanwhile.
    pub offset_to_epoch_at_end_ns: Option<i64>,
}

/// How many folders a trace's and its recording's are, with those between: at most
/// `ust/SNAPSHOT/ust/uid/0/64-bit` lies in the recording's.
const DEEPEST: usize = 7;

impl Manifest {
    /// The manifest of the recording that `trace` lies in, with the recording's folder. The error is a manifest
    /// that is there but cannot be used.
    pub(crate) fn above(trace: &Path) -> Result<Option<(PathBuf, Self)>, Diagnostic> {
        for folder in trace.ancestors().take(DEEPEST) {
            let path = folder.join("slowpath.json");
            // To open anything else may wait for ever (a named pipe).
            let Some(text) = path.is_file().then(|| fs::read(&path).ok()).flatten() else {
                continue;
            };
            let why = match serde_json::from_slice::<Self>(&text) {
                Ok(manifest) if manifest.format_version == FORMAT_VERSION => {
                    return Ok(Some((folder.to_owned(), manifest)));
                }
                Ok(Self {
                    format_version: 0, ..
                }) => "it tells no format version".to_owned(),
                Ok(Self { format_version, .. }) => {
                    format!("its format version {format_version} is not {FORMAT_VERSION}")
                }
                Err(error) => error.to_string(),
            };
            // Somebody gave a file of spans this name.
            let head = &text[..bytes_to_sniff(&text).min(text.len())];
            if sniff_spans(head).is_none() {
                return Err(not_usable(&path, &why));
            }
        }
        Ok(None)
    }

    /// A part that a complete recording in `folder` should have and has not, in words.
    pub(crate) fn part_not_there(&self, folder: &Path) -> Option<String> {
        let missing = missing_parts(folder, self);
        let part = missing.first().filter(|_| self.end_ns > self.begin_ns)?;
        Some(format!("{} is not there", part.place.file))
    }

    /// Why there are no events in it, nor snapshots.
    pub(crate) fn why_without_events(&self) -> String {
        let why = match (self.has_no_end(), self.kernel.tracer.as_str()) {
            (true, _) => match &self.ended_because {
                Some(cause) => cause,
                None => "its recorder runs, failed at its start or was killed with its guardian",
            },
            _ if self.lost_spans() > 0 => "the spans that were sent could not be kept",
            _ if self.refused_messages() > 0 => "what was sent to it was refused",
            (_, "none") => "kernel events were not asked for, and no application sent any",
            _ => "nothing happened that was to be recorded",
        };
        why.to_owned()
    }

    /// Whether it names all files of the recording, as complete ones of today do.
    pub(crate) fn lists_files(&self) -> bool {
        !self.files.is_empty()
    }

    /// Whether this is a flight recorder's folder to which nothing has been written, or not all: it runs, was
    /// killed with its guardian, or had no room.
    pub(crate) fn is_still_in_memory(&self) -> bool {
        self.mode == "snapshot" && self.has_no_end() && self.ended_because.is_none()
    }

    /// Whether its recorder runs, or did not come to its end nor its guardian, or nothing was recorded.
    fn has_no_end(&self) -> bool {
        !self.complete && self.end_ns == self.begin_ns
    }

    fn lost_spans(&self) -> u64 {
        self.spans.as_ref().map_or(0, |part| part.lost_spans)
    }

    fn refused_messages(&self) -> u64 {
        self.spans.as_ref().map_or(0, |part| part.refused_requests)
    }

    /// What is missing by what it says, but for files; `folder` is the recording's.
    pub(crate) fn losses(&self, folder: &Path) -> impl Iterator<Item = Diagnostic> {
        let place = Place {
            file: folder.display().to_string(),
            ..Place::default()
        };
        let of_spans = [
            (
                DiagnosticCode::LostSpans,
                self.lost_spans(),
                ["span was lost", "spans were lost"],
            ),
            (
                DiagnosticCode::RefusedMessages,
                self.refused_messages(),
                ["message was refused", "messages were refused"],
            ),
        ];
        let told = move |(code, count, [one, several]): (_, u64, [&str; 2])| {
            (count > 0).then(|| Diagnostic {
                count: Some(count),
                ..Diagnostic::new(code, place.clone(), counted(count, one, several))
            })
        };
        let of_spans = of_spans.into_iter().filter_map(told);
        self.unfinished(folder).into_iter().chain(of_spans)
    }

    /// What may be missing as its recorder has not ended in order; `folder` is the recording's.
    fn unfinished(&self, folder: &Path) -> Option<Diagnostic> {
        if self.complete {
            return None;
        }
        let (code, what) = match (&self.ended_because, self.end_ns > self.begin_ns) {
            (Some(cause), false) => (DiagnosticCode::UnfinishedRecording, cause.clone()),
            (Some(cause), true) => (
                DiagnosticCode::UnfinishedRecording,
                format!("the recorder could not go on, and what came later is missing: {cause}"),
            ),
            (None, true) => (
                DiagnosticCode::UnfinishedRecording,
                "the recorder did not end in order: the end may be missing".to_owned(),
            ),
            (None, false) => (
                DiagnosticCode::StillRecorded,
                "it was still being recorded when it was opened, or its recorder was killed or had no room: \
                 the end may be missing"
                    .to_owned(),
            ),
        };
        let place = Place {
            file: folder.display().to_string(),
            ..Place::default()
        };
        Some(Diagnostic::new(code, place, what))
    }

    /// When the ring in memory was filled that this is a snapshot of, if it is one: what the one before holds is not
    /// in it.
    pub(crate) fn ring(&self) -> Option<TimeRange> {
        let end = match self.end_ns > self.begin_ns {
            true => Timestamp::from_ns(self.end_ns),
            false => Timestamp::MAX,
        };
        (self.mode == "snapshot").then(|| TimeRange::new(Timestamp::from_ns(self.begin_ns), end))
    }

    /// Epoch time minus the monotonic clock, in nanoseconds; 0 where it is not stated. The one at the end
    /// where only that can be true.
    pub fn monotonic_offset_ns(&self) -> i64 {
        let Some(clock) = self.monotonic_clock() else {
            return 0;
        };
        let at_begin = clock.offset_to_epoch_ns;
        let at_end = clock.offset_to_epoch_at_end_ns.unwrap_or(at_begin);
        match (self.may_be_offset(at_begin), self.may_be_offset(at_end)) {
            (false, true) => at_end,
            _ => at_begin,
        }
    }

    /// Whether it says how the monotonic clock relates to wall time.
    pub(crate) fn states_monotonic_offset(&self) -> bool {
        self.monotonic_clock().is_some()
    }

    /// Whether the machine had been running for a possible time when recording began.
    fn may_be_offset(&self, offset_ns: i64) -> bool {
        let running = self.begin_ns.checked_sub(offset_ns);
        running.is_some_and(|running| (0..=LONGEST_RUN_NS).contains(&running))
    }

    /// How far wall time was set ahead while it was recorded, in nanoseconds, as far as that can be true.
    fn adjusted_ns(&self) -> i64 {
        let at_begin = self.monotonic_offset_ns();
        let at_end = self
            .monotonic_clock()
            .and_then(|clock| clock.offset_to_epoch_at_end_ns);
        let at_end = at_end.filter(|at_end| self.may_be_offset(*at_end));
        at_end.map_or(0, |at_end| at_end.saturating_sub(at_begin))
    }

    /// What is wrong or strange about how it relates the monotonic clock to wall time; `path` is its own.
    pub(crate) fn doubtful_clock(&self, path: &Path) -> Option<Diagnostic> {
        let clock = self.monotonic_clock()?;
        let at_begin = clock.offset_to_epoch_ns;
        let at_end = clock.offset_to_epoch_at_end_ns?;
        let (code, what) = match (self.may_be_offset(at_begin), self.may_be_offset(at_end)) {
            (false, true) => (
                DiagnosticCode::InvalidFile,
                format!(
                    "offset_to_epoch_ns, {at_begin}, cannot be true; offset_to_epoch_at_end_ns is used"
                ),
            ),
            (true, false) => (
                DiagnosticCode::InvalidFile,
                format!("offset_to_epoch_at_end_ns, {at_end}, cannot be true; it is not used"),
            ),
            _ if self.adjusted_ns().saturating_abs() > MOST_ADJUSTED_NS => (
                DiagnosticCode::WallTimeSet,
                format!(
                    "wall time was set by {:+.3} s",
                    self.adjusted_ns() as f64 / 1e9
                ),
            ),
            _ => return None,
        };
        let place = Place {
            file: path.display().to_string(),
            ..Place::default()
        };
        Some(Diagnostic::new(code, place, what))
    }

    /// When the kernel's events can have happened that lie in pages, as far as it says that.
    pub(crate) fn recorded_pages(&self) -> TimeRange {
        self.recorded_with(if self.complete { 0 } else { ENDS_LATER_NS })
    }

    /// When events of a tracer that is stopped after the kernel's can have happened, as far as it says that.
    pub(crate) fn recorded(&self) -> TimeRange {
        self.recorded_with(ENDS_LATER_NS)
    }

    fn recorded_with(&self, ends_later_ns: i64) -> TimeRange {
        let adjusted = self.adjusted_ns();
        let slack = CLOCKS_APART_NS + adjusted.saturating_abs().min(MOST_ADJUSTED_NS);
        // What a ring in memory was filling when the snapshot before was taken keeps its time.
        let begin = match self.mode.as_str() {
            "snapshot" => Timestamp::MIN,
            _ => Timestamp::from_ns(self.begin_ns.saturating_sub(slack)),
        };
        // Times are by what wall time was at the begin.
        let latest = self.end_ns.max(self.end_ns.saturating_sub(adjusted));
        let end = match self.end_ns > self.begin_ns {
            true => Timestamp::from_ns(latest.saturating_add(slack).saturating_add(ends_later_ns)),
            false => Timestamp::MAX,
        };
        TimeRange::new(begin, end)
    }

    fn monotonic_clock(&self) -> Option<&ClockOffset> {
        self.clocks.iter().find(|clock| clock.name == "monotonic")
    }
}

/// What a manifest that cannot be used leaves unknown.
fn not_usable(manifest: &Path, why: &str) -> Diagnostic {
    let place = Place {
        file: manifest.display().to_string(),
        ..Place::default()
    };
    let what = format!(
        "{why}; what was lost is not known, and times of ftrace's pages count from the machine's start"
    );
    Diagnostic::new(DiagnosticCode::InvalidFile, place, what)
}

/// What a recording in `folder` says that it holds, and does not.
pub(crate) fn missing_parts(folder: &Path, manifest: &Manifest) -> Vec<Diagnostic> {
    let told = |path: PathBuf, message: String| {
        let place = Place {
            file: path.display().to_string(),
            ..Place::default()
        };
        Diagnostic::new(DiagnosticCode::MissingStream, place, message)
    };
    let mut missing = Vec::new();
    if manifest.has_no_end() {
        // What is not there may still come, or there is nothing of it.
        return missing;
    }
    let mut gone: Vec<&str> = Vec::new();
    let kernel = matches!(manifest.kernel.tracer.as_str(), "ftrace" | "lttng").then_some("kernel");
    let ust = manifest.ust.as_ref().map(|_| "ust");
    for part in kernel.into_iter().chain(ust).chain(["spans"]) {
        let is_expected =
            part != "spans" || manifest.files.keys().any(|file| file.starts_with("spans/"));
        let path = folder.join(part);
        if is_expected && !path.exists() {
            gone.push(part);
            missing.push(told(path, "it is not there; slowpath.json names it".into()));
        }
    }
    for (file, &bytes) in &manifest.files {
        if gone.iter().any(|part| Path::new(file).starts_with(part)) {
            continue;
        }
        let path = folder.join(file);
        match fs::metadata(&path) {
            Ok(about) if about.len() != bytes => {
                let message = format!("it has {} bytes; slowpath.json says {bytes}", about.len());
                missing.push(told(path, message));
            }
            // What cannot be looked into is told by whoever reads it.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                missing.push(told(path, "it is not there; slowpath.json names it".into()));
            }
            _ => {}
        }
    }
    missing
}
