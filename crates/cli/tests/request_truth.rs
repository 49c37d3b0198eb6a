//! `slowpath requests` agrees with what the traced programs wrote about their own requests: thread,
//! start and end, running and runnable time, the kind of the dominant wait, and who held them up.

mod support;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use slowpath_requests::{ClockOffset, clock_offsets};
use support::{shared_traces, slowpath, slowpath_succeeds, unpacked};

/// A line of a record; only lines of type `request` are about requests.
#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Truth {
    trace_id: String,
    span_id: String,
    tid: i64,
    /// Read just before the span's start and just after its end.
    start_ns: i64,
    end_ns: i64,
    cpu_ns: i64,
    run_delay_ns: i64,
    account_from_ns: Option<i64>,
    account_to_ns: Option<i64>,
    waits: Vec<TrueWait>,
}

#[derive(Deserialize)]
struct TrueWait {
    kind: String,
    ns: i64,
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    #[serde(default)]
    holders: Vec<Holder>,
    holder_tid: Option<i64>,
}

#[derive(Deserialize)]
struct Holder {
    tid: i64,
    from_ns: Option<i64>,
    to_ns: Option<i64>,
}

#[derive(Deserialize)]
struct Document {
    requests: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    host: Option<String>,
    trace_id: String,
    span_id: String,
    tids: Vec<i64>,
    begin_ns: i64,
    end_ns: i64,
    duration_ns: i64,
    summary: HashMap<String, i64>,
    own_summary: HashMap<String, i64>,
    blocked_by: Vec<Blocker>,
    waits: Vec<FoundWait>,
}

#[derive(Debug, Deserialize, PartialEq, Eq, Hash)]
struct Span {
    trace_id: String,
    span_id: String,
}

#[derive(Deserialize)]
struct Blocker {
    #[serde(flatten)]
    span: Span,
    ns: i64,
}

impl Found {
    fn blockers(&self) -> impl Iterator<Item = &Span> {
        self.blocked_by.iter().map(|blocker| &blocker.span)
    }
}

#[derive(Deserialize)]
struct FoundWait {
    begin_ns: i64,
    end_ns: i64,
    on: String,
    waker_tid: Option<i64>,
    waker_host: Option<String>,
    call: Option<String>,
    waker_comm: Option<String>,
}

struct Recording {
    truth: &'static str,
    archive: &'static str,
    trace: &'static str,
    /// Of a hundred requests, so many have their running and runnable time within the record's
    /// accuracy; the others' virtual processor was stopped by its host (README of the trace).
    states_percent: usize,
    /// Of a hundred waits whose record names a holder, so many must have its request in `blocked_by`.
    /// On cpu-cgroup the record names whoever held the mutex when the wait began, perhaps not long.
    holders_percent: usize,
}

const RECORDINGS: &[Recording] = &[
    Recording {
        truth: "futex-contention/ground-truth.jsonl",
        archive: "futex-contention/futex-contention.tar.zst",
        trace: "futex-contention",
        states_percent: 97,
        holders_percent: 99,
    },
    Recording {
        truth: "cpu-cgroup/ground-truth.jsonl",
        archive: "cpu-cgroup/cpu-cgroup.tar.zst",
        trace: "cpu-cgroup",
        states_percent: 98,
        holders_percent: 90,
    },
    Recording {
        truth: "two-hosts/ground-truth-server.jsonl",
        archive: "two-hosts/two-hosts.tar.zst",
        trace: "two-hosts/server",
        states_percent: 98,
        holders_percent: 100,
    },
    Recording {
        truth: "two-hosts/ground-truth-client.jsonl",
        archive: "two-hosts/two-hosts.tar.zst",
        trace: "two-hosts/client",
        states_percent: 96,
        holders_percent: 100,
    },
];

const MILLISECOND: i64 = 1_000_000;

/// A record, and what slowpath says about each of its requests.
struct Answers {
    truths: Vec<Truth>,
    found: Vec<Found>,
    /// Nanoseconds from the record's clock to the trace's.
    offset: i64,
}

