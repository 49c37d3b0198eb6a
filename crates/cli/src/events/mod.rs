//! `slowpath events`: every event with every field, in the order of time.
//!
//! Text is babeltrace2's form, line for line; JSON lines are for machines; `null` decodes every
//! field and prints nothing, to measure reading.

mod jsonl;

use std::io::{self, BufWriter, Write};

use clap::{Args, ValueEnum};
use slowpath_engine::{Analysis, Chunk};
use slowpath_model::{Event, Projection, Scope, TimeRange};
use slowpath_session::{EventPlace, Experiment, Interrupted, OpenedSource, merged_events};
use slowpath_source::Source;
use slowpath_views::TextForm;

use crate::input::{InputArgs, Report};
use crate::pattern::matches_any;

/// Print every event with its fields, in the order of time.
#[derive(Args)]
pub struct EventsArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,
    /// Only events whose name matches; `*` and `?` stand for anything. May be repeated.
    #[arg(long, value_name = "GLOB")]
    event: Vec<String>,
    /// Only streams (by file name) that match. May be repeated.
    #[arg(long, value_name = "GLOB")]
    stream: Vec<String>,
    /// Only events of these processes or threads, as their contexts name them (pid, vpid, tid,
    /// vtid, common_pid). May be repeated.
    #[arg(long, value_name = "PID")]
    pid: Vec<i64>,
}

/// Forms of output.
#[derive(Clone, Copy, ValueEnum, PartialEq, Eq)]
enum Form {
    /// One line per event, as babeltrace2 prints it.
    Text,
    /// One JSON object per event.
    Jsonl,
    /// Nothing: every field is decoded and thrown away.
    Null,
}

/// Runs the command.
pub fn run(args: &EventsArgs) -> anyhow::Result<Report> {
    let experiment = args.input.open()?;
    let report = Report::begin(&experiment);
    let sources: Vec<&dyn Source> = experiment
        .traces
        .iter()
        .map(|trace| &*trace.source as &dyn Source)
        .collect();
    let wanted: Vec<Projection> = sources.iter().map(|source| args.wanted(*source)).collect();
    let range = args.input.range(&experiment)?;
    args.check_pid(&sources)?;
    args.check_names(&sources)?;
    if args.format == Form::Null {
        anyhow::ensure!(
            args.stream.is_empty() && args.pid.is_empty(),
            "--format null decodes whole packets\n  hint: --stream and --pid need --format text or jsonl"
        );
        return decode_all(args, &sources, &wanted, range, report);
    }
    let output = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    let filter = Filter::new(args, &experiment);
    let mut printer = Printer {
        output,
        line: Vec::with_capacity(1 << 12),
        failure: None,
    };
    let (diagnostics, _) = match args.format {
        Form::Jsonl => {
            let mut form = jsonl::JsonLines::new(&experiment.traces);
            merged_events(&sources, &wanted, range, |place| {
                if !filter.lets_through(&sources, place) {
                    return Ok(());
                }
                printer.print(|line| form.write(line, place, sources[place.trace]))
            })
        }
        Form::Text | Form::Null => {
            let mut form = TextForm::new(&experiment.traces);
            merged_events(&sources, &wanted, range, |place| {
                if !filter.lets_through(&sources, place) {
                    return Ok(());
                }
                printer.print(|line| form.write(line, place, sources[place.trace]))
            })
        }
    };
    printer.finish()?;
    Ok(report.with(diagnostics))
}

impl EventsArgs {
    /// Refuses --pid where no event could ever match.
    fn check_pid(&self, sources: &[&dyn Source]) -> anyhow::Result<()> {
        let names_a_thread = |source: &&dyn Source| {
            let fields = source
                .schema()
                .event_classes
                .iter()
                .flat_map(|class| &class.fields);
            fields.into_iter().any(|field| {
                field.scope != Scope::Payload && context_ids::NAMES.contains(&field.name.as_str())
            })
        };
        anyhow::ensure!(
            self.pid.is_empty() || sources.iter().any(names_a_thread),
            "no event of the trace says which process or thread it is of\n  hint: record with the contexts pid and tid (lttng add-context), or filter by --stream"
        );
        Ok(())
    }

    /// Refuses --event and --stream where no name matches.
    fn check_names(&self, sources: &[&dyn Source]) -> anyhow::Result<()> {
        let mut classes = (sources.iter()).flat_map(|source| &source.schema().event_classes);
        anyhow::ensure!(
            self.event.is_empty() || classes.any(|class| matches_any(&self.event, &class.name)),
            "no event has a name that matches {}\n  hint: `slowpath count` lists the names of all events",
            self.event.join(" or ")
        );
        let mut streams = sources.iter().flat_map(|source| source.streams());
        anyhow::ensure!(
            self.stream.is_empty()
                || streams.any(|stream| matches_any(&self.stream, file_of(&stream.name))),
            "no stream has a name that matches {}\n  hint: streams are named as their files are",
            self.stream.join(" or ")
        );
        Ok(())
    }

