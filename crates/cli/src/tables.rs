//! Reports as tables for people.

use comfy_table::{Cell, CellAlignment, Table, presets};
use slowpath_critical_path::Holdup;
use slowpath_kernel::count::CountReport;
use slowpath_kernel::cpu::CpuReport;
use slowpath_kernel::io::{IoReport, Moved};
use slowpath_kernel::latency::LatencyReport;
use slowpath_model::{Nanoseconds, Timestamp, shown};
use slowpath_requests::Difference;
use slowpath_views::{bytes, grouped};

use crate::output::print;
use crate::state::Document;
use crate::store_state::StoreRow;

/// A table without frames: names to the left, numbers to the right.
pub(crate) struct Columns {
    table: Table,
    /// For each column: whether it holds numbers.
    numbers: Vec<bool>,
    left_out: usize,
    most: usize,
}

impl Columns {
    /// `top` rows at most, all where it is 0. Titles that begin with `#` head columns of numbers.
    pub(crate) fn new(titles: &[&str], top: usize) -> Self {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        let mut columns = Self {
            table,
            numbers: titles.iter().map(|title| title.starts_with('#')).collect(),
            left_out: 0,
            most: if top == 0 { usize::MAX } else { top },
        };
        let titles = titles
            .iter()
            .map(|title| title.trim_start_matches('#').to_owned());
        let header = columns.cells(titles.collect());
        columns.table.set_header(header);
        columns
    }

    fn cells(&self, texts: Vec<String>) -> Vec<Cell> {
        let cells = texts.into_iter().zip(&self.numbers);
        cells
            .map(|(text, number)| match number {
                true => Cell::new(text).set_alignment(CellAlignment::Right),
                false => Cell::new(shown(&text)),
            })
            .collect()
    }

    pub(crate) fn row(&mut self, texts: Vec<String>) {
        if self.table.row_count() == self.most {
            self.left_out += 1;
            return;
        }
        let cells = self.cells(texts);
        self.table.add_row(cells);
    }

    fn print(self) -> anyhow::Result<()> {
        print(&self.text())
    }

    pub(crate) fn text(self) -> String {
        let mut text = self.table.trim_fmt();
        text.push('\n');
        if self.left_out > 0 {
            text.push_str(&format!(
                "… and {} more (--top 0 shows all)\n",
                self.left_out
            ));
        }
        text
    }
}

/// How many letters fit on a line of the terminal that reads along, if one does.
pub(crate) fn terminal_width() -> Option<usize> {
    Table::new().width().map(usize::from)
}

/// A time of an event in words. No tracer is older than this century: earlier times are of a clock that counts from the
/// machine's start, as those of `trace-cmd record` without `--date`.
pub(crate) fn moment(ns: i64) -> String {
    const THIS_CENTURY: i64 = 978_307_200_000_000_000;
    match ns < THIS_CENTURY {
        true => format!("{ns} (nanoseconds of its clock, which does not count from the epoch)"),
        false => format!("{ns} (nanoseconds since the epoch)"),
    }
}

fn window(begin_ns: i64, end_ns: i64) -> anyhow::Result<()> {
    let length = Timestamp::from_ns(end_ns).since(Timestamp::from_ns(begin_ns));
    print(&format!("window: {length} from {}\n\n", moment(begin_ns)))
}

/// Prints counts.
pub(crate) fn count(report: &CountReport) -> anyhow::Result<()> {
    let mut columns = Columns::new(&["#events", "what"], 0);
    let mut rows: Vec<(&String, &u64)> = report.by.iter().collect();
    rows.sort_by_key(|(key, count)| (std::cmp::Reverse(**count), *key));
    for (key, count) in rows {
        columns.row(vec![grouped(*count), key.clone()]);
    }
    columns.row(vec![grouped(report.events), "in all".to_owned()]);
    columns.row(vec![grouped(report.lost), "lost by the tracer".to_owned()]);
    columns.print()
}

/// Prints how busy processors and threads were.
pub(crate) fn cpu(report: &CpuReport, top: usize) -> anyhow::Result<()> {
    window(report.begin_ns, report.end_ns)?;
    let some_unknown = (report.cpus.iter()).any(|row| row.unknown_ns > Nanoseconds::ZERO);
    let titles = ["cpu", "#busy", "#percent", "#unknown"];
    let mut columns = Columns::new(&titles[..3 + usize::from(some_unknown)], 0);
    for row in &report.cpus {
        let percent = format!("{:.2} %", row.percent);
        let mut texts = vec![row.cpu.to_string(), row.busy_ns.to_string(), percent];
        texts.extend(some_unknown.then(|| row.unknown_ns.to_string()));
        columns.row(texts);
    }
    columns.print()?;
    print("\n")?;
    let mut columns = Columns::new(&["#tid", "thread", "#busy", "#percent"], top);
    for row in &report.threads {
        let percent = format!("{:.2} %", row.percent);
        let busy = row.busy_ns.to_string();
        columns.row(vec![row.tid.to_string(), row.comm.clone(), busy, percent]);
    }
    columns.print()
}

