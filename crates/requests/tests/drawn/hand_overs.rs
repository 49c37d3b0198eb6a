//! Requests that go from thread to thread while another thread waits for them.

use crate::support::{Drawing, assert_shows, letter};

/// Thread a has b and c do parts of its request, one after the other, and waits. Thread t gives c other work meanwhile.
const HOPS: &str = "
    0   0 switch - a
    0   1 dump a a a a
    0   2 dump b a b a
    0   3 dump c a c a
    1   0 switch - b
    1  10 switch b:S -
    2   0 switch - c
    2  10 switch c:S -
    3   0 switch - t
    0 100 start a 1.1
    0 101 attach a 1.1
    0 105 wake b
    0 110 call futex
    0 115 switch a:S -
    1 120 switch - b
    1 125 attach b 1.1
    3 150 wake c
    2 155 switch - c
    2 160 call futex
    2 165 switch c:S -
    1 200 wake c
    1 205 detach b 1.1
    1 210 switch b:S -
    2 215 switch - c
    2 216 ret futex
    2 220 attach c 1.1
    2 250 wake a
    2 255 detach c 1.1
    2 260 switch c:S -
    0 262 switch - a
    0 265 ret futex
    0 300 detach a 1.1
    0 300 end a 1.1
    3 400 switch t:S -
    0 400 switch a:S -";

fn path(drawing: &str) -> String {
    let found = Drawing::parse(drawing).find(1, u64::MAX);
    let path = found.requests.path(Some(&found.lines), found.id("1.1"));
    let links = path.path.links.iter().map(|link| {
        let [from, to] = [link.from, link.to].map(letter);
        format!("{} {} {from} {to}\n", link.at.ns(), link.kind.name())
    });
    found.path("1.1") + &links.collect::<String>()
}

#[test]
fn the_path_goes_through_all_threads_that_had_it() {
    assert_shows(
        &path(HOPS),
        "100..115 a RUNNING
           115..120 b WAIT_CPU
           120..200 b RUNNING
           200..215 c WAIT_CPU
           215..250 c RUNNING
         250..262 a WAIT_CPU
         262..300 a RUNNING
         115 wait a b
         200 wake-up b c
         250 wake-up c a",
    );
}

/// Whoever takes a request up may wait again before it says that it works for it.
#[test]
fn a_lock_that_all_share_comes_between() {
    let shared = HOPS.replace(
        "2 220 attach c 1.1",
        "2 217 call futex\n 2 218 switch c:S -\n 3 225 wake c\n 2 230 switch - c\n 2 231 ret futex\n 2 235 attach c 1.1",
    );
    assert_shows(
        &path(&shared),
        "100..115 a RUNNING
           115..120 b WAIT_CPU
           120..200 b RUNNING
           200..215 c WAIT_CPU
           215..218 c RUNNING
             218..225 t RUNNING
           225..230 c WAIT_CPU
           230..250 c RUNNING
         250..262 a WAIT_CPU
         262..300 a RUNNING
         115 wait a b
         200 wake-up b c
         218 wait c t
         225 wake-up t c
         250 wake-up c a",
    );
}

/// It may be busy when it is given the request: then the request lies in a queue.
#[test]
fn a_queue_is_left_when_its_thread_has_done_its_other_work() {
    let busy = HOPS.replace(
        "2 160 call futex\n    2 165 switch c:S -",
        "2 160 start c 2.1\n 2 160 attach c 2.1\n 2 214 detach c 2.1\n 2 214 end c 2.1",
    );
    let busy = busy.replace("1 200 wake c\n", "");
    let busy = busy.replace("2 215 switch - c\n    2 216 ret futex\n", "");
    let by_queue = "100..115 a RUNNING
           115..120 b WAIT_CPU
           120..205 b RUNNING
           205..214 c RUNNING for 2.1
           214..250 c RUNNING
         250..262 a WAIT_CPU
         262..300 a RUNNING
         115 wait a b
         250 wake-up c a";
    assert_shows(&path(&busy), by_queue);
    // That of another process has queues of its own.
    let other = busy.replace("dump c a c a", "dump c c c c");
    assert!(
        path(&other).contains("  160..214 c RUNNING for 2.1"),
        "{}",
        path(&other)
    );
}

/// A thread that lost its processor says late that it works for a request no more.
#[test]
fn who_ends_a_request_has_it_until_then() {
    let late = HOPS.replace("2 255 detach c 1.1", "2 310 detach c 1.1");
    let late = late.replace("2 260 switch c:S -", "2 320 switch c:S -");
    let late = late.replace("0 300 end a 1.1", "0 315 end a 1.1");
    let told = path(&late);
    assert!(told.contains("262..315 a RUNNING\n"), "{told}");
    assert!(told.contains("  120..200 b RUNNING\n"), "{told}");
}