fn answers(recording: &Recording) -> Option<Answers> {
    let record = shared_traces()?.join(recording.truth);
    let trace = unpacked(recording.archive)?.join(recording.trace);
    let lines = fs::read_to_string(record).expect("the record can be read");
    let truths: Vec<Truth> = (lines.lines())
        .filter(|line| serde_json::from_str::<Line>(line).is_ok_and(|line| line.kind == "request"))
        .map(|line| serde_json::from_str(line).expect("a request of the record"))
        .collect();
    let printed = slowpath_succeeds(&["requests", "--json"], &trace);
    let document: Document = serde_json::from_slice(&printed.stdout).expect("the document");
    assert_eq!(document.requests.len(), truths.len(), "{}", recording.truth);
    let mut by_span: HashMap<Span, Found> = (document.requests.into_iter())
        .map(|found| (span(&found.trace_id, &found.span_id), found))
        .collect();
    let found = truths.iter().map(|truth| {
        let found = by_span.remove(&span(&truth.trace_id, &truth.span_id));
        found.unwrap_or_else(|| panic!("{}: {} is missing", recording.truth, truth.span_id))
    });
    Some(Answers {
        found: found.collect(),
        truths,
        offset: clock_offset(&trace.join("kernel/metadata")),
    })
}

fn span(trace_id: &str, span_id: &str) -> Span {
    let (trace_id, span_id) = (trace_id.to_owned(), format!("{span_id:0>16}"));
    Span { trace_id, span_id }
}

/// `offset = N;` of a trace's clock, from its description.
fn clock_offset(metadata: &Path) -> i64 {
    let bytes = fs::read(metadata).expect("the metadata can be read");
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (_, rest) = text.split_once("\toffset = ").expect("the clock's offset");
    let digits = rest.split(';').next().unwrap_or_default();
    digits.parse().expect("a number")
}

/// Checks each recording; one that is not there was skipped visibly.
fn for_each(check: impl Fn(&Recording, &Answers)) {
    for recording in RECORDINGS {
        if let Some(answers) = answers(recording) {
            check(recording, &answers);
        }
    }
}

#[test]
fn every_request_is_found_with_its_thread_its_times_and_sums_that_add_up() {
    for_each(|recording, answers| {
        let mut off = Vec::new();
        for (truth, found) in answers.truths.iter().zip(&answers.found) {
            let name = (recording.truth, &found.span_id);
            assert_eq!(found.tids, [truth.tid], "{name:?}");
            let sum = |states: &HashMap<String, i64>| states.values().sum::<i64>();
            assert_eq!(sum(&found.summary), found.duration_ns, "{name:?}");
            assert_eq!(sum(&found.own_summary), found.duration_ns, "{name:?}");
            let begins = found.begin_ns - answers.offset - truth.start_ns;
            let ends = truth.end_ns - (found.end_ns - answers.offset);
            // Inside what the program read around the span, but for what its clock calls jitter.
            assert!(begins > -10_000 && ends > 0, "{name:?}: {begins} {ends}");
            off.extend([begins, ends]);
        }
        off.sort_unstable();
        let (half, most) = (off[off.len() / 2], off[off.len() * 99 / 100]);
        assert!(
            half < 50_000 && most < 200_000,
            "{}: half within {half} ns, 99 of 100 within {most} ns",
            recording.truth
        );
    });
}

#[test]
fn running_and_runnable_time_agree() {
    for_each(|recording, answers| {
        let agree = |(truth, found): &(&Truth, &Found)| {
            let states = ["RUNNING", "INTERRUPTED", "PREEMPTED", "WAIT_CPU", "IPI"];
            let own = states.map(|state| found.own_summary.get(state).unwrap_or(&0));
            let said: i64 = own.into_iter().sum();
            // The record's account is of a longer time than the span's.
            let from = truth.account_from_ns.unwrap_or(truth.start_ns);
            let to = truth.account_to_ns.unwrap_or(truth.end_ns);
            let besides = to - from - found.duration_ns;
            let allowed = besides + MILLISECOND + found.duration_ns / 20;
            (said - truth.cpu_ns - truth.run_delay_ns).abs() <= allowed
        };
        let pairs = answers.truths.iter().zip(&answers.found);
        let agreed = pairs.filter(agree).count();
        assert!(
            100 * agreed >= recording.states_percent * answers.truths.len(),
            "{}: {agreed} of {}",
            recording.truth,
            answers.truths.len()
        );
    });
}

