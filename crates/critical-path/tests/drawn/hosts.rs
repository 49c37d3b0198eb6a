//! Paths that lead to another host: clients and servers drawn on two time lines, the server's clock
//! ahead by a second, with any number of workers and cuts of packets.

use slowpath_critical_path::{CriticalPath, Graph, Host, Hosts, State, critical_path_among};
use slowpath_drawn::DrawnTrace;
use slowpath_engine::Options;
use slowpath_kernel::network::Network;
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{HostId, Nanoseconds, ThreadId, TimeRange};

use crate::support::{Tracer, range, shown, tid, trace};

/// The server's clock is ahead by so much.
const AHEAD: i64 = 1_000_000_000;

/// Client c asks (segment 1) and waits from 110; server s works, sleeps and answers (2).
const CLIENT: &str = "
    0    0 switch - c
    0  100 send c.s 1
    0  105 call read
    0  110 switch c:S -
    0  900 softirq 3
    0  910 arrive s.c 2
    0  915 wake c
    0  920 softirqend 3
    0  930 switch - c
    0 1000 ret read";
const SERVER: &str = "
    0 1000000010 switch - s
    0 1000000020 call read
    0 1000000030 switch s:S -
    0 1000000200 softirq 3
    0 1000000210 arrive c.s 1
    0 1000000215 wake s
    0 1000000220 softirqend 3
    0 1000000230 switch - s
    0 1000000300 call nanosleep
    0 1000000310 switch s:S -
    0 1000000600 timer
    0 1000000605 wake s
    0 1000000610 timerend
    0 1000000620 switch - s
    0 1000000700 send s.c 2
    0 1000000800 switch s:S -";

/// Several hosts, each built from its drawing.
struct Experiment {
    lines: Vec<Timelines>,
    network: Network,
}

impl Experiment {
    fn of(drawings: &[&str]) -> Self {
        let traces = drawings.iter().map(|drawing| trace(drawing, Tracer::Lttng));
        Self::built(&traces.collect::<Vec<_>>(), 1, 1)
    }

    fn built(traces: &[DrawnTrace], jobs: usize, chunk_bytes: u64) -> Self {
        let options = Options {
            jobs: jobs.try_into().expect("there is a worker"),
            chunk_bytes: Some(chunk_bytes),
            ..Options::default()
        };
        let lines = traces.iter().map(|trace| {
            let outcome = Timelines::build_among_hosts(trace, &options).expect("nobody cancels");
            outcome.state.expect("the drawing has events")
        });
        let lines: Vec<Timelines> = lines.collect();
        let network = Network::of(&lines.iter().map(Some).collect::<Vec<_>>());
        Self { lines, network }
    }

    fn path(&self, host: u32, letter: &str, window: TimeRange) -> CriticalPath {
        let hosts = self.lines.iter().zip(["client", "server", "third"]);
        let hosts = hosts.map(|(lines, name)| Host {
            name,
            lines: Some(lines),
        });
        let hosts = Hosts::new(hosts.collect(), Some(&self.network));
        critical_path_among(&hosts, HostId(host), ThreadId(tid(letter)), window)
    }
}

/// By the packets the server is ahead by 1,000,000,110 at most and by 999,999,790 at least: its times
/// are read as those of the middle.
const READ_AS: i64 = AHEAD - 50;

const THROUGH_THE_SERVER: &str = "
0..110 c RUNNING
  110..265 s NETWORK (in read)
  265..280 s WAIT_CPU
  280..360 s RUNNING
  360..655 s TIMER (in nanosleep, timer)
  655..670 s WAIT_CPU
  670..750 s RUNNING
750..915 c NETWORK (in read)
915..930 c WAIT_CPU
930..1000 c RUNNING";

const ON_ITS_OWN: &str = "
0..110 c RUNNING
110..915 c NETWORK (in read)
915..930 c WAIT_CPU
930..1000 c RUNNING";

