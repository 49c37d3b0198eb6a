//! `slowpath compare`: what makes slow requests take longer than fast ones, or those of one recording
//! longer than those of another.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use slowpath_model::{Nanoseconds, TimeRange, counted};
use slowpath_requests::{AllHosts, Breakdown, Difference};
use slowpath_session::RecordedRequests;
use slowpath_views::OperationName;

use crate::input::{self, InputArgs, Report, how_many};
use crate::output::print_json;
use crate::requests::{Chosen, ChosenArgs, LeftOutRow, ensure_spans, note_hosts};
use crate::{request_tables, tables};

/// Compare slow requests with fast ones, or two recordings: what makes the difference.
#[derive(Args)]
pub struct CompareArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Compare with this recording instead: the paths are before, this is after. Without it the
    /// faster half of each operation's requests is compared with its slowest tenth.
    #[arg(long, value_name = "PATH")]
    with: Vec<PathBuf>,
    #[command(flatten)]
    chosen: ChosenArgs,
    /// Rows for each operation; 0 shows all.
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = how_many)]
    top: usize,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

/// Two groups of requests of one operation.
#[derive(Default)]
struct Groups {
    one: Breakdown,
    other: Breakdown,
    /// Requests that are in neither, as how long they took is not known.
    in_part: u64,
}

type Operations = BTreeMap<OperationName, Groups>;

/// Runs the command.
pub fn run(args: &CompareArgs) -> anyhow::Result<Report> {
    let experiment = args.input.open()?;
    let mut report = Report::begin(&experiment);
    let range = args.input.range(&experiment)?;
    let run = args.input.options();
    let (recorded, found) = input::requests(&experiment, &run)?;
    let all = recorded.all();
    report = report.with(found);
    ensure_spans(&recorded, &report)?;
    note_hosts(&recorded, range);
    let mut operations = Operations::new();
    if args.with.is_empty() {
        for (name, requests) in args.by_operation(&recorded, &all, range, &mut operations) {
            // The slowest come first.
            let groups = operations.entry(name).or_default();
            let slow = requests.len().div_ceil(10);
            let fast = requests.len() / 2;
            let fast = &requests[requests.len() - fast..];
            requests[..slow]
                .iter()
                .for_each(|chosen| groups.other.add(&path(*chosen)));
            fast.iter()
                .for_each(|chosen| groups.one.add(&path(*chosen)));
        }
    } else {
        for (name, requests) in args.by_operation(&recorded, &all, range, &mut operations) {
            let groups = operations.entry(name).or_default();
            requests
                .iter()
                .for_each(|chosen| groups.one.add(&path(*chosen)));
        }
        let after = InputArgs {
            paths: args.with.clone(),
            ..args.input.clone()
        };
        let experiment = after.open()?;
        report = report.with_opened(&experiment);
        let later = after.range(&experiment)?;
        let (recorded, found) = input::requests(&experiment, &run)?;
        let all = recorded.all();
        report = report.with(found);
        ensure_spans(&recorded, &report)?;
        note_hosts(&recorded, later);
        for (name, requests) in args.by_operation(&recorded, &all, later, &mut operations) {
            let groups = operations.entry(name).or_default();
            requests
                .iter()
                .for_each(|chosen| groups.other.add(&path(*chosen)));
        }
    }
    let in_part = (operations.iter()).map(|(name, groups)| (name.clone(), groups.in_part));
    let in_part: Vec<(OperationName, u64)> = in_part.filter(|(_, count)| *count > 0).collect();
    let mut left_out: Vec<LeftOutRow<'_>> = (in_part.iter())
        .map(|(name, in_part)| LeftOutRow {
            host: None,
            name,
            in_part: *in_part,
        })
        .collect();
    left_out.sort_by_key(|row| Reverse(row.in_part));
    let (operations, on_one_side): (Operations, Operations) = (operations.into_iter())
        .partition(|(_, groups)| groups.one.requests() > 0 && groups.other.requests() > 0);
    // Of one recording, an operation with a single request has nothing to be compared with.
    let one_sided = on_one_side.iter().filter(|_| !args.with.is_empty());
    let mut one_sided: Vec<OneSidedRow<'_>> = one_sided
        .map(|(name, groups)| OneSidedRow {
            name,
            counts: [groups.one.requests(), groups.other.requests()],
        })
        .filter(|row| row.requests() > 0)
        .collect();
    one_sided.sort_by_key(|row| Reverse(row.requests()));
    anyhow::ensure!(
        !operations.is_empty(),
        "no operation has requests in both groups\n  {}hint: `slowpath requests` lists them{}",
        request_tables::left_out(&left_out).replace('\n', "\n  "),
        match range == TimeRange::ALL {
            true => "",
            false => "; a larger window may have more",
        }
    );
    let mut operations: Vec<(OperationName, Groups)> = operations.into_iter().collect();
    // By what the difference costs all slow requests together.
    operations.sort_by(|(_, one), (_, two)| cost(two).total_cmp(&cost(one)));
    match args.json {
        true => print_json(&document(&operations, one_sided, left_out))?,
        false => {
            let names = match args.with.is_empty() {
                true => ("fast", "slow"),
                false => ("before", "after"),
            };
            let text = text(&operations, names, args.top);
            let one_sided = on_one_side_only(&one_sided);
            let left_out = request_tables::left_out(&left_out);
            crate::output::print(&format!("{text}{one_sided}{left_out}"))?;
        }
    }
    Ok(report)
}