    /// Event classes whose names match, without fields: printing walks them itself.
    fn wanted(&self, source: &dyn Source) -> Projection {
        let schema = source.schema();
        let mut wanted = match self.format {
            Form::Null => Projection::everything(schema),
            _ => Projection::every_event(schema.event_classes.len()),
        };
        for (id, class) in schema.classes() {
            if !self.event.is_empty() && !matches_any(&self.event, &class.name) {
                wanted.exclude(id);
            }
        }
        wanted
    }
}

/// Filters that need the event or its stream.
struct Filter {
    /// By trace and stream: whether it is printed.
    streams: Vec<Vec<bool>>,
    pids: Vec<i64>,
}

impl Filter {
    fn new(args: &EventsArgs, experiment: &Experiment) -> Self {
        let wanted =
            |name: &str| args.stream.is_empty() || matches_any(&args.stream, file_of(name));
        let streams = |trace: &OpenedSource| {
            let streams = trace.source.streams().iter();
            streams.map(|stream| wanted(&stream.name)).collect()
        };
        Self {
            streams: experiment.traces.iter().map(streams).collect(),
            pids: args.pid.clone(),
        }
    }

    fn lets_through(&self, sources: &[&dyn Source], place: EventPlace) -> bool {
        let source = sources[place.trace];
        let stream = source.packets()[place.packet.index()].stream;
        if !self.streams[place.trace][stream.index()] {
            return false;
        }
        if self.pids.is_empty() {
            return true;
        }
        let mut seen = context_ids::ContextIds::default();
        source.visit(place.packet, place.position, &mut seen);
        self.pids.iter().any(|pid| seen.ids.contains(pid))
    }
}

/// The name of a stream's file.
fn file_of(stream: &str) -> &str {
    stream.rsplit('/').next().unwrap_or(stream)
}

mod context_ids {
    //! Collects the thread and process ids among an event's contexts.

    use slowpath_model::{DisplayBase, FieldVisitor, Scope};

    /// Contexts that name a process or a thread.
    pub(super) const NAMES: [&str; 5] = ["pid", "vpid", "tid", "vtid", "common_pid"];

    #[derive(Default)]
    pub(super) struct ContextIds {
        pub(super) ids: Vec<i64>,
        in_context: bool,
        named: bool,
    }

    impl FieldVisitor for ContextIds {
        fn scope(&mut self, scope: Scope) {
            self.in_context = scope != Scope::Payload;
        }
        fn name(&mut self, name: &str) {
            self.named = self.in_context && NAMES.contains(&name);
        }
        fn unsigned(&mut self, value: u64, _: u32, _: DisplayBase) {
            self.signed(value as i64, 64, DisplayBase::Decimal);
        }
        fn signed(&mut self, value: i64, _: u32, _: DisplayBase) {
            if self.named {
                self.ids.push(value);
            }
        }
    }
}

/// Writes lines and remembers the first failure.
struct Printer<W: Write> {
    output: W,
    line: Vec<u8>,
    failure: Option<io::Error>,
}

impl<W: Write> Printer<W> {
    fn print(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Interrupted> {
        self.line.clear();
        write(&mut self.line);
        self.output.write_all(&self.line).map_err(|failure| {
            self.failure = Some(failure);
            Interrupted
        })
    }

    fn finish(mut self) -> anyhow::Result<()> {
        let result = match self.failure.take() {
            Some(failure) => Err(failure),
            None => self.output.flush(),
        };
        crate::output::finish(result)
    }
}

/// Decodes every field of every event and keeps none.
fn decode_all(
    args: &EventsArgs,
    sources: &[&dyn Source],
    wanted: &[Projection],
    range: TimeRange,
    report: Report,
) -> anyhow::Result<Report> {
    let options = args.input.options();
    let mut report = report;
    for (source, wanted) in sources.iter().zip(wanted) {
        let outcome = slowpath_engine::run(*source, wanted, &Discard, &options.engine_in(range))
            .map_err(|_| anyhow::anyhow!("interrupted"))?;
        report = report.with(outcome.diagnostics);
    }
    Ok(report)
}

/// An analysis that looks at every value and keeps none.
struct Discard;

impl Analysis for Discard {
    type State = ();
    fn begin(&self, _: &Chunk) {}
    fn event(&self, (): &mut (), event: &Event<'_>) {
        std::hint::black_box(event);
    }
    fn merge(&self, (): &mut (), (): ()) {}
}
