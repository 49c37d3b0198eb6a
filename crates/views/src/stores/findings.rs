//! What stands out of what Redis did, as sentences for people: each finding with its evidence and what to do.

use serde::Serialize;
use slowpath_datastore::{
    Amplified, AppendOnlyFileInThePath, BusStall, DoubleFree, Finding, HeldUp, HoldUp, NamedClient,
    Pipeline, PublishAmplification, ReadBySeveralThreads, SaturatedLoop, SlowCommand, StalledLink,
    StoreOperation, Touch,
};
use slowpath_model::Nanoseconds;
use utoipa::ToSchema;

use crate::wording::{address, bytes, grouped, number_of};

/// Something that stands out of what a server did, in words.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct StoreFinding {
    /// The server's number.
    pub server: u32,
    /// In a line.
    pub title: String,
    /// What it rests on, a line each.
    pub evidence: Vec<String>,
    /// What threads did, one step after the other.
    pub steps: Vec<String>,
    /// What it means and what can be done; empty where that is said above.
    pub advice: String,
    /// When it was worst; null where it is about no certain time.
    #[schema(required)]
    pub begin_ns: Option<i64>,
    /// Until when.
    #[schema(required)]
    pub end_ns: Option<i64>,
    /// The client whose connection it is about; null where it is about none, or about many.
    #[schema(required)]
    pub client: Option<u64>,
}

/// A finding in words; `time` says when something was.
pub fn store_finding(finding: &Finding, time: impl Fn(i64) -> String) -> StoreFinding {
    match finding {
        Finding::SlowCommand(row) => slow_command(row, time),
        Finding::SaturatedLoop(row) => saturated_loop(row, time),
        Finding::Pipeline(row) => pipeline(row),
        Finding::PublishAmplification(row) => publish_amplification(row),
        Finding::ConnectionReadBySeveralThreads(row) => read_by_several(row),
        Finding::DoubleFree(row) => double_free(row),
        Finding::AppendOnlyFileInThePath(row) => append_only_file(row, time),
        Finding::BusStall(row) => bus_stall(row, time),
    }
}

impl StoreFinding {
    fn new(server: u32, title: String, evidence: Vec<String>) -> Self {
        Self {
            server,
            title,
            evidence,
            steps: Vec::new(),
            advice: String::new(),
            begin_ns: None,
            end_ns: None,
            client: None,
        }
    }

    fn at(self, begin: i64, length: i64) -> Self {
        Self {
            begin_ns: Some(begin),
            end_ns: Some(begin.saturating_add(length)),
            ..self
        }
    }

    fn through(self, client: u64, touches: &[Touch]) -> Self {
        let begin = touches.first().map_or(0, |touch| touch.at_ns);
        let end = touches.last().map_or(0, |touch| touch.at_ns);
        Self {
            steps: store_steps(touches),
            client: Some(client).filter(|client| *client != 0),
            ..self.at(begin, end - begin)
        }
    }
}

fn slow_command(row: &SlowCommand, time: impl Fn(i64) -> String) -> StoreFinding {
    let times = match row.count {
        1 => "once".to_owned(),
        count => format!("{} times, {} in all", grouped(count), row.executing_ns),
    };
    let certain = format!(
        "{} of theirs waited for certain, {} in all",
        number_of(row.held, "command"),
        row.waited_at_least_ns
    );
    let likely = format!(
        "{} of theirs came likely while it was executed, as they were read at once after it",
        number_of(row.likely_held, "command")
    );
    let most = format!("{} at most", row.waited_at_most_ns);
    let waited = match (row.held, row.likely_held) {
        (_, 0) => certain,
        (0, _) => format!("{likely}: {most}"),
        _ => format!("{certain}; {likely}: together {most}"),
    };
    let title = format!(
        "slow command: {} held up {} ({times})",
        row.command,
        number_of(row.clients, "other client"),
    );
    let worst = &row.worst;
    let length = i64::try_from(worst.executing_ns.get()).unwrap_or(i64::MAX);
    StoreFinding::new(row.server, title, vec![waited, worst_hold_up(worst, time)])
        .at(worst.start_ns, length)
}

fn worst_hold_up(worst: &HoldUp, time: impl Fn(i64) -> String) -> String {
    let victim = |held: &HeldUp| {
        let more = match held.commands {
            1 => String::new(),
            commands => format!(" and {} more", grouped(commands - 1)),
        };
        let likely = if held.certain { "" } else { " (likely)" };
        format!("{} of {}{more}{likely}", held.command, client(&held.client))
    };
    let mut victims: Vec<String> = worst.victims.iter().map(victim).collect();
    let unnamed = worst.clients.saturating_sub(victims.len() as u64);
    victims.extend((unnamed > 0).then(|| format!("{} more", number_of(unnamed, "client"))));
    format!(
        "at worst for {} at {}, sent by {}; waiting: {}",
        worst.executing_ns,
        time(worst.start_ns),
        client(&worst.client),
        victims.join(", ")
    )
}

