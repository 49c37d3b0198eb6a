//! Findings on traces drawn in text: what is said, of whom, and what is not said.

mod contention;
mod disk;
mod kernel_wait;
mod locks;
mod network;
mod placement;
mod processes;
mod quota;
mod serial;
mod sleep;
mod stopped;
mod support;
mod unknown;
