//! What threads did to one connection, as lines for people.

use slowpath_datastore::{StoreOperation, StoreReport, Touch};

/// A section of its own; empty where every connection was one thread's.
pub(crate) fn touched(told: &StoreReport) -> String {
    let mut text = String::new();
    for row in &told.touched {
        text += &format!(
            "\nConnections that several threads touched in one turn of the event loop\n- server {}: {} descriptors, {} \
             times; the most threads, descriptor {}:\n{}",
            row.server,
            row.connections,
            row.cycles,
            row.worst.fd,
            touches(&row.worst.touches)
        );
    }
    text
}

/// A line each: when since the first, in which turn of the event loop, which thread, what.
pub(crate) fn touches(touches: &[Touch]) -> String {
    let begin = touches.first().map_or(0, |touch| touch.at_ns);
    let line = |touch: &Touch| {
        let thread =
            (touch.tid).map_or_else(|| "thread ?".to_owned(), |tid| format!("thread {}", tid.0));
        let since = (touch.at_ns - begin) as f64 / 1e3;
        let what = operation(touch.operation);
        format!(
            "    {since:>10.1} µs  turn {}  {thread}  {what}\n",
            touch.cycle
        )
    };
    touches.iter().map(line).collect()
}

fn operation(operation: StoreOperation) -> String {
    match operation {
        StoreOperation::TlsRead {
            asked,
            got,
            pending,
        } => format!("ssl_read asked {asked} B, got {got}, {pending} pending"),
        StoreOperation::ReadPostponed => "read_postponed".to_owned(),
        StoreOperation::Freed => "free_client".to_owned(),
        StoreOperation::Unwatched { wholly: true } => "delete_file_event".to_owned(),
        StoreOperation::Unwatched { wholly: false } => "delete_file_event (in part)".to_owned(),
        StoreOperation::CycleEnd => "before_sleep_end".to_owned(),
    }
}
