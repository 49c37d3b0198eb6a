//! Reports of transfers: finding and reading them. They need no trace beside them.

use std::fs;
use std::path::PathBuf;

use slowpath_model::Diagnostic;
use slowpath_read_transfers::{Transfers, read_transfers};

use crate::discover::{Found, unreadable};
use crate::gather::gather;
use crate::{NotOpened, OpenError};

/// What all reports at or below `paths` say, each once, and what was wrong with them (paths without any among it).
///
/// # Errors
/// When none of the paths can be read and holds a report, or all reports are damaged at their heads.
pub fn transfers(paths: &[PathBuf]) -> Result<(Vec<Transfers>, Vec<Diagnostic>), NotOpened> {
    let pick = |found| match found {
        Found::Transfers(file) => Some(file),
        _ => None,
    };
    let nothing = |path| OpenError::NoTransfers { path };
    let what = "it holds no report of transfers";
    let (files, mut diagnostics) = gather(paths, pick, nothing, what)?;
    let mut transfers = Vec::new();
    for file in files {
        match fs::read(&file) {
            Ok(bytes) => {
                let (read, wrong) = read_transfers(&file.display().to_string(), &bytes);
                transfers.extend(read);
                diagnostics.extend(wrong);
            }
            Err(cause) => diagnostics.push(unreadable(&file, &cause)),
        }
    }
    match paths.first() {
        Some(path) if transfers.is_empty() => {
            Err((OpenError::AllDamaged { path: path.clone() }, diagnostics))
        }
        _ => Ok((transfers, diagnostics)),
    }
}
