//! Critical paths and thread states on time lines that are drawn in text.

mod graph;
mod hosts;
mod mutexes;
mod outputs;
mod properties;
mod signals;
mod support;
mod waits;
