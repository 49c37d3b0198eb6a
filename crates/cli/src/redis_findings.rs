//! What stands out of what Redis did, as sentences for people: each finding with its evidence and what to do.

use slowpath_datastore::{
    Amplified, DoubleFree, Finding, HeldUp, HoldUp, NamedClient, Pipeline, PublishAmplification,
    ReadBySeveralThreads, SaturatedLoop, SlowCommand, StoreReport,
};
use slowpath_model::Nanoseconds;

use crate::call_trees::address;
use crate::redis_touches::touches;
use crate::tables::{bytes, grouped};

/// A section of its own; empty where nothing stands out.
pub(crate) fn stands_out(told: &StoreReport) -> String {
    if told.findings.is_empty() {
        return String::new();
    }
    let several = told.servers.len() > 1;
    let mut text = "\nWhat stands out\n".to_owned();
    for finding in &told.findings {
        let (server, found) = match finding {
            Finding::SlowCommand(row) => (row.server, slow_command(row)),
            Finding::SaturatedLoop(row) => (row.server, saturated_loop(row)),
            Finding::Pipeline(row) => (row.server, pipeline(row)),
            Finding::PublishAmplification(row) => (row.server, publish_amplification(row)),
            Finding::ConnectionReadBySeveralThreads(row) => (row.server, read_by_several(row)),
            Finding::DoubleFree(row) => (row.server, double_free(row)),
        };
        text += "- ";
        if several {
            text += &format!("server {server}: ");
        }
        text += &found;
    }
    text
}

fn slow_command(row: &SlowCommand) -> String {
    let times = match row.count {
        1 => "once".to_owned(),
        count => format!("{} times, {} in all", grouped(count), row.executing_ns),
    };
    let certain = format!(
        "{} of theirs waited for certain, {} in all",
        counted(row.held, "command"),
        row.waited_at_least_ns
    );
    let likely = format!(
        "{} of theirs came likely while it was executed, as they were read at once after it",
        counted(row.likely_held, "command")
    );
    let most = format!("{} at most", row.waited_at_most_ns);
    let waited = match (row.held, row.likely_held) {
        (_, 0) => certain,
        (0, _) => format!("{likely}: {most}"),
        _ => format!("{certain}; {likely}: together {most}"),
    };
    format!(
        "slow command: {} held up {} ({times})\n  {waited}\n{}",
        row.command,
        counted(row.clients, "other client"),
        worst(&row.worst)
    )
}

fn worst(worst: &HoldUp) -> String {
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
    victims.extend((unnamed > 0).then(|| format!("{} more", counted(unnamed, "client"))));
    format!(
        "  at worst for {} at {}, sent by {}; waiting: {}\n",
        worst.executing_ns,
        worst.start_ns,
        client(&worst.client),
        victims.join(", ")
    )
}

fn saturated_loop(row: &SaturatedLoop) -> String {
    format!(
        "event loop saturated: {:.1} % at work in {}, the longest row {} from {}\n  {} of the {} commands then \
         had come while it served another client; up to {} at once\n",
        row.percent,
        counted(row.seconds, "second"),
        counted(row.longest_seconds, "second"),
        row.longest_begin_ns,
        grouped(row.queued),
        grouped(row.commands),
        counted(row.most_clients, "client"),
    )
}

fn pipeline(row: &Pipeline) -> String {
    let mut text = format!(
        "a pipeline would help: {} sent {} small commands one by one in {}, of which they executed {}\n  it saves \
         {} at most, where commands do not need the answers before them",
        counted(row.clients, "client"),
        grouped(row.round_trips),
        row.elapsed_ns,
        row.executing_ns,
        row.saved_at_most_ns,
    );
    if row.clients > 1 {
        text += " (all clients together)";
    }
    let most = row.worst.iter().map(|worst| {
        let saved: Nanoseconds = worst.saved_at_most_ns;
        format!(
            "{} ({} commands, {saved})",
            client(&worst.client),
            grouped(worst.round_trips)
        )
    });
    let most: Vec<String> = most.collect();
    text += &format!("\n  most: {}\n", most.join(", "));
    text
}

fn publish_amplification(row: &PublishAmplification) -> String {
    let by_length = |row: &Amplified| {
        let length = match (row.least_bytes, row.most_bytes) {
            (least, most) if least == most => format!("{} B", grouped(most)),
            (least, most) => format!("{} to {} B", grouped(least), grouped(most)),
        };
        let times = times(row.factor);
        format!(
            "{times} for {length} ({})",
            counted(row.messages, "message")
        )
    };
    let lengths: Vec<String> = row.payloads.iter().map(by_length).collect();
    format!(
        "publish amplification: {} of {} went to {} each, {} over the cluster's bus: {}\n  by length: {}; the main \
         thread took {} to make the copies\n  sharded pub/sub (SPUBLISH, SSUBSCRIBE; from Redis 7.0) sends a message only \
         to the replicas of its channel's shard\n",
        counted(row.messages, "published message"),
        bytes(row.payload_bytes),
        counted(row.most_copies, "other node"),
        bytes(row.bus_bytes),
        times(row.factor),
        lengths.join(", "),
        row.broadcasting_ns,
    )
}

fn read_by_several(row: &ReadBySeveralThreads) -> String {
    format!(
        "connection read by several threads: {} in one turn of the event loop ({}); so on descriptor {}:\n{}  what one \
         of them frees or moves the other may still use: report it with this sequence, and set io-threads-do-reads to \
         no until it is solved\n",
        counted(row.connections, "connection"),
        times_in_words(row.cycles),
        row.worst.fd,
        touches(&row.worst.touches),
    )
}

fn double_free(row: &DoubleFree) -> String {
    format!(
        "double free: {} on descriptor {} was freed again after its connection had been closed ({} of any client):\n{}  \
         the server may crash, now or later: report it with this sequence\n",
        client(&row.client),
        row.fd,
        times_in_words(row.count),
        touches(&row.touches),
    )
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

fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(count))
}
