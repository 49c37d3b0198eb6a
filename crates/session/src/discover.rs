//! Finds traces below a path: CTF folders, ftrace folders, trace.dat files, files of spans, reports of transfers.
//!
//! A folder that is a trace is not searched further. Links are followed, but no folder is searched
//! twice; pipes, sockets and devices are left alone, and so is what the kernel shows of itself as files (`/proc`, `/sys`)
//! unless the search begins there.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use slowpath_model::{Diagnostic, DiagnosticCode, Place};
use slowpath_read_spans::{SNIFF_BYTES, SpanFormat, bytes_to_sniff, sniff_spans, why_blank};
use slowpath_read_transfers::is_transfers;
use slowpath_source::{Format, sniff};

/// A trace on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A folder with `metadata` and stream files.
    Ctf(PathBuf),
    /// A folder with `header_page` and `cpuN.raw` files.
    FtraceFolder(PathBuf),
    /// A `trace.dat` file.
    TraceDat(PathBuf),
    /// A file of spans.
    Spans(PathBuf, SpanFormat),
    /// A report of transfers.
    Transfers(PathBuf),
}

impl Found {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Ctf(path)
            | Self::FtraceFolder(path)
            | Self::TraceDat(path)
            | Self::Spans(path, _)
            | Self::Transfers(path) => path,
        }
    }
}

/// How deep traces may lie: `DIR/ust/uid/0/64-bit` and a few more for experiments of many hosts.
const MOST_DEPTH: usize = 12;

/// All traces at or below `path`, in the order of their paths; what cannot be looked into is told.
pub(crate) fn discover(path: &Path, diagnostics: &mut Vec<Diagnostic>) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        let mut search = Search {
            seen: HashSet::from([fs::canonicalize(path)?]),
            of_kernel: of_kernel_but(metadata.dev()),
            found,
            blank: Vec::new(),
            diagnostics,
        };
        search.folder(path, MOST_DEPTH)?;
        search.tell_blank_files_of_spans();
        return Ok(search.found);
    }
    if !metadata.is_file() {
        return Ok(found);
    }
    let head = head(path)?;
    if let Some(file) = file_found(path, &head) {
        found.push(file);
    } else if path.file_name().is_some_and(|name| name == "metadata") {
        let folder = path.parent().unwrap_or(Path::new("."));
        found.push(Found::Ctf(folder.to_owned()));
    } else if let Some(why) = why_blank(&head) {
        diagnostics.push(damaged(path, why));
    }
    Ok(found)
}

/// A search below a folder.
struct Search<'found> {
    seen: HashSet<PathBuf>,
    /// File systems that are not looked into, by number.
    of_kernel: Vec<u64>,
    found: Vec<Found>,
    /// Files named like ones with spans of which nothing can be had, and why: they are empty or end too early.
    blank: Vec<(PathBuf, &'static str)>,
    diagnostics: &'found mut Vec<Diagnostic>,
}

