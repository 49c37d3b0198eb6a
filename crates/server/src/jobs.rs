//! Work in the background: parts of an answer that are made once, when first wanted, one at a time.
//!
//! A part is waiting, running, done or failed, and says how far it is. One thread makes the parts in
//! the order in which they were wanted; each uses all processors.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use utoipa::ToSchema;

/// How far a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum JobState {
    /// Nobody has begun with it.
    Waiting,
    /// It is being made.
    Running,
    /// It is there.
    Done,
    /// It cannot be made.
    Failed,
}

/// A part of a recording's answers.
pub(crate) struct Part<T> {
    /// What it is called.
    pub(crate) name: &'static str,
    wanted: AtomicBool,
    running: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
    made: OnceLock<Result<Arc<T>, Unmade>>,
}

/// Why a part is not made.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Unmade {
    /// The server is going down.
    Cancelled,
    /// It cannot be made; why.
    Failed(String),
}

impl Unmade {
    fn message(&self) -> &str {
        match self {
            Self::Cancelled => "cancelled: the server is going down",
            Self::Failed(why) => why,
        }
    }
}

impl From<String> for Unmade {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// A part that is not there yet, or never will be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NotThere {
    /// Ask again.
    NotYet {
        /// Which part.
        job: &'static str,
        /// How much of it is done, from 0 to 1.
        done: f64,
    },
    /// It will not be made any more.
    Cancelled,
    /// It cannot be made.
    Failed(String),
}

impl<T: Send + Sync> Part<T> {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            wanted: AtomicBool::new(false),
            running: AtomicBool::new(false),
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
            made: OnceLock::new(),
        }
    }

    /// Notes that somebody wants it; `true` the first time.
    pub(crate) fn want(&self) -> bool {
        !self.wanted.swap(true, Ordering::Relaxed)
    }

    /// Makes it, unless it is there.
    pub(crate) fn make(&self, make: impl FnOnce(&(dyn Fn(u64, u64) + Sync)) -> Result<T, Unmade>) {
        self.want();
        if self.made.get().is_some() {
            return;
        }
        self.running.store(true, Ordering::Relaxed);
        let progress = |done, total| {
            self.done.store(done, Ordering::Relaxed);
            self.total.store(total, Ordering::Relaxed);
        };
        let made = make(&progress).map(Arc::new);
        // Only this thread makes parts.
        let _ = self.made.set(made);
    }

    /// The part, if it is there.
    pub(crate) fn get(&self) -> Result<Arc<T>, NotThere> {
        match self.made.get() {
            Some(Ok(part)) => Ok(Arc::clone(part)),
            Some(Err(Unmade::Cancelled)) => Err(NotThere::Cancelled),
            Some(Err(Unmade::Failed(why))) => Err(NotThere::Failed(why.clone())),
            None => Err(NotThere::NotYet {
                job: self.name,
                done: self.share(),
            }),
        }
    }

    fn share(&self) -> f64 {
        let total = self.total.load(Ordering::Relaxed);
        let done = self.done.load(Ordering::Relaxed);
        match total {
            0 => 0.0,
            total => ((done as f64 / total as f64).min(1.0) * 1e3).round() / 1e3,
        }
    }

    /// How far it is, for those who wait.
    pub(crate) fn report(&self) -> JobReport {
        let (state, message) = match self.made.get() {
            Some(Ok(_)) => (JobState::Done, None),
            Some(Err(why)) => (JobState::Failed, Some(why.message().to_owned())),
            None if self.running.load(Ordering::Relaxed) => (JobState::Running, None),
            None => (JobState::Waiting, None),
        };
        JobReport {
            id: self.name,
            state,
            done: match state {
                JobState::Done => 1.0,
                _ => self.share(),
            },
            message,
            wanted: self.wanted.load(Ordering::Relaxed),
        }
    }
}

/// How far a part is.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Job)]
pub(crate) struct JobReport {
    /// Which part.
    pub(crate) id: &'static str,
    /// How far it is.
    pub(crate) state: JobState,
    /// How much of it is done, from 0 to 1.
    pub(crate) done: f64,
    /// Why it failed.
    #[schema(required)]
    pub(crate) message: Option<String>,
    /// Whether anybody asked for it; others wait for no one.
    pub(crate) wanted: bool,
}

impl JobReport {
    /// Nothing more will happen.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, JobState::Done | JobState::Failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_goes_from_waiting_to_done_and_is_made_once() {
        let part: Part<u32> = Part::new("count");
        assert_eq!(part.report().state, JobState::Waiting);
        assert_eq!(
            part.get(),
            Err(NotThere::NotYet {
                job: "count",
                done: 0.0
            })
        );
        assert!(part.want() && !part.want());
        part.make(|progress| {
            progress(1, 4);
            assert_eq!(part.report().state, JobState::Running);
            assert_eq!(part.report().done, 0.25);
            Ok(7)
        });
        part.make(|_| Ok(8));
        assert_eq!(part.get().map(|part| *part), Ok(7));
        assert_eq!(part.report().state, JobState::Done);
    }

    #[test]
    fn what_failed_says_why() {
        let part: Part<u32> = Part::new("io");
        part.make(|_| Err("no kernel events were recorded".to_owned().into()));
        assert_eq!(
            part.get(),
            Err(NotThere::Failed(
                "no kernel events were recorded".to_owned()
            ))
        );
        assert_eq!(part.report().state, JobState::Failed);
    }

    #[test]
    fn what_was_cancelled_is_not_taken_for_impossible() {
        let part: Part<u32> = Part::new("io");
        part.make(|_| Err(Unmade::Cancelled));
        assert_eq!(part.get(), Err(NotThere::Cancelled));
        assert!(part.report().is_over());
    }
}
