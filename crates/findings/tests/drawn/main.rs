//! Findings on traces drawn in text: what is said, of whom, and what is not said.

mod disk;
mod serial;
mod support;