#[track_caller]
fn assert_shows(path: &CriticalPath, expected: &str) {
    assert_eq!(shown(path).trim(), expected.trim());
    let sum: Nanoseconds = path.summary().values().copied().sum();
    assert_eq!(sum, path.window.length());
}

/// Checks the client's path over 0 to 1000.
#[track_caller]
fn check(drawings: &[&str], expected: &str) {
    assert_shows(
        &Experiment::of(drawings).path(0, "c", range(0, 1000)),
        expected,
    );
}

#[test]
fn a_wait_for_an_answer_leads_into_the_server_and_back() {
    check(&[CLIENT, SERVER], THROUGH_THE_SERVER);
    check(&[CLIENT], ON_ITS_OWN);
}

#[test]
fn times_of_the_other_host_are_corrected_and_the_recorded_ones_kept() {
    let path = Experiment::of(&[CLIENT, SERVER]).path(0, "c", range(0, 1000));
    for segment in path.segments.iter() {
        let shift = match segment.host {
            HostId(0) => 0,
            _ => READ_AS,
        };
        let (begin, end) = (segment.range.begin.ns(), segment.range.end.ns());
        assert_eq!(segment.recorded, range(begin + shift, end + shift));
    }
    let [correction] = &*path.corrections else {
        panic!("{:?}", path.corrections);
    };
    assert_eq!(
        (&*correction.host, correction.ahead_ns),
        ("server", READ_AS)
    );
    assert_eq!(correction.uncertainty, Some(Nanoseconds(160)));
    let text = path.to_string();
    let row = "~360 ns        295 ns  TIMER           s (115) on server: in nanosleep, timer";
    assert!(text.contains(row), "{text}");
    assert!(
        text.contains("~ on server: corrected, its clock is 1000.000 ms ahead (± 160 ns)"),
        "{text}"
    );
    let packet = "s (115) on server has sent a packet to c (99) on client in read";
    assert!(text.contains(packet), "{text}");
    let json = serde_json::to_value(&path).expect("a document");
    assert_eq!(json["segments"][1]["host"], "server");
    assert_eq!(json["segments"][1]["recorded_begin_ns"], 110 + READ_AS);
    assert_eq!(json["corrections"][0]["ahead_ns"], READ_AS);
}

#[test]
fn a_path_that_stays_on_its_host_says_nothing_of_hosts() {
    let path = Experiment::of(&[CLIENT, SERVER]).path(0, "c", range(0, 100));
    let json = serde_json::to_value(&path).expect("a document");
    assert_eq!(
        (json.get("corrections"), json["segments"][0].get("host")),
        (None, None)
    );
}

#[test]
fn threads_with_the_same_number_on_both_hosts_are_two() {
    let server = SERVER
        .replace("- s", "- c")
        .replace("s:S", "c:S")
        .replace("wake s", "wake c");
    check(
        &[CLIENT, &server],
        &THROUGH_THE_SERVER.replace(" s ", " c "),
    );
}

#[test]
fn copies_of_a_segment_lead_to_who_wrote_it() {
    // The client's request is sent again, and a bridge hands it on at the server.
    let again = CLIENT.replace("0  900 softirq", "1 150 send c.s 1\n0  900 softirq");
    let handed_on = SERVER.replace(
        "0 1000000215 wake s",
        "0 1000000212 arrive c.s 1\n0 1000000215 wake s",
    );
    check(&[&again, &handed_on], THROUGH_THE_SERVER);
}

#[test]
fn of_packets_received_together_each_wakes_who_uses_its_connection() {
    // The kernel has received one for d before it wakes c.
    let client = CLIENT.replace("0  915 wake c", "0  912 arrive x.d 9\n0  915 wake c");
    let server = SERVER.replace(
        "0 1000000700 send s.c 2",
        "0 1000000690 send x.d 9\n0 1000000700 send s.c 2",
    );
    check(&[&client, &server], THROUGH_THE_SERVER);
}