/// Whether a wait is of the kind that the record says.
fn is_kind(wait: &FoundWait, kind: &str) -> bool {
    let call = wait.call.as_deref().unwrap_or("");
    match kind {
        "mutex" | "cond" => (wait.on.as_str(), call) == ("THREAD", "futex"),
        "pipe" | "socket" => (wait.on.as_str(), call) == ("THREAD", "read"),
        "timer" => wait.on == "TIMER",
        "network" => wait.on == "NETWORK",
        // The record means the call. What it waits for may be work of the kernel's threads for it.
        "disk" => {
            let waker = wait.waker_comm.as_deref().unwrap_or("");
            let by_kernel = waker.starts_with("jbd2/") || waker.starts_with("kworker/");
            wait.on == "BLOCK_DEVICE" || (by_kernel && call == "fsync")
        }
        other => panic!("a record has no waits of kind {other}"),
    }
}

#[test]
fn the_dominant_wait_is_of_the_right_kind() {
    for_each(|recording, answers| {
        let (mut asked, mut right, mut awake) = (0, 0, 0);
        let mut wrong = String::new();
        for (truth, found) in answers.truths.iter().zip(&answers.found) {
            let is_long = |wait: &&TrueWait| wait.ns > MILLISECOND && wait.kind != "preempt";
            let long: Vec<&TrueWait> = truth.waits.iter().filter(is_long).collect();
            let [wait] = long.as_slice() else {
                continue;
            };
            asked += 1;
            match found.waits.first() {
                // The answer was there before it slept.
                None => awake += 1,
                Some(first) if is_kind(first, &wait.kind) => right += 1,
                Some(first) => {
                    wrong += &format!("{} {}: {}\n", found.span_id, wait.kind, first.on);
                }
            }
        }
        assert!(asked > 0 && 100 * awake <= 2 * asked, "{awake} of {asked}");
        assert!(
            100 * right >= 99 * (asked - awake),
            "{}: {right} of {asked}, {awake} did not sleep\n{wrong}",
            recording.truth
        );
    });
}

#[test]
fn who_holds_a_lock_is_named_with_its_request() {
    for_each(|recording, answers| {
        let (mut asked, mut named) = (0, 0);
        for (truth, found) in answers.truths.iter().zip(&answers.found) {
            for wait in &truth.waits {
                let (Some(start), Some(end)) = (wait.start_ns, wait.end_ns) else {
                    continue;
                };
                if wait.kind != "mutex" || wait.ns < MILLISECOND || found.waits.is_empty() {
                    continue;
                }
                let mut holders: Vec<i64> = wait.holders.iter().map(|holder| holder.tid).collect();
                if holders.is_empty() {
                    holders.extend(wait.holder_tid);
                }
                for holder in holders {
                    let serves = |other: &&Truth| {
                        other.tid == holder && other.start_ns < end && other.end_ns > start
                    };
                    let served: Vec<Span> = (answers.truths.iter().filter(serves))
                        .map(|other| span(&other.trace_id, &other.span_id))
                        .collect();
                    if !served.is_empty() {
                        asked += 1;
                        named += usize::from(
                            served
                                .iter()
                                .any(|served| found.blockers().any(|other| other == served)),
                        );
                    }
                }
            }
        }
        assert!(
            100 * named >= recording.holders_percent * asked,
            "{}: {named} of {asked}",
            recording.truth
        );
    });
}

