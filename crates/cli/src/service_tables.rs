//! Paths of calls as a table for people, each path cut so that a row stays on its line.

use slowpath_model::Nanoseconds;
use slowpath_services::{PathRow, Report};
use slowpath_views::{grouped, number_of};

use crate::tables::Columns;

/// What is known of all requests, then a row per path; lines of `width` letters, of any length where
/// there is none.
pub(crate) fn paths(report: &Report, width: Option<usize>) -> String {
    // The rows without their paths say how much room there is for these.
    let numbers = table(report, |_| String::new());
    let taken = numbers.lines().map(|line| line.chars().count()).max();
    let room = width.map(|width| {
        width
            .saturating_sub(taken.unwrap_or(0) + 2)
            .max(SHORTEST_PATH)
    });
    let mut text = heading(report);
    text += &table(report, |row| cut(&row.path, room));
    let left_out = report.contexts.saturating_sub(report.paths.len());
    if left_out > 0 {
        text += &format!("… and {left_out} more (--top 0 shows all)\n");
    }
    text
}

/// A path is never cut below this.
const SHORTEST_PATH: usize = 24;

fn heading(report: &Report) -> String {
    let duplicates = match report.mended.duplicates - report.mended.conflicting {
        0 => String::new(),
        count => format!(" ({} left out)", number_of(count, "duplicate")),
    };
    let mut text = format!(
        "{} with {}{duplicates}, {}: p50 {}, p90 {}, p99 {}, longest {}\n",
        number_of(report.traces, "trace"),
        number_of(report.spans, "span"),
        number_of(report.requests, "request"),
        short(report.latency_p50),
        short(report.latency_p90),
        short(report.latency_p99),
        short(report.latency_max),
    );
    if report.without_drag > 0 {
        let requests = number_of(report.without_drag, "request");
        text += &format!("drag: {requests} left out, too many spans of which overlap\n");
    }
    text + "\n"
}

fn table(report: &Report, path: impl Fn(&PathRow) -> String) -> String {
    let titles = [
        "#rank",
        "#distance",
        "#count",
        "#failed",
        "#p50",
        "#p99",
        "#own p50",
        "#own p99",
        "#critical",
        "#drag",
        "path",
    ];
    let mut columns = Columns::new(&titles, 0);
    for row in &report.paths {
        columns.row(vec![
            row.rank.to_string(),
            format!("{:.3}", row.distance),
            grouped(row.count),
            grouped(row.errors),
            short(row.inclusive_p50),
            short(row.inclusive_p99),
            short(row.exclusive_p50),
            short(row.exclusive_p99),
            percent(row.critical_share),
            percent(row.drag_share),
            path(row),
        ]);
    }
    columns.text()
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Three digits, as percentiles have no more.
fn short(length: Nanoseconds) -> String {
    let ns = length.get() as f64;
    let (value, unit) = match length.get() {
        0..1_000 => (ns, "ns"),
        1_000..1_000_000 => (ns / 1e3, "µs"),
        1_000_000..1_000_000_000 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    let digits = match value {
        _ if unit == "ns" => 0,
        0.0..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

/// The calls from the request down in at most `room` letters: first calls are left out first.
fn cut(path: &[String], room: Option<usize>) -> String {
    const ARROW: &str = " → ";
    let room = room.unwrap_or(usize::MAX);
    let whole = path.join(ARROW);
    if whole.chars().count() <= room {
        return whole;
    }
    let mut text = String::new();
    for call in path.iter().rev() {
        let longer = match text.as_str() {
            "" => call.clone(),
            text => format!("{call}{ARROW}{text}"),
        };
        // Room for `… → ` before it.
        if longer.chars().count() + 4 > room && !text.is_empty() {
            break;
        }
        text = longer;
    }
    if path.len() > 1 {
        text = format!("…{ARROW}{text}");
    }
    if text.chars().count() > room {
        text = text.chars().take(room.saturating_sub(1)).collect();
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lose_their_first_calls_and_then_the_end_of_the_last() {
        let path = ["shop[GET /]", "cart[load]", "db[query]"].map(str::to_owned);
        let check = |room, expected| assert_eq!(cut(&path, room), expected, "{room:?}");
        check(None, "shop[GET /] → cart[load] → db[query]");
        check(Some(36), "shop[GET /] → cart[load] → db[query]");
        check(Some(35), "… → cart[load] → db[query]");
        check(Some(20), "… → db[query]");
        check(Some(10), "… → db[qu…");
    }

    #[test]
    fn lengths_have_three_digits() {
        let shown =
            [999, 1_500, 34_560, 999_400_000, 1_234_000_000].map(|ns| short(Nanoseconds(ns)));
        assert_eq!(shown, ["999 ns", "1.50 µs", "34.6 µs", "999 ms", "1.23 s"]);
    }
}
