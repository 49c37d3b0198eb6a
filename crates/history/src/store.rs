//! The folder of a history: which files it has, and whether they may be believed.
//!
//! The manifest is written last and the folder gets its name only then, so a history is there whole
//! or not at all. Every file's size and checksum are compared before it is read.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The version of the files; others are rebuilt.
pub(crate) const VERSION: u32 = 3;
pub(crate) const MANIFEST: &str = "history.json";
pub(crate) const INTERVALS: &str = "intervals.arrow";
pub(crate) const ATTRIBUTES: &str = "attributes.arrow";
pub(crate) const NAMES: &str = "names.arrow";
pub(crate) const STARTS: &str = "starts.arrow";
pub(crate) const FORMAT: &str = "slowpath-history";

/// What a history was made of and by: a history with another key is not the one that is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(pub String);

/// Why a folder cannot be used as a history. It is to be built again.
#[derive(Debug, Error)]
pub enum Unusable {
    /// There is none.
    #[error("no history in {}", .0.display())]
    Missing(PathBuf),
    /// It is of something else: the recording or the analysis has changed.
    #[error("{}: made of another recording or by another version", .0.display())]
    Other(PathBuf),
    /// It is not whole, or was changed.
    #[error("{}: {reason}", .file.display())]
    Damaged {
        /// Which file.
        file: PathBuf,
        /// What does not fit.
        reason: String,
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) format: String,
    pub(crate) version: u32,
    pub(crate) key: Key,
    pub(crate) begin_ns: i64,
    pub(crate) end_ns: i64,
    /// Intervals that were cut because another one of the attribute began within them.
    pub(crate) overlaps: u64,
    pub(crate) files: Vec<FileEntry>,
    /// From the finest to the coarsest.
    pub(crate) levels: Vec<LevelEntry>,
    /// Whatever its builder wants to find again.
    pub(crate) notes: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    /// XXH3, 64 bits, as hexadecimal digits.
    pub(crate) xxh3: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LevelEntry {
    pub(crate) file: String,
    /// Width of a bucket.
    pub(crate) width_ns: i64,
}

impl FileEntry {
    pub(crate) fn new(name: &str, bytes: u64, checksum: u64) -> Self {
        Self {
            name: name.to_owned(),
            bytes,
            xxh3: hexadecimal(checksum),
        }
    }
}

pub(crate) fn hexadecimal(checksum: u64) -> String {
    format!("{checksum:016x}")
}

pub(crate) fn level_file(number: usize) -> String {
    format!("level-{number:02}.arrow")
}

impl Manifest {
    /// Reads the manifest in `folder` if it is of `key` and this version.
    pub(crate) fn read(folder: &Path, key: &Key) -> Result<Self, Unusable> {
        let file = folder.join(MANIFEST);
        let text = match std::fs::read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(Unusable::Missing(folder.to_owned()));
            }
            Err(error) => return Err(damaged(&file, error)),
        };
        let manifest: Self =
            serde_json::from_slice(&text).map_err(|error| damaged(&file, error))?;
        let same = (manifest.format.as_str(), manifest.version) == (FORMAT, VERSION);
        match same && manifest.key == *key {
            true => Ok(manifest),
            false => Err(Unusable::Other(folder.to_owned())),
        }
    }
}

pub(crate) fn damaged(file: &Path, reason: impl ToString) -> Unusable {
    Unusable::Damaged {
        file: file.to_owned(),
        reason: reason.to_string(),
    }
}
