//! `slowpath record` and `slowpath snapshot`: write down what happens, all of it or the last of it.
//!
//! Only words in and words out; the recording itself is slowpath-record's.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{anyhow, bail};
use clap::{Args, ValueEnum};
use slowpath_model::{ProcessId, Projection, counted, shell_word, shown};
use slowpath_record::{
    AgentsChoice, CommandEnd, ForwardTarget, KernelChoice, Manifest, Mode, RecordError,
    RecordOptions, RedisBackend, RedisChoice, RedisDetail, RedisServer, Rule, SpanOptions,
    SpansChoice, SpansPart, Tracer, UserSpaceChoice, record, request_snapshot,
};

use crate::pattern::matches_any;

/// Where a recording has more of user-space events, somebody told a lot.
const MOST_PACKETS: usize = 64;

/// Record what the kernel and applications do, while a command runs or until Ctrl-C.
///
/// The exit status is the command's (128 + signal where one killed it, or came before it was started);
/// 2 or 3 where the recording itself failed.
#[derive(Args, Clone, Debug)]
pub struct RecordArgs {
    /// The folder to write; it must not exist or be empty.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Replace the recording that lies in DIR.
    #[arg(long)]
    overwrite: bool,
    /// Keep only the last events, in memory; write them on `slowpath snapshot DIR` and at the end.
    #[arg(long)]
    snapshot: bool,
    /// End after this many seconds; the command is then asked to end too (SIGTERM).
    #[arg(long, value_name = "SECONDS", value_parser = duration)]
    duration: Option<Duration>,
    /// Who delivers kernel events; auto: LTTng where its modules are there, else ftrace.
    #[arg(long, value_enum, default_value_t = Kernel::Auto)]
    kernel: Kernel,
    /// Kernel events: presets (default, sched, syscalls, irq, timer, io, net), names and globs such
    /// as block:*.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    events: Vec<String>,
    /// Applications' LTTng events by name or glob [default: slowpath_span:* where LTTng is
    /// installed]; `none` for none.
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    ust: Vec<String>,
    /// Where spans are received, as OTLP over gRPC or HTTP: `auto` (127.0.0.1:4317 and :4318, or a
    /// free port), `off`, or addresses such as 127.0.0.1:4400.
    #[arg(
        long,
        value_name = "ADDRESS",
        value_delimiter = ',',
        default_value = "auto"
    )]
    spans: Vec<String>,
    /// Pass everything received on to this collector: http://HOST:4318 or grpc://HOST:4317.
    #[arg(long, value_name = "URL")]
    spans_forward: Option<ForwardTarget>,
    /// Take a snapshot by itself when spans break this rule, for instance
    /// 'p99(frontend:/dispatch) > 300ms'; also p50, max, errors, and behind it `in 10s` (what is
    /// looked at) and `hold 30s` (the shortest time to the next).
    #[arg(long, value_name = "RULE", requires = "snapshot")]
    when: Vec<Rule>,
    /// Agents that COMMAND inherits, to tell which thread works on which span: auto (those that have
    /// been built), off, or of java, node and python.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "auto"
    )]
    agents: Vec<String>,
    /// Record these Redis servers from inside, as built by `make agents`: numbers of processes that run,
    /// `launch` for those that COMMAND starts. Keys and values are never recorded.
    #[arg(long, value_name = "PID|launch", value_delimiter = ',')]
    redis: Vec<RedisServer>,
    /// How closely: lite (an event for all that a client sent at once), life-cycle (single events for
    /// reading, executing and writing), full (also the event loop, I/O threads, TLS). All of them tell of
    /// messages between nodes of a cluster.
    ///
    /// [default: lite]
    #[arg(long, value_enum, requires = "redis")]
    redis_detail: Option<Detail>,
    /// By what: agent (loaded into the servers), or uprobes (nothing is: the kernel watches servers that run, at
    /// some microseconds for each command; life cycles alone, of Redis 6.2 to 8 and Valkey).
    #[arg(long, value_enum, default_value_t = Backend::Agent, requires = "redis")]
    redis_by: Backend,
    /// Record the Node programs that COMMAND starts from inside, as built by `make agents`: their requests
    /// over HTTP and commands to Redis. Headers, bodies, keys and values are never recorded.
    #[arg(long, requires = "command")]
    node: bool,
    /// Kernel buffer for each processor, for instance 64M [default: 16M, with --snapshot 64M, less
    /// where memory or the disk is small].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    buffer_size: Option<u64>,
    /// Note the CPU times by /proc of this process too (those of the command always are).
    #[arg(long, value_name = "PID")]
    account: Vec<i32>,
    /// The command to run and record.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Ask a running `slowpath record --snapshot` to write what it holds.
