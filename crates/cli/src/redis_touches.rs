//! What threads did to one connection, as lines for people.

use slowpath_datastore::StoreReport;
use slowpath_views::store_steps;

/// A section of its own; empty where every connection was one thread's.
pub(crate) fn touched(told: &StoreReport) -> String {
    let mut text = String::new();
    for row in &told.touched {
        text += &format!(
            "\nConnections that several threads touched in one turn of the event loop\n- server {}: {} descriptors, {} \
             times; the most threads, descriptor {}:\n",
            row.server, row.connections, row.cycles, row.worst.fd,
        );
        let steps = store_steps(&row.worst.touches).into_iter();
        text.extend(steps.map(|step| format!("    {step}\n")));
    }
    text
}
