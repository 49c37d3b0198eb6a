//! Connections over TLS in the hands of several threads, asked in every way that must not matter.

use slowpath_concepts::StoreOperation;
use slowpath_model::TimeRange;

use crate::tests::ask;
use crate::{Finding, StoreReport};

/// The main thread is 7, I/O threads are 8 and 9; `lines` are like `7 free_client fd=132 client_id=5`, one each µs.
fn told(lines: &str) -> StoreReport {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let events: String = (lines.zip(1..))
        .map(|(line, at)| {
            let (thread, event) = line.split_once(' ').expect("a thread");
            let cpu = thread == "8";
            format!(
                "cpu{} {}000 slowpath_redis:{event} @vpid=7 @vtid={thread}\n",
                u8::from(cpu),
                at
            )
        })
        .collect();
    let first = "7 start_read_client_query fd=132 client_id=5"
        .split_once(' ')
        .expect("it")
        .1;
    let text = format!("-- domain user\ncpu0 1 slowpath_redis:{first} @vpid=7 @vtid=7\n{events}");
    ask(&text, TimeRange::ALL)
}

fn kinds(report: &StoreReport) -> Vec<&'static str> {
    let kind = |finding: &Finding| match finding {
        Finding::ConnectionReadBySeveralThreads(_) => "read by several threads",
        Finding::DoubleFree(_) => "double free",
        Finding::AppendOnlyFileInThePath(_) => "append-only file",
        _ => "other",
    };
    report.findings.iter().map(kind).collect()
}

/// As I/O threads read a value that comes in parts: postponed by the main thread, read by another one.
const HEALTHY: &str = "
    7 before_sleep_end
    7 read_postponed fd=132 client_id=5
    8 ssl_read fd=132 asked=16384 got=8192 pending=101
    7 before_sleep_end
    7 read_postponed fd=132 client_id=5
    9 ssl_read fd=132 asked=8192 got=101 pending=0
    7 before_sleep_end
    7 ssl_read fd=132 asked=8192 got=18 pending=0
    7 before_sleep_end";

/// The use case of the paper, its Figures 11 to 15: four reads by the main thread, the last of which frees the client, and
/// a fifth by an I/O thread.
const FREED_TWICE: &str = "
    7 before_sleep_end
    7 ssl_read fd=132 asked=8192 got=8192 pending=119
    7 before_sleep_end
    7 ssl_read fd=132 asked=8192 got=101 pending=18
    7 before_sleep_end
    7 ssl_read fd=132 asked=8192 got=18 pending=0
    7 before_sleep_end
    7 ssl_read fd=132 asked=16384 got=-1 pending=0
    7 free_client fd=132 client_id=5
    7 delete_file_event fd=132 mask=3
    8 ssl_read fd=132 asked=16384 got=-1 pending=0
    8 free_client fd=132 client_id=5
    7 before_sleep_end";

#[test]
fn a_connection_that_threads_hand_over_is_shown_and_no_finding() {
    let report = told(HEALTHY);
    assert_eq!(kinds(&report), [""; 0]);
    let [row] = &report.touched[..] else {
        panic!("one server: {:?}", report.touched);
    };
    assert_eq!((row.cycles, row.connections), (2, 1));
    let worst = &row.worst;
    assert_eq!((worst.fd, worst.client.0, worst.threads), (132, 5, 2));
    let touches: Vec<_> = worst
        .touches
        .iter()
        .map(|touch| (touch.tid.map(|tid| tid.0), touch.operation))
        .collect();
    let read = StoreOperation::TlsRead {
        asked: 16384,
        got: 8192,
        pending: 101,
    };
    assert_eq!(
        touches,
        [(Some(7), StoreOperation::ReadPostponed), (Some(8), read)]
    );
}

#[test]
fn a_client_that_is_freed_twice_is_told_with_all_that_was_done_to_it() {
    let report = told(FREED_TWICE);
    assert_eq!(kinds(&report), ["double free", "read by several threads"]);
    let Finding::DoubleFree(freed) = &report.findings[0] else {
        panic!("a double free");
    };
    assert_eq!((freed.fd, freed.client.client.0, freed.count), (132, 5, 1));
    let frees = (freed.touches.iter()).filter(|touch| touch.operation == StoreOperation::Freed);
    let threads: Vec<_> = frees.map(|touch| touch.tid.map(|tid| tid.0)).collect();
    assert_eq!(threads, [Some(7), Some(8)]);
    let got = |touch: &crate::Touch| match touch.operation {
        StoreOperation::TlsRead { got, .. } => Some((touch.tid.map_or(0, |tid| tid.0), got)),
        _ => None,
    };
    let reads: Vec<_> = freed.touches.iter().filter_map(got).collect();
    assert_eq!(reads, [(7, 8192), (7, 101), (7, 18), (7, -1), (8, -1)]);
}

#[test]
fn the_second_time_may_come_in_a_later_cycle() {
    let text = FREED_TWICE.replace("    8 ssl_read", "    7 before_sleep_end\n    8 ssl_read");
    let report = told(&text);
    assert_eq!(kinds(&report), ["double free"]);
    let Finding::DoubleFree(freed) = &report.findings[0] else {
        panic!("a double free");
    };
    assert_eq!(freed.touches.len(), 8, "{freed:?}");
}

#[test]
fn a_client_whose_first_free_was_put_off_was_freed_once() {
    let text = FREED_TWICE.replace("7 delete_file_event fd=132 mask=3\n", "");
    assert_eq!(kinds(&told(&text)), ["read by several threads"]);
}

#[test]
fn the_next_client_with_a_descriptor_is_another_one() {
    let text = FREED_TWICE.replace(
        "8 free_client fd=132 client_id=5",
        "7 free_client fd=132 client_id=6",
    );
    let text = text.replace("8 ssl_read", "7 ssl_read");
    assert_eq!(kinds(&told(&text)), [""; 0]);
}