#[test]
fn each_holder_of_a_lock_is_named_for_as_long_as_it_has_it_and_nobody_else() {
    // Its record tells from when until when each one had it.
    let Some(answers) = answers(&RECORDINGS[0]) else {
        return;
    };
    let (mut told, mut right, mut blocked) = (0, 0, 0);
    for (truth, found) in answers.truths.iter().zip(&answers.found) {
        let mut holders: HashSet<i64> = HashSet::new();
        for holder in truth.waits.iter().flat_map(|wait| &wait.holders) {
            let (Some(from), Some(to)) = (holder.from_ns, holder.to_ns) else {
                continue;
            };
            holders.insert(holder.tid);
            if to - from < MILLISECOND {
                continue;
            }
            // Of the longest waits, which are told.
            for wait in &found.waits {
                let end = wait.end_ns.min(to + answers.offset);
                let shared = end - wait.begin_ns.max(from + answers.offset);
                told += shared.max(0);
                if wait.waker_tid == Some(holder.tid) {
                    right += shared.max(0);
                }
            }
        }
        if holders.is_empty() {
            continue;
        }
        for other in found.blockers() {
            let is_other = |truth: &&Truth| span(&truth.trace_id, &truth.span_id) == *other;
            let server = answers.truths.iter().find(is_other);
            blocked += 1;
            assert!(
                server.is_some_and(|server| holders.contains(&server.tid)),
                "{}: {other:?} is no request of {holders:?}",
                found.span_id
            );
        }
    }
    assert!(told > 10_000 * MILLISECOND, "{told}");
    assert!(1000 * right >= 995 * told, "{right} of {told}");
    assert!(blocked > 500, "{blocked}");
}

#[test]
fn a_request_blocks_others_for_as_long_as_it_has_the_lock_whatever_it_does_meanwhile() {
    let Some(answers) = answers(&RECORDINGS[0]) else {
        return;
    };
    let (mut held, mut told, mut all) = (0, 0, 0);
    for (truth, found) in answers.truths.iter().zip(&answers.found) {
        let mut by_request: HashMap<Span, i64> = HashMap::new();
        for holder in truth.waits.iter().flat_map(|wait| &wait.holders) {
            let (Some(from), Some(to)) = (holder.from_ns, holder.to_ns) else {
                continue;
            };
            let serves = |other: &&Truth| {
                other.tid == holder.tid && other.start_ns <= from && other.end_ns >= to
            };
            if let Some(other) = answers.truths.iter().find(serves) {
                let blocker = span(&other.trace_id, &other.span_id);
                *by_request.entry(blocker).or_default() += to - from;
            }
        }
        if by_request.is_empty() {
            continue;
        }
        held += by_request.values().sum::<i64>();
        for blocker in &found.blocked_by {
            all += blocker.ns;
            told += blocker
                .ns
                .min(by_request.get(&blocker.span).copied().unwrap_or(0));
        }
    }
    assert!(held > 10_000 * MILLISECOND, "{held}");
    assert!(100 * told >= 99 * held, "{told} of {held}");
    // Who is woken has the lock before it has a processor, and says so only then.
    assert!(100 * all <= 105 * held, "{all}, not {held}");
}

/// A path as `critical-path --span` gives it.
#[derive(Deserialize)]
struct FoundPath {
    trace_id: String,
    span_id: String,
    begin_ns: i64,
    end_ns: i64,
    segments: Vec<FoundSegment>,
    summary: HashMap<String, i64>,
}

#[derive(Deserialize)]
struct FoundSegment {
    host: Option<String>,
    recorded_begin_ns: Option<i64>,
    begin_ns: i64,
    end_ns: i64,
    blocked_by: Option<Span>,
}

#[test]
fn one_request_s_path_is_what_its_summary_sums_up() {
    let Some(folder) = unpacked("futex-contention/futex-contention.tar.zst") else {
        return;
    };
    let trace = folder.join("futex-contention");
    let slowest = slowpath_succeeds(&["requests", "--json", "--slowest", "5"], &trace);
    let document: Document = serde_json::from_slice(&slowest.stdout).expect("the document");
    assert_eq!(document.requests.len(), 5);
    for found in document.requests {
        let command = ["critical-path", "--json", "--span", &found.span_id];
        let printed = slowpath_succeeds(&command, &trace);
        let path: FoundPath = serde_json::from_slice(&printed.stdout).expect("the path");
        assert_eq!(
            (&path.trace_id, &path.span_id),
            (&found.trace_id, &found.span_id)
        );
        assert_eq!((path.begin_ns, path.end_ns), (found.begin_ns, found.end_ns));
        assert_eq!(path.summary, found.summary);
        let mut cursor = path.begin_ns;
        for segment in &path.segments {
            assert_eq!(segment.begin_ns, cursor);
            cursor = segment.end_ns;
        }
        assert_eq!(cursor, path.end_ns);
        let others: HashSet<&Span> = (path.segments.iter())
            .filter_map(|segment| segment.blocked_by.as_ref())
            .collect();
        assert_eq!(others, found.blockers().collect());
        // For people it is told in the line of the time in which a thread worked for another.
        let printed = slowpath_succeeds(&["critical-path", "--span", &found.span_id], &trace);
        let text = String::from_utf8_lossy(&printed.stdout).into_owned();
        let (time_line, _) = text.split_once("\nSummary").expect("the summary");
        for other in others {
            let told = format!("for request {}", other.span_id);
            assert!(time_line.contains(&told), "{told} in {text}");
        }
    }
    let unknown = slowpath(&["critical-path", "--span", "1"], &trace);
    assert_eq!(unknown.status, Some(2));
    assert!(unknown.stderr.contains("hint:"), "{}", unknown.stderr);
}

