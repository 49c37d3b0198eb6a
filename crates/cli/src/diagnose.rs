//! `slowpath diagnose`: what makes the slow requests slow, in words, with the evidence.

use clap::Args;
use serde::Serialize;
use slowpath_engine::{Cancelled, Options};
use slowpath_findings::{Diagnosis, Finding, FoundOut, Host, MOST_EXAMINED, Severity};
use slowpath_model::HostId;
use slowpath_session::HostKernels;

use crate::input::{self, InputArgs, Report};
use crate::output::print_json;
use crate::requests::ensure_spans;

/// Say what makes the slow requests slow: written findings with evidence, worst first.
#[derive(Args)]
pub struct DiagnoseArgs {
    #[command(flatten)]
    input: InputArgs,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

/// A finding with its host, where there are several.
#[derive(Serialize)]
struct Row<'run> {
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'run str>,
    #[serde(flatten)]
    finding: Finding,
}

#[derive(Serialize)]
struct Document<'run> {
    findings: Vec<Row<'run>>,
}

/// Runs the command.
pub fn run(args: &DiagnoseArgs) -> anyhow::Result<Report> {
    let experiment = args.input.open()?;
    let report = Report::begin(&experiment);
    let window = args.input.range(&experiment)?;
    let run = args.input.options();
    let (recorded, found) = input::requests(&experiment, &run)?;
    let (hosts, all) = (&recorded.hosts, recorded.all());
    ensure_spans(&recorded)?;
    anyhow::ensure!(
        hosts.iter().any(|host| host.lines.is_some()),
        "no kernel events were recorded, so nothing tells what the requests waited for\n  hint: \
         `slowpath record` records them where it has the rights; `slowpath services` needs spans alone"
    );
    let in_window = hosts.iter().flat_map(|host| host.requests.all());
    let requests = in_window
        .filter(|request| request.window.begin >= window.begin && request.window.end <= window.end)
        .count();
    anyhow::ensure!(
        requests > 0,
        "no request lies in the window from its begin to its end\n  hint: `slowpath requests` lists them"
    );
    let several = hosts.len() > 1;
    let opening = experiment.opening_diagnostics();
    let known: Vec<_> = opening.chain(&found).cloned().collect();
    let diagnostics = recorded.by_host(&known);
    let mut findings: Vec<Row<'_>> = Vec::new();
    let kernels = experiment.hosts();
    for (host, id) in hosts.iter().zip((0..).map(HostId)) {
        // Hosts with kernel events come first, in the same order.
        let kernel = kernels.get(id.index());
        let quota_periods = kernel.map(|kernel| kernel.quota_periods(&run.engine()));
        let quota_periods = (quota_periods.transpose())
            .map_err(|_| anyhow::anyhow!("interrupted"))?
            .flatten();
        let diagnosis = Diagnosis::begin(Host {
            all: &all,
            id,
            control_groups: &host.control_groups,
            quota_periods: quota_periods.as_ref(),
            diagnostics: &diagnostics,
            window,
        });
        let found_out = kernel.map(|kernel| find_out(&diagnosis, kernel, &run.engine()));
        let found_out = (found_out.transpose())
            .map_err(|_| anyhow::anyhow!("interrupted"))?
            .unwrap_or_default();
        let of_host = diagnosis.findings(&found_out);
        findings.extend(of_host.into_iter().map(|finding| Row {
            host: several.then_some(host.name.as_str()),
            finding,
        }));
    }
    if several {
        findings.sort_by(|one, other| other.finding.share.total_cmp(&one.finding.share));
    }
    let report = report.with(found);
    if args.json {
        print_json(&Document { findings })?;
    } else {
        crate::output::print(&text(&findings, requests))?;
    }
    Ok(report)
}

/// Reads from the trace what the diagnosis asks for: each a pass over few events.
fn find_out(
    diagnosis: &Diagnosis<'_>,
    kernel: &HostKernels<'_>,
    options: &Options<'_>,
) -> Result<FoundOut, Cancelled> {
    Ok(FoundOut {
        disks: kernel.disk_use(diagnosis.disk_waits(), options)?,
        peers: kernel.peers(diagnosis.network_waits(), options)?,
        priorities: match diagnosis.asks_for_priorities() {
            true => kernel.priorities(options)?,
            false => Default::default(),
        },
    })
}

fn text(findings: &[Row<'_>], requests: usize) -> String {
    if findings.is_empty() {
        return format!("{requests} requests: nothing stands out.\n");
    }
    let mut text = format!(
        "{requests} requests, the slowest tenth of each operation examined (at most {MOST_EXAMINED}).\n"
    );
    for (row, number) in findings.iter().zip(1..) {
        let finding = &row.finding;
        let severity = match finding.severity {
            Severity::High => "high",
            Severity::Medium => "medium",
            Severity::Low => "low",
        };
        let host = row
            .host
            .map_or(String::new(), |host| format!(", host {host}"));
        let share = finding.share * 100.0;
        text += &format!(
            "\n{number}. {}\n   {severity}: {share:.0} % of the slow requests' time{host}\n",
            finding.title
        );
        text += &wrapped(&finding.explanation, "   ");
        for evidence in &finding.evidence {
            text += &wrapped(&evidence.text, "   - ");
        }
        text += &wrapped(&format!("What to do: {}", finding.advice), "   ");
    }
    text
}

/// Text in lines of at most 100 columns; the first begins with `indent`, others with as many blanks.
fn wrapped(text: &str, indent: &str) -> String {
    let mut wrapped = String::new();
    let mut line = indent.to_owned();
    let blanks = " ".repeat(indent.chars().count());
    for word in text.split_whitespace() {
        let is_begun = line.trim_end().chars().count() > indent.trim_end().chars().count();
        if is_begun && line.chars().count() + 1 + word.chars().count() > 100 {
            wrapped += line.trim_end();
            wrapped.push('\n');
            line.clone_from(&blanks);
        }
        line += word;
        line.push(' ');
    }
    wrapped += line.trim_end();
    wrapped.push('\n');
    wrapped
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn long_text_is_wrapped_below_its_mark() {
        let text = "word ".repeat(40);
        let wrapped = wrapped(&text, " - ");
        let lines: Vec<&str> = wrapped.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with(" - word") && lines[1].starts_with("   word"));
        assert!(lines.iter().all(|line| line.len() <= 100));
        assert_eq!(wrapped.matches("word").count(), 40);
    }
}
