//! Properties on random requests over random schedules, of event loops too: a small simulation tells its events.
//!
//! Paths tile the request's window, sums add up, no thread is active for a request that it does not
//! serve, and nothing depends on workers, chunks or packets.

use proptest::prelude::*;
use slowpath_critical_path::{Link, LinkKind};
use slowpath_model::{Nanoseconds, TimeRange};

use crate::support::{Drawing, Found};

const THREADS: [&str; 4] = ["a", "b", "c", "d"];

/// One thing that happens on one of two processors; what does not fit does not happen.
#[derive(Clone, Copy, Debug)]
struct Step {
    cpu: usize,
    action: u8,
    choice: usize,
}

/// Two processors, four threads, spans of four traces in two processes; process P tells attachments.
#[derive(Default)]
struct Simulation {
    drawing: String,
    now: i64,
    running: [Option<usize>; 2],
    runnable: Vec<usize>,
    blocked: Vec<usize>,
    /// Waits for events.
    polls: [bool; 4],
    open: Vec<(usize, usize)>,
    spans: usize,
}

impl Simulation {
    fn run(steps: &[Step], tells_attachments: bool) -> String {
        let mut simulation = Self {
            runnable: vec![0, 1, 2, 3],
            drawing: "0 0 switch - -\n1 0 switch - -\n0 0 wake z\n".into(),
            ..Self::default()
        };
        for step in steps {
            simulation.step(*step, tells_attachments);
        }
        simulation.now += 10;
        simulation.tell(0, "call end");
        simulation.drawing
    }

    fn tell(&mut self, cpu: usize, what: &str) {
        self.drawing += &format!("{cpu} {} {what}\n", self.now);
    }

    fn step(
        &mut self,
        Step {
            cpu,
            action,
            choice,
        }: Step,
        tells_attachments: bool,
    ) {
        self.now += 1 + choice as i64 % 5;
        let thread = self.running[cpu];
        let name = |thread: Option<usize>| thread.map_or("-", |thread| THREADS[thread]);
        match (action, thread) {
            (0..=2, _) => {
                if thread.is_none() && self.runnable.is_empty() {
                    return;
                }
                let next = (!self.runnable.is_empty())
                    .then(|| self.runnable.remove(choice % self.runnable.len()));
                let state = match (action, thread) {
                    (0, Some(thread)) => {
                        self.runnable.push(thread);
                        'R'
                    }
                    (_, Some(thread)) => {
                        self.blocked.push(thread);
                        'S'
                    }
                    (_, None) => 'R',
                };
                let what = format!("switch {}:{state} {}", name(thread), name(next));
                self.tell(cpu, &what);
                self.running[cpu] = next;
                if next.is_some_and(|next| std::mem::take(&mut self.polls[next])) {
                    self.now += 1;
                    let came = [0, 1, 1, 1, 2][choice % 5];
                    self.tell(cpu, &format!("ret epoll_pwait {came}"));
                }
            }
            (10, Some(thread)) => {
                self.tell(cpu, "call epoll_pwait");
                self.polls[thread] = true;
                self.step(
                    Step {
                        cpu,
                        action: 1,
                        choice,
                    },
                    tells_attachments,
                );
            }
            (11, Some(_)) if !self.blocked.is_empty() => {
                let woken = self.blocked.remove(choice % self.blocked.len());
                let receiver = choice / 5 % 2;
                self.tell(cpu, "send");
                self.now += 1 + choice as i64 % 3;
                self.tell(receiver, "receive");
                self.tell(receiver, &format!("wake {}", THREADS[woken]));
                self.now += 1;
                self.tell(receiver, "received");
                self.runnable.push(woken);
            }
            (3 | 4, _) if !self.blocked.is_empty() => {
                let woken = self.blocked.remove(choice % self.blocked.len());
                self.tell(cpu, &format!("wake {}", THREADS[woken]));
                self.runnable.push(woken);
            }
            (5, Some(thread)) => {
                self.spans += 1;
                let span = (1 + choice % 4, self.spans);
                self.open.push(span);
                self.span(cpu, "start", thread, span);
            }
            (6, Some(thread)) if !self.open.is_empty() => {
                let span = self.open.remove(choice % self.open.len());
                self.span(cpu, "end", thread, span);
            }
            (7, Some(thread)) if tells_attachments && !self.open.is_empty() => {
                let span = self.open[choice % self.open.len()];
                self.span(cpu, "attach", thread, span);
            }
            (8, Some(thread)) if tells_attachments && !self.open.is_empty() => {
                let span = self.open[choice % self.open.len()];
                self.span(cpu, "detach", thread, span);
            }
            // The end of a span that began before the trace.
            (9, Some(thread)) => {
                self.spans += 1;
                self.span(cpu, "end", thread, (1 + choice % 4, self.spans));
            }
            _ => {}
        }
    }

