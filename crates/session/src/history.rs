//! The state history of an experiment: built once, then opened from a cache beside the recording.
//!
//! Holds what threads and processors did and which request threads worked for. What data stores did is a history of
//! its own in the same cache. The cache is keyed by what the traces' files look like; a recording that changed has
//! another key. It may be deleted at any time, and where it cannot be written the history lives as long as the
//! process.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::num::NonZeroUsize;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use slowpath_critical_path::{State, state_of};
use slowpath_engine::{Cancelled, Options};
use slowpath_history::{
    Attribute, AttributeId, Builder, History, Interval, Key, Levels, Part, Value, Vocabulary,
    Writer,
};
use slowpath_kernel::timelines::{Doing, Timelines};
use slowpath_model::{CpuId, Diagnostic, ThreadId, TimeRange};
use slowpath_requests::Requests;
use thiserror::Error;
use xxhash_rust::xxh3::Xxh3;

use crate::attribute_path::{AttributePath, Subject};
use crate::{Experiment, HostRequests, OpenedSource, RecordedRequests, store_history};

/// Raised when what is kept changes: older histories are built again then.
const VERSION: u32 = 16;
/// Folders of the cache: of threads and processors, and of data stores.
const THREADS: &str = "history";
const STORES: &str = "store-history";
/// Bytes of a file's begin and end that its key rests on.
const SAMPLE: u64 = 64 << 10;

/// Who runs on a processor of which that is not known.
pub const UNKNOWN_THREAD: i64 = -1;

/// Names of vocabularies.
const STATES: &str = "thread state";
const THREAD_NAMES: &str = "thread name";
const REQUESTS: &str = "request";

/// An open history, and how it came about.
pub struct OpenedHistory {
    /// The history.
    pub history: History,
    /// It was there already.
    pub from_cache: bool,
    /// What was wrong with the traces when they were read.
    pub diagnostics: Vec<Diagnostic>,
    /// Where it lies if it does not outlive the process.
    _folder: Option<tempfile::TempDir>,
}

/// Why there is no history.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The user ended it.
    #[error("interrupted")]
    Cancelled,
    /// It could not be written anywhere.
    #[error("the state history cannot be written: {0}\n  hint: is the disk full?")]
    Write(#[from] io::Error),
    /// It was written, but cannot be read back.
    #[error(transparent)]
    Read(#[from] slowpath_history::Unusable),
}

impl From<Cancelled> for HistoryError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl Experiment {
    /// The experiment's history: from the cache, else built and put there.
    ///
    /// # Errors
    ///
    /// It was cancelled, or neither the cache nor a temporary folder can be written.
    pub fn history(&self, options: &Options<'_>) -> Result<OpenedHistory, HistoryError> {
        if let Some(opened) = self.kept_history() {
            return Ok(opened);
        }
        let (recorded, diagnostics) = self.requests(options)?;
        self.build_history(&recorded, diagnostics, options.jobs)
    }

    /// What the resources of the experiment's data stores were over time, where it has any: from the cache, else
    /// built and put there.
    ///
    /// # Errors
    ///
    /// It was cancelled, or neither the cache nor a temporary folder can be written.
    pub fn store_history(
        &self,
        options: &Options<'_>,
    ) -> Result<Option<OpenedHistory>, HistoryError> {
        if self.stores().is_empty() {
            return Ok(None);
        }
        if let Some(opened) = self.kept(STORES) {
            return Ok(Some(opened));
        }
        let (stores, diagnostics) = self.store_models(options)?;
        let kernels = self.hosts();
        let opened = self.write_history(STORES, Levels::Few, diagnostics, |builder, names| {
            store_history::write(builder, names, &kernels, &stores)
        })?;
        Ok(Some(opened))
    }

    /// The experiment's history, if an earlier run left it in the cache.
    pub fn kept_history(&self) -> Option<OpenedHistory> {
        self.kept(THREADS)
    }

    fn kept(&self, folder: &str) -> Option<OpenedHistory> {
        let folder = self.cache_folder()?.join(folder);
        let history = History::open(&folder, &self.history_key()).ok()?;
        let notes = history.notes().iter();
        Some(OpenedHistory {
            diagnostics: notes
                .filter_map(|note| serde_json::from_str(note).ok())
                .collect(),
            history,
            from_cache: true,
            _folder: None,
        })
    }

    /// Builds the history out of the experiment's requests and puts it into the cache. `diagnostics`
    /// are those of the requests.
    ///
    /// # Errors
    ///
    /// Neither the cache nor a temporary folder can be written.
    pub fn build_history(
        &self,
        recorded: &RecordedRequests,
        diagnostics: Vec<Diagnostic>,
        jobs: NonZeroUsize,
    ) -> Result<OpenedHistory, HistoryError> {
        self.write_history(THREADS, Levels::Many, diagnostics, |builder, names| {
            write_threads(builder, names, &recorded.hosts, jobs.get())
        })
    }

    fn write_history(
        &self,
        folder: &str,
        levels: Levels,
        diagnostics: Vec<Diagnostic>,
        write: impl Fn(&Builder, &mut Names) -> io::Result<()>,
    ) -> Result<OpenedHistory, HistoryError> {
        let key = self.history_key();
        let build = |target: &Path| {
            let notes = diagnostics.iter().map(serde_json::to_string);
            let notes = notes.collect::<Result<_, _>>().map_err(io::Error::other)?;
            let builder = Builder::create(target)?.with_levels(levels);
            let mut names = Names::default();
            write(&builder, &mut names)?;
            builder.finish(&key, &names.attributes, &names.vocabularies, notes)
        };
        if let Some(cache) = self.cache_folder().map(|cache| cache.join(folder))
            && build(&cache).is_ok()
        {
            return Ok(OpenedHistory {
                history: History::open(&cache, &key)?,
                from_cache: false,
                diagnostics,
                _folder: None,
            });
        }
        let folder = tempfile::tempdir()?;
        let target = folder.path().join("history");
        build(&target)?;
        Ok(OpenedHistory {
            history: History::open(&target, &key)?,
            from_cache: false,
            diagnostics,
            _folder: Some(folder),
        })
    }

    /// Version, and of every file of the traces name, size, time of change and samples of its bytes.
    fn history_key(&self) -> Key {
        let mut hash = Xxh3::new();
        let traces = self.traces.iter().flat_map(OpenedSource::paths);
        let folders = self.traces.iter().flat_map(OpenedSource::folders);
        for folder in folders {
            let _ = sample(&folder.join("slowpath.json"), &mut hash);
        }
        for path in traces.chain(self.span_files().iter().map(|file| &file.path)) {
            let mut files = Vec::new();
            let real = fs::canonicalize(path);
            list_files(real.as_deref().unwrap_or(path), &mut files);
            files.sort();
            for file in files {
                // A file that cannot be looked at counts by its name.
                hash.update(file.as_os_str().as_encoded_bytes());
                let _ = sample(&file, &mut hash);
            }
        }
        let version = env!("CARGO_PKG_VERSION");
        Key(format!("{version}-{VERSION}-{:032x}", hash.digest128()))
    }

    /// `PATH.slowpath-cache` beside the first path that was opened, else a folder of its own in the user's cache.
    fn cache_folder(&self) -> Option<PathBuf> {
        let of = fs::canonicalize(self.paths.first()?).ok()?;
        let mut name = of.file_name()?.to_owned();
        name.push(".slowpath-cache");
        let beside = of.with_file_name(name);
        // Like the recording that it tells of, it is nobody else's business.
        let made = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&beside);
        if made.is_ok() && tempfile::tempfile_in(&beside).is_ok() {
            return Some(beside);
        }
        let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
        let caches = std::env::var_os("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or(home)?;
        let mut hash = Xxh3::new();
        hash.update(of.as_os_str().as_encoded_bytes());
        let folder = format!("{:016x}", hash.digest());
        Some(caches.join("slowpath").join(folder))
    }
}

fn list_files(path: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(path) else {
        files.push(path.to_owned());
        return;
    };
    for entry in entries.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => list_files(&entry.path(), files),
            _ => files.push(entry.path()),
        }
    }
}

