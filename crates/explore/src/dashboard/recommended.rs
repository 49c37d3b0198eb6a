//! The best configuration as files: what `slowpath explore` has written at its end, else the values alone.
//!
//! What lies in the folder is only shown where it is of the present best: a resumed exploration may know a better one.

use std::fs;
use std::path::Path;

use serde::Serialize;
use utoipa::ToSchema;

use crate::recommend::{PARAMETERS_FILE, in_toml};
use crate::value::Configuration;

/// So many files are shown, and of each so many bytes; the rest is on disk.
const MOST_FILES: usize = 40;
const MOST_BYTES: u64 = 64 << 10;

/// A configuration as files ready to use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Recommended {
    /// The folder in which `slowpath explore` has written them; null where it has not yet.
    #[schema(required)]
    pub folder: Option<String>,
    /// The values first.
    pub files: Vec<RecommendedFile>,
}

/// A file and what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct RecommendedFile {
    /// Its path in the folder.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl Recommended {
    /// Of the exploration in `folder`, whose best configuration is `best`.
    pub(super) fn of(best: &Configuration, folder: &Path) -> Self {
        let values = RecommendedFile {
            path: PARAMETERS_FILE.to_owned(),
            text: in_toml(best),
        };
        let folder = folder.join("recommended");
        if fs::read_to_string(folder.join(PARAMETERS_FILE))
            .ok()
            .as_ref()
            != Some(&values.text)
        {
            return Self {
                folder: None,
                files: vec![values],
            };
        }
        let mut others = Vec::new();
        add(&folder, "", &mut others);
        others.retain(|file| file.path != PARAMETERS_FILE);
        others.sort_by(|one, two| one.path.cmp(&two.path));
        let full = folder.canonicalize().unwrap_or(folder);
        Self {
            folder: Some(full.display().to_string()),
            files: [vec![values], others].concat(),
        }
    }
}

/// The texts of a folder and those below it; links are not followed.
fn add(folder: &Path, above: &str, files: &mut Vec<RecommendedFile>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = format!("{above}{}", entry.file_name().to_string_lossy());
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => add(&entry.path(), &format!("{path}/"), files),
            Ok(metadata) if metadata.is_file() && metadata.len() <= MOST_BYTES => {
                if let Ok(text) = fs::read_to_string(entry.path())
                    && files.len() < MOST_FILES
                {
                    files.push(RecommendedFile { path, text });
                }
            }
            _ => {}
        }
    }
}
