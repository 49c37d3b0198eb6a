//! What data stores did, as people look at it: tables, findings in words, rows over time.

mod arrows;
mod findings;
mod hops;
mod meanwhile;
mod operations;
mod over_time;
mod report;
mod rows;

pub use arrows::{StoreArrow, StoreArrowKind, StoreArrows, store_arrows};
pub use findings::{StoreFinding, store_finding, store_steps};
pub use hops::{StoreHops, store_hops};
pub use meanwhile::{AtServer, StoreDid, StoreMeanwhile, store_meanwhile};
pub use operations::{StoreOperation, StoreOperations, store_operations};
pub use over_time::{StoreOverTime, store_over_time};
pub use report::{StoreTables, StoreTouched, store_tables};
pub use rows::{StoreRow, StoreRowKind, StoreRows, StoreTrack};
