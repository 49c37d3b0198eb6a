//! Opens everything below some paths as one experiment.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use slowpath_kernel::quotas::QuotaNote;
use slowpath_model::{
    CpuId, Diagnostic, DiagnosticCode, Place, ProcessId, ThreadId, TimeRange, Timestamp,
    TracerDomain,
};
use slowpath_platform::MappedFile;
use slowpath_read_ftrace::{EventFormatFile, FolderFiles, FtraceTrace, ReadOptions};
use slowpath_source::{FileBytes, NamedBytes, Source};

use crate::copies::{InCommon, in_common};
use crate::discover::{Found, discover, unreadable};
use crate::doubts::{doubts, mixed_clocks};
use crate::group_quotas;
use crate::host;
use crate::open_ctf::{CtfFiles, open_ctf};
use crate::{
    Manifest, NotOpened, OpenError, RecordedTransfers, SpanFile, manifest, missing_processors,
    one_session, programs_of_32_bit, recorded_twice, state_dump, texts_beside,
};

/// Everything that was opened, as one.
#[derive(Default)]
pub struct Experiment {
    /// What was asked for.
    pub paths: Vec<PathBuf>,
    /// The traces, in the order of the paths given and of their folders.
    pub traces: Vec<OpenedSource>,
    /// What was wrong with files that no trace could be made of.
    pub diagnostics: Vec<Diagnostic>,
    pub(crate) span_files: Vec<SpanFile>,
    /// Only of who shows whatever there is.
    pub(crate) transfers: RecordedTransfers,
}

/// One trace.
pub struct OpenedSource {
    /// Where it lies.
    pub path: PathBuf,
    /// `CTF 1.8`, `CTF 2` or `ftrace`.
    pub format: &'static str,
    /// The trace.
    pub source: Box<dyn Source>,
    /// Names of threads that the tracer kept beside the events.
    pub saved_names: Vec<(ThreadId, String)>,
    /// Processes of threads that the tracer kept beside the events.
    pub saved_processes: Vec<(ThreadId, ProcessId)>,
    /// The recording that it is part of, with its folder.
    pub recording: Option<(PathBuf, Manifest)>,
    /// What it was made of, until all parts of its session are one.
    pub(crate) ctf: Option<CtfFiles>,
    /// Where the other parts of its session lie, and the recordings that they are part of.
    pub later_parts: Vec<(PathBuf, Option<(PathBuf, Manifest)>)>,
    /// Names of disks by their numbers (`254:0`), as its recorder saw them.
    pub(crate) disk_names: BTreeMap<String, String>,
    /// What its recorder saw of processes.
    pub(crate) state_dump: Vec<state_dump::Line>,
    /// When the snapshot that it is of begins, or the first of several that it holds; before all time where it is of
    /// none.
    pub(crate) snapshots_since: Timestamp,
    /// What the recorder saw of control groups' CPU quotas; `None` where it did not look.
    pub(crate) quota_notes: Option<Vec<(Timestamp, QuotaNote)>>,
}

impl Experiment {
    /// Adds a trace, unless it holds nothing new; it may take the place of others that hold less. Notes which traces
    /// are `overlapping`.
    fn add(&mut self, mut trace: OpenedSource, overlapping: &mut Vec<[PathBuf; 2]>) {
        let mut parts = Vec::new();
        let mut sharing = Vec::new();
        for (known, position) in self.traces.iter_mut().zip(0..) {
            match in_common(known, &trace) {
                None => {}
                Some(InCommon::SecondIsPart) => {
                    self.diagnostics.push(same_trace(&trace, known));
                    known.snapshots_since = known.snapshots_since.min(trace.snapshots_since);
                    return;
                }
                Some(InCommon::FirstIsPart) => {
                    self.diagnostics.push(same_trace(known, &trace));
                    trace.snapshots_since = trace.snapshots_since.min(known.snapshots_since);
                    parts.push(position);
                }
                Some(InCommon::Some) => {
                    sharing.push([&trace, &*known].map(|trace| trace.path.clone()));
                }
            }
        }
        let place = parts.first().copied().unwrap_or(self.traces.len());
        for part in parts.into_iter().rev() {
            let part = self.traces.remove(part);
            // Whatever it shares packets with shares them with the trace that holds all that it holds.
            overlapping.retain(|pair| !pair.contains(&part.path));
        }
        overlapping.append(&mut sharing);
        self.traces.insert(place, trace);
    }

