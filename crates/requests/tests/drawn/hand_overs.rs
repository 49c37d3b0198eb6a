//! Requests that go from thread to thread while another thread waits for them.

use crate::joining::joined;
use crate::properties::adds_up;
use crate::support::{Drawing, Found, assert_shows, letter};

/// Thread a has b and c do parts of its request, one after the other, and waits. Thread t gives c other work meanwhile.
const HOPS: &str = "
    0   0 switch - a
    0   1 dump a a a a
    0   2 dump b a b a
    0   3 dump c a c a
    1   0 switch - b
    1   5 call futex
    1  10 switch b:S -
    2   0 switch - c
    2   5 call futex
    2  10 switch c:S -
    3   0 switch - t
    0 100 start a 1.1
    0 101 attach a 1.1
    0 105 wake b
    0 110 call futex
    0 115 switch a:S -
    1 120 switch - b
    1 121 ret futex
    1 125 attach b 1.1
    3 150 wake c
    2 155 switch - c
    2 156 ret futex
    2 157 call futex
    2 158 switch c:S -
    1 200 wake c
    1 205 detach b 1.1
    1 205 call futex
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

/// Thread a waits for c, which gives b a part of its request, works on, and waits for b.
const FORK: &str = "
    0   0 switch - a
    1   0 switch - b
    1   5 call futex
    1  10 switch b:S -
    2   0 switch - c
    2   5 call futex
    2  10 switch c:S -
    0 100 start a 1.1
    0 101 attach a 1.1
    0 105 wake c
    0 110 call futex
    0 115 switch a:S -
    2 120 switch - c
    2 121 ret futex
    2 122 attach c 1.1
    2 220 wake b
    1 222 switch - b
    1 223 ret futex
    1 225 attach b 1.1
    2 237 detach c 1.1
    2 238 call futex
    2 239 switch c:S -
    1 300 wake c
    1 305 detach b 1.1
    1 305 call futex
    1 310 switch b:S -
    2 315 switch - c
    2 316 ret futex
    2 320 attach c 1.1
    2 350 wake a
    2 355 detach c 1.1
    2 360 switch c:S -
    0 362 switch - a
    0 365 ret futex
    0 400 detach a 1.1
    0 400 end a 1.1
    0 500 switch a:S -";

/// What c does from when t woke it until b does.
const WAITS_AGAIN: &str = "2 157 call futex\n    2 158 switch c:S -";
/// That t wakes c, and c waits again.
const DISTURBED: &str = "3 150 wake c\n    2 155 switch - c\n    2 156 ret futex\n    2 157 call futex\n    2 158 switch c:S -\n";

/// The drawing with another part, which must be there.
fn with(drawing: &str, part: &str, other: &str) -> String {
    assert!(drawing.contains(part), "{part}");
    drawing.replace(part, other)
}

fn meanwhile(what: &str) -> String {
    path(&with(HOPS, WAITS_AGAIN, what))
}

fn path(drawing: &str) -> String {
    path_of(&Drawing::parse(drawing).find(1, u64::MAX))
}

