//! What Redis did, as tables for people: servers, commands, clients, the slowest commands.

use slowpath_datastore::{
    BusVolume, Latency, Level, Parts, ServerRow, StoreReport, UNKNOWN_COMMAND,
};
use slowpath_model::{Nanoseconds, Timestamp};
use slowpath_views::{address, bytes, grouped, number_of};

use crate::tables::Columns;

/// What each server is, and what its event loop did.
pub(crate) fn servers(told: &StoreReport) -> String {
    let mut text = String::new();
    for row in &told.servers {
        text += &server(row);
    }
    if told.lost > 0 {
        text += &format!(
            "{} lost by the tracer: what was told there is missing\n",
            number_of(told.lost, "event")
        );
    }
    text
}

fn server(row: &ServerRow) -> String {
    let length = Timestamp::from_ns(row.end_ns).since(Timestamp::from_ns(row.begin_ns));
    let share = |time: Nanoseconds| match length.get() {
        0 => "0.0 %".to_owned(),
        whole => format!("{:.1} %", time.get() as f64 / whole as f64 * 100.0),
    };
    let level = match row.level {
        Level::Lite => "batches (lite)",
        Level::LifeCycle => "single events (life cycle)",
    };
    format!(
        "server {}: {}, {length} from {} (nanoseconds since the epoch), by {level}\n  {} of {}, \
         {} without a reply; {} read, {} written\n  event loop: {}{:.1} % busy with clients: reading {}, executing {}, \
         writing {}\n{}",
        row.server,
        process(row),
        row.begin_ns,
        number_of(row.count, "command"),
        number_of(row.clients, "client"),
        grouped(row.unanswered),
        bytes(row.bytes_read),
        bytes(row.bytes_written),
        // What is read or written in several turns is not told.
        if row.level == Level::Lite {
            "at least "
        } else {
            ""
        },
        row.busy.percent,
        share(row.busy.reading_ns),
        share(row.busy.executing_ns),
        share(row.busy.writing_ns),
        row.bus.as_ref().map(volume).unwrap_or_default(),
    )
}

fn volume(bus: &BusVolume) -> String {
    format!(
        "  cluster bus: {} to other nodes, {} (at most {} in a second); {} from them, {}\n",
        number_of(bus.sent, "message"),
        bytes(bus.sent_bytes),
        bytes(bus.busiest_bytes),
        grouped(bus.received),
        bytes(bus.received_bytes),
    )
}

fn process(row: &ServerRow) -> String {
    let pid = (row.pid).map_or_else(
        || "process not recorded".to_owned(),
        |pid| format!("process {pid}"),
    );
    match row.port {
        0 => pid,
        port => format!("{pid}, port {port}"),
    }
}

const LATENCY: [&str; 10] = [
    "#mean",
    "#p50",
    "#p99",
    "#max",
    "#total",
    "#reading",
    "#queueing",
    "#executing",
    "#waiting",
    "#writing",
];

fn latency(latency: &Latency) -> Vec<String> {
    let times = [
        latency.mean_ns,
        latency.p50_ns,
        latency.p99_ns,
        latency.max_ns,
        latency.total_ns,
    ];
    let mut texts = times.map(|time| time.to_string()).to_vec();
    texts.extend(parts(&latency.parts));
    texts
}

fn parts(parts: &Parts) -> [String; 5] {
    [
        parts.reading_ns,
        parts.queueing_ns,
        parts.executing_ns,
        parts.waiting_ns,
        parts.writing_ns,
    ]
    .map(|time| time.to_string())
}

/// Titles, with a first column for the server where there are several.
fn columns(told: &StoreReport, titles: &[&str], top: usize) -> Columns {
    let server = ["#server"];
    let first = &server[..usize::from(told.servers.len() > 1)];
    Columns::new(&[first, titles].concat(), top)
}

/// Adds a row of what `server` did.
fn add(columns: &mut Columns, told: &StoreReport, server: u32, texts: Vec<String>) {
    let mut all = Vec::new();
    if told.servers.len() > 1 {
        all.push(server.to_string());
    }
    all.extend(texts);
    columns.row(all);
}

/// A row for each command.
pub(crate) fn commands(told: &StoreReport, top: usize) -> String {
    let some_inside = told.commands.iter().any(|row| row.inside > 0);
    let mut titles = vec!["command", "#count"];
    titles.extend(some_inside.then_some("#inside"));
    titles.extend(["#no reply", "#read", "#written"]);
    titles.extend(LATENCY);
    let mut columns = columns(told, &titles, top);
    for row in &told.commands {
        let mut texts = vec![row.command.clone(), grouped(row.count)];
        texts.extend(some_inside.then(|| grouped(row.inside)));
        texts.push(grouped(row.unanswered));
        texts.extend([bytes(row.bytes_read), bytes(row.bytes_written)]);
        texts.extend(latency(&row.latency));
        add(&mut columns, told, row.server, texts);
    }
    let mut text = columns.text();
    if (told.commands.iter()).any(|row| row.command == UNKNOWN_COMMAND) {
        text += &format!(
            "{UNKNOWN_COMMAND}: what this Redis does not know, or ended the connection; how clients called it is not recorded\n"
        );
    }
    text
}

