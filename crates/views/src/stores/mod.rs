//! What data stores did, as people look at it: tables, findings in words, rows over time.

mod findings;
mod over_time;
mod report;
mod rows;

pub use findings::{StoreFinding, store_finding, store_steps};
pub use over_time::{StoreOverTime, store_over_time};
pub use report::{StoreTables, store_tables};
pub use rows::{StoreRow, StoreRowKind, StoreRows, StoreTrack};