fn saturated_loop(row: &SaturatedLoop, time: impl Fn(i64) -> String) -> StoreFinding {
    let title = format!(
        "event loop saturated: {:.1} % at work in {}, the longest row {} from {}",
        row.percent,
        number_of(row.seconds, "second"),
        number_of(row.longest_seconds, "second"),
        time(row.longest_begin_ns),
    );
    let waited = format!(
        "{} of the {} then had come while it served another client; up to {} at once",
        grouped(row.queued),
        number_of(row.commands, "command"),
        number_of(row.most_clients, "client"),
    );
    let seconds = i64::try_from(row.longest_seconds).unwrap_or(i64::MAX);
    StoreFinding::new(row.server, title, vec![waited])
        .at(row.longest_begin_ns, seconds.saturating_mul(1_000_000_000))
}

fn pipeline(row: &Pipeline) -> StoreFinding {
    let title = format!(
        "a pipeline would help: {} sent {} one by one in {}, of which they executed {}",
        number_of(row.clients, "client"),
        number_of(row.round_trips, "small command"),
        row.elapsed_ns,
        row.executing_ns,
    );
    let mut saved = format!(
        "it saves {} at most, where commands do not need the answers before them",
        row.saved_at_most_ns
    );
    if row.clients > 1 {
        saved += " (all clients together)";
    }
    let most = row.worst.iter().map(|worst| {
        let saved: Nanoseconds = worst.saved_at_most_ns;
        format!(
            "{} ({}, {saved})",
            client(&worst.client),
            number_of(worst.round_trips, "command")
        )
    });
    let most: Vec<String> = most.collect();
    let most = format!("most: {}", most.join(", "));
    StoreFinding::new(row.server, title, vec![saved, most])
}

fn publish_amplification(row: &PublishAmplification) -> StoreFinding {
    let by_length = |row: &Amplified| {
        let length = match (row.least_bytes, row.most_bytes) {
            (least, most) if least == most => format!("{} B", grouped(most)),
            (least, most) => format!("{} to {} B", grouped(least), grouped(most)),
        };
        let times = times(row.factor);
        format!(
            "{times} for {length} ({})",
            number_of(row.messages, "message")
        )
    };
    let lengths: Vec<String> = row.payloads.iter().map(by_length).collect();
    let title = format!(
        "publish amplification: {} of {} went to {} each, {} over the cluster's bus: {}",
        number_of(row.messages, "published message"),
        bytes(row.payload_bytes),
        number_of(row.most_copies, "other node"),
        bytes(row.bus_bytes),
        times(row.factor),
    );
    let by_length = format!(
        "by length: {}; the main thread took {} to make the copies",
        lengths.join(", "),
        row.broadcasting_ns,
    );
    StoreFinding {
        advice: "sharded pub/sub (SPUBLISH, SSUBSCRIBE; from Redis 7.0) sends a message only to the replicas of its \
                 channel's shard"
            .to_owned(),
        ..StoreFinding::new(row.server, title, vec![by_length])
    }
}

/// So many links are told of each by itself.
const MOST_LINKS: usize = 5;

fn bus_stall(row: &BusStall, time: impl Fn(i64) -> String) -> StoreFinding {
    let whose = match &row.links[..] {
        [link] => format!("what server {} published", link.from_server),
        links => format!(
            "published messages, on {}",
            number_of(links.len() as u64, "link")
        ),
    };
    let title = format!(
        "bus not read: {whose} lay unread {}, {} in all",
        times_in_words(row.count),
        row.stood_ns,
    );
    let (told, more) = row.links.split_at(row.links.len().min(MOST_LINKS));
    let mut evidence = match told {
        [link] => vec![stalled_at_worst(link, &time), sent_at_most(link)],
        links => links.iter().map(|link| stalled_link(link, &time)).collect(),
    };
    let stood: Nanoseconds = more.iter().map(|link| link.stood_ns).sum();
    evidence.extend((!more.is_empty()).then(|| {
        format!(
            "{} more, {stood} in all",
            number_of(more.len() as u64, "link")
        )
    }));
    let found = StoreFinding {
        advice: "the event loop of the one did not write, or that of the other did not read: the time lines show what both \
                 did then. Where the volume is the reason, sharded pub/sub or shorter messages lessen it"
            .to_owned(),
        ..StoreFinding::new(row.server, title, evidence)
    };
    match row.links.first() {
        Some(longest) => {
            let length = i64::try_from(longest.length_ns.get()).unwrap_or(i64::MAX);
            found.at(longest.begin_ns, length)
        }
        None => found,
    }
}

fn stalled_link(link: &StalledLink, time: impl Fn(i64) -> String) -> String {
    format!(
        "server {} to {}: {}, {} in all, {}; {}",
        link.from_server,
        link.server,
        times_in_words(link.count),
        link.stood_ns,
        stalled_at_worst(link, time),
        sent_at_most(link),
    )
}

fn stalled_at_worst(row: &StalledLink, time: impl Fn(i64) -> String) -> String {
    format!(
        "at worst for {} from {}; then {} of {} were there to be read",
        row.length_ns,
        time(row.begin_ns),
        number_of(row.messages, "message"),
        bytes(row.bytes),
    )
}