    /// Makes one trace of all parts of a session, and says what is doubtful and missing where all is known.
    fn join_sessions(&mut self, overlapping: &[[PathBuf; 2]], jobs: NonZeroUsize) {
        self.traces = one_session::joined(std::mem::take(&mut self.traces), jobs);
        for [one, other] in overlapping {
            let are_one = |trace: &OpenedSource| {
                [one, other].map(|path| trace.paths().any(|part| part == path)) == [true; 2]
            };
            if !self.traces.iter().any(are_one) {
                let what = format!(
                    "it shares packets with {}, and each has some that the other lacks; both are read",
                    other.display()
                );
                self.diagnostics.push(Diagnostic {
                    code: DiagnosticCode::OverlappingTraces,
                    ..damaged(one, what)
                });
            }
        }
        for trace in std::mem::take(&mut self.traces) {
            self.diagnostics.extend(doubts(&*trace.source));
            // One file is there or not, and what a list of files names is missed by it.
            let recording = trace.recording.as_ref();
            let lists_files = recording.is_some_and(|(_, manifest)| manifest.lists_files());
            let may_lack_files = !lists_files && !trace.path.is_file();
            let source = missing_processors::noted(&trace.path, trace.source, may_lack_files);
            self.traces.push(OpenedSource { source, ..trace });
        }
    }

    /// The traces of kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &OpenedSource> {
        let is_kernel = |trace: &&OpenedSource| {
            let schema = trace.source.schema();
            schema.domain == TracerDomain::Kernel
                || schema
                    .event_classes
                    .iter()
                    .any(|class| class.name == "sched_switch")
        };
        self.traces.iter().filter(is_kernel)
    }

    /// Everything that was found wrong while opening.
    pub fn opening_diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        let of_traces = self
            .traces
            .iter()
            .flat_map(|trace| trace.source.diagnostics());
        self.diagnostics.iter().chain(of_traces)
    }
}

/// Opens all traces at or below `paths` with so many workers, and finds the files of spans.
///
/// # Errors
/// When none of the paths can be read and holds traces or spans that are not damaged at their root, or one is a
/// recording that is not written yet; the diagnostics say how.
pub fn open(paths: &[PathBuf], jobs: NonZeroUsize) -> Result<Experiment, NotOpened> {
    open_all(paths, jobs, false)
}

/// The same for those who show whatever there is: reports of transfers will do alone, too.
///
/// # Errors
/// As [`open`].
pub fn open_to_show(paths: &[PathBuf], jobs: NonZeroUsize) -> Result<Experiment, NotOpened> {
    open_all(paths, jobs, true)
}