#[derive(Args, Clone, Debug)]
pub struct SnapshotArgs {
    /// The folder that it was given with -o.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Detail {
    Lite,
    LifeCycle,
    Full,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Backend {
    Agent,
    Uprobes,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kernel {
    Auto,
    Lttng,
    Ftrace,
    None,
}

/// Runs `slowpath record`; returns the exit status.
///
/// # Errors
/// Where the arguments do not fit together. A failed recording is reported here and becomes an exit
/// status.
pub fn run_record(args: RecordArgs) -> anyhow::Result<u8> {
    let talk = &mut |line: &str| eprintln!("slowpath: {}", shown(line));
    let options = args.into_options()?;
    Ok(match record(&options, talk) {
        Ok(outcome) => {
            if let (UserSpaceChoice::Events(asked), Mode::Standard) =
                (&options.user_space, options.mode)
            {
                eprint!("{}", of_silent_patterns(asked, &outcome.folder));
            }
            let silent = match options.mode {
                Mode::Standard => silent_agents(&options.redis, options.node, &outcome.folder),
                _ => SilentAgents::default(),
            };
            eprint!("{}", silent.warnings());
            eprint!("{}", summary(&outcome.folder, &outcome.manifest, silent));
            exit_status(outcome.command_end)
        }
        Err(error) => {
            if let RecordError::EndedEarly {
                folder, manifest, ..
            } = &error
            {
                eprint!("{}", summary(folder, manifest, SilentAgents::default()));
            }
            report(&error)
        }
    })
}

/// Runs `slowpath snapshot`, which prints the folder of the snapshot; returns the exit status.
///
/// # Errors
/// None: a refused snapshot is reported here and becomes an exit status.
pub fn run_snapshot(args: SnapshotArgs) -> anyhow::Result<u8> {
    Ok(match request_snapshot(&args.folder) {
        Ok(folder) => {
            crate::output::print(&format!("{}\n", folder.display()))?;
            0
        }
        Err(error) => report(&error),
    })
}

impl RecordArgs {
    fn into_options(self) -> anyhow::Result<RecordOptions> {
        let listen = spans_choice(&self.spans)?;
        if listen == SpansChoice::Off && !(self.when.is_empty() && self.spans_forward.is_none()) {
            bail!("--when and --spans-forward need spans\n  hint: leave out --spans off");
        }
        if self.ust.iter().any(String::is_empty) {
            bail!(
                "--ust \"\" names no event\n  hint: a name or a glob such as 'shop:*'; `none` for none"
            );
        }
        let user_space = match &self.ust[..] {
            [] => UserSpaceChoice::SpansIfPossible,
            [none] if none == "none" => UserSpaceChoice::Nothing,
            _ => UserSpaceChoice::Events(self.ust),
        };
        Ok(RecordOptions {
            output: self.output,
            replace: self.overwrite,
            mode: if self.snapshot {
                Mode::Snapshot
            } else {
                Mode::Standard
            },
            duration: self.duration,
            kernel: match self.kernel {
                Kernel::Auto => KernelChoice::Auto,
                Kernel::Lttng => KernelChoice::Lttng,
                Kernel::Ftrace => KernelChoice::Ftrace,
                Kernel::None => KernelChoice::None,
            },
            events: self.events,
            user_space,
            spans: SpanOptions {
                listen,
                forward: self.spans_forward,
                rules: self.when,
            },
            agents: agents_choice(&self.agents)?,
            redis: redis_choice(&self.redis, self.redis_detail, self.redis_by, &self.command)?,
            node: self.node,
            buffer_bytes_per_cpu: self.buffer_size,
            accounts: self.account.into_iter().map(ProcessId).collect(),
            command: self.command,
        })
    }
}

fn redis_choice(
    servers: &[RedisServer],
    detail: Option<Detail>,
    by: Backend,
    command: &[OsString],
) -> anyhow::Result<RedisChoice> {
    let mut choice = RedisChoice {
        detail: match detail {
            None | Some(Detail::Lite) => RedisDetail::Lite,
            Some(Detail::LifeCycle) => RedisDetail::LifeCycle,
            Some(Detail::Full) => RedisDetail::Full,
        },
        by: match by {
            Backend::Agent => RedisBackend::Agent,
            Backend::Uprobes => RedisBackend::Uprobes,
        },
        ..RedisChoice::default()
    };
    if choice.by == RedisBackend::Uprobes {
        if matches!(detail, Some(Detail::Lite | Detail::Full)) {
            bail!(
                "uprobes tell of life cycles\n  hint: leave out --redis-detail, or record by the agent"
            );
        }
        if servers.contains(&RedisServer::Launched) {
            bail!(
                "uprobes watch servers that run already\n  hint: start the server, and name its process: --redis PID"
            );
        }
    }
    for server in servers {
        match server {
            RedisServer::Launched if command.is_empty() => {
                bail!(
                    "--redis launch needs a command that starts the server\n  hint: … --redis launch -- redis-server"
                )
            }
            RedisServer::Launched => choice.launched = true,
            RedisServer::Running(process) if choice.servers.contains(process) => {}
            RedisServer::Running(process) => choice.servers.push(*process),
        }
    }
    Ok(choice)
}

/// `auto`, `off`, or names of agents.
fn agents_choice(words: &[String]) -> anyhow::Result<AgentsChoice> {
    Ok(match words {
        [word] if word == "auto" => AgentsChoice::Auto,
        [word] if word == "off" => AgentsChoice::Off,
        _ => {
            let named = words.iter().map(|word| word.parse());
            AgentsChoice::These(
                named
                    .collect::<Result<_, _>>()
                    .map_err(anyhow::Error::msg)?,
            )
        }
    })
}

/// `auto`, `off`, or addresses; a port alone is one of loopback.
fn spans_choice(words: &[String]) -> anyhow::Result<SpansChoice> {
    let address = |word: &String| {
        let with_host = match word.parse::<u16>() {
            Ok(port) => format!("127.0.0.1:{port}"),
            Err(_) => word.clone(),
        };
        with_host.parse::<SocketAddr>().map_err(|_| {
            anyhow!("{word:?} is no address for spans\n  hint: auto, off, 4400 or 127.0.0.1:4400")
        })
    };
    Ok(match words {
        [word] if word == "auto" => SpansChoice::Auto,
        [word] if word == "off" => SpansChoice::Off,
        _ => SpansChoice::At(words.iter().map(address).collect::<anyhow::Result<_>>()?),
    })
}

fn report(error: &RecordError) -> u8 {
    eprintln!("error: {}", shown(&error.to_string()));
    if let Some(hint) = error.hint() {
        eprintln!("hint: {hint}");
    }
    error.exit_status()
}

fn exit_status(end: CommandEnd) -> u8 {
    match end {
        CommandEnd::NoCommand | CommandEnd::ByDuration => 0,
        CommandEnd::ByItself(status) => u8::try_from(status).unwrap_or(u8::MAX),
    }
}

/// What was recorded, what was lost, what it cost, and what to type next.
fn summary(folder: &Path, manifest: &Manifest, silent: SilentAgents) -> String {
    let Manifest {
        kernel,
        ust,
        spans,
        cost,
        begin_ns,
        end_ns,
        snapshots,
        triggers,
        failed_snapshots,
        ended_because,
        ..
    } = manifest;
    let folder = as_typed(folder);
    let seconds = end_ns.since(*begin_ns).get() as f64 / 1e9;
    let tracer = match kernel.tracer {
        Tracer::Ftrace => "ftrace",
        Tracer::Lttng => "LTTng",
        Tracer::None => "no kernel events",
    };
    let mut text = format!(
        "slowpath: recorded {seconds:.1} s to {folder}: {} of events ({tracer}{}), {} ms CPU of its own\n",
        slowpath_views::bytes(cost.bytes_written),
        if ust.is_some() { " and LTTng-UST" } else { "" },
        cost.recorder_cpu_ns / 1_000_000,
    );
    for snapshot in snapshots {
        let rule = triggers.iter().find(|one| one.snapshot == *snapshot);
        let reason = rule.map_or(String::new(), |one| format!(" ({})", one.rule));
        text += &format!("slowpath: earlier snapshot: {folder}/{snapshot}{reason}\n");
    }
    if let Some(failed) = failed_snapshots {
        let (snapshots, they) = match failed.count {
            1 => ("1 snapshot".to_owned(), "it"),
            count => (format!("{count} snapshots"), "they"),
        };
        text += &format!(
            "warning: {snapshots} could not be written, and the events that {they} would have had are lost: {}\n",
            shown(&failed.last_cause)
        );
    }
    let lost: u64 = kernel.lost_events.values().sum();
    if lost > 0 {
        let cpus: Vec<String> = kernel.lost_events.keys().map(ToString::to_string).collect();
        text += &format!(
            "warning: {} lost on CPU {}\n\
             hint: give each processor more than {} with --buffer-size, or ask for less with --events\n",
            counted(lost, "kernel event was", "kernel events were"),
            cpus.join(", "),
            slowpath_views::bytes(kernel.buffer_bytes_per_cpu),
        );
    }
    if let Some(lost) = ust
        .as_ref()
        .map(|part| part.lost_events)
        .filter(|lost| *lost > 0)
    {
        text += &format!(
            "warning: LTTng discarded {} of applications\n\
             hint: ask for fewer with --ust\n",
            counted(lost, "event", "events")
        );
    }
    if let Some(spans) = spans {
        text += &of_spans(spans);
    }
    let records = |provider: &str| {
        let of_user = ust.iter().flat_map(|part| &part.events);
        let mut events = of_user.chain(&kernel.events);
        events.any(|event| event.starts_with(provider))
    };
    let has_spans = spans.as_ref().is_some_and(|part| part.spans > 0);
    let has_nothing = cost.bytes_written == 0 && snapshots.is_empty();
    let next = match kernel.tracer {
        _ if has_nothing && ended_because.is_some() => return text,
        _ if has_nothing => return text + "nothing happened that was to be recorded\n",
        Tracer::None if ust.is_none() => return text,
        _ if records("slowpath_node:") && !silent.node => "calls",
        _ if records("slowpath_redis") && !silent.redis => "redis",
        Tracer::None if silent.redis || silent.node => return text,
        Tracer::None => "events",
        _ if has_spans => "diagnose",
        _ => "cpu",
    };
    // What a rule asked for is in the snapshots that it took.
    let folder = match triggers.last() {
        Some(broken) => format!("{folder}/{}", broken.snapshot),
        None => folder,
    };
    text + &format!("next: slowpath {next} {}\n", shell_word(&folder))
}

/// Of applications' events that were asked for: a warning for each name or glob that fits none of those which an
/// application told LTTng that it has.
fn of_silent_patterns(asked: &[String], folder: &Path) -> String {
    let known = told_events(&folder.join("ust"));
    let is_silent = |pattern: &&String| {
        let pattern = std::slice::from_ref(*pattern);
        !known.iter().any(|name| matches_any(pattern, name))
    };
    let silent = asked.iter().filter(is_silent);
    let warning = |pattern: &String| {
        format!(
            "warning: no application that ran has an event that --ust {} fits\n\
             hint: `lttng list --userspace` lists those of applications that run; `*` stands for anything\n",
            shell_word(&shown(pattern))
        )
    };
    silent.map(warning).collect()
}

/// Agents that were to be in programs which the command starts, and none told of anything.
#[derive(Clone, Copy, Default)]
struct SilentAgents {
    redis: bool,
    node: bool,
}

fn silent_agents(redis: &RedisChoice, node: bool, folder: &Path) -> SilentAgents {
    let ust = folder.join("ust");
    let known = told_events(&ust);
    let is_silent = |provider: &str| {
        !known.iter().any(|name| name.starts_with(provider)) || told_nothing(&ust, provider)
    };
    SilentAgents {
        redis: redis.launched && redis.servers.is_empty() && is_silent("slowpath_redis:"),
        node: node && is_silent("slowpath_node:"),
    }
}

impl SilentAgents {
    fn warnings(self) -> String {
        let mut text = String::new();
        if self.redis {
            text += "warning: the command started no Redis server that told of itself: none was recorded\n\
                     hint: one that runs already is named by its process (--redis PID); what systemd or Docker starts is \
                     not started by the command\n";
        }
        if self.node {
            text += "warning: the command started no Node program that told of itself: none was recorded\n\
                     hint: the command must start it, with the environment that it has itself; what systemd or Docker \
                     starts is not started by the command\n";
        }
        text
    }
}

/// Whether no event of the provider was recorded: LTTng knows those of all programs that run, others than the command's,
/// too. False where that is not known, or would take long to read.
fn told_nothing(ust: &Path, provider: &str) -> bool {
    let Ok(experiment) = slowpath_session::open(&[ust.to_owned()], NonZeroUsize::MIN) else {
        return false;
    };
    let packets = || experiment.traces.iter().map(|trace| trace.source.packets());
    if packets().map(<[_]>::len).sum::<usize>() > MOST_PACKETS {
        return false;
    }
    !experiment.traces.iter().any(|trace| {
        let classes = &trace.source.schema().event_classes;
        let decoder = trace
            .source
            .decoder(&Projection::every_event(classes.len()));
        let mut has_any = false;
        for packet in trace.source.packets() {
            decoder.tally(packet.id, &mut |class, count| {
                has_any |= count > 0 && classes[class.index()].name.starts_with(provider);
            });
        }
        has_any
    })
}

/// The names of events that LTTng's descriptions below `folder` have.
fn told_events(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            names.extend(told_events(&path));
        } else if path.ends_with("metadata") {
            // Text in packets; heads of these may lie within, but in no name.
            let text = std::fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let begins = text.split("name = \"").skip(1);
            names.extend(begins.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
        }
    }
    names
}

/// What became of spans: a line where some came, and warnings.
fn of_spans(part: &SpansPart) -> String {
    let mut text = String::new();
    if part.spans > 0 {
        let to = part.forward.as_ref().map_or(String::new(), |target| {
            format!(
                ", {} of them passed on to {target}",
                part.forwarded_requests
            )
        });
        text += &format!(
            "slowpath: {}, received in {} of exporters{to}\n",
            counted(part.spans, "span", "spans"),
            counted(part.requests, "message", "messages")
        );
    }
    let warnings = [
        (
            part.lost_spans,
            ["span was lost", "spans were lost"],
            ": the disk was full or too slow",
        ),
        (
            part.refused_requests,
            [
                "message of exporters was refused",
                "messages of exporters were refused",
            ],
            ": malformed or too large",
        ),
        (
            part.lost_forwards,
            ["message", "messages"],
            " could not be passed on",
        ),
        (
            part.rejected_spans,
            [
                "span that was passed on was",
                "spans that were passed on were",
            ],
            " rejected by the collector",
        ),
        (
            part.rejected_others,
            [
                "data point or log record that was passed on was",
                "data points and log records that were passed on were",
            ],
            " rejected by the collector",
        ),
    ];
    for (count, [one, several], how) in warnings {
        if count > 0 {
            text += &format!("warning: {}{how}\n", counted(count, one, several));
        }
    }
    if part.spans > 0 {
        for rule in &part.rules_without_spans {
            text += &format!(
                "warning: no span was of the service and operation in --when '{rule}' (SERVICE:OPERATION, as spans have them)\n"
            );
        }
    }
    text
}

/// A path as one would type it here.
fn as_typed(folder: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let folder = folder.strip_prefix(&here).unwrap_or(folder);
    shown(&folder.display().to_string()).into_owned()
}

fn duration(text: &str) -> anyhow::Result<Duration> {
    match Duration::try_from_secs_f64(text.parse()?) {
        Ok(duration) if duration > Duration::ZERO => Ok(duration),
        _ => bail!("seconds above 0 are wanted, for instance 2.5"),
    }
}

/// Bytes, with K, M or G behind for powers of 1024.
fn size(text: &str) -> anyhow::Result<u64> {
    let (number, unit) = match text.find(|one: char| !one.is_ascii_digit()) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let factor = match unit.to_ascii_uppercase().as_str() {
        "" => 1,
        "K" | "KIB" => 1 << 10,
        "M" | "MIB" => 1 << 20,
        "G" | "GIB" => 1 << 30,
        _ => bail!("{unit:?} is no unit; K, M and G are"),
    };
    match number.parse::<u64>()?.checked_mul(factor) {
        Some(bytes) if bytes > 0 => Ok(bytes),
        _ => bail!("a size above 0 is wanted, for instance 64M"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_globs_that_fit_no_event_are_told() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let asked = ["shop:*", "shop:order", "[se]", "slowpath_span:start_span"].map(str::to_owned);
        let said = |folder: &Path| of_silent_patterns(&asked, folder);
        assert_eq!(said(folder.path()).matches("warning: ").count(), 4);
        let ust = folder.path().join("ust/uid/0/64-bit");
        std::fs::create_dir_all(&ust)?;
        let event = b"event {\n\tname = \"shop:orders\";\n\tid = 0;\n};";
        std::fs::write(
            ust.join("metadata"),
            [b"\xc1\x1f\xfc\xc1", &event[..]].concat(),
        )?;
        let said = said(folder.path());
        assert_eq!(said.matches("warning: ").count(), 3);
        assert!(said.contains("--ust '[se]' fits"), "{said}");
        assert!(!said.contains("shop:*"), "{said}");
        Ok(())
    }

    #[test]
    fn agents_of_which_nothing_was_started_are_told() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let warnings = |launched: bool, node: bool| {
            let redis = RedisChoice {
                launched,
                ..RedisChoice::default()
            };
            let silent = silent_agents(&redis, node, folder.path());
            silent.warnings().matches("warning: ").count()
        };
        assert_eq!(warnings(true, true), 2);
        assert_eq!(warnings(false, false), 0);
        let ust = folder.path().join("ust/uid/0/64-bit");
        std::fs::create_dir_all(&ust)?;
        std::fs::write(ust.join("metadata"), "name = \"slowpath_redis:batches\";")?;
        assert_eq!(warnings(true, true), 1);
        assert_eq!(warnings(true, false), 0);
        Ok(())
    }

    #[test]
    fn sizes_and_durations_are_read_as_people_write_them() {
        for (text, expected) in [
            ("4096", 4096),
            ("64M", 64 << 20),
            ("1g", 1 << 30),
            ("8KiB", 8192),
        ] {
            assert_eq!(size(text).ok(), Some(expected), "{text}");
        }
        for text in ["", "0", "12Q", "M", "99999999999G"] {
            assert!(size(text).is_err(), "{text}");
        }
        assert_eq!(duration("2.5").ok(), Some(Duration::from_millis(2500)));
        let choice = |text: &str| spans_choice(&[text.to_owned()]).ok();
        assert_eq!(choice("off"), Some(SpansChoice::Off));
        let at = |text: &str| Some(SpansChoice::At(vec![text.parse().ok()?]));
        assert_eq!(choice("4400"), at("127.0.0.1:4400"));
        assert_eq!(choice("[::1]:4400"), at("[::1]:4400"));
        assert_eq!(choice("localhost"), None);
        for text in ["0", "-1", "soon", "inf", "nan"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_a_collector_rejected_is_told() {
        let part = SpansPart {
            rejected_spans: 5,
            rejected_others: 1,
            ..SpansPart::default()
        };
        assert_eq!(
            of_spans(&part),
            "warning: 5 spans that were passed on were rejected by the collector\n\
             warning: 1 data point or log record that was passed on was rejected by the collector\n"
        );
    }

    #[test]
    fn rules_that_no_span_was_of_are_told_where_spans_came() {
        let rule = "max(shop:/bye) > 1s";
        let mut part = SpansPart {
            rules_without_spans: vec![rule.to_owned()],
            ..SpansPart::default()
        };
        assert_eq!(of_spans(&part), "");
        part.spans = 1;
        assert!(of_spans(&part).contains(&format!("--when '{rule}'")));
        part.rules_without_spans.clear();
        assert!(!of_spans(&part).contains("--when"));
    }
}