fn sent_at_most(row: &StalledLink) -> String {
    let mut volume = format!(
        "server {} sent at most {} over the bus in a second",
        row.from_server,
        bytes(row.busiest_bytes)
    );
    if row.in_busiest_second {
        volume += ", and that was then: what the bus carries and this delay go together";
    }
    volume
}

fn read_by_several(row: &ReadBySeveralThreads) -> StoreFinding {
    let title = format!(
        "connection read by several threads: {} in one turn of the event loop ({}); so on descriptor {}:",
        number_of(row.connections, "connection"),
        times_in_words(row.cycles),
        row.worst.fd,
    );
    StoreFinding {
        advice: "what one of them frees or moves the other may still use: report it with this sequence, and set \
                 io-threads-do-reads to no until it is solved"
            .to_owned(),
        ..StoreFinding::new(row.server, title, Vec::new()).through(row.worst.client.0, &row.worst.touches)
    }
}

fn double_free(row: &DoubleFree) -> StoreFinding {
    let title = format!(
        "double free: {} on descriptor {} was freed again after its connection had been closed ({} of any client):",
        client(&row.client),
        row.fd,
        times_in_words(row.count),
    );
    StoreFinding {
        advice: "the server may crash, now or later: report it with this sequence".to_owned(),
        ..StoreFinding::new(row.server, title, Vec::new())
            .through(row.client.client.0, &row.touches)
    }
}

fn append_only_file(row: &AppendOnlyFileInThePath, time: impl Fn(i64) -> String) -> StoreFinding {
    let share = row.waited_ns.get() as f64 / row.latency_ns.get().max(1) as f64 * 100.0;
    let title = format!(
        "append-only file in the path: {} waited {} for it before the reply, {share:.0} % of their latency",
        number_of(row.commands, "command"),
        row.waited_ns,
    );
    let longest = &row.longest;
    let writing = row.waited_ns - row.syncing_ns;
    let did = match (row.syncing_ns, writing) {
        (syncing, Nanoseconds::ZERO) => format!("synced it for {syncing} of that"),
        (Nanoseconds::ZERO, writing) => format!("wrote it for {writing} of that"),
        (syncing, writing) => {
            format!("synced it for {syncing} of that, and wrote it for {writing}")
        }
    };
    let parts = format!("the main thread {did}: {}", longest.file);
    let worst = format!(
        "the longest call: {} of {} at {}, for which {} waited",
        longest.call,
        longest.length_ns,
        time(longest.begin_ns),
        number_of(longest.commands, "command"),
    );
    let advice = match row.syncing_ns {
        Nanoseconds::ZERO => {
            "a write waits where another thread syncs the file, or others keep the disk busy (slowpath io): give it a \
             disk of its own, or set no-appendfsync-on-rewrite to yes if this happens in rewrites"
        }
        _ => {
            "with appendfsync everysec another thread syncs once a second, and a crash can lose what that second \
             brought; else a faster disk, or more commands in a turn, which share a sync. Whether the disk took the \
             time, or the thread had no processor, the critical paths of the slowest commands tell (slowpath redis)"
        }
    };
    let length = i64::try_from(longest.length_ns.get()).unwrap_or(i64::MAX);
    StoreFinding {
        advice: advice.to_owned(),
        ..StoreFinding::new(row.server, title, vec![parts, worst])
    }
    .at(longest.begin_ns, length)
}

/// A line each: when since the first, in which turn of the event loop, which thread, what.
pub fn store_steps(touches: &[Touch]) -> Vec<String> {
    let begin = touches.first().map_or(0, |touch| touch.at_ns);
    let line = |touch: &Touch| {
        let thread =
            (touch.tid).map_or_else(|| "thread ?".to_owned(), |tid| format!("thread {}", tid.0));
        let since = (touch.at_ns - begin) as f64 / 1e3;
        let what = operation(touch.operation);
        format!("{since:>10.1} µs  turn {}  {thread}  {what}", touch.cycle)
    };
    touches.iter().map(line).collect()
}

fn operation(operation: StoreOperation) -> String {
    match operation {
        StoreOperation::TlsRead {
            asked,
            got,
            pending,
        } => format!("ssl_read asked {asked} B, got {got}, {pending} pending"),
        StoreOperation::ReadPostponed => "read_postponed".to_owned(),
        StoreOperation::Freed => "free_client".to_owned(),
        StoreOperation::Unwatched { wholly: true } => "delete_file_event".to_owned(),
        StoreOperation::Unwatched { wholly: false } => "delete_file_event (in part)".to_owned(),
        StoreOperation::CycleEnd => "before_sleep_end".to_owned(),
    }
}

fn times_in_words(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{} times", grouped(count)),
    }
}

fn times(factor: Option<f64>) -> String {
    factor.map_or_else(
        || "headers alone".to_owned(),
        |factor| format!("{factor:.2} times"),
    )
}

fn client(client: &NamedClient) -> String {
    match (client.address.as_str(), client.port) {
        ("", 0) => format!("client {}", client.client.0),
        (from, port) => format!("client {} ({})", client.client.0, address(from, port)),
    }
}