fn sample(path: &Path, hash: &mut Xxh3) -> io::Result<()> {
    let mut file = File::open(path)?;
    let about = file.metadata()?;
    hash.update(&about.len().to_le_bytes());
    let changed = about.modified()?.duration_since(UNIX_EPOCH);
    hash.update(&changed.unwrap_or_default().as_nanos().to_le_bytes());
    let mut bytes = Vec::new();
    (&mut file).take(SAMPLE).read_to_end(&mut bytes)?;
    if about.len() > 2 * SAMPLE {
        file.seek(SeekFrom::End(-(SAMPLE as i64)))?;
    }
    file.take(SAMPLE).read_to_end(&mut bytes)?;
    hash.update(&bytes);
    Ok(())
}

/// Attributes and vocabularies, as they are found.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) attributes: Vec<Attribute>,
    vocabularies: Vec<Vocabulary>,
}

impl Names {
    /// An attribute with intervals of its own.
    fn attribute(&mut self, path: String, vocabulary: Option<&str>) -> AttributeId {
        let id = self.next_attribute();
        self.add(path, vocabulary, None);
        id
    }

    /// The one that is added next.
    pub(crate) fn next_attribute(&self) -> AttributeId {
        AttributeId(self.attributes.len() as u32)
    }

    pub(crate) fn add(&mut self, path: String, vocabulary: Option<&str>, part: Option<Part>) {
        self.attributes.push(Attribute {
            path,
            vocabulary: vocabulary.map(str::to_owned),
            part,
        });
    }

    pub(crate) fn vocabulary(&mut self, name: &str, names: Vec<String>) {
        self.vocabularies.push(Vocabulary {
            name: name.to_owned(),
            names,
        });
    }
}

/// A thread's attributes.
struct Thread {
    thread: ThreadId,
    state: AttributeId,
    request: AttributeId,
    /// With its value.
    name: (AttributeId, Value),
    /// With its value, where known.
    process: Option<(AttributeId, Value)>,
}

