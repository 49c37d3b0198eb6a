//! `slowpath export`: requests and scheduling in the forms of other tools.
//!
//! Chooses requests as `slowpath requests` does and says where the output goes; the forms are those of
//! crate `slowpath-export`.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use clap::{Args, ValueEnum};
use serde::Serialize;
use slowpath_export::{
    HostRequests, KernelTracks, OtlpSpans, PerfettoWriter, otlp_documents, write_arrow,
    write_folded, write_otlp, write_parquet, write_requests,
};
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{HostId, shown};
use slowpath_record::PartialSuccess;
use slowpath_requests::RequestId;

use crate::input::{self, InputArgs, Report};
use crate::output::finish;
use crate::output::print_json;
use crate::requests::{Chosen, ChosenArgs, ensure_spans, note_hosts};

/// Write requests and where their time went for other tools.
#[derive(Args)]
pub struct ExportArgs {
    #[command(flatten)]
    input: InputArgs,
    /// The form.
    #[arg(long, value_enum)]
    to: Form,
    /// The file to write; `-` is standard output.
    #[arg(long, short, value_name = "FILE", required_unless_present = "send")]
    output: Option<PathBuf>,
    /// Send to an OpenTelemetry collector or Jaeger instead, for instance http://127.0.0.1:4318.
    #[arg(long, value_name = "URL", conflicts_with = "output")]
    send: Option<String>,
    /// With OTLP: the requests' own spans as well, for a store that does not have them.
    #[arg(long)]
    with_requests: bool,
    #[command(flatten)]
    chosen: ChosenArgs,
    /// Say what was written as one JSON document.
    #[arg(long)]
    json: bool,
}

/// What other tools read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A Perfetto trace: scheduling, requests with their states, arrows, counters.
    Perfetto,
    /// OTLP spans as JSON lines: the states of each request as parts of its span.
    Otlp,
    /// Folded stacks for flame graphs: operations and what their time went to.
    Folded,
    /// An Arrow IPC file with a row for each state of each request.
    Arrow,
    /// The same rows as a Parquet file.
    Parquet,
}