/// What the README of two-hosts says: so far the client's wall clock is ahead, to a millisecond.
const CLIENT_AHEAD: f64 = 5855.696;

#[test]
fn hosts_whose_clocks_are_far_apart_are_told() {
    let Some(folder) = unpacked("two-hosts/two-hosts.tar.zst") else {
        return;
    };
    let printed = slowpath_succeeds(&["requests"], &folder.join("two-hosts"));
    let said = "the clock of client is ";
    let (_, rest) = printed
        .stderr
        .split_once(said)
        .expect("the clocks' difference");
    let seconds: f64 = (rest.split(' ').next())
        .and_then(|text| text.parse().ok())
        .expect("a number");
    assert!((seconds - CLIENT_AHEAD).abs() < 0.001, "{}", printed.stderr);
}

fn two_hosts() -> Option<PathBuf> {
    Some(unpacked("two-hosts/two-hosts.tar.zst")?.join("two-hosts"))
}

fn truths(record: &str) -> Option<Vec<Truth>> {
    let lines = fs::read_to_string(shared_traces()?.join(record)).expect("the record can be read");
    let requests = (lines.lines())
        .filter(|line| serde_json::from_str::<Line>(line).is_ok_and(|line| line.kind == "request"));
    let truths = requests.map(|line| serde_json::from_str(line).expect("a request of the record"));
    Some(truths.collect())
}

#[test]
fn a_client_s_wait_leads_into_the_server_s_thread_and_back() {
    let (Some(folder), Some(server)) = (two_hosts(), truths("two-hosts/ground-truth-server.jsonl"))
    else {
        return;
    };
    let serving: HashMap<String, &Truth> = (server.iter())
        .map(|truth| (truth.trace_id.clone(), truth))
        .collect();
    let printed = slowpath_succeeds(&["requests", "--json", "--jobs", "1"], &folder);
    let by_several = slowpath_succeeds(&["requests", "--json", "--jobs", "8"], &folder);
    assert_eq!(printed.stdout, by_several.stdout);
    let document: Document = serde_json::from_slice(&printed.stdout).expect("the document");
    let (mut asked, mut right) = (0, 0);
    for found in &document.requests {
        let sum = |states: &HashMap<String, i64>| states.values().sum::<i64>();
        assert_eq!(sum(&found.summary), found.duration_ns);
        assert_eq!(sum(&found.own_summary), found.duration_ns);
        let (Some(truth), Some(wait)) = (serving.get(&found.trace_id), found.waits.first()) else {
            continue;
        };
        if found.host.as_deref() != Some("client") {
            continue;
        }
        if wait.waker_host.is_none() {
            // The answer was on its way before the client slept.
            assert_eq!(wait.on, "NETWORK", "{}", found.span_id);
            continue;
        }
        asked += 1;
        let is_server_s = wait.waker_host.as_deref() == Some("server");
        right += usize::from(is_server_s && wait.waker_tid == Some(truth.tid));
    }
    println!("two-hosts: {right} of {asked} waits for an answer that was still to come");
    // Of 888; 9 clients did not sleep at all.
    assert!(asked > 850, "{asked}");
    assert_eq!(right, asked);
}

