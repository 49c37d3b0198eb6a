//! Properties on random schedules: a small simulated kernel tells its events and knows the truth.
//!
//! Thread states must be exactly what the simulation did; paths must tile the window, and nothing
//! may depend on workers, chunks or packets.

use crate::support::{Tracer, path, range, tid, timelines, trace};
use proptest::prelude::*;
use slowpath_critical_path::State;
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{ThreadId, Timestamp};

const PROCESSORS: usize = 3;
const LETTERS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// What a simulated thread does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Doing {
    Running(usize),
    Runnable,
    Blocked,
}

/// A kernel with a few processors and threads; all threads begin runnable.
struct Kernel {
    now: i64,
    drawing: String,
    running: [Option<usize>; PROCESSORS],
    doing: [Doing; LETTERS.len()],
    interrupted: [bool; PROCESSORS],
    /// By thread: (from when, what).
    truth: Vec<Vec<(i64, Doing)>>,
}

impl Kernel {
    fn new() -> Self {
        Self {
            now: 0,
            drawing: (0..PROCESSORS)
                .map(|cpu| format!("{cpu} 0 switch - -\n"))
                // So that the trace is one that records wake-ups.
                .chain(["0 0 wake z\n".to_owned()])
                .collect(),
            running: [None; PROCESSORS],
            doing: [Doing::Runnable; LETTERS.len()],
            interrupted: [false; PROCESSORS],
            truth: vec![vec![(0, Doing::Runnable)]; LETTERS.len()],
        }
    }

    fn tell(&mut self, cpu: usize, what: &str) {
        self.drawing += &format!("{cpu} {} {what}\n", self.now);
    }

    fn change(&mut self, thread: usize, doing: Doing) {
        self.doing[thread] = doing;
        self.truth[thread].push((self.now, doing));
    }

    /// One thing happens, chosen by three numbers.
    fn step(&mut self, cpu: usize, action: u8, choice: usize) {
        self.now += 1 + choice as i64 % 7;
        let picked = |doing: &[Doing], wanted: Doing| {
            let fitting = (0..LETTERS.len()).filter(|&thread| doing[thread] == wanted);
            let fitting: Vec<usize> = fitting.collect();
            (!fitting.is_empty()).then(|| fitting[choice % fitting.len()])
        };
        match action {
            0..=4 if !self.interrupted[cpu] => {
                let (prev, next) = (self.running[cpu], picked(&self.doing, Doing::Runnable));
                if prev.is_none() && next.is_none() {
                    return;
                }
                let blocks = action < 3;
                let state = match (blocks, choice % 2) {
                    (false, _) => 'R',
                    (true, 0) => 'S',
                    (true, _) => 'D',
                };
                let name = |thread: Option<usize>| thread.map_or("-", |thread| LETTERS[thread]);
                let what = format!("switch {}:{state} {}", name(prev), name(next));
                let what = what.replace("-:S", "-:R").replace("-:D", "-:R");
                self.tell(cpu, &what);
                if let Some(prev) = prev {
                    let left = match blocks {
                        true => Doing::Blocked,
                        false => Doing::Runnable,
                    };
                    self.change(prev, left);
                }
                if let Some(next) = next {
                    self.change(next, Doing::Running(cpu));
                }
                self.running[cpu] = next;
            }
            5..=7 => {
                if let Some(thread) = picked(&self.doing, Doing::Blocked) {
                    self.tell(cpu, &format!("waking {}", LETTERS[thread]));
                    let elsewhere = choice % PROCESSORS;
                    self.tell(elsewhere, &format!("wakeup {}", LETTERS[thread]));
                    self.change(thread, Doing::Runnable);
                }
            }
            8 => {
                let ends = self.interrupted[cpu];
                self.tell(cpu, if ends { "irqend 9" } else { "irq 9 nvme0q1" });
                self.interrupted[cpu] = !ends;
            }
            _ => {}
        }
    }

    /// How long a thread was in some state between two times.
    fn time(&self, thread: usize, begin: i64, end: i64, wanted: impl Fn(Doing) -> bool) -> u64 {
        let changes = &self.truth[thread];
        let ends = changes[1..].iter().map(|(at, _)| *at).chain([i64::MAX]);
        (changes.iter().zip(ends))
            .filter(|((_, doing), _)| wanted(*doing))
            .map(|((from, _), to)| (to.min(end) - from.max(&begin)).max(0) as u64)
            .sum()
    }
}

