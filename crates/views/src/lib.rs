//! What people look at, as plain data: rows of threads, screens of states, tables of requests, paths,
//! findings, pages of events.
//!
//! Takes what `session` opened and what the analyses found, and gives rows and numbers. Knows no HTTP
//! and no pixels' colours. Times in rows are nanoseconds from the begin of the recording
//! ([`Origin`]), which any program can hold exactly.

#![forbid(unsafe_code)]

mod arrows;
mod diagnosis;
mod event_index;
mod event_page;
mod event_text;
mod groups;
mod io_over_time;
mod local_time;
mod lost;
mod origin;
mod paths;
mod quiet;
mod reports;
mod requests;
mod screens;
mod stores;
mod threads;
mod usage;
mod wording;

pub use arrows::{Arrow, Arrows, Wanted, arrows};
pub use diagnosis::{FindingOfHost, Found, diagnose};
pub use event_index::EventIndex;
pub use event_page::{EventPage, EventQuery, EventRow, event_page};
pub use event_text::{TextForm, class_name};
pub use groups::{Comparison, Difference, Distribution, GroupSize, compare, distribution};
pub use io_over_time::{HostMoved, IoRates, MediumRates, io_rates};
pub use lost::{LostRow, lost_events};
pub use origin::{Clocks, Origin, TraceClocks};
pub use paths::{LinkRow, PathRow, SegmentRow, TimeByState, path_row};
pub use quiet::quiet;
pub use reports::merge_documents;
pub use requests::{
    BlockedByRow, OperationName, Order, RequestDetail, RequestNumbers, RequestPage, RequestQuery,
    RequestRow, SpanRow, WaitRow,
};
pub use screens::{RowPlace, Screen, intervals, screen};
pub use stores::{
    AtServer, StoreArrow, StoreArrowKind, StoreArrows, StoreDid, StoreFinding, StoreHops,
    StoreMeanwhile, StoreOperation, StoreOperations, StoreOverTime, StoreRow, StoreRowKind,
    StoreRows, StoreTables, StoreTouched, StoreTrack, store_arrows, store_finding, store_hops,
    store_meanwhile, store_operations, store_over_time, store_steps, store_tables,
};
pub use threads::{CpuRow, Rows, ThreadRow, Track};
pub use usage::{CpuUsage, Usage, usage};
pub use wording::{address, bytes, grouped, number_of};