/// Prints what was moved.
pub(crate) fn io(report: &IoReport, top: usize) -> anyhow::Result<()> {
    window(report.begin_ns, report.end_ns)?;
    let numbers = |moved: &Moved| {
        vec![
            bytes(moved.read_bytes),
            bytes(moved.write_bytes),
            grouped(moved.reads),
            grouped(moved.writes),
        ]
    };
    let titles = ["#read", "#written", "#reads", "#writes"];
    let mut columns = Columns::new(&[&titles[..], &["#pid", "process"]].concat(), top);
    for row in &report.processes {
        let mut texts = numbers(&row.moved);
        texts.extend([row.pid.to_string(), row.comm.clone()]);
        columns.row(texts);
    }
    columns.print()?;
    print("\n")?;
    let mut columns = Columns::new(&[&titles[..], &["file"]].concat(), top);
    for row in &report.files {
        let mut texts = numbers(&row.moved);
        texts.push(row.path.clone());
        columns.row(texts);
    }
    columns.print()
}

/// Prints latencies.
pub(crate) fn latency(report: &LatencyReport, top: usize) -> anyhow::Result<()> {
    window(report.begin_ns, report.end_ns)?;
    let titles = [
        "what", "#count", "#min", "#mean", "#p50", "#p99", "#max", "#total",
    ];
    let mut columns = Columns::new(&titles, top);
    for row in &report.entries {
        let times = [
            row.min_ns,
            row.mean_ns,
            row.p50_ns,
            row.p99_ns,
            row.max_ns,
            row.total_ns,
        ];
        let mut texts = vec![row.name.clone(), grouped(row.count)];
        texts.extend(times.map(|time: Nanoseconds| time.to_string()));
        columns.row(texts);
    }
    columns.print()
}

/// Which threads held others up, as text.
pub(crate) fn holdups(holdups: &[Holdup], top: usize) -> String {
    let titles = [
        "#tid",
        "thread",
        "state",
        "#others waited",
        "#for",
        "#at once",
    ];
    let mut columns = Columns::new(&titles, top);
    for holdup in holdups {
        columns.row(vec![
            holdup.thread.to_string(),
            match &holdup.host_name {
                Some(host) => format!("{} on {host}", holdup.comm),
                None => holdup.comm.to_string(),
            },
            holdup.state.name().to_owned(),
            holdup.waited.to_string(),
            holdup.length.to_string(),
            holdup.at_once.to_string(),
        ]);
    }
    columns.text()
}

/// By what two groups of requests differ, as text.
pub(crate) fn differences(
    differences: &[&Difference],
    (one, other): (&str, &str),
    top: usize,
) -> String {
    let titles = [
        "#difference".to_owned(),
        "#share".to_owned(),
        format!("#{one}"),
        format!("#{other}"),
        "state".to_owned(),
        "of thread".to_owned(),
        "about".to_owned(),
    ];
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let mut columns = Columns::new(&titles, top);
    for difference in differences {
        let length = |ns: f64| Nanoseconds(ns.abs().round() as u64).to_string();
        let sign = match difference.difference() < 0.0 {
            true => "-",
            false => "+",
        };
        columns.row(vec![
            format!("{sign}{}", length(difference.difference())),
            format!("{:.0} %", difference.share * 100.0),
            length(difference.means.0),
            length(difference.means.1),
            difference.category.state.name().to_owned(),
            difference.category.thread.clone(),
            difference.category.resource.clone(),
        ]);
    }
    columns.text()
}

/// What every processor and thread was doing at a time, as text.
pub(crate) fn state(document: &Document, at: Timestamp) -> String {
    let of_host = |host: &Option<String>| match host {
        Some(host) => format!("{host} "),
        None => String::new(),
    };
    let mut cpus = Columns::new(&["cpu", "#tid", "thread"], 0);
    for row in &document.cpus {
        let cpu = format!("{}{}", of_host(&row.host), row.cpu);
        let tid = row.tid.map_or(String::new(), |tid| tid.to_string());
        cpus.row(vec![cpu, tid, row.comm.clone()]);
    }
    let stores: String = document.stores.iter().map(StoreRow::text).collect();
    if document.cpus.is_empty() && document.threads.is_empty() {
        return stores.trim_start().to_owned();
    }
    let titles = ["#tid", "thread", "state", "#since", "#for", "request"];
    let mut threads = Columns::new(&titles, 0);
    for row in &document.threads {
        threads.row(vec![
            row.tid.to_string(),
            format!("{}{}", of_host(&row.host), row.comm),
            row.state.clone(),
            at.since(row.range.begin).to_string(),
            row.range.end.since(at).to_string(),
            row.request.clone().unwrap_or_default(),
        ]);
    }
    format!("{}\n{}{stores}", cpus.text(), threads.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_steer_the_terminal_or_break_lines() {
        let mut columns = Columns::new(&["thread"], 0);
        columns.row(vec!["e\u{1b}[31mX\nY".to_owned()]);
        assert_eq!(columns.text().lines().nth(1), Some(r" e\u{1b}[31mX\nY"));
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [0, 1023, 1536, 5 << 30].map(bytes),
            ["0 B", "1023 B", "1.5 KiB", "5.0 GiB"]
        );
    }
}