impl Search<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) -> io::Result<()> {
        if folder.join("metadata").is_file() {
            self.found.push(Found::Ctf(folder.to_owned()));
            return Ok(());
        }
        if folder.join("header_page").is_file() && folder.join("events").is_dir() {
            self.found.push(Found::FtraceFolder(folder.to_owned()));
            return Ok(());
        }
        let mut entries: Vec<PathBuf> = fs::read_dir(folder)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        entries.sort();
        if let Some(what) = without_description(&entries) {
            self.diagnostics.push(damaged(folder, what));
        }
        let is_recording = folder.join("slowpath.json").is_file();
        for entry in entries {
            if is_recording && is_snapshot(&entry) || is_cache(&entry) {
                continue;
            }
            // What cannot be looked into does not hide the rest.
            if let Err(cause) = self.entry(&entry, depth) {
                self.diagnostics.push(unreadable(&entry, &cause));
            }
        }
        Ok(())
    }

    fn entry(&mut self, entry: &Path, depth: usize) -> io::Result<()> {
        let metadata = match fs::metadata(entry) {
            // A link to nowhere, or a file that is gone by now.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
            // A link in circles.
            Err(cause) if cause.kind() != io::ErrorKind::PermissionDenied && entry.is_symlink() => {
                return Ok(());
            }
            metadata => metadata?,
        };
        if metadata.is_dir() {
            let is_of_kernel = self.of_kernel.contains(&metadata.dev());
            let is_new = !is_of_kernel && self.seen.insert(fs::canonicalize(entry)?);
            if depth > 0 && is_new {
                self.folder(entry, depth - 1)?;
            }
        } else if metadata.is_file() {
            let head = head(entry)?;
            if let Some(file) = file_found(entry, &head) {
                if !is_unfinished(&file) {
                    self.found.push(file);
                }
            } else if is_named_like_spans(entry)
                && let Some(why) = why_blank(&head)
            {
                self.blank.push((entry.to_owned(), why));
            }
        }
        Ok(())
    }

    /// Beside files of spans, a blank one was to be one too. What else is no file of spans there may be anything.
    fn tell_blank_files_of_spans(&mut self) {
        for (blank, why) in &self.blank {
            let is_beside = |one: &Found| matches!(one, Found::Spans(file, _) if file.parent() == blank.parent());
            if self.found.iter().any(is_beside) {
                self.diagnostics.push(damaged(blank, why));
            }
        }
    }
}

/// The file systems in which the kernel shows itself, but the one in which the search begins: no recording lies there,
/// some of their files wait for something to happen, and some are larger than any disk.
fn of_kernel_but(begin: u64) -> Vec<u64> {
    let places = ["/proc", "/sys", "/sys/kernel/tracing", "/sys/kernel/debug"];
    let numbers = places
        .iter()
        .filter_map(|place| Some(fs::metadata(place).ok()?.dev()));
    let root = fs::metadata("/").map(|root| root.dev()).ok();
    // In a container a place may lie in an ordinary file system.
    numbers
        .filter(|number| *number != begin && Some(*number) != root)
        .collect()
}

/// What a file that begins like this is by itself, whatever else lies in its folder.
fn file_found(file: &Path, head: &[u8]) -> Option<Found> {
    let path = file.to_owned();
    if sniff(head) == Format::TraceDat {
        return Some(Found::TraceDat(path));
    }
    match spans_in(file, head) {
        Some(format) => Some(Found::Spans(path, format)),
        None => is_transfers(head).then_some(Found::Transfers(path)),
    }
}

/// Whether a file, compressed or not, has the name of one with spans: `traces.json`, `traces.json.zst`. What is wrong
/// with a recording's manifest is told where that is read.
fn is_named_like_spans(file: &Path) -> bool {
    let is_one_of = |file: &Path, endings: &[&str]| {
        let ending = file.extension().unwrap_or_default();
        endings.iter().any(|one| ending.eq_ignore_ascii_case(one))
    };
    let plain = match is_one_of(file, &["gz", "zst"]) {
        true => file.with_extension(""),
        false => file.to_owned(),
    };
    is_one_of(&plain, &["json", "jsonl", "pb"]) && !file.ends_with("slowpath.json")
}

/// In which format a file that begins like this has spans, if it has any. What a recorder received is known by its
/// place: whichever application sent something first, and whatever that was.
fn spans_in(file: &Path, head: &[u8]) -> Option<SpanFormat> {
    let is_received = || {
        let folder = file.parent().filter(|folder| folder.ends_with("spans"));
        let recording = folder.and_then(Path::parent);
        let has_manifest = recording.is_some_and(|folder| folder.join("slowpath.json").is_file());
        has_manifest && !head.is_empty() && file.extension().is_some_and(|name| name == "pb")
    };
    sniff_spans(head).or_else(|| is_received().then_some(SpanFormat::OtlpProtobuf))
}