fn open_all(
    paths: &[PathBuf],
    jobs: NonZeroUsize,
    with_reports: bool,
) -> Result<Experiment, NotOpened> {
    let mut experiment = Experiment {
        paths: paths.to_vec(),
        ..Experiment::default()
    };
    let mut opened: HashSet<PathBuf> = HashSet::new();
    let mut overlapping = Vec::new();
    let mut without = Vec::new();
    let mut reports_found = Vec::new();
    for path in paths {
        let known_before = experiment.diagnostics.len();
        let found = match discover(path, &mut experiment.diagnostics) {
            Ok(found) => found,
            Err(cause) => {
                let told = unreadable(path, &cause);
                let path = path.clone();
                without.push((OpenError::Unreadable { path, cause }, told));
                continue;
            }
        };
        // They are no traces.
        let is_report = |found: &Found| matches!(found, Found::Transfers(_));
        let (reports, found): (Vec<_>, Vec<_>) = found.into_iter().partition(is_report);
        let holds_reports = with_reports && !reports.is_empty();
        for report in reports {
            if fs::canonicalize(report.path()).is_ok_and(|place| opened.insert(place)) {
                reports_found.push(report.path().to_owned());
            }
        }
        if found.is_empty() && !holds_reports {
            let error = match experiment.diagnostics.len() == known_before {
                true => OpenError::nothing_in(path),
                false => OpenError::AllDamaged { path: path.clone() },
            };
            let told = damaged(
                path,
                "it holds neither traces nor spans that slowpath can read",
            );
            without.push((error, told));
            continue;
        }
        let all = &found;
        for found in all {
            let has_events = |folder: &Path| {
                let mut of_recording = all.iter().filter(|one| one.path().starts_with(folder));
                of_recording.any(holds_events)
            };
            if let Ok(Some((folder, manifest))) = Manifest::above(found.path())
                && manifest.is_still_in_memory()
                && let Some(error) = OpenError::not_written(folder, manifest.snapshots, has_events)
            {
                return Err((error, Vec::new()));
            }
            // A trace that is named twice is one trace.
            let is_new = fs::canonicalize(found.path()).is_ok_and(|place| opened.insert(place));
            if !is_new {
                continue;
            }
            if let Found::Spans(path, format) = found {
                experiment.span_files.push(SpanFile {
                    path: path.clone(),
                    format: *format,
                });
            } else if let Some(trace) = open_one(found, jobs, &mut experiment.diagnostics) {
                experiment.add(trace, &mut overlapping);
            }
        }
        let missing = missing_parts(path, &found);
        // Whoever opened the trace may have missed the same files.
        let is_told_again = |known: &Diagnostic| {
            let is_same = |one: &Diagnostic| one.code == known.code && one.place == known.place;
            missing.iter().any(is_same)
        };
        experiment.diagnostics.retain(|known| !is_told_again(known));
        experiment.diagnostics.extend(missing);
    }
    if with_reports {
        let (transfers, wrong) = RecordedTransfers::read(&reports_found, &experiment.span_files);
        experiment.transfers = transfers;
        experiment.diagnostics.extend(wrong);
    }
    let mut without = without.into_iter();
    if experiment.traces.is_empty()
        && experiment.span_files.is_empty()
        && experiment.transfers.reports().is_empty()
        && let Some(path) = paths.first()
    {
        let all_damaged = || OpenError::AllDamaged { path: path.clone() };
        let error = without.next().map_or_else(all_damaged, |(why, _)| why);
        experiment.diagnostics.extend(without.map(|(_, told)| told));
        return Err((error, experiment.diagnostics));
    }
    experiment.diagnostics.extend(without.map(|(_, told)| told));
    experiment.join_sessions(&overlapping, jobs);
    recorded_twice::leave_out(&mut experiment);
    let same_names = host::same_names(&experiment.traces);
    experiment.diagnostics.extend(same_names);
    let mixed_clocks = mixed_clocks(&experiment.traces);
    experiment.diagnostics.extend(mixed_clocks);
    let traces = experiment.traces.iter().flat_map(OpenedSource::paths);
    let spans = experiment.span_files.iter().map(|file| &file.path);
    let losses = losses_of_recordings(traces.chain(spans));
    for loss in losses {
        tell_once(&mut experiment.diagnostics, loss);
    }
    Ok(experiment)
}

/// What the recordings that traces or files of spans lie in say that they could not keep, or may not have; or that
/// they cannot say so.
pub(crate) fn losses_of_recordings<'run>(
    paths: impl Iterator<Item = &'run PathBuf>,
) -> Vec<Diagnostic> {
    let mut recordings: BTreeMap<PathBuf, Manifest> = BTreeMap::new();
    let mut told = Vec::new();
    for path in paths {
        match Manifest::above(path) {
            Ok(recording) => recordings.extend(recording),
            Err(wrong) => tell_once(&mut told, wrong),
        }
    }
    for (folder, manifest) in &recordings {
        told.extend(manifest.losses(folder));
    }
    told
}

/// Everything in a recording asks for its manifest: what is wrong with that is told by the first.
fn tell_once(diagnostics: &mut Vec<Diagnostic>, what: Diagnostic) {
    if !diagnostics.contains(&what) {
        diagnostics.push(what);
    }
}

