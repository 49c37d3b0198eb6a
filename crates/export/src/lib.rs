//! Results in the forms of the user's other tools.
//!
//! Nothing is analysed here: what was found is written down as Perfetto and others read it.

#![forbid(unsafe_code)]

mod perfetto;

pub use perfetto::{Counts, KernelTracks, PerfettoWriter, Slice, Track};