#[test]
fn what_a_host_sends_to_itself_is_no_other_host_s() {
    // Segment 2 comes from the client's own host, by a virtual device; the server saw none of it.
    let own = CLIENT.replace("0  900 softirq", "1 850 send s.c 2\n0  900 softirq");
    let silent = SERVER.replace("0 1000000700 send s.c 2\n", "");
    check(&[&own, &silent], ON_ITS_OWN);
}

#[test]
fn a_segment_that_no_thread_sent_is_the_network_s() {
    let in_softirq = SERVER.replace(
        "0 1000000700 send s.c 2",
        "0 1000000690 softirq 3\n0 1000000700 send s.c 2\n0 1000000710 softirqend 3",
    );
    check(&[CLIENT, &in_softirq], ON_ITS_OWN);
}

#[test]
fn a_server_that_asks_a_third_host_leads_there() {
    // The server waits from 310 to 605 for t, on a host whose clock is two seconds behind.
    let server = SERVER
        .replace(
            "0 1000000300 call nanosleep",
            "0 1000000300 send s.t 3\n0 1000000305 call read",
        )
        .replace(
            "0 1000000600 timer",
            "0 1000000590 softirq 3\n0 1000000600 arrive t.s 4",
        )
        .replace("0 1000000610 timerend", "0 1000000610 softirqend 3");
    let third = "
        0 -1999999960 switch - t
        0 -1999999950 call read
        0 -1999999940 switch t:S -
        0 -1999999660 softirq 3
        0 -1999999650 arrive s.t 3
        0 -1999999645 wake t
        0 -1999999640 softirqend 3
        0 -1999999630 switch - t
        0 -1999999500 send t.s 4
        0 -1999999400 switch t:S -";
    let experiment = Experiment::of(&[CLIENT, &server, third]);
    let path = experiment.path(0, "c", range(0, 1000));
    // Between the server's clock and the third one 3,000,000,025 ns are taken for the middle: the third
    // host's times are read as 2,000,000,075 later by the client's.
    assert_shows(
        &path,
        "
0..110 c RUNNING
  110..265 s NETWORK (in read)
  265..280 s WAIT_CPU
  280..360 s RUNNING
    360..430 t NETWORK (in read)
    430..445 t WAIT_CPU
    445..575 t RUNNING
  575..655 s NETWORK (in read)
  655..670 s WAIT_CPU
  670..750 s RUNNING
750..915 c NETWORK (in read)
915..930 c WAIT_CPU
930..1000 c RUNNING",
    );
    assert_eq!(path.corrections.len(), 2);
}

#[test]
fn any_workers_and_cuts_give_the_same() {
    let traces = [CLIENT, SERVER].map(|drawing| trace(drawing, Tracer::Lttng));
    for seed in 0..20 {
        let cut = traces
            .each_ref()
            .map(|trace| trace.recut_at_random(seed, 1 + seed % 5));
        for jobs in [1, 8] {
            let path = Experiment::built(&cut, jobs, 1).path(0, "c", range(0, 1000));
            assert_shows(&path, THROUGH_THE_SERVER);
        }
    }
}

#[test]
fn a_state_on_another_host_is_one_node_of_the_merged_graph() {
    let experiment = Experiment::of(&[CLIENT, SERVER]);
    let paths = [range(0, 1000), range(100, 950)].map(|window| experiment.path(0, "c", window));
    let graph = Graph::merge(&paths);
    let of_server: Vec<_> = (graph.nodes().iter())
        .filter(|node| node.host == HostId(1))
        .map(|node| {
            (
                node.state,
                node.paths,
                node.waiting,
                node.host_name.as_deref(),
            )
        })
        .collect();
    let expected = [
        State::Network,
        State::WaitCpu,
        State::Running,
        State::Timer,
        State::WaitCpu,
        State::Running,
    ];
    assert_eq!(
        of_server,
        expected.map(|state| (state, 2, 2, Some("server")))
    );
}
