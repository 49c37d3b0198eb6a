//! `slowpath diagnose`: what makes the slow requests slow, in words, with the evidence.

use clap::Args;
use slowpath_findings::{MOST_EXAMINED, Severity};
use slowpath_kernel::timelines::Timelines;
use slowpath_model::counted;
use slowpath_requests::Request;
use slowpath_views::{Found, diagnose};

use crate::input::{self, InputArgs, Report};
use crate::output::print_json;
use crate::requests::{ChosenArgs, ensure_spans, note_hosts};

/// Say what makes the slow requests slow: written findings with evidence, worst first.
#[derive(Args)]
pub struct DiagnoseArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    chosen: ChosenArgs,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &DiagnoseArgs) -> anyhow::Result<Report> {
    let experiment = args.input.open()?;
    let report = Report::begin(&experiment);
    let window = args.input.range(&experiment)?;
    let run = args.input.options();
    let (recorded, found) = input::requests(&experiment, &run)?;
    let hosts = &recorded.hosts;
    ensure_spans(&recorded, &report)?;
    if hosts.iter().all(|host| host.lines.is_none()) {
        let why = "no kernel events were recorded, so nothing tells what the requests waited for\n  hint: \
                   `slowpath record` records them where it has the rights; `slowpath services` needs only files of spans";
        return Err(report.nothing(why.to_owned()));
    }
    note_hosts(&recorded, window);
    let meant = |request: &Request, lines: Option<&Timelines>| args.chosen.means(request, lines);
    let diagnosed = diagnose(
        &experiment,
        &recorded,
        &found,
        window,
        &meant,
        &run.engine(),
    )
    .map_err(|_| anyhow::anyhow!("interrupted"))?;
    match (diagnosed.requests, diagnosed.in_part) {
        (0, 0) => anyhow::bail!(
            "no request fits\n  hint: without filters and window, `slowpath requests` lists all"
        ),
        (0, in_part) => anyhow::bail!(
            "no request that fits lies in the window from its begin to its end, {in_part} in part\n  hint: `slowpath \
             requests` lists them; a larger window has them whole"
        ),
        _ => {}
    }
    let report = report.with(found);
    if args.json {
        print_json(&diagnosed)?;
    } else {
        crate::output::print(&text(&diagnosed))?;
    }
    Ok(report)
}

fn text(found: &Found) -> String {
    let (findings, in_part) = (&found.findings, found.in_part);
    let requests = counted(found.requests, "request", "requests");
    let mut left_out = match found.left_out {
        0 => String::new(),
        count => format!(
            "{count} that took as long {} left out: the recording does not hold all of their time.\n",
            if count == 1 { "is" } else { "are" }
        ),
    };
    if in_part > 0 {
        let (lie, count) = match in_part {
            1 => ("lies", "counts"),
            _ => ("lie", "count"),
        };
        left_out += &format!(
            "{in_part} more {lie} in the window in part only and {count} for nothing here.\n"
        );
    }
    if findings.is_empty() {
        return format!("{requests}: nothing stands out.\n{left_out}");
    }
    let mut text = format!(
        "{requests}, the slowest tenth of each operation examined (at most {MOST_EXAMINED}).\n{left_out}"
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
            .as_ref()
            .map_or(String::new(), |host| format!(", host {host}"));
        let share = finding.share * 100.0;
        text += &format!(
            "\n{number}. {}\n   {severity}: {share:.0} % of the slow requests' time{host}\n",
            finding.title
        );
        text += &wrapped(&finding.explanation, "   ");
        for evidence in &finding.evidence {
            text += &wrapped(&evidence.text, "   - ");
            if let Some(hint) = evidence.hint {
                text += &wrapped(&format!("hint: {hint}"), "     ");
            }
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