/// Everything that can be asked, as text.
fn everything(lines: &Timelines, end: i64) -> String {
    let answers = LETTERS.map(|letter| {
        let window = range(end / 5, end);
        let states = lines.states(ThreadId(tid(letter)), window);
        let path = serde_json::to_string(&path(lines, letter, window));
        format!("{states:?} {}\n", path.expect("a path can be written"))
    });
    answers.concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn schedules_are_understood(
        steps in prop::collection::vec((0..PROCESSORS, 0u8..9, 0usize..1000), 1..300),
        cut in 0u64..1000,
        share in (0i64..60, 60i64..=100),
    ) {
        let mut kernel = Kernel::new();
        for (cpu, action, choice) in steps {
            kernel.step(cpu, action, choice);
        }
        kernel.now += 1;
        kernel.tell(0, "raise 3");
        let end = kernel.now;
        let drawn = trace(&kernel.drawing, Tracer::Lttng);
        let lines = timelines(&drawn, 1, u64::MAX);
        let (begin, until) = (end * share.0 / 100, end * share.1 / 100);
        let window = range(begin, until);

        for (number, letter) in LETTERS.into_iter().enumerate() {
            let thread = ThreadId(tid(letter));
            if lines.threads().contains(&thread) {
                let states = lines.states(thread, window);
                let truth = |wanted: fn(Doing) -> bool| kernel.time(number, begin, until, wanted);
                let running = truth(|doing| matches!(doing, Doing::Running(_)));
                prop_assert_eq!(states.running.get(), running, "{} ran", letter);
                prop_assert_eq!(states.runnable.get(), truth(|doing| doing == Doing::Runnable));
                prop_assert_eq!(states.blocked.get(), truth(|doing| doing == Doing::Blocked));
            }

            let path = path(&lines, letter, window);
            let mut cursor = window.begin;
            for segment in path.segments.iter() {
                prop_assert_eq!(segment.range.begin, cursor, "no gap, no overlap");
                prop_assert!(segment.range.end > cursor);
                cursor = segment.range.end;
                let alone = (segment.range.begin.ns(), segment.range.end.ns());
                if let Some(who) = LETTERS.iter().position(|l| tid(l) == segment.thread.0) {
                    let wanted = |doing: Doing| match segment.state {
                        State::Running | State::Interrupted => matches!(doing, Doing::Running(_)),
                        State::Preempted | State::WaitCpu => doing == Doing::Runnable,
                        _ => doing == Doing::Blocked,
                    };
                    let true_for = kernel.time(who, alone.0, alone.1, wanted);
                    if lines.threads().contains(&segment.thread) {
                        prop_assert_eq!(true_for, segment.range.length().get(), "{:?}", segment);
                    }
                }
            }
            prop_assert_eq!(cursor, window.end.max(window.begin));
            let sum: u64 = path.summary().values().map(|length| length.get()).sum();
            prop_assert_eq!(sum, window.length().get());
            prop_assert!(path.links.iter().is_sorted_by_key(|link| link.at));
        }

        let expected = everything(&lines, end);
        for (jobs, chunk_bytes) in [(1, 1), (2, 100), (8, 1)] {
            let cut = drawn.recut_at_random(cut, 5);
            prop_assert_eq!(&everything(&timelines(&cut, jobs, chunk_bytes), end), &expected);
        }
    }
}

#[test]
fn lost_events_are_unknown_and_nothing_else_is() {
    let drawing = "
        0   0 switch - a
        1   0 switch - b
        0 100 switch a:S -
        1 150 wake c
        -- lost 3 cpu0
        0 300 wake b
        0 400 switch c:S a
        0 500 switch a:S -
        1 500 switch b:S -";
    let drawn = trace(drawing, Tracer::Lttng);
    for (jobs, chunk_bytes) in [(1, u64::MAX), (2, 1), (8, 1)] {
        let lines = timelines(&drawn, jobs, chunk_bytes);
        let states = |letter: &str| {
            let states = lines.states(ThreadId(tid(letter)), range(0, 500));
            [
                states.running,
                states.runnable,
                states.blocked,
                states.unknown,
            ]
            .map(|t| t.get())
        };
        // a blocked at 100, when the last event before the loss was told; it may have run until 300.
        assert_eq!(states("a"), [200, 100, 0, 200]);
        // b ran on the other processor all the time.
        assert_eq!(states("b"), [500, 0, 0, 0]);
        // c was woken while nobody knows what it did, and found running when events came again.
        assert_eq!(states("c"), [100, 0, 100, 300]);
    }
}

#[test]
fn outside_of_the_trace_nothing_is_known() {
    let lines = timelines(
        &trace("0 100 switch - a\n0 200 switch a:S -", Tracer::Lttng),
        1,
        1,
    );
    let states = lines.states(ThreadId(tid("a")), range(0, 1000));
    assert_eq!((states.running.get(), states.unknown.get()), (100, 900));
    let path = path(&lines, "a", range(i64::MIN, i64::MAX));
    assert_eq!(path.segments.len(), 3);
    assert_eq!(path.segments.get(2).unwrap().range.end, Timestamp::MAX);
    assert_eq!(
        lines.states(ThreadId(77), range(0, 50)).unknown.get(),
        50,
        "no such thread"
    );
}