#[test]
fn packets_and_traces_agree_on_how_far_clocks_are_apart() {
    let Some(folder) = two_hosts() else {
        return;
    };
    let experiment = slowpath_session::open(&[folder], NonZeroUsize::MIN).expect("the traces open");
    let options = slowpath_engine::Options::default();
    let (recorded, _) = experiment.requests(&options).expect("nobody cancels");
    let requests: Vec<_> = recorded.hosts.iter().map(|host| &host.requests).collect();
    let [by_traces] = clock_offsets(&requests)[..] else {
        panic!("two hosts have one offset");
    };
    let [relation] = recorded.network.relations() else {
        panic!("two hosts have one relation");
    };
    let by_packets = ClockOffset::by_packets(relation).expect("packets went both ways");
    assert_eq!(by_packets.hosts, by_traces.hosts);
    // Packets tell more, and nothing else.
    let ((least, most), (from, to)) = (by_packets.ahead_ns, by_traces.ahead_ns);
    assert!(
        from <= least && least <= most && most <= to,
        "{by_packets:?} {by_traces:?}"
    );
    assert!(most - least < MILLISECOND / 2, "{by_packets:?}");
    assert!(relation.alignment.packets > 1800, "{relation:?}");
}

#[test]
fn a_request_s_path_over_two_hosts_covers_its_window() {
    let Some(folder) = two_hosts() else {
        return;
    };
    let printed = slowpath_succeeds(&["requests", "--json", "--slowest", "40"], &folder);
    let document: Document = serde_json::from_slice(&printed.stdout).expect("the document");
    let mut over_both = 0;
    for found in document.requests {
        let command = ["critical-path", "--json", "--span", &found.span_id];
        let printed = slowpath_succeeds(&command, &folder);
        let path: FoundPath = serde_json::from_slice(&printed.stdout).expect("the path");
        assert_eq!(path.summary, found.summary);
        let mut cursor = path.begin_ns;
        for segment in &path.segments {
            assert_eq!(segment.begin_ns, cursor);
            cursor = segment.end_ns;
            if let (Some(host), Some(begin)) = (&segment.host, segment.recorded_begin_ns) {
                let shift = begin - segment.begin_ns;
                match Some(host) == found.host.as_ref() {
                    true => assert_eq!(shift, 0),
                    false => {
                        let apart = shift.abs() as f64 / 1e9;
                        assert!((apart - CLIENT_AHEAD).abs() < 0.001, "{apart}");
                        over_both += 1;
                    }
                }
            }
        }
        assert_eq!(cursor, path.end_ns);
    }
    assert!(over_both > 40, "{over_both}");
}

#[test]
fn a_client_s_own_time_is_the_same_alone_and_its_path_has_what_servers_slept() {
    let Some(folder) = two_hosts() else {
        return;
    };
    let requests = |folder: &Path| -> Document {
        let printed = slowpath_succeeds(&["requests", "--json"], folder);
        serde_json::from_slice(&printed.stdout).expect("the document")
    };
    let alone = requests(&folder.join("client")).requests;
    let alone: HashMap<&str, &Found> = alone.iter().map(|of| (&*of.span_id, of)).collect();
    let both = requests(&folder).requests;
    let of_host = |host: &'static str| {
        both.iter()
            .filter(move |of| of.host.as_deref() == Some(host))
    };
    let slept = |found: &Found| found.summary.get("TIMER").copied().unwrap_or_default();
    let served: HashMap<&str, i64> = of_host("server")
        .map(|found| (&*found.trace_id, slept(found)))
        .collect();
    let (mut clients, mut on_paths, mut on_server) = (0, 0, 0);
    for found in of_host("client") {
        assert_eq!(found.own_summary, alone[&*found.span_id].own_summary);
        let of_server = served.get(&*found.trace_id).copied().unwrap_or_default();
        (clients, on_paths) = (clients + 1, on_paths + slept(found));
        on_server += of_server;
    }
    assert_eq!(clients, 888);
    // No more than the servers slept, and but for the clients whose answer came before they slept, as much.
    assert!(
        on_paths <= on_server && 100 * on_paths > 90 * on_server,
        "{on_paths} of {on_server}"
    );
}