fn cost(groups: &Groups) -> f64 {
    (groups.other.mean() - groups.one.mean()).abs() * groups.other.requests() as f64
}

fn path(chosen: Chosen<'_>) -> slowpath_requests::RequestPath {
    chosen.all.path(chosen.of)
}

impl CompareArgs {
    /// The chosen requests by operation, the slowest first; those of unknown length are only counted.
    fn by_operation<'run>(
        &self,
        recorded: &'run RecordedRequests,
        all: &'run AllHosts<'run>,
        range: TimeRange,
        operations: &mut Operations,
    ) -> BTreeMap<OperationName, Vec<Chosen<'run>>> {
        let mut found: BTreeMap<OperationName, Vec<Chosen<'run>>> = BTreeMap::new();
        for chosen in self.chosen.choose(recorded, all, range) {
            let name = chosen.operation();
            match chosen.request().duration() {
                Some(_) => found.entry(name).or_default().push(chosen),
                None => operations.entry(name).or_default().in_part += 1,
            }
        }
        found
    }
}

#[derive(Serialize)]
struct Document<'run> {
    operations: Vec<OperationRow<'run>>,
    on_one_side_only: Vec<OneSidedRow<'run>>,
    in_part: u64,
    left_out: Vec<LeftOutRow<'run>>,
}

/// An operation that has requests in one of two recordings alone.
#[derive(Serialize)]
struct OneSidedRow<'run> {
    #[serde(flatten)]
    name: &'run OperationName,
    counts: [u64; 2],
}

impl OneSidedRow<'_> {
    fn requests(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[derive(Serialize)]
struct OperationRow<'run> {
    service: &'run str,
    operation: &'run str,
    comm: &'run str,
    counts: [u64; 2],
    in_part: u64,
    mean_ns: [Nanoseconds; 2],
    differences: Vec<DifferenceRow>,
}

#[derive(Serialize)]
struct DifferenceRow {
    state: &'static str,
    thread: String,
    resource: String,
    mean_ns: [Nanoseconds; 2],
    share: f64,
}

fn rounded(ns: f64) -> Nanoseconds {
    Nanoseconds(ns.round().max(0.0) as u64)
}