/// A row for each client.
pub(crate) fn clients(told: &StoreReport, top: usize) -> String {
    let titles = [
        "#client",
        "from",
        "#commands",
        "#no reply",
        "#read",
        "#written",
        "busiest command",
        "#its count",
        "#max",
        "#total",
        "#reading",
        "#queueing",
        "#executing",
        "#waiting",
        "#writing",
    ];
    let mut columns = columns(told, &titles, top);
    for row in &told.clients {
        let mut texts = vec![
            row.client.0.to_string(),
            match row.is_replication {
                true => format!("{} (replication)", address(&row.address, row.port)),
                false => address(&row.address, row.port),
            },
            grouped(row.count),
            grouped(row.unanswered),
            bytes(row.bytes_read),
            bytes(row.bytes_written),
            row.busiest.clone(),
            grouped(row.busiest_count),
            row.max_ns.to_string(),
            row.total_ns.to_string(),
        ];
        texts.extend(parts(&row.parts));
        add(&mut columns, told, row.server, texts);
    }
    columns.text()
}

/// A row for each server.
pub(crate) fn by_server(told: &StoreReport) -> String {
    let mut titles = vec!["#server", "process", "#count", "#read", "#written"];
    titles.extend(LATENCY);
    let mut columns = Columns::new(&titles, 0);
    for row in &told.servers {
        let mut texts = vec![row.server.to_string(), process(row), grouped(row.count)];
        texts.extend([bytes(row.bytes_read), bytes(row.bytes_written)]);
        texts.extend(latency(&row.latency));
        columns.row(texts);
    }
    columns.text()
}

/// A row for each type of message over the cluster's bus.
pub(crate) fn bus(told: &StoreReport, top: usize) -> String {
    let titles = [
        "message",
        "#sent",
        "#bytes",
        "#to all nodes",
        "#their bytes",
        "#received",
        "#bytes received",
    ];
    let mut columns = columns(told, &titles, top);
    for row in &told.bus {
        let texts = vec![
            row.kind.clone(),
            grouped(row.sent),
            bytes(row.sent_bytes),
            grouped(row.broadcast),
            bytes(row.broadcast_bytes),
            grouped(row.received),
            bytes(row.received_bytes),
        ];
        add(&mut columns, told, row.server, texts);
    }
    columns.text()
}

/// A row for each two servers between which published messages went.
pub(crate) fn hops(told: &StoreReport) -> String {
    let titles = [
        "from server",
        "to server",
        "#published, found at both",
        "#bytes",
        "#on the way: mean",
        "#p50",
        "#p99",
        "#max",
        "#delivered",
        "#read to written: p50",
        "#max",
    ];
    let mut columns = Columns::new(&titles, 0);
    for row in &told.hops {
        let handed_on = |time: Nanoseconds| match row.delivered {
            0 => "not told".to_owned(),
            _ => time.to_string(),
        };
        // Of level full alone; and whoever reads 0 takes it for messages that nobody got.
        let delivered = match row.delivered {
            0 => "not told".to_owned(),
            count => grouped(count),
        };
        columns.row(vec![
            row.server.to_string(),
            row.to_server.to_string(),
            grouped(row.messages),
            bytes(row.bytes),
            row.mean_ns.to_string(),
            row.p50_ns.to_string(),
            row.p99_ns.to_string(),
            row.max_ns.to_string(),
            delivered,
            handed_on(row.delivery_p50_ns),
            handed_on(row.delivery_max_ns),
        ]);
    }
    columns.text()
}

/// The slowest commands, each with its parts.
pub(crate) fn slowest(told: &StoreReport) -> String {
    let titles = [
        "slowest",
        "#latency",
        "#reading",
        "#queueing",
        "#executing",
        "#waiting",
        "#writing",
        "#begin",
        "#client",
        "from",
        "#in its batch",
        "reply",
    ];
    let mut columns = columns(told, &titles, 0);
    for row in &told.slowest {
        let mut texts = vec![row.command.clone(), row.total_ns.to_string()];
        texts.extend(parts(&row.parts));
        texts.extend([
            row.begin_ns.to_string(),
            row.client.0.to_string(),
            address(&row.address, row.port),
            grouped(row.batch_commands),
            if row.answered { "yes" } else { "not seen" }.to_owned(),
        ]);
        add(&mut columns, told, row.server, texts);
    }
    columns.text()
}
