//! What threads did to connections, one after the other: reads over TLS with the bytes that were asked for and got, what was
//! left to other threads, freed clients.

use serde::Serialize;
use slowpath_history::{AttributeId, History};
use utoipa::ToSchema;

use super::rows::{StoreRowKind, StoreRows};

/// A thread did something to a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoreOperation {
    /// The row of what is done to that connection.
    pub row: usize,
    /// When.
    pub at_ns: i64,
    /// What, by the name that `connection_operations` of `/api/store/rows` has for it.
    pub operation: String,
    /// The thread, where that was recorded.
    #[schema(required)]
    pub tid: Option<i64>,
    /// Of a read over TLS: room, in bytes.
    #[schema(required)]
    pub asked: Option<u64>,
    /// Of a read over TLS: bytes; null where OpenSSL had none.
    #[schema(required)]
    pub got: Option<u64>,
}

/// What threads did to connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoreOperations {
    /// In the order of time.
    pub operations: Vec<StoreOperation>,
    /// Whether these are all; else the first.
    pub complete: bool,
}

/// What was done to the connections of these rows between two offsets, and what was done last before, as long as its cycle
/// of the event loop went on; at most the first `limit`.
pub fn store_operations(
    history: &History,
    rows: &StoreRows,
    among: &[usize],
    (begin, end): (i64, i64),
    limit: usize,
) -> StoreOperations {
    let mut operations = Vec::new();
    for &row in among {
        let is_such = |row: usize| {
            let told = rows.rows.get(row);
            told.is_some_and(|told| told.kind == StoreRowKind::ConnectionOperations)
        };
        if !is_such(row) {
            continue;
        }
        let shown = &rows.shown[row];
        let origin = rows.origin(shown);
        let names = &rows.connection_operations;
        let intervals = history.intervals(shown.operations, origin.range(begin, end));
        operations.extend(intervals.take(limit + 1).map(|interval| {
            let told = |attribute: Option<AttributeId>| {
                let told = history.at(attribute?, interval.range.begin)?;
                Some(told.value.0)
            };
            let bytes = |attribute| u64::try_from(told(attribute)?).ok();
            let name = usize::try_from(interval.value.0)
                .ok()
                .and_then(|value| names.get(value));
            StoreOperation {
                row,
                at_ns: origin.offset(interval.range.begin),
                operation: name.cloned().unwrap_or_default(),
                tid: told(shown.details.thread),
                asked: bytes(shown.details.asked),
                got: bytes(shown.details.got),
            }
        }));
    }
    operations.sort_by_key(|one| (one.at_ns, one.row));
    let complete = operations.len() <= limit;
    operations.truncate(limit);
    StoreOperations {
        operations,
        complete,
    }
}