/// What cannot be read, and why.
pub(crate) fn unreadable(path: &Path, cause: &io::Error) -> Diagnostic {
    damaged(path, &format!("it cannot be read: {cause}"))
}

fn damaged(path: &Path, what: &str) -> Diagnostic {
    let place = Place {
        file: path.display().to_string(),
        ..Place::default()
    };
    Diagnostic::new(DiagnosticCode::InvalidFile, place, what)
}

/// What a folder with these entries lacks, if it holds events whose description is gone.
fn without_description(entries: &[PathBuf]) -> Option<&'static str> {
    let named = |entry: &PathBuf, begin: &str, end: &str| {
        let name = entry.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(begin) && name.ends_with(end))
    };
    if entries.iter().any(|entry| named(entry, "cpu", ".raw")) {
        return Some("its pages cannot be read without `header_page` and `events`");
    }
    let index = entries
        .iter()
        .find(|entry| named(entry, "index", "index"))?;
    let mut files = fs::read_dir(index).into_iter().flatten().flatten();
    let is_index = |file: fs::DirEntry| named(&file.path(), "", ".idx");
    (files.any(is_index)).then_some("its streams cannot be read without `metadata`")
}

/// Whether it is what an agent that was killed left beside its report: it writes one under this name, and renames it then.
fn is_unfinished(found: &Found) -> bool {
    matches!(found, Found::Transfers(path) if path.extension().is_some_and(|ending| ending == "part"))
}

/// Whether it is what slowpath keeps beside a recording (`history.rs`).
fn is_cache(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "slowpath-cache")
}

/// Whether a folder of a recording is a snapshot: a recording of its own, opened by its own name,
/// whose user-space events the others may have too.
fn is_snapshot(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("snapshot-")) && path.join("slowpath.json").is_file()
}

fn head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut file = fs::File::open(path)?;
    (&mut file)
        .take(SNIFF_BYTES as u64)
        .read_to_end(&mut head)?;
    let more = bytes_to_sniff(&head) - SNIFF_BYTES;
    file.take(more as u64).read_to_end(&mut head)?;
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_shows_of_itself_is_not_searched() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let own = Path::new("/proc/self/task");
        if !own.is_dir() {
            return Ok(());
        }
        std::os::unix::fs::symlink(own, folder.path().join("link"))?;
        let mut diagnostics = Vec::new();
        let mut search = Search {
            seen: HashSet::new(),
            of_kernel: of_kernel_but(fs::metadata(folder.path())?.dev()),
            found: Vec::new(),
            blank: Vec::new(),
            diagnostics: &mut diagnostics,
        };
        search.folder(folder.path(), MOST_DEPTH)?;
        assert_eq!(search.seen, HashSet::new());
        // Who names such a place wants it.
        assert!(!of_kernel_but(fs::metadata(own)?.dev()).contains(&fs::metadata(own)?.dev()));
        Ok(())
    }

    #[test]
    fn what_a_recorder_received_is_spans_whatever_came_first() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let spans = folder.path().join("spans");
        fs::create_dir(&spans)?;
        // A span whose trace has a number of 64 bits.
        let short = b"\0\0\0\x10\x0a\x0e\x12\x0c\x12\x0a\x0a\x0801234567";
        fs::write(spans.join("otlp-1.pb"), short)?;
        fs::write(spans.join("notes.txt"), short)?;
        let found = |found: Vec<Found>| -> Vec<PathBuf> {
            found.iter().map(|one| one.path().to_owned()).collect()
        };
        let mut told = Vec::new();
        assert_eq!(
            found(discover(folder.path(), &mut told)?),
            Vec::<PathBuf>::new()
        );
        fs::write(folder.path().join("slowpath.json"), "{}")?;
        assert_eq!(
            found(discover(folder.path(), &mut told)?),
            [spans.join("otlp-1.pb")]
        );
        assert_eq!(told, []);
        Ok(())
    }
}
