//! Where the main thread's time went in the slowest commands, as a section for people.

use std::collections::BTreeMap;

use slowpath_critical_path::CriticalPath;
use slowpath_datastore::StoreReport;
use slowpath_model::{Nanoseconds, shown};

/// Rows of one path; the longest are told.
const MOST_ROWS: usize = 8;

/// Time by state, thread and cause in each of the slowest commands; empty where the kernel tells of none.
pub(crate) fn paths(told: &StoreReport, paths: &[Option<CriticalPath>]) -> String {
    let mut text = String::new();
    for (run, path) in told.slowest.iter().zip(paths) {
        if let Some(path) = path {
            text += &format!("{}, {} from {}\n", run.command, run.total_ns, run.begin_ns);
            text += &rows(path);
        }
    }
    match text.is_empty() {
        true => text,
        false => format!(
            "Critical paths of the main thread in the slowest (step by step: slowpath critical-path --tid TID --begin \
             BEGIN --end END)\n{text}"
        ),
    }
}

fn rows(path: &CriticalPath) -> String {
    let mut lengths: BTreeMap<(&str, String), Nanoseconds> = BTreeMap::new();
    for segment in path.segments.iter() {
        let mut what = format!("{} ({})", shown(&segment.comm), segment.thread);
        if segment.thread != path.thread {
            what = format!("waits for {what}");
        }
        if !segment.detail.is_empty() {
            what += &format!(": {}", shown(&segment.detail));
        }
        *lengths.entry((segment.state.name(), what)).or_default() += segment.range.length();
    }
    let mut rows: Vec<_> = lengths.into_iter().collect();
    rows.sort_by_key(|(_, length)| std::cmp::Reverse(*length));
    let rest: Nanoseconds = rows.iter().skip(MOST_ROWS).map(|(_, length)| *length).sum();
    let more = rows.len().saturating_sub(MOST_ROWS);
    rows.truncate(MOST_ROWS);
    if more > 0 {
        rows.push((("", format!("{more} more")), rest));
    }
    let row = |((state, what), length): ((&str, String), Nanoseconds)| {
        let share = 100.0 * length.get() as f64 / path.window.length().get().max(1) as f64;
        let length = length.to_string();
        format!("{length:>14} {share:>5.1} %  {state:<13} {what}\n")
    };
    rows.into_iter().map(row).collect()
}
