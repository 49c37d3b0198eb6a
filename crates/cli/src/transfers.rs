//! `slowpath transfers`: which remote objects a Java program receives in vain, as its agent saw it, and on which paths of
//! services.
//!
//! Everything that is computed lies in crate `slowpath-transfers`. Keys of the JSON document: docs/reference/definitions.md.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use slowpath_session::{SPANS_SPILLED, transfers};
use slowpath_transfers::{
    FieldRow, LeftOut, NoPath, OnServices, Report, RowsWithout, ServicePath, TransferRow, Use,
};
use slowpath_views::{bytes, grouped, number_of};

use crate::input::{Report as InputReport, Run, at_least_one, how_many, unopenable};
use crate::output::{print, print_json};
use crate::tables::Columns;

/// Say what Java programs receive from others and never use, worst first: from reports of the agent for Java. Where there
/// are spans as well, what lies on the most expensive paths of services comes first.
#[derive(Args)]
pub struct TransfersArgs {
    /// Reports of the agent, files of spans (Jaeger, OTLP), recordings, or folders with any of them.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// So many transfers; 0 shows all. By default 10, or all with --json.
    #[arg(long, value_name = "N", value_parser = how_many)]
    top: Option<usize>,
    /// Workers; by default as many as there are processors.
    #[arg(long, short, value_name = "N", value_parser = at_least_one)]
    jobs: Option<NonZeroUsize>,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &TransfersArgs) -> anyhow::Result<InputReport> {
    let (recorded, diagnostics) = transfers(&args.paths).map_err(unopenable)?;
    let input = InputReport::default().with(diagnostics);
    let top = args.top.unwrap_or(if args.json { 0 } else { 10 });
    let run = Run::new(args.jobs, None);
    let progress = |done, total| run.progress(done, total);
    let (report, diagnostics) = recorded
        .report(top, run.jobs(), &progress)
        .context(SPANS_SPILLED)?;
    let input = input.with(diagnostics);
    match args.json {
        true => print_json(&report)?,
        false => print(&text(&report, input.is_of_damaged_input()))?,
    }
    Ok(input)
}

fn text(report: &Report, is_damaged: bool) -> String {
    let processes = match report.processes {
        1 => "1 process".to_owned(),
        more => format!("{} processes", grouped(more as u64)),
    };
    let mut text = format!(
        "{} responses in {processes} ({})\n",
        grouped(report.responses),
        backends(report)
    );
    text += &left_out(&report.left_out);
    // What could not be read may have had some.
    if report.rows == 0 && !is_damaged {
        text += &why_none(&report.left_out);
    }
    text += &(report.services.as_ref()).map_or_else(String::new, on_services);
    for row in &report.transfers {
        text += &one(row);
    }
    let left_out = report.rows - report.transfers.len();
    if left_out > 0 {
        text += &format!("\n… and {left_out} more (--top 0 shows all)\n");
    }
    text
}

/// How agents see reads; where not all do so in one way, how many do in each.
fn backends(report: &Report) -> String {
    let all = report.backends.iter();
    let words: Vec<String> = all
        .map(|(backend, count)| match report.backends.len() {
            1 => backend.clone(),
            _ => format!("{} {backend}", grouped(*count as u64)),
        })
        .collect();
    words.join(", ")
}

/// What the agents could not count or watch, a line each; nothing where that is nothing.
fn left_out(left_out: &LeftOut) -> String {
    let LeftOut {
        responses_without_context,
        responses_without_objects,
        responses_not_looked_into,
        failures,
        classes_not_rewritten,
        reads_unseen,
        too_many,
        registers_busy,
    } = *left_out;
    let counts = [
        (
            responses_without_context,
            "responses stand nowhere below: there are too many contexts",
        ),
        (
            responses_without_objects,
            "responses stand nowhere below: no objects of the application were seen where they arrive",
        ),
        (
            responses_not_looked_into,
            "responses stand nowhere below: none of those that arrive there was looked into",
        ),
        (failures, "responses could not be looked into"),
        (
            classes_not_rewritten,
            "classes could not be rewritten: what they read was not watched",
        ),
        (
            reads_unseen,
            "objects were not watched: reads of their class might be missed",
        ),
        (too_many, "objects were not watched: too many were"),
        (
            registers_busy,
            "objects were not watched: no debug register was free, or `aiming-share` was used up",
        ),
    ];
    let told = counts.iter().filter(|(count, _)| *count > 0);
    told.map(|(count, what)| format!("left out: {} {what}\n", grouped(*count)))
        .collect()
}

/// What to do where nothing can be told; nothing where what was left out says why.
fn why_none(left_out: &LeftOut) -> String {
    if *left_out == LeftOut::default() {
        return "  hint: no objects came through any of the libraries where the agent for Java looks \
                (agents/java/README.md lists them), nor through methods of the program's own that its option `remote` \
                names; a text, a number or nothing does not count\n"
            .to_owned();
    }
    let mut hints = String::new();
    if left_out.responses_without_objects > 0 {
        hints += "  hint: where more arrives than empty lists, maps, values and what is still to come, options of the agent \
                  for Java say whose classes are the application's (`packages`, `exclude`)\n";
    }
    if left_out.responses_not_looked_into > 0 {
        hints += "  hint: options of the agent for Java say how many responses are looked into (`rate`, \
                  `arms-per-second`)\n";
    }
    hints
}