fn write_threads(
    builder: &Builder,
    names: &mut Names,
    hosts: &[HostRequests],
    jobs: usize,
) -> io::Result<()> {
    let mut thread_names: Vec<String> = Vec::new();
    let mut requests: Vec<String> = Vec::new();
    for host in hosts {
        let Some(lines) = &host.lines else {
            continue;
        };
        let path = |subject, what| {
            let host = (hosts.len() > 1).then_some(host.name.as_str());
            AttributePath {
                host,
                subject,
                what,
            }
            .to_string()
        };
        let first_request = requests.len() as i64;
        let described = |(_, request): (_, &slowpath_requests::Request)| {
            let (trace, span) = (request.key.trace, request.key.span);
            format!("{trace}/{span} {}", request.operation())
                .trim_end()
                .to_owned()
        };
        requests.extend(host.requests.ids().map(described));
        let cpus: Vec<(CpuId, AttributeId)> = (lines.processors())
            .map(|cpu| {
                let path = path(Subject::Cpu(cpu.0), "thread");
                (cpu, names.attribute(path, None))
            })
            .collect();
        let recorded = (lines.processors())
            .map(|cpu| names.attribute(path(Subject::Cpu(cpu.0), "recorded"), None))
            .collect();
        let threads: Vec<Thread> = (lines.threads().iter())
            .map(|&thread| {
                thread_names.push(lines.name(thread, lines.range().end).into_owned());
                let path = |what| path(Subject::Thread(thread.0.into()), what);
                let process = lines.process(thread, lines.range().end);
                Thread {
                    thread,
                    state: names.attribute(path("state"), Some(STATES)),
                    request: names.attribute(path("request"), Some(REQUESTS)),
                    name: (
                        names.attribute(path("name"), Some(THREAD_NAMES)),
                        Value(thread_names.len() as i64 - 1),
                    ),
                    process: process.map(|process| {
                        let attribute = names.attribute(path("process"), None);
                        (attribute, Value(process.0.into()))
                    }),
                }
            })
            .collect();
        let of_host = OfHost {
            lines,
            requests: &host.requests,
            first_request,
            cpus,
            recorded,
        };
        of_host.write(builder, &threads, jobs)?;
    }
    let states = State::ALL.map(|state| state.name().to_owned());
    names.vocabulary(STATES, states.into());
    names.vocabulary(THREAD_NAMES, thread_names);
    names.vocabulary(REQUESTS, requests);
    Ok(())
}

/// What the intervals of a host's threads are made of.
struct OfHost<'run> {
    lines: &'run Timelines,
    requests: &'run Requests,
    /// The value of the host's first request.
    first_request: i64,
    cpus: Vec<(CpuId, AttributeId)>,
    /// Of each processor: when its host was recorded.
    recorded: Vec<AttributeId>,
}

impl OfHost<'_> {
    /// Writes all threads, by so many workers.
    fn write(&self, builder: &Builder, threads: &[Thread], jobs: usize) -> io::Result<()> {
        let next = AtomicUsize::new(0);
        let failure: Mutex<Option<io::Error>> = Mutex::new(None);
        let work = || {
            let mut writer = builder.writer();
            while let Some(thread) = threads.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(error) = self.write_thread(&mut writer, thread) {
                    *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    return;
                }
            }
            writer.close();
        };
        self.write_unknown(builder)?;
        std::thread::scope(|scope| {
            for _ in 1..jobs.min(threads.len().max(1)) {
                scope.spawn(work);
            }
            work();
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Writes when the host was recorded, and where nobody is known to run.
    fn write_unknown(&self, builder: &Builder) -> io::Result<()> {
        let mut writer = builder.writer();
        for &attribute in &self.recorded {
            writer.push(Interval {
                attribute,
                range: self.lines.range(),
                value: Value(1),
            })?;
        }
        for &(cpu, attribute) in &self.cpus {
            for range in self.lines.unknown_on(cpu) {
                writer.push(Interval {
                    attribute,
                    range,
                    value: Value(UNKNOWN_THREAD),
                })?;
            }
        }
        writer.close();
        Ok(())
    }

    fn write_thread(&self, writer: &mut Writer<'_>, thread: &Thread) -> io::Result<()> {
        let all = self.lines.range();
        let mut push = |attribute: AttributeId, range: TimeRange, value: i64| {
            writer.push(Interval {
                attribute,
                range,
                value: Value(value),
            })
        };
        for stretch in self.lines.backwards(thread.thread, all) {
            if let Some(state) = state_of(self.lines, &stretch) {
                push(thread.state, stretch.range, state as i64)?;
            }
            if let Doing::Running { cpu } = stretch.doing
                && let Ok(place) = self.cpus.binary_search_by_key(&cpu, |(cpu, _)| *cpu)
            {
                push(self.cpus[place].1, stretch.range, thread.thread.0.into())?;
            }
        }
        let life = self.lines.life(thread.thread);
        for (attribute, value) in [Some(thread.name), thread.process].into_iter().flatten() {
            push(attribute, life, value.0)?;
        }
        for (range, request) in self.requests.active(thread.thread, all) {
            push(
                thread.request,
                range,
                self.first_request + i64::from(request.0),
            )?;
        }
        Ok(())
    }
}
