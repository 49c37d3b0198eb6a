//! Finds all files of one kind at or below several paths. One path that cannot be read, or holds none, does not hide
//! what the others hold. Experiments, which are of several kinds, are opened in `open`.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use slowpath_model::Diagnostic;

use crate::discover::{Found, discover, unreadable};
use crate::open::damaged;
use crate::{NotOpened, OpenError};

/// What `pick` takes of all that lies at or below `paths`, a file that is named twice only once, and what is wrong
/// with paths. Where a path holds nothing of the kind, `nothing` is the error and `what` says so among others.
///
/// # Errors
/// When no path holds anything of the kind: why the first does not.
pub(crate) fn gather<T>(
    paths: &[PathBuf],
    pick: impl Fn(Found) -> Option<T>,
    nothing: impl Fn(PathBuf) -> OpenError,
    what: &str,
) -> Result<(Vec<T>, Vec<Diagnostic>), NotOpened> {
    let mut diagnostics = Vec::new();
    let mut gathered = Vec::new();
    let mut known = HashSet::new();
    let mut without = Vec::new();
    for path in paths {
        let found = match discover(path, &mut diagnostics) {
            Ok(found) => found,
            Err(cause) => {
                let told = unreadable(path, &cause);
                let path = path.clone();
                without.push((OpenError::Unreadable { path, cause }, told));
                continue;
            }
        };
        let mut found_any = false;
        for found in found {
            let place = fs::canonicalize(found.path());
            if let Some(picked) = pick(found) {
                found_any = true;
                if place.is_ok_and(|place| known.insert(place)) {
                    gathered.push(picked);
                }
            }
        }
        if !found_any {
            without.push((nothing(path.clone()), damaged(path, what)));
        }
    }
    let mut without = without.into_iter();
    let why = match gathered.is_empty() {
        true => without.next(),
        false => None,
    };
    diagnostics.extend(without.map(|(_, told)| told));
    match why {
        Some((why, _)) => Err((why, diagnostics)),
        None => Ok((gathered, diagnostics)),
    }
}
