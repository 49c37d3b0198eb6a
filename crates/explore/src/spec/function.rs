//! Functions of unmodified programs as metrics: which function, and what of its calls.
//!
//! Nothing here looks at a file or asks the kernel: that the function exists is found out in `run/functions`.

use super::metric::Take;

/// A function of a program or library.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Function {
    /// The file that has it: a path, or a name that is looked up as the shell and the loader do.
    pub binary: String,
    /// Its symbol.
    pub name: String,
}

/// What of a function's calls is the metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OfCalls {
    /// How many there were.
    Count,
    /// How many there were in a second.
    PerSecond,
    /// How long they took, from entry to return.
    Time {
        /// Which of these times.
        take: Take,
        /// The unit in which it is told.
        unit: TimeUnit,
    },
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// s
    Seconds,
    /// ms
    Milliseconds,
    /// us
    Microseconds,
    /// ns
    Nanoseconds,
}

impl TimeUnit {
    /// The unit of this name; seconds where it is empty.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "" | "s" => Self::Seconds,
            "ms" => Self::Milliseconds,
            "us" | "µs" => Self::Microseconds,
            "ns" => Self::Nanoseconds,
            _ => return None,
        })
    }

    /// Nanoseconds told in this unit.
    pub fn of_ns(self, ns: f64) -> f64 {
        match self {
            Self::Seconds => ns / 1e9,
            Self::Milliseconds => ns / 1e6,
            Self::Microseconds => ns / 1e3,
            Self::Nanoseconds => ns,
        }
    }
}
