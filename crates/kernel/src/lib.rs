//! Kernel analyses: count, cpu, io, latency, and the time lines of threads and processors.
//!
//! Each is a pass over chunks with an ordered merge (crate `slowpath-engine`) over the facts of crate
//! `slowpath-concepts`, so none knows a tracer. What the numbers mean is written down in
//! docs/reference/definitions.md.

#![forbid(unsafe_code)]

pub mod alignment;
mod answer;
mod by_stream;
mod comm;
mod contexts;
pub mod count;
pub mod cpu;
pub mod disks;
pub mod exits;
mod extent;
mod interrupted;
pub mod io;
mod lanes;
pub mod latency;
pub mod network;
mod overlaps;
pub mod peers;
pub mod priorities;
pub mod quotas;
mod shards;
pub mod timelines;
pub mod timers;

use extent::missing;
pub use extent::{Extent, Window};
pub use interrupted::InterruptedWait;
