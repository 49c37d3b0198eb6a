//! Reads the Common Trace Format 1.8 and 2: metadata to layout, layout to decode plans, packets to
//! events.
//!
//! Gets bytes, never opens files. The same bytes give the same events on any thread and in any
//! order of packets.

#![forbid(unsafe_code)]

mod bits;
mod copies;
mod decode;
mod fields;
mod header;
mod index_file;
pub mod layout;
mod losses;
mod machine;
pub mod metadata;
mod order;
mod packets;
mod plan;
mod processor;
mod resume;
mod scan;
mod shift;
mod trace;
mod walk;

pub use shift::ClockShift;
pub use trace::{CtfTrace, StreamFile};
