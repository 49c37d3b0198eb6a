//! The exploration that was opened, read anew whenever its folder holds something else.
//!
//! It may run meanwhile, unlike a recording; so what was computed is kept for one revision only.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use slowpath_explore::{NotShown, Progress, ReadExploration, StoreError};

use crate::problem::Problem;

/// The folder of an exploration.
pub(crate) struct Explored {
    folder: PathBuf,
    kept: Mutex<Option<Arc<ReadExploration>>>,
}

impl Explored {
    pub(crate) fn in_folder(folder: PathBuf) -> Self {
        Self {
            folder,
            kept: Mutex::new(None),
        }
    }

    pub(crate) fn progress(&self) -> Result<Progress, Problem> {
        Progress::of(&self.folder).map_err(|error| NotShown::from(error).into())
    }

    /// What it holds now.
    pub(crate) fn read(&self) -> Result<Arc<ReadExploration>, Problem> {
        let progress = self.progress()?;
        // Whoever asks for the same waits for it.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some(known) if known.dashboard.progress == progress => Ok(Arc::clone(known)),
            _ => {
                let read = Arc::new(ReadExploration::of(&self.folder)?);
                *kept = Some(Arc::clone(&read));
                Ok(read)
            }
        }
    }
}

impl From<NotShown> for Problem {
    fn from(error: NotShown) -> Self {
        match error {
            // The explorer writes just now.
            NotShown::Store(StoreError::Busy) => Self::NotYet {
                job: "exploration",
                done: 0.0,
            },
            other => Self::Impossible(other.to_string()),
        }
    }
}
