//! What the kernel tells of append-only files: the calls in which main threads wrote them for long, or synced them.
//!
//! Plain data that whoever knows the kernel's events fills in; here it is only held against commands.

use std::collections::BTreeMap;

use slowpath_model::{ProcessId, TimeRange};

/// Calls of main threads on append-only files, by server.
#[derive(Clone, Debug, Default)]
pub struct Appends {
    files: Vec<String>,
    by_process: BTreeMap<ProcessId, Vec<Append>>,
}

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Append {
    /// From its entry to its return.
    pub(crate) range: TimeRange,
    /// Its name: `fdatasync`, `write`.
    pub(crate) call: &'static str,
    /// It synced the file; else it wrote to it.
    pub(crate) syncs: bool,
    /// The file's place among all.
    file: usize,
}

impl Appends {
    /// Whether a file is an append-only one. From Redis 7.0 on their names end like this whatever they are told to be,
    /// before by default.
    pub fn is_append_only_file(path: &str) -> bool {
        // As the kernel tells of what a rewrite has replaced.
        path.trim_end_matches(" (deleted)").ends_with(".aof")
    }

    /// Adds the calls of the main thread of `process` on one of its append-only files: range, name, whether it syncs.
    pub fn add(
        &mut self,
        process: ProcessId,
        path: &str,
        calls: impl IntoIterator<Item = (TimeRange, &'static str, bool)>,
    ) {
        let file = self.files.len();
        self.files.push(path.to_owned());
        let of = self.by_process.entry(process).or_default();
        of.extend(calls.into_iter().map(|(range, call, syncs)| Append {
            range,
            call,
            syncs,
            file,
        }));
        of.sort_by_key(|append| append.range.begin);
    }

    /// Those of one server, in the order of time: of one thread, so none begins before the one before it ended.
    pub(crate) fn of(&self, process: ProcessId) -> &[Append] {
        self.by_process.get(&process).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn file(&self, append: &Append) -> &str {
        &self.files[append.file]
    }
}
