//! Diagnoses in words: what makes the slow requests of a host slow, with the evidence.
//!
//! Looks at the slowest tenth of each operation's requests and asks what their critical paths are
//! made of. Every finding states times, threads and requests that it rests on; where nothing stands
//! out there is none. It reads time lines and paths; it does not compute them.

#![forbid(unsafe_code)]

mod blocked;
mod cpu;
mod diagnose;
mod disk;
mod finding;
mod kernel_wait;
mod locks;
mod network;
mod path;
mod period;
mod placement;
mod processes;
mod quota;
mod quota_counted;
mod quota_estimate;
mod quota_levels;
mod quota_stops;
mod quota_timer;
mod ran_instead;
mod runtime;
mod serial;
mod sleep;
mod stalls;
mod stopped;
mod unknown;
mod waits;

pub use diagnose::{Diagnosis, FoundOut, Host, Meant};
pub use finding::{Evidence, Finding, FindingId, Severity};
pub use path::MOST_EXAMINED;