fn path_of(found: &Found) -> String {
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

/// Whoever takes a request up may wait again before it says that it works for it: for a lock that all share, and whoever gave
/// it the request may have said already that it works for it no more.
#[test]
fn a_lock_that_all_share_comes_between() {
    let later = "2 217 call futex\n 2 218 switch c:S -\n 2 230 switch - c\n 2 231 ret futex\n 2 235 attach c 1.1";
    let shared = with(HOPS, "2 220 attach c 1.1", later);
    let by = |cpu: u32| {
        let wakes = format!("{cpu} 225 wake c\n 1 226 switch b:S -");
        path(&with(&shared, "1 210 switch b:S -", &wakes))
    };
    assert_shows(
        &by(1),
        "100..115 a RUNNING
           115..120 b WAIT_CPU
           120..200 b RUNNING
           200..215 c WAIT_CPU
           215..218 c RUNNING
             218..225 b RUNNING
           225..230 c WAIT_CPU
           230..250 c RUNNING
         250..262 a WAIT_CPU
         262..300 a RUNNING
         115 wait a b
         200 wake-up b c
         218 wait c b
         225 wake-up b c
         250 wake-up c a",
    );
    // Another part of the request may have the lock, beside the one that gave it on.
    let beside = with(
        &shared,
        "3 150 wake c",
        "3 150 wake c\n 3 203 attach t 1.1\n 3 225 wake c",
    );
    assert_shows(
        &path(&with(&beside, "1 210 switch b:S -", "1 226 switch b:S -")),
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
    // One that does not work for it says nothing of when it was given.
    let by_another = by(3);
    assert!(
        by_another.contains("    115..150 t RUNNING\n"),
        "{by_another}"
    );
}

/// Who has the lock may have been given its part of the request while the lock was waited for.
#[test]
fn hand_overs_lie_within_each_other() {
    let nested = with(
        HOPS,
        "3   0 switch - t",
        "3 0 switch - t\n 3 5 call futex\n 3 10 switch t:S -\n 4 0 switch - d\n 4 200 attach d 1.1",
    );
    let nested = with(&nested, DISTURBED, "");
    let nested = with(
        &nested,
        "2 220 attach c 1.1",
        "2 217 call futex\n 2 218 switch c:S -\n 4 220 wake t\n 4 221 detach d 1.1\n 3 222 switch - t\n 3 222 ret futex\n \
         3 223 attach t 1.1\n 3 225 wake c\n 3 226 detach t 1.1\n 2 230 switch - c\n 2 231 ret futex\n 2 235 attach c 1.1",
    );
    assert_shows(
        &path(&with(
            &nested,
            "3 400 switch t:S -",
            "4 400 switch d:S -\n 3 400 switch t:S -",
        )),
        "100..115 a RUNNING
           115..120 b WAIT_CPU
           120..200 b RUNNING
           200..215 c WAIT_CPU
           215..218 c RUNNING
             218..220 d RUNNING
             220..222 t WAIT_CPU
             222..225 t RUNNING
           225..230 c WAIT_CPU
           230..250 c RUNNING
         250..262 a WAIT_CPU
         262..300 a RUNNING
         115 wait a b
         200 wake-up b c
         218 wait c d
         220 wake-up d t
         225 wake-up t c
         250 wake-up c a",
    );
}

/// It may have waited for it from before the request did.
#[test]
fn the_way_into_a_wait_is_told_where_nothing_else_was_done_in_it() {
    let idle = with(HOPS, DISTURBED, "");
    let told = path(&idle);
    assert!(told.contains("\n  120..200 b RUNNING\n"), "{told}");
    assert!(told.contains("\n115 wait a b\n"), "{told}");
}

/// It may be busy when it is given the request, which lies in a queue then: nobody is woken, and nothing tells since when.
#[test]
fn what_lies_in_a_queue_waits_for_the_other_work_of_its_thread() {
    let serves = "3 150 start t 2.1\n 2 160 attach c 2.1\n 2 214 detach c 2.1\n 3 214 end t 2.1";
    let busy = with(HOPS, WAITS_AGAIN, serves);
    let busy = with(&busy, "1 200 wake c\n", "");
    let told = path(&with(&busy, "2 215 switch - c\n    2 216 ret futex\n", ""));
    assert!(told.contains("160..214 c RUNNING for 2.1\n"), "{told}");
    assert!(!told.contains(" b RUNNING"), "{told}");
}

/// Who wakes a thread may give up a lock: where that had other things to do before, nothing says what it was given.
#[test]
fn a_lock_is_no_hand_over_to_a_thread_that_was_busy() {
    let locked = with(HOPS, WAITS_AGAIN, "2 190 call futex\n 2 192 switch c:S -");
    let told = path(&locked);
    assert!(told.contains("155..192 c RUNNING\n"), "{told}");
}

#[test]
fn a_thread_that_waited_for_other_things_was_not_idle() {
    let waits = |call: &str, waker: &str| {
        meanwhile(&format!(
            "2 157 call {call}\n 2 158 switch c:S -\n {waker}\n 2 175 switch - c\n 2 176 ret {call}\n \
             2 177 call futex\n 2 178 switch c:S -"
        ))
    };
    let another = "3 170 wake c";
    let timer = "2 170 timer\n 2 171 wake c\n 2 172 timerend";
    assert!(!waits("futex", another).contains(" t RUNNING\n"));
    for (call, waker) in [("read", another), ("futex", timer)] {
        let told = waits(call, waker);
        assert!(told.contains("115..150 t RUNNING\n"), "{call}: {told}");
    }
}

#[test]
fn a_request_that_came_first_was_taken_up_first() {
    let serves = |beginner: &str, begin: u32| {
        let cpu = if beginner == "t" { 3 } else { 2 };
        let start = format!("{cpu} {begin} start {beginner} 2.1\n");
        let serves =
            "2 157 attach c 2.1\n 2 170 detach c 2.1\n 2 171 call futex\n 2 172 switch c:S -";
        match begin {
            90 => path(
                &HOPS
                    .replace("3 150 wake c", &(start + "3 150 wake c"))
                    .replace(WAITS_AGAIN, serves),
            ),
            _ => meanwhile(&(start + serves)),
        }
    };
    assert!(!serves("t", 157).contains(" t RUNNING"));
    // One that began before the wait, and one that the thread began itself: it may have been in the queue before.
    for told in [serves("t", 90), serves("c", 157)] {
        assert!(told.contains("115..150 t RUNNING"), "{told}");
    }
}

/// Who runs for long before it works for the request did not take that up only.
#[test]
fn what_is_taken_up_late_was_not_given_by_who_woke_the_thread() {
    let (before, after) = HOPS.split_at(HOPS.find("2 220 attach").expect("the drawing has it"));
    let late = |length: &str| {
        let after = after.lines().map(|line| {
            let (cpu, event) = line.trim().split_once(' ').expect("a processor");
            format!("{cpu} {length}{event}\n")
        });
        path(&(before.to_owned() + &after.collect::<String>()))
    };
    assert!(late("").contains("  120..200 b RUNNING\n"));
    assert!(late("900").contains("  120..200 b RUNNING\n"));
    assert!(!late("1001").contains("  120..200 b RUNNING\n"));
}

#[test]
fn a_thread_may_have_it_twice() {
    let twice = with(
        HOPS,
        "2 250 wake a\n",
        "3 225 wake b\n 1 230 switch - b\n 1 230 ret futex\n 1 231 call futex\n 1 231 switch b:S -\n 2 250 wake b\n",
    );
    let twice = with(
        &twice,
        "0 262 switch - a",
        "1 262 switch - b\n 1 263 ret futex\n 1 264 attach b 1.1\n 1 270 wake a\n 1 271 detach b 1.1\n 1 272 switch b:S -\n 0 275 switch - a",
    );
    let twice = with(&twice, "0 265 ret futex", "0 276 ret futex");
    let twice = with(&twice, "1 210 switch b:S -", "1 206 switch b:S -");
    assert_shows(
        &path(&twice),
        "100..115 a RUNNING
           115..120 b WAIT_CPU
           120..200 b RUNNING
           200..215 c WAIT_CPU
           215..250 c RUNNING
           250..262 b WAIT_CPU
           262..270 b RUNNING
         270..275 a WAIT_CPU
         275..300 a RUNNING
         115 wait a b
         200 wake-up b c
         250 wake-up c b
         270 wake-up b a",
    );
}

/// Callbacks leave the request and take it up again, one after the other, and other requests' in between.
#[test]
fn a_thread_takes_it_up_several_times_in_a_row() {
    let given = path(HOPS);
    let again = path(&with(
        HOPS,
        "2 250 wake a",
        "2 230 detach c 1.1\n 2 240 attach c 1.1\n 2 250 wake a",
    ));
    assert_eq!(again, given);
    let others = "2 240 detach c 1.1\n 2 242 start c 2.1\n 2 243 attach c 2.1\n 2 245 detach c 2.1\n 2 245 end c 2.1";
    let others = with(
        HOPS,
        "2 250 wake a\n    2 255 detach c 1.1",
        &format!("{others}\n 2 250 wake a"),
    );
    let told = path(&others);
    assert!(told.contains("  120..200 b RUNNING\n"), "{told}");
    assert!(told.contains("  243..245 c RUNNING for 2.1\n"), "{told}");
}

/// So does one that gives it on; where that waited in between, nobody gave it the request for the later time.
#[test]
fn who_gives_it_on_took_it_up_several_times() {
    let by_d = with(
        HOPS,
        "0 105 wake b",
        "4 0 switch - d\n 4 3 call futex\n 4 4 switch d:S -\n 0 105 wake d\n 4 110 switch - d\n 4 111 ret futex\n 4 112 attach d 1.1\n \
         4 118 wake b\n 4 119 detach d 1.1\n 4 119 switch d:S -",
    );
    let given = path(&by_d);
    assert!(given.contains("\n  115..118 d RUNNING\n"), "{given}");
    let again = |between: &str| {
        let again = format!("1 130 detach b 1.1\n {between} 1 145 attach b 1.1\n 1 200 wake c");
        path(&with(&by_d, "1 200 wake c", &again))
    };
    assert_eq!(again(""), given);
    let told = again(
        "1 131 call futex\n 1 132 switch b:S -\n 5 135 wake b\n 1 136 switch - b\n 1 137 ret futex\n",
    );
    assert!(!told.contains("\n  115..118 d RUNNING\n"), "{told}");
}

/// Who gave a part of it on works on for it, and waits for that part later.
#[test]
fn a_thread_that_gives_a_part_on_works_on() {
    let told = path(FORK);
    assert_shows(
        &told,
        "100..115 a RUNNING
           115..120 c WAIT_CPU
           120..220 c RUNNING
           220..222 b WAIT_CPU
           222..300 b RUNNING
           300..315 c WAIT_CPU
           315..350 c RUNNING
         350..362 a WAIT_CPU
         362..400 a RUNNING
         115 wait a c
         220 wake-up c b
         300 wake-up b c
         350 wake-up c a",
    );
    let again = "1 225 attach b 1.1\n 1 230 detach b 1.1\n 1 242 attach b 1.1";
    assert_eq!(path(&with(FORK, "1 225 attach b 1.1", again)), told);
    // That is so whatever both of them leave and take up again meanwhile: callbacks, and spans within.
    let by_c = "2 220 wake b\n 2 221 detach c 1.1\n 2 229 attach c 1.1";
    let by_c = with(FORK, "2 220 wake b", by_c);
    for later in ["228", "242"] {
        let again = format!("1 225 attach b 1.1\n 1 226 detach b 1.1\n 1 {later} attach b 1.1");
        assert_eq!(path(&with(&by_c, "1 225 attach b 1.1", &again)), told);
    }
    let within = |thread: &str, span: &str, [begin, end]: [u32; 2]| {
        let cpu = if thread == "b" { 1 } else { 2 };
        format!(
            "{cpu} {begin} start {thread} {span}\n {cpu} {begin} attach {thread} {span}\n {cpu} {end} detach {thread} {span}\n \
             {cpu} {end} end {thread} {span}\n"
        )
    };
    let by_c = within("c", "1.2", [232, 236]) + "2 237 detach c 1.1";
    let by_both = with(FORK, "2 237 detach c 1.1", &by_c);
    let by_b = "1 225 attach b 1.1\n".to_owned() + &within("b", "1.3", [230, 290]);
    let by_both = with(&by_both, "1 225 attach b 1.1", &by_b);
    let from_before = "2 107 switch - c\n 2 108 ret futex\n 2 112 attach c 1.1";
    let file = "1.1 100..400 s o\n1.2 232..236 s o parent=1\n1.3 230..290 s o parent=1";
    let takes_up = "2 120 switch - c\n    2 121 ret futex\n    2 122 attach c 1.1";
    for drawing in [&by_both, &with(&by_both, takes_up, from_before)] {
        let told = path_of(&joined(drawing, file).0);
        assert!(
            told.contains("..220 c RUNNING\n  220..222 b WAIT_CPU\n"),
            "{told}"
        );
        assert!(told.contains("\n220 wake-up c b\n"), "{told}");
    }
}

/// One that another thread gives a part while it has the request had the request first.
#[test]
fn a_part_that_comes_from_beside_is_no_reason_to_leave_the_time_before() {
    let beside = with(
        FORK,
        "2 220 wake b",
        "4 0 switch - d\n 4 200 attach d 1.1\n 4 220 wake b\n 4 221 detach d 1.1\n 4 230 switch d:S -",
    );
    let found = joined(&beside, "1.1 100..400 s o").0;
    adds_up(&found).expect("a sound path");
}

/// A thread is woken for what it waits for; that may come while it has not left its processor yet.
#[test]
fn a_thread_may_be_given_it_before_it_sleeps() {
    let early = "3 190 wake c\n 2 191 switch - c\n 2 191 ret futex\n 2 192 call futex\n 1 193 waking c\n 2 194 switch c:S -\n \
                 1 195 wakeup c\n";
    let early = with(HOPS, DISTURBED, early);
    let told = path(&with(&early, "1 200 wake c\n", ""));
    assert!(
        told.contains("  120..193 b RUNNING\n  193..194 c RUNNING\n  194..215 c WAIT_CPU\n"),
        "{told}"
    );
    assert!(told.contains("\n193 wake-up b c\n"), "{told}");
}

#[test]
fn a_signal_gives_nobody_a_request() {
    let signal = "1 170 wake c\n 1 170 signal c\n 2 172 switch - c\n 2 173 call futex\n 2 174 switch c:S -\n 1 200 wake c";
    let signal = with(&with(HOPS, DISTURBED, ""), "1 200 wake c", signal);
    assert_eq!(path(&signal), path(HOPS));
    // Nor does it hide who gave it that before.
    let locked = "2 216 ret futex\n 2 217 call futex\n 2 217 switch c:S -\n 3 218 wake c\n 3 218 signal c\n 2 219 switch - c\n\
                  2 219 ret futex\n 2 220 attach c 1.1";
    let locked = with(HOPS, "2 216 ret futex\n    2 220 attach c 1.1", locked);
    let told = path(&locked);
    assert!(told.contains("\n115 wait a b\n200 wake-up b c\n"), "{told}");
}

/// An event loop goes on with other things, and wakes its threads for these, too.
#[test]
fn who_waits_gives_it_to_nobody_meanwhile() {
    let drawing = "
        0   0 switch - a
        1   0 switch - x
        1   5 call futex
        1  10 switch x:S -
        0 100 start a 1.1
        0 101 attach a 1.1
        0 103 start a 1.2
        0 105 detach a 1.1
        0 110 wake x
        0 115 call epoll_wait
        0 120 switch a:S -
        1 122 switch - x
        1 123 ret futex
        1 125 attach x 1.2
        1 200 wake a
        1 205 detach x 1.2
        1 205 end x 1.2
        1 205 call futex
        1 210 switch x:S -
        0 202 switch - a
        0 203 ret epoll_wait 1
        0 205 attach a 1.1
        0 300 detach a 1.1
        0 300 end a 1.1
        0 400 switch a:S -";
    let file = "1.1 100..300 s o\n1.2 103..205 s o parent=1";
    let found = joined(drawing, file).0;
    adds_up(&found).expect("a sound path");
    let told = path_of(&found);
    assert!(told.contains("\n105 wait a x\n"), "{told}");
    assert!(!told.contains(" a a\n"), "{told}");
    // Nor does that hide who gave it.
    let by_y = with(
        drawing,
        "1 122 switch - x\n        1 123 ret futex\n        1 125 attach x 1.2",
        "1 112 switch - x\n 1 113 ret futex\n 1 117 call futex\n 1 118 switch x:S -\n 2 122 switch - y\n 2 123 ret futex\n \
         2 125 attach y 1.2\n 2 180 wake x\n 2 181 detach y 1.2\n 2 182 call futex\n 2 183 switch y:S -\n 1 185 switch - x\n \
         1 186 ret futex\n 1 188 attach x 1.2",
    );
    let by_y = with(
        &by_y,
        "0 105 detach a 1.1",
        "2 0 switch - y\n 2 5 call futex\n 2 10 switch y:S -\n 0 104 wake y\n 0 105 detach a 1.1",
    );
    let told = path_of(&joined(&by_y, file).0);
    assert!(told.contains("\n180 wake-up y x\n"), "{told}");
    // Nor where it had a lock for which that one waited before it took the request up.
    let locked = with(
        &by_y,
        "1 188 attach x 1.2",
        "1 187 call futex\n 1 188 switch x:S -\n 1 190 switch - x\n 1 191 ret futex\n 1 192 attach x 1.2",
    );
    let locked = with(
        &locked,
        "0 115 call epoll_wait\n        0 120 switch a:S -",
        "0 189 wake x\n 0 194 call epoll_wait\n 0 195 switch a:S -",
    );
    let told = path_of(&joined(&locked, file).0);
    assert!(told.contains("\n180 wake-up y x\n"), "{told}");
}

/// What another thread had in between was given back to it, though it did not wait meanwhile.
#[test]
fn a_thread_that_runs_on_may_have_given_it_away_in_between() {
    let c_gives_on = "2 130 wake b\n 2 132 detach c 1.1\n 2 133 call futex\n 2 134 switch c:S -";
    let drawing = with(
        FORK,
        "2 220 wake b",
        &format!("{c_gives_on}\n 2 155 switch - c\n 2 156 ret futex\n 2 157 attach c 1.1"),
    );
    let b_gives_back = "1 136 switch - b\n 1 137 ret futex\n 1 138 attach b 1.1\n 1 150 wake c\n 1 152 detach b 1.1\n 1 240 attach b 1.1";
    let b_takes_up = "1 222 switch - b\n    1 223 ret futex\n    1 225 attach b 1.1";
    let drawing = with(&drawing, b_takes_up, b_gives_back);
    for left in ["152", "158", "236"] {
        let told = path(&with(
            &drawing,
            "1 152 detach b",
            &format!("1 {left} detach b"),
        ));
        assert!(
            told.contains("  155..237 c RUNNING\n  237..300 b RUNNING\n"),
            "{told}"
        );
        assert!(
            told.contains("\n150 wake-up b c\n300 wake-up b c\n"),
            "{told}"
        );
    }
}

/// Where several have a mutex one after the other, each is waited for from when it has it.
#[test]
fn who_has_the_mutex_later_was_given_nothing_before() {
    let drawing = "
        0   0 switch - a
        0   1 dump a a a a
        0   2 dump b a b a
        0   3 dump c a c a
        0   4 dump h a h a
        1   0 switch - b
        2   0 switch - c
        2   5 call futex
        2  10 switch c:S -
        3   0 switch - h
        0 100 start a 1.1
        0 101 attach a 1.1
        1 102 attach b 1.1
        3 103 attach h 1.1
        0 105 call futex mutex
        0 110 switch a:S -
        1 150 wake c
        2 155 switch - c
        2 156 ret futex
        2 157 call futex mutex
        2 160 switch c:S -
        1 170 detach b 1.1
        1 175 switch b:S -
        3 200 wake c
        2 205 switch - c
        2 206 ret futex
        3 206 detach h 1.1
        3 207 switch h:S -
        2 210 attach c 1.1
        2 250 wake a
        2 255 detach c 1.1
        2 260 switch c:S -
        0 262 switch - a
        0 265 ret futex
        0 300 detach a 1.1
        0 300 end a 1.1
        0 400 switch a:S -";
    let told = path(drawing);
    assert_shows(
        &told,
        "100..110 a RUNNING
           110..200 h RUNNING
           200..205 c WAIT_CPU
           205..250 c RUNNING
         250..262 a WAIT_CPU
         262..300 a RUNNING
         110 wait a h
         200 release h a
         200 wait a c
         250 wake-up c a",
    );
    // It may be given the request while it is waited for.
    let given = with(
        drawing,
        "3   0 switch - h",
        "3 0 switch - h\n 3 5 call futex\n 3 10 switch h:S -\n 4 0 switch - g\n 4 5 dump g a g a",
    );
    let given = with(
        &given,
        "3 103 attach h 1.1",
        "4 103 attach g 1.1\n 4 130 wake h\n 4 131 detach g 1.1\n 4 131 switch g:S -\n 3 132 switch - h\n 3 133 ret futex\n \
         3 135 attach h 1.1",
    );
    let told = path(&given);
    assert!(told.contains("\n  110..130 g RUNNING\n"), "{told}");
    assert!(told.contains("\n110 wait a g\n"), "{told}");
}

/// What it did for the request before may have been a look at a lock, for which it waited all the time.
#[test]
fn a_path_that_is_not_in_the_thread_before_does_not_leave_it() {
    let looked = "2 130 timer\n 2 131 wake c\n 2 132 timerend\n 2 133 switch - c\n 2 134 ret futex\n 2 135 attach c 1.1\n \
                  2 137 detach c 1.1\n 2 138 call futex\n 2 139 switch c:S -\n";
    let told = path(&with(HOPS, DISTURBED, looked));
    assert!(told.contains("    120..200 b RUNNING\n"), "{told}");
}

/// The path of a part of the request takes the place of what its thread did since another one gave it the request, wherever
/// the part is then.
#[test]
fn a_part_goes_on_from_where_its_thread_was_given_the_request() {
    let served = with(HOPS, "2 220 attach c 1.1", "2 220 attach c 1.2");
    let served = with(&served, "0 105 wake b", "0 102 start a 1.2\n 0 105 wake b");
    let served = with(
        &served,
        "2 255 detach c 1.1",
        "2 255 detach c 1.2\n 0 255 end a 1.2",
    );
    let with_part = |drawing: &str| {
        let found = joined(drawing, "1.1 100..300 s o\n1.2 102..255 s o parent=1").0;
        adds_up(&found).expect("a sound path");
        path_of(&found)
    };
    let beside = |events: &str| {
        with_part(&with(
            &served,
            "3 150 wake c",
            &format!("{events}\n 3 150 wake c"),
        ))
    };
    let given = with_part(&served);
    assert!(
        given.contains("\n  120..200 b RUNNING\n  200..215 c WAIT_CPU\n"),
        "{given}"
    );
    assert!(given.contains("\n200 wake-up b c\n"), "{given}");
    let by_b = with(&served, "1 125 attach b 1.1", "1 125 attach b 1.2");
    let given = with_part(&with(&by_b, "1 205 detach b 1.1", "1 205 detach b 1.2"));
    assert!(
        given.contains("\n  120..205 b RUNNING\n  205..215 c WAIT_CPU\n"),
        "{given}"
    );
    assert!(given.contains("\n200 wake-up b c\n"), "{given}");
    let given =
        beside("4 0 switch - d\n 4 140 attach d 1.2\n 4 160 detach d 1.2\n 4 165 switch d:S -");
    assert!(given.contains("\n200 wake-up b c\n"), "{given}");
    assert_shows(
        &beside("4 0 switch - d\n 4 197 attach d 1.2\n 4 217 detach d 1.2\n 4 218 switch d:S -"),
        "100..115 a RUNNING
           115..120 b WAIT_CPU
           120..200 b RUNNING
           200..217 d RUNNING
           217..250 c RUNNING
         250..262 a WAIT_CPU
         262..300 a RUNNING
         115 wait a b
         250 wake-up c a",
    );
    assert_shows(
        &beside(
            "5 0 switch - e\n 4 0 switch - d\n 4 160 attach d 1.2\n 4 170 call futex\n 4 175 switch d:S -\n 5 210 wake d\n \
             4 212 switch - d\n 4 213 ret futex\n 4 217 detach d 1.2\n 4 218 switch d:S -",
        ),
        "100..115 a RUNNING
           115..120 b WAIT_CPU
           120..200 b RUNNING
             200..210 e RUNNING
           210..212 d WAIT_CPU
           212..217 d RUNNING
           217..250 c RUNNING
         250..262 a WAIT_CPU
         262..300 a RUNNING
         115 wait a b
         200 wait c e
         210 wake-up e d
         250 wake-up c a",
    );
}

/// A thread that lost its processor says late that it works for a request no more.
#[test]
fn who_ends_a_request_has_it_until_then() {
    let late = |left_by_c: &str, left_by_a: &str, end: &str| {
        let late = with(HOPS, "2 255 detach c", &format!("2 {left_by_c} detach c"));
        let late = with(&late, "2 260 switch c:S -", "2 320 switch c:S -");
        let late = with(&late, "0 300 detach a", &format!("0 {left_by_a} detach a"));
        path(&with(&late, "0 300 end a", &format!("0 {end} end a")))
    };
    let told = late("302", "300", "303");
    assert!(told.contains("\n262..303 a RUNNING\n"), "{told}");
    assert!(told.contains("  120..200 b RUNNING\n"), "{told}");
    // One that serves it for longer than they both do, or later than a fiftieth of it or a millisecond, has it.
    for told in [
        late("302", "260", "303"),
        late("310", "300", "315"),
        late("310", "300", "1300001"),
    ] {
        assert!(told.contains("\n220..3"), "{told}");
        assert!(told.contains(" c RUNNING\n3"), "{told}");
    }
}
