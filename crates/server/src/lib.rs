//! `slowpath serve`: one process that shows recordings in the browser.
//!
//! The browser application lies in the binary. Beside it are the Trace Server Protocol (`/tsp/api`) and
//! a small interface of its own (`/api`, docs/reference/http.md, [`description()`]). Analyses run in the background; what
//! is not ready yet is answered with its progress, nothing blocks. Nothing of what is served is a path
//! of the disk: only what was opened can be read.

#![forbid(unsafe_code)]

mod api;
mod assets;
mod description;
mod exploration;
mod guard;
mod jobs;
mod problem;
mod recording;
mod report;
mod serve;
mod tsp;

pub use description::description;
pub use recording::Recording;
pub use report::{NoReport, report};
pub use serve::{NotServed, Settings, serve};
