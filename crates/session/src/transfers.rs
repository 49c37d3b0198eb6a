//! Reports of transfers: finding and reading them. They need no trace beside them.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use slowpath_model::Diagnostic;
use slowpath_read_transfers::{Transfers, read_transfers};

use crate::discover::{Found, discover, unreadable};
use crate::{NotOpened, OpenError};

/// What all reports at or below `paths` say, each once, and what was wrong with them.
///
/// # Errors
/// When a path cannot be read or holds no report, or all reports are damaged at their heads.
pub fn transfers(paths: &[PathBuf]) -> Result<(Vec<Transfers>, Vec<Diagnostic>), NotOpened> {
    let mut diagnostics = Vec::new();
    let mut transfers = Vec::new();
    let mut known = HashSet::new();
    for path in paths {
        let no_access = |cause| OpenError::Unreadable {
            path: path.clone(),
            cause,
        };
        let found =
            discover(path, &mut diagnostics).map_err(|cause| (no_access(cause), Vec::new()))?;
        let mut found_any = false;
        for found in found {
            let Found::Transfers(file) = found else {
                continue;
            };
            found_any = true;
            // A file that is named twice is one file.
            if !fs::canonicalize(&file).is_ok_and(|place| known.insert(place)) {
                continue;
            }
            match fs::read(&file) {
                Ok(bytes) => {
                    let (read, wrong) = read_transfers(&file.display().to_string(), &bytes);
                    transfers.extend(read);
                    diagnostics.extend(wrong);
                }
                Err(cause) => diagnostics.push(unreadable(&file, &cause)),
            }
        }
        if !found_any {
            return Err((OpenError::NoTransfers { path: path.clone() }, diagnostics));
        }
    }
    match paths.first() {
        Some(path) if transfers.is_empty() => {
            Err((OpenError::AllDamaged { path: path.clone() }, diagnostics))
        }
        _ => Ok((transfers, diagnostics)),
    }
}