    fn span(&mut self, cpu: usize, what: &str, thread: usize, (trace, span): (usize, usize)) {
        let what = format!("{what} {} {trace:x}.{span:x}", THREADS[thread]);
        self.tell(cpu, &what);
    }
}

/// Everything that can be asked, as text.
fn everything(found: &Found) -> String {
    let mut text = found.servings();
    for (id, _) in found.requests.ids() {
        let path = found.requests.path(Some(&found.lines), id);
        let summary = found.requests.summary(Some(&found.lines), id);
        text += &format!("{path:?}\n{summary:?}\n");
    }
    text
}

/// Paths tile windows, and sums add up.
pub fn adds_up(found: &Found) -> Result<(), TestCaseError> {
    let requests = &found.requests;
    for (id, request) in requests.ids() {
        let path = requests.path(Some(&found.lines), id);
        let mut cursor = request.window.begin;
        for segment in path.path.segments.iter() {
            prop_assert_eq!(segment.range.begin, cursor, "no gap, no overlap");
            prop_assert!(segment.range.end > cursor);
            cursor = segment.range.end;
        }
        prop_assert_eq!(cursor, request.window.end);
        prop_assert!(path.path.links.iter().is_sorted_by_key(|link| link.at));
        let segments: Vec<_> = path.path.segments.iter().collect();
        for two in segments
            .windows(2)
            .filter(|two| two[0].depth < two[1].depth)
        {
            let is_way_in =
                |link: Link| link.at == two[1].range.begin && link.kind == LinkKind::Wait;
            prop_assert!(path.path.links.iter().any(is_way_in), "{two:?}");
        }

        let summary = requests.summary(Some(&found.lines), id);
        prop_assert_eq!(summary.states.total(), request.window.length());
        prop_assert_eq!(summary.own.total(), request.window.length());
        let by_state: Nanoseconds = path.path.summary().values().copied().sum();
        prop_assert_eq!(by_state, request.window.length());
        for (state, length) in path.path.summary() {
            prop_assert_eq!(summary.states.of(state), length);
        }
        prop_assert_eq!(&summary.blocked_by, &path.blockers());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn requests_add_up(
        steps in prop::collection::vec(
            (0usize..2, 0u8..12, 0usize..1000)
                .prop_map(|(cpu, action, choice)| Step { cpu, action, choice }),
            1..250,
        ),
        tells_attachments: bool,
        seed: u64,
    ) {
        let drawing = Drawing::parse(&Simulation::run(&steps, tells_attachments));
        let found = drawing.find(1, u64::MAX);
        let requests = &found.requests;
        adds_up(&found)?;
        for (id, request) in requests.ids() {
            for (other, _) in &requests.summary(Some(&found.lines), id).blocked_by {
                prop_assert!(requests.get(other.request).key.trace != request.key.trace);
            }
            for serving in &request.servings {
                prop_assert!(!serving.range.is_empty() || request.window.is_empty());
            }
        }
        for &thread in found.lines.threads() {
            let mut cursor = found.lines.range().begin;
            for (when, id) in requests.active(thread, TimeRange::ALL) {
                prop_assert!(when.begin >= cursor && when.end > when.begin);
                cursor = when.end;
                let serves = requests.get(id).servings.iter().any(|serving| {
                    serving.thread == thread && serving.range.intersect(when) == when
                });
                prop_assert!(serves, "{:?} is active in {} but not served", requests.get(id), thread);
            }
        }

        let expected = everything(&found);
        for (jobs, chunk_bytes) in [(1, 1), (2, 100), (8, 1)] {
            let again = drawing.recut(seed).find(jobs, chunk_bytes);
            prop_assert_eq!(&everything(&again), &expected);
        }
    }
}