/// What was written, by kind.
#[derive(Default, Serialize)]
struct Written {
    requests: u64,
    #[serde(skip_serializing_if = "is_zero")]
    states: u64,
    #[serde(skip_serializing_if = "is_zero")]
    slices: u64,
    #[serde(skip_serializing_if = "is_zero")]
    flows: u64,
    #[serde(skip_serializing_if = "is_zero")]
    counter_values: u64,
    #[serde(skip_serializing_if = "is_zero")]
    switches: u64,
    #[serde(skip_serializing_if = "is_zero")]
    wakings: u64,
    #[serde(skip_serializing_if = "is_zero")]
    stacks: u64,
    /// Spans that the collector did not keep, requests' own among them.
    #[serde(skip_serializing_if = "is_zero")]
    rejected: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Runs the command.
pub fn run(args: &ExportArgs) -> anyhow::Result<Report> {
    ensure!(
        args.send.is_none() || args.to == Form::Otlp,
        "only OTLP can be sent\n  hint: --to otlp, or --output FILE"
    );
    ensure!(
        !args.with_requests || args.to == Form::Otlp,
        "--with-requests is about OTLP: the other forms have the requests in any case"
    );
    let path = args.output.clone().unwrap_or_else(|| "-".into());
    let to_standard_output = args.send.is_none() && path.as_os_str() == "-";
    ensure!(
        !args.json || !to_standard_output,
        "standard output has what is written already\n  hint: --output FILE"
    );
    let experiment = args.input.open()?;
    let mut report = Report::begin(&experiment);
    let range = args.input.range(&experiment)?;
    let run = args.input.options();
    let (recorded, found) = input::requests(&experiment, &run)?;
    let (hosts, all) = (&recorded.hosts, recorded.all());
    report = report.with(found);
    if args.to != Form::Perfetto {
        ensure_spans(&recorded, &report)?;
    }
    note_hosts(&recorded, range);
    let chosen = args.chosen.choose(&recorded, &all, range);
    let mut ids: Vec<Vec<RequestId>> = vec![Vec::new(); hosts.len()];
    for Chosen { of, .. } in &chosen {
        ids[of.host.index()].push(of.request);
    }
    ids.iter_mut().for_each(|ids| ids.sort_unstable());
    let of_hosts: Vec<HostRequests<'_>> = ((0..).map(HostId).zip(&ids))
        .map(|(id, chosen)| HostRequests {
            all: &all,
            id,
            chosen,
        })
        .collect();
    ensure!(
        args.to == Form::Perfetto || !chosen.is_empty(),
        "no request fits\n  hint: `slowpath requests` lists them"
    );
    let mut written = Written {
        requests: chosen.len() as u64,
        ..Written::default()
    };
    if let Some(url) = &args.send {
        send(url, &of_hosts, args.otlp_spans(), &mut written)?;
        say(args, &written, url)?;
        return Ok(report);
    }
    let mut output: Box<dyn Write + Send> = match to_standard_output {
        true => {
            ensure!(
                args.to == Form::Folded || args.to == Form::Otlp || !io::stdout().is_terminal(),
                "this form is not for a terminal\n  hint: --output FILE"
            );
            Box::new(BufWriter::new(io::stdout()))
        }
        false => {
            let file = File::create(&path)
                .with_context(|| format!("cannot write {}", shown(&path.display().to_string())))?;
            Box::new(BufWriter::with_capacity(1 << 18, file))
        }
    };
    let lines: Vec<&Timelines> = hosts
        .iter()
        .filter_map(|host| host.lines.as_ref())
        .collect();
    let write = || -> io::Result<()> {
        match args.to {
            Form::Perfetto => {
                let mut writer = PerfettoWriter::new(output);
                // Perfetto knows one machine per trace: the scheduling of several would be mixed up.
                if let [lines] = lines[..] {
                    KernelTracks::collect(lines, range).write(&mut writer)?;
                }
                write_requests(&mut writer, &of_hosts)?;
                let counts = writer.finish()?;
                written.slices = counts.slices;
                written.flows = counts.flows;
                written.counter_values = counts.counter_values;
                written.switches = counts.switches;
                written.wakings = counts.wakings;
            }
            Form::Otlp => {
                written.states = write_otlp(&mut output, &of_hosts, args.otlp_spans())?.states;
            }
            Form::Folded => written.stacks = write_folded(&mut output, &of_hosts)?,
            Form::Arrow => written.states = write_arrow(output, &of_hosts)?,
            Form::Parquet => written.states = write_parquet(output, &of_hosts)?,
        }
        Ok(())
    };
    finish(write())?;
    if !to_standard_output {
        say(args, &written, &path.display().to_string())?;
    }
    Ok(report)
}

impl ExportArgs {
    fn otlp_spans(&self) -> OtlpSpans {
        match self.with_requests {
            true => OtlpSpans::All,
            false => OtlpSpans::States,
        }
    }
}

/// Sends the spans to a collector, a batch at a time.
fn send(
    url: &str,
    hosts: &[HostRequests<'_>],
    spans: OtlpSpans,
    written: &mut Written,
) -> anyhow::Result<()> {
    let target = match url.contains("/v1/") {
        true => url.to_owned(),
        false => format!("{}/v1/traces", url.trim_end_matches('/')),
    };
    let (mut rejected, mut why) = (0_u64, String::new());
    let counts = otlp_documents(hosts, spans, |document| {
        // It has what was sent. What it says of that is not always JSON, and mostly nothing.
        let said = post(&target, document)?;
        let partial_success = PartialSuccess::in_json(said.as_bytes());
        rejected = rejected.saturating_add(partial_success.rejected);
        if why.is_empty() {
            why = partial_success.error_message;
        }
        Ok(())
    });
    let counts = counts.map_err(|error| {
        anyhow!(
            "{target} does not take the spans: {error}\n  hint: is a collector with OTLP over HTTP there? Sending again adds nothing twice."
        )
    })?;
    written.states = counts.states;
    written.rejected = rejected;
    if rejected > 0 {
        let why = match why.as_str() {
            "" => String::new(),
            why => format!(": {}", shown(why)),
        };
        eprintln!("warning: the collector rejected {rejected} of the spans{why}");
    }
    Ok(())
}

/// Has a collector take a document, and gives what it answers. One that has too much to do is asked again, as OTLP has it.
fn post(target: &str, document: &[u8]) -> io::Result<String> {
    const ANSWERS_WITHIN: Duration = Duration::from_secs(60);
    const AT_MOST: Duration = Duration::from_secs(30);
    let mut pauses = [1, 2, 4, 8].map(Duration::from_secs).into_iter();
    loop {
        let request = ureq::post(target)
            .header("content-type", "application/json")
            .config()
            .http_status_as_error(false)
            .timeout_global(Some(ANSWERS_WITHIN))
            .build();
        let mut answer = request.send(document).map_err(io::Error::other)?;
        let said = answer.body_mut().read_to_string().unwrap_or_default();
        let status = answer.status();
        if status.is_success() {
            return Ok(said);
        }
        let is_busy = matches!(status.as_u16(), 429 | 502 | 503 | 504);
        let Some(pause) = pauses.next().filter(|_| is_busy) else {
            let said = shown(said.trim()).chars().take(200).collect::<String>();
            let said = match said.as_str() {
                "" => said,
                said => format!(": {said}"),
            };
            return Err(io::Error::other(format!("HTTP status {status}{said}")));
        };
        let wished = answer.headers().get("retry-after");
        let wished = wished.and_then(|seconds| seconds.to_str().ok()?.parse().ok());
        thread::sleep(wished.map_or(pause, Duration::from_secs).min(AT_MOST));
    }
}

/// Says what was written where.
fn say(args: &ExportArgs, written: &Written, target: &str) -> anyhow::Result<()> {
    if args.json {
        return print_json(written);
    }
    let parts = [
        (written.requests, "requests"),
        (written.states, "states"),
        (written.slices, "slices"),
        (written.flows, "arrows"),
        (written.switches, "switches of the scheduler"),
        (written.stacks, "stacks"),
    ];
    let parts: Vec<String> = (parts.iter())
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{number} {what}"))
        .collect();
    let parts = match parts.is_empty() {
        true => "nothing lies in the window".to_owned(),
        false => parts.join(", "),
    };
    crate::output::print(&format!("{target}: {parts}\n"))
}
