//! Composition root: opens whatever the user names, picks the readers and hands out sources.
//!
//! The only crate that knows both files and readers. It has no analysis of its own: commands ask it
//! for the sources they want, or for what takes the traces of a whole host (its requests).

#![forbid(unsafe_code)]

mod attribute_path;
mod copies;
mod discover;
mod doubts;
mod error;
mod gather;
mod group_quotas;
mod history;
mod host;
mod manifest;
mod merge;
mod missing_processors;
mod one_session;
mod open;
mod open_ctf;
mod programs_of_32_bit;
mod recorded_twice;
mod requests;
mod retold;
mod span_traces;
mod spans;
mod state_dump;
mod store_history;
mod store_paths;
mod stores;
mod texts_beside;
mod transfers;

pub use attribute_path::{AttributePath, Subject};
pub use error::{NotOpened, OpenError};
pub use history::{HistoryError, OpenedHistory, UNKNOWN_THREAD};
pub use host::HostKernels;
pub use manifest::Manifest;
pub use merge::{EventPlace, Interrupted, merged_events, merged_events_by};
pub use open::{Experiment, OpenedSource, open, open_to_show};
pub use requests::{HostRequests, RecordedRequests};
pub use span_traces::{MarkOf, MayBeRequest, SPANS_SPILLED, span_traces};
pub use spans::{SpanFile, span_files};
pub use store_paths::{store_paths, store_thread};
pub use stores::InsideTraces;
pub use transfers::{RecordedTransfers, transfers};