/// Says that a trace is not read as `whole` holds all that it holds.
fn same_trace(part: &OpenedSource, whole: &OpenedSource) -> Diagnostic {
    let what = format!(
        "{} holds all that it holds; that one is read",
        whole.path.display()
    );
    Diagnostic {
        code: DiagnosticCode::SameTrace,
        ..damaged(&part.path, what)
    }
}

fn open_one(
    found: &Found,
    jobs: NonZeroUsize,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<OpenedSource> {
    let path = found.path();
    let mut is_told_of_clock = false;
    let recording = Manifest::above(path).unwrap_or_else(|wrong| {
        tell_once(diagnostics, wrong);
        is_told_of_clock = true;
        None
    });
    let state_dump = (recording.as_ref())
        .map(|(_, manifest)| state_dump::read(path, manifest, diagnostics))
        .unwrap_or_default();
    let opened = match found {
        Found::Ctf(folder) => open_ctf(folder, recording.as_ref(), jobs, diagnostics),
        Found::FtraceFolder(folder) => {
            open_ftrace_folder(folder, recording.as_ref(), &state_dump, diagnostics)
        }
        Found::TraceDat(file) => open_trace_dat(file),
        Found::Spans(..) | Found::Transfers(_) => return None,
    };
    if let (Found::FtraceFolder(_), Ok(opened)) = (found, &opened)
        && !is_told_of_clock
    {
        let manifest = recording.as_ref().map(|(_, manifest)| manifest);
        diagnostics.extend(unknown_wall_time(path, &*opened.source, manifest));
    }
    if let (Ok(opened), Some((root, manifest))) = (&opened, &recording) {
        let recorded = match found {
            Found::FtraceFolder(_) => {
                diagnostics.extend(manifest.doubtful_clock(&root.join("slowpath.json")));
                manifest.recorded_pages()
            }
            _ => manifest.recorded(),
        };
        if is_another_time(&*opened.source, recorded) {
            diagnostics.push(recorded_at_another_time(path, root, manifest));
        }
    }
    if let (Found::FtraceFolder(_), Ok(_)) = (found, &opened) {
        texts_beside::check(path, diagnostics);
    }
    match opened {
        Ok(opened) => {
            let source = programs_of_32_bit::told(opened.source, jobs);
            let snapshot = recording.as_ref().and_then(|(_, manifest)| manifest.ring());
            Some(OpenedSource {
                path: path.to_owned(),
                snapshots_since: snapshot.map_or(Timestamp::MIN, |range| range.begin),
                state_dump,
                quota_notes: (recording.as_ref())
                    .and_then(|(_, manifest)| group_quotas::read(path, manifest, diagnostics)),
                disk_names: (recording.as_ref())
                    .map(|_| texts_beside::disk_names(path, diagnostics))
                    .unwrap_or_default(),
                recording,
                source,
                ..opened
            })
        }
        Err(diagnostic) => {
            diagnostics.push(diagnostic);
            None
        }
    }
}

/// Whether all events lie outside of the time in which they were recorded: that one is wrong then.
fn is_another_time(source: &dyn Source, recorded: TimeRange) -> bool {
    let is_outside = |at| at < recorded.begin || recorded.end < at;
    let mut packets = source.packets().iter();
    !source.packets().is_empty()
        && packets.all(|packet| is_outside(packet.range.begin) && is_outside(packet.range.end))
}

fn recorded_at_another_time(trace: &Path, recording: &Path, manifest: &Manifest) -> Diagnostic {
    let what = format!(
        "it says that recording began at {} and ended at {} (nanoseconds since the epoch), but all events of {} \
         lie outside of that",
        manifest.begin_ns,
        manifest.end_ns,
        trace.display()
    );
    damaged(&recording.join("slowpath.json"), what)
}

/// Says so where nothing tells how the clock of a folder of pages relates to wall time.
fn unknown_wall_time(
    folder: &Path,
    source: &dyn Source,
    manifest: Option<&Manifest>,
) -> Option<Diagnostic> {
    let is_known = manifest.is_some_and(Manifest::states_monotonic_offset);
    let is_other_unit = |known: &Diagnostic| known.code == DiagnosticCode::UnknownClockUnit;
    let has_times = !source.packets().is_empty() && !source.diagnostics().iter().any(is_other_unit);
    let what = match manifest {
        None => {
            "there is no slowpath.json, which tells wall time; times count from the machine's start"
        }
        Some(_) => "slowpath.json does not tell wall time; times count from the machine's start",
    };
    (has_times && !is_known).then(|| Diagnostic {
        code: DiagnosticCode::UnknownWallTime,
        ..damaged(folder, what)
    })
}

/// Whether a file has fewer bytes than its recording says.
pub(crate) fn is_short(path: &Path, bytes: &[u8], recording: Option<&(PathBuf, Manifest)>) -> bool {
    stated_bytes(path, recording).is_some_and(|stated| (bytes.len() as u64) < stated)
}

/// How many bytes a file has by its recording.
fn stated_bytes(path: &Path, recording: Option<&(PathBuf, Manifest)>) -> Option<u64> {
    let (folder, manifest) = recording?;
    let name = path.strip_prefix(folder).ok()?.to_str()?;
    manifest.files.get(name).copied()
}

/// The files right in `folder` of which the recording says that they have bytes, and that are not there.
pub(crate) fn gone_files(folder: &Path, recording: Option<&(PathBuf, Manifest)>) -> Vec<PathBuf> {
    let Some((root, manifest)) = recording else {
        return Vec::new();
    };
    let with_bytes = manifest.files.iter().filter(|(_, bytes)| **bytes > 0);
    let paths = with_bytes.map(|(name, _)| root.join(name));
    let gone = paths.filter(|path| path.parent() == Some(folder) && !path.exists());
    gone.collect()
}

/// What stands for a file that is not there.
pub(crate) fn no_bytes(path: &Path) -> NamedBytes {
    NamedBytes::new(path.display().to_string(), [])
}

/// The files of pages that are not there though there are statistics of their processors. One that recorded nothing
/// has none: by the list of files or, where there is none, by the statistics, which count from before earlier snapshots.
fn missing_pages(
    folder: &Path,
    recording: Option<&(PathBuf, Manifest)>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<PathBuf> {
    let lists_files = recording.is_some_and(|(_, manifest)| manifest.lists_files());
    let stats = entries(&folder.join("stats"), diagnostics);
    let missing = stats.into_iter().filter_map(|stats| {
        let cpu = stats.file_name()?.to_str()?;
        let pages = folder.join(format!("{cpu}.raw"));
        let was_recorded = match lists_files {
            true => stated_bytes(&pages, recording).is_some(),
            false => !fs::read_to_string(&stats).is_ok_and(|stats| counts_no_event(&stats)),
        };
        (was_recorded && !pages.exists()).then_some(pages)
    });
    let missing: Vec<PathBuf> = missing.collect();
    let what = "these pages are not there; their statistics are";
    diagnostics.extend((missing.iter()).map(|pages| missing_stream(pages, what)));
    missing
}

/// Whether statistics of a processor say that no event was in its ring, or was read from there.
fn counts_no_event(stats: &str) -> bool {
    let is_zero = |name: &str| {
        let mut counts = stats.lines().filter_map(|line| line.strip_prefix(name));
        counts.next().is_some_and(|count| count.trim() == "0")
    };
    is_zero("entries:") && is_zero("read events:")
}

/// What recordings at or below `path` say that they hold, and do not.
fn missing_parts(path: &Path, found: &[Found]) -> Vec<Diagnostic> {
    let mut seen = HashSet::new();
    let recordings = found
        .iter()
        .filter_map(|found| Manifest::above(found.path()).ok()?);
    let recordings = recordings.filter(|(folder, _)| folder.starts_with(path));
    let recordings = recordings.filter(|(folder, _)| seen.insert(folder.clone()));
    let missing = recordings.map(|(folder, manifest)| manifest::missing_parts(&folder, &manifest));
    missing.flatten().collect()
}

pub(crate) fn missing_stream(file: &Path, what: &str) -> Diagnostic {
    Diagnostic {
        code: DiagnosticCode::MissingStream,
        ..damaged(file, what)
    }
}

fn open_trace_dat(file: &Path) -> Result<OpenedSource, Diagnostic> {
    let trace = FtraceTrace::from_trace_dat(map(file)?, ReadOptions::default());
    Ok(opened_ftrace(trace.map_err(|error| damaged(file, error))?))
}

fn open_ftrace_folder(
    folder: &Path,
    recording: Option<&(PathBuf, Manifest)>,
    state_dump: &[state_dump::Line],
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<OpenedSource, Diagnostic> {
    let manifest = recording.map(|(_, manifest)| manifest);
    let header_page = folder.join("header_page");
    let header_page =
        fs::read_to_string(&header_page).map_err(|cause| unreadable(&header_page, &cause))?;
    // Texts that were not kept are empty: the reader says which of them it misses.
    let mut text = |name: &str| {
        let path = folder.join(name);
        let bytes = fs::read(&path).unwrap_or_else(|cause| {
            if !is_absent(&cause) {
                diagnostics.push(unreadable(&path, &cause));
            }
            Vec::new()
        });
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let header_event = text("header_event");
    let saved_cmdlines = text("saved_cmdlines");
    let saved_tgids = text("saved_tgids");
    let trace_clock = text("trace_clock");
    let mut pages = Vec::new();
    let mut cpus = Vec::new();
    let mut stats = Vec::new();
    for path in files_in(folder).map_err(|cause| unreadable(folder, &cause))? {
        let Some(cpu) = cpu_of_pages(&path) else {
            continue;
        };
        stats.push((cpu, text(&format!("stats/cpu{cpu}"))));
        pages.push((cpu, path));
    }
    for (cpu, path) in pages {
        match map(&path) {
            Ok(pages) => cpus.push((cpu, pages)),
            Err(diagnostic) => diagnostics.push(diagnostic),
        }
    }
    // Its recorder was killed: of a processor without pages nothing is known, busy or not.
    let was_killed = manifest.is_some_and(|manifest| !manifest.complete && !manifest.lists_files());
    let is_emptied = |pages: &NamedBytes| was_killed && pages.get().is_empty();
    let what = "it is empty, and its recorder has not ended in order: what this processor did is not known";
    let emptied = cpus.iter().filter(|(_, pages)| is_emptied(pages));
    diagnostics.extend(emptied.map(|(_, pages)| missing_stream(Path::new(&pages.name), what)));
    let is_cut = |(_, pages): &&(CpuId, NamedBytes)| {
        is_short(Path::new(&pages.name), pages.get(), recording) || is_emptied(pages)
    };
    let mut short: Vec<CpuId> = cpus.iter().filter(is_cut).map(|(cpu, _)| *cpu).collect();
    let mut gone = missing_pages(folder, recording, diagnostics);
    gone.extend(gone_files(folder, recording));
    for path in gone {
        if let Some(cpu) = cpu_of_pages(&path)
            && !short.contains(&cpu)
        {
            short.push(cpu);
            cpus.push((cpu, no_bytes(&path)));
        }
    }
    cpus.sort_by_key(|(cpu, _)| *cpu);
    let files = FolderFiles {
        folder: folder.display().to_string(),
        short,
        is_unfinished: was_killed,
        header_page,
        header_event,
        formats: event_formats(&folder.join("events"), diagnostics),
        cpus,
        saved_cmdlines,
        saved_tgids,
        trace_clock,
        stats,
        is_snapshot: manifest.is_some_and(|manifest| manifest.mode == "snapshot"),
        recorded: manifest.map(Manifest::recorded_pages),
        host: manifest
            .map(|manifest| manifest.host.clone())
            .unwrap_or_default(),
        kernel_release: manifest
            .map(|manifest| manifest.kernel_release.clone())
            .unwrap_or_default(),
        machine: manifest
            .map(|manifest| manifest.machine.clone())
            .unwrap_or_default(),
        processes_of_32_bit: state_dump::processes_of_32_bit(state_dump),
        ..FolderFiles::default()
    };
    let options = ReadOptions {
        clock_offset_ns: manifest.map_or(0, Manifest::monotonic_offset_ns),
    };
    let trace = FtraceTrace::from_folder(files, options);
    Ok(opened_ftrace(
        trace.map_err(|error| damaged(folder, error))?,
    ))
}

/// Whether anything was written of the events of a trace.
fn holds_events(found: &Found) -> bool {
    let Found::FtraceFolder(folder) = found else {
        return true;
    };
    let has_bytes = |path: &PathBuf| fs::metadata(path).is_ok_and(|about| about.len() > 0);
    let files = files_in(folder).unwrap_or_default();
    let mut pages = files.iter().filter(|path| cpu_of_pages(path).is_some());
    pages.any(has_bytes)
}

/// The processor that `cpuN.raw` is of.
fn cpu_of_pages(path: &Path) -> Option<CpuId> {
    let name = path.file_name()?.to_str()?;
    let number = name.strip_prefix("cpu")?.strip_suffix(".raw")?;
    number.parse().ok().map(CpuId)
}

/// `events/<system>/<event>/format`, in the order of the paths.
fn event_formats(events: &Path, diagnostics: &mut Vec<Diagnostic>) -> Vec<EventFormatFile> {
    let mut formats = Vec::new();
    for system in entries(events, diagnostics) {
        for event in entries(&system, diagnostics) {
            let format = event.join("format");
            match fs::read_to_string(&format) {
                Ok(text) => formats.push(EventFormatFile {
                    system: (system.file_name().unwrap_or_default().to_string_lossy()).into_owned(),
                    text,
                }),
                Err(cause) if is_absent(&cause) => {}
                Err(cause) => diagnostics.push(unreadable(&format, &cause)),
            }
        }
    }
    formats
}

/// What lies in a folder, in order; nothing where there is no such folder.
fn entries(folder: &Path, diagnostics: &mut Vec<Diagnostic>) -> Vec<PathBuf> {
    let listed = fs::read_dir(folder).and_then(|entries| {
        let paths = entries.map(|entry| Ok(entry?.path()));
        paths.collect::<io::Result<Vec<PathBuf>>>()
    });
    let mut paths = listed.unwrap_or_else(|cause| {
        if !is_absent(&cause) {
            diagnostics.push(unreadable(folder, &cause));
        }
        Vec::new()
    });
    paths.sort();
    paths
}

pub(crate) fn is_absent(cause: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(cause.kind(), NotFound | NotADirectory)
}

pub(crate) fn opened(format: &'static str, source: impl Source + 'static) -> OpenedSource {
    OpenedSource {
        path: PathBuf::new(),
        format,
        source: Box::new(source),
        saved_names: Vec::new(),
        saved_processes: Vec::new(),
        recording: None,
        ctf: None,
        later_parts: Vec::new(),
        disk_names: BTreeMap::new(),
        state_dump: Vec::new(),
        snapshots_since: Timestamp::MIN,
        quota_notes: None,
    }
}

fn opened_ftrace(trace: FtraceTrace) -> OpenedSource {
    let saved_names = trace.saved_cmdlines().to_vec();
    let saved_processes = trace.saved_tgids().to_vec();
    OpenedSource {
        saved_names,
        saved_processes,
        ..opened("ftrace", trace)
    }
}

/// The plain files of a folder, in the order of their names.
pub(crate) fn files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    Ok(files)
}

pub(crate) fn map(path: &Path) -> Result<NamedBytes, Diagnostic> {
    let file = MappedFile::open(path).map_err(|cause| unreadable(path, &cause))?;
    Ok(NamedBytes {
        name: path.display().to_string(),
        bytes: Arc::new(Mapped(file)),
    })
}

/// A mapped file as readers take it.
struct Mapped(MappedFile);

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl FileBytes for Mapped {
    fn release(&self, part: Range<usize>) {
        self.0.release(part);
    }
}

pub(crate) fn damaged(path: &Path, what: impl std::fmt::Display) -> Diagnostic {
    let place = Place {
        file: path.display().to_string(),
        ..Place::default()
    };
    Diagnostic::new(DiagnosticCode::InvalidFile, place, what.to_string())
}