/// How many rows lie on paths of services, and why others do not.
fn on_services(services: &OnServices) -> String {
    let RowsWithout {
        no_process,
        no_call,
        ambiguous,
        not_told,
    } = services.rows_without;
    let mut text = format!(
        "paths of services, by rank: {} of {}; {} below lie on one\n",
        number_of(services.paths as u64, "path"),
        number_of(services.requests, "request"),
        grouped(services.rows_on_paths as u64),
    );
    let counts = [
        (no_process, NoPath::NoProcess),
        (no_call, NoPath::NoCall),
        (ambiguous, NoPath::Ambiguous),
        (not_told, NoPath::NotTold),
    ];
    for (count, why) in counts.into_iter().filter(|(count, _)| *count > 0) {
        text += &format!("no path: {}: {}\n", grouped(count as u64), why_no_path(why));
    }
    text
}

fn why_no_path(why: NoPath) -> &'static str {
    match why {
        NoPath::NoProcess => "no span is of the process at that time (attribute process.pid)",
        NoPath::NoCall => "no call that spans tell of goes to the endpoint",
        NoPath::Ambiguous => {
            "several paths and several places of the program have the endpoint in common, and no span names their methods"
        }
        NoPath::NotTold => "the calls lie deeper than paths are told, or in no request",
    }
}

/// The paths on which a transfer lies, a line each.
fn paths(row: &TransferRow) -> String {
    const MOST: usize = 3;
    let line = |path: &ServicePath| {
        format!(
            "   path {} of services, {} of all requests' time: {}\n",
            path.rank,
            percent(path.share),
            path.path.join(" → ")
        )
    };
    let mut text: String = row.paths.iter().take(MOST).map(line).collect();
    if row.paths.len() > MOST {
        text += &format!("   … and {} more paths\n", row.paths.len() - MOST);
    }
    if let Some(why) = row.no_path {
        text += &format!("   no path of services: {}\n", why_no_path(why));
    }
    text
}

/// A transfer: where, what, how often, field by field, what to change.
fn one(row: &TransferRow) -> String {
    let endpoint = match row.endpoint.as_str() {
        "" => "an unknown endpoint",
        endpoint => endpoint,
    };
    let mut text = format!(
        "\n{}. {} from {endpoint} ({})\n",
        row.rank, row.class, row.by
    );
    for (depth, place) in row.call_path.iter().enumerate() {
        let arrow = if depth == 0 { "" } else { "→ " };
        let _ = writeln!(
            text,
            "   {:indent$}{arrow}{place}",
            "",
            indent = 2 * depth.saturating_sub(1)
        );
    }
    text += &paths(row);
    let lost = match row.lost {
        0 => String::new(),
        lost => format!(", {} lost", grouped(lost)),
    };
    let used = (row.utilisation).map_or_else(|| "unknown".to_owned(), percent);
    let within = match row.responses_within {
        0 => String::new(),
        within => format!(" ± {}", grouped(within)),
    };
    let _ = writeln!(
        text,
        "   {}{within} responses ({:.1} a second) with {:.1} objects each; {used} of the fields used ({} decided, \
         {} censored{lost})",
        grouped(row.responses),
        row.responses_per_second,
        row.objects_per_response,
        number_of(row.decided, "object"),
        grouped(row.censored),
    );
    if row.too_large > 0 {
        let _ = writeln!(
            text,
            "   {} had too many objects or classes to see them all: how many there are is estimated",
            number_of(row.too_large, "response")
        );
    }
    let _ = writeln!(
        text,
        "   in vain: {} of {} a response, {} a second",
        bytes(row.wasted_bytes_per_response.round() as u64),
        bytes(row.bytes_per_response.round() as u64),
        bytes(row.wasted_bytes_per_second.round() as u64),
    );
    let _ = writeln!(
        text,
        "   {}: {}\n",
        if row.advice.is_needed {
            "change"
        } else {
            "note"
        },
        row.advice.text
    );
    for line in fields(&row.fields).lines() {
        let _ = writeln!(text, "     {line}");
    }
    text
}

fn fields(rows: &[FieldRow]) -> String {
    let mut columns = Columns::new(
        &["field", "type", "read", "#used", "#95 % interval", "#bytes"],
        0,
    );
    for row in rows {
        let (share, interval) = match &row.utilisation {
            Some(share) => (
                percent(share.share),
                format!("{:.1}–{:.1} %", 100.0 * share.low, 100.0 * share.high),
            ),
            None => (String::new(), String::new()),
        };
        columns.row(vec![
            row.name.clone(),
            without_package(&row.type_name).to_owned(),
            read(row),
            share,
            interval,
            format!("{:.0}", row.bytes),
        ]);
    }
    columns.text()
}

fn without_package(type_name: &str) -> &str {
    type_name.rsplit('.').next().unwrap_or(type_name)
}

fn read(row: &FieldRow) -> String {
    let words = match row.kind {
        Use::Always => "always",
        Use::Sometimes => "sometimes",
        Use::Censored => return format!("in {} censored", grouped(row.censored_used)),
        Use::Printed => "only logged or compared",
        Use::Never => "never",
        Use::NotYet => "not yet",
        Use::Absent => "always null",
        Use::Unknown => "unknown",
    };
    words.to_owned()
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
