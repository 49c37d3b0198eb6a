//! Reads the Common Trace Format 1.8 and 2: metadata to layout, layout to decode plans, packets to
//! events.
//!
//! Gets bytes, never opens files. The same bytes give the same events on any thread and in any
//! order of packets.

#![forbid(unsafe_code)]

pub mod layout;