fn document<'run>(
    operations: &'run [(OperationName, Groups)],
    on_one_side_only: Vec<OneSidedRow<'run>>,
    left_out: Vec<LeftOutRow<'run>>,
) -> Document<'run> {
    let rows = operations.iter().map(|(name, groups)| {
        let differences = groups.one.differences(&groups.other).into_iter();
        let differences = differences.map(|difference| DifferenceRow {
            state: difference.category.state.name(),
            mean_ns: [rounded(difference.means.0), rounded(difference.means.1)],
            share: (difference.share * 1e4).round() / 1e4,
            thread: difference.category.thread,
            resource: difference.category.resource,
        });
        OperationRow {
            service: &name.service,
            operation: &name.operation,
            comm: &name.comm,
            counts: [groups.one.requests(), groups.other.requests()],
            in_part: groups.in_part,
            mean_ns: [rounded(groups.one.mean()), rounded(groups.other.mean())],
            differences: differences.collect(),
        }
    });
    Document {
        operations: rows.collect(),
        on_one_side_only,
        in_part: left_out.iter().map(|row| row.in_part).sum(),
        left_out,
    }
}

/// Names operations that cannot be compared, if there are any.
fn on_one_side_only(rows: &[OneSidedRow<'_>]) -> String {
    const MOST: usize = 8;
    if rows.is_empty() {
        return String::new();
    }
    let mut told: Vec<String> = (rows.iter().take(MOST))
        .map(|row| {
            let side = if row.counts[0] > 0 { "before" } else { "after" };
            let operation = request_tables::operation(row.name);
            format!("{operation} {} {side}", row.requests())
        })
        .collect();
    if rows.len() > MOST {
        told.push(format!("{} more", rows.len() - MOST));
    }
    let operations = counted(rows.len(), "operation has", "operations have");
    format!(
        "\n{operations} requests on one side only ({})\n",
        told.join(", ")
    )
}

fn text(operations: &[(OperationName, Groups)], (one, other): (&str, &str), top: usize) -> String {
    let mut text = String::new();
    for (name, groups) in operations {
        if !text.is_empty() {
            text.push('\n');
        }
        let named = match (name.service.as_str(), name.operation.as_str()) {
            ("", "") => name.comm.clone(),
            ("", operation) => operation.to_owned(),
            (service, operation) => format!("{service}: {operation}"),
        };
        text += &format!(
            "{named}: {} {} on average, {} {}\n",
            counted(
                groups.one.requests(),
                &format!("{one} request takes"),
                &format!("{one} requests take")
            ),
            rounded(groups.one.mean()),
            counted(
                groups.other.requests(),
                &format!("{other} one"),
                &format!("{other} ones")
            ),
            rounded(groups.other.mean()),
        );
        let differences = groups.one.differences(&groups.other);
        let is_told = |difference: &&Difference| difference.difference().abs() >= 1.0;
        let told: Vec<&Difference> = differences.iter().filter(is_told).collect();
        text += &tables::differences(&told, (one, other), top);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_on_one_side_are_named_with_their_side() {
        let name = |operation: &str| OperationName {
            service: "shop".to_owned(),
            operation: operation.to_owned(),
            comm: String::new(),
        };
        let (buy, sell) = (name("buy"), name("sell"));
        let row = |name, counts| OneSidedRow { name, counts };
        assert_eq!(on_one_side_only(&[]), "");
        assert_eq!(
            on_one_side_only(&[row(&buy, [12, 0])]),
            "\n1 operation has requests on one side only (shop: buy 12 before)\n"
        );
        let told = on_one_side_only(&[row(&buy, [12, 0]), row(&sell, [0, 3])]);
        assert!(
            told.contains("(shop: buy 12 before, shop: sell 3 after)"),
            "{told}"
        );
        let many: Vec<OneSidedRow<'_>> = (0..10).map(|_| row(&buy, [1, 0])).collect();
        assert!(on_one_side_only(&many).ends_with(", 2 more)\n"));
    }
}
