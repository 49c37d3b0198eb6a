//! The state history: what every attribute (a thread's state, a processor's thread …) was when.
//!
//! Intervals come unsorted from parallel workers, are sorted within bounded memory and lie on disk
//! as Arrow IPC files, which are read where they lie: a point query is a binary search, and a
//! zoomed-out screen reads one level of a pyramid of summaries. What attributes and values mean is
//! decided above. The files: `docs/formats/history.md`.

#![forbid(unsafe_code)]

mod build;
mod held;
mod interval;
mod pyramid;
mod read;
mod runs;
mod screen;
mod store;
mod table;
mod write;

pub use build::{Builder, Writer};
pub use interval::{Attribute, AttributeId, Interval, Part, Value, Vocabulary};
pub use pyramid::Levels;
pub use read::History;
pub use screen::Cell;
pub use store::{Key, Unusable};
