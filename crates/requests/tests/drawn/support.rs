//! Drawings of requests: kernel events and span events in one short form, threads called by letters.
//!
//! One event per line: processor, time, what.
//!
//! ```text
//! 0 100 switch a:S b    a leaves processor 0 (S sleeps, D waits for a device, R could go on), b runs
//!                       there; - is the idle thread
//! 0 110 wake a          whoever runs on processor 0 wakes a
//! 0 110 waking a        it begins to, and is done at 0 112 wakeup a
//! 0 110 signal a        whoever runs on processor 0 sends a signal to a
//! 0 120 call futex      0 130 ret futex    0 140 timer    0 150 timerend
//! 0 120 call futex mutex     it waits for a mutex, the only one
//! 0 120 send            whoever runs on processor 0 sends a packet to this host itself
//! 1 140 receive         1 150 received     processor 1 receives it, interrupting whoever runs there, until 150
//! 0 150 dump a P x Q    the state dump tells that a is of process P, and that its namespace calls them x and Q
//! 0 160 start a 1.2     thread a starts span 2 of trace 1; likewise end, attach, detach
//! 0 160 start a 1.2 P   the same in process P; else all threads are of one process
//! 0 160 start ? 1.2     the event does not tell its thread
//! ```

use slowpath_critical_path::State;
use slowpath_drawn::DrawnTrace;
use slowpath_engine::Options;
use slowpath_kernel::timelines::Timelines;
use slowpath_model::ThreadId;
use slowpath_requests::{RequestId, Requests, span_events};

/// A drawing as its two traces.
pub struct Drawing {
    pub kernel: DrawnTrace,
    pub spans: DrawnTrace,
}

/// What was found out.
pub struct Found {
    pub lines: Timelines,
    pub requests: Requests,
}

pub fn tid(letter: &str) -> i32 {
    match letter {
        "-" => 0,
        letter => letter.bytes().next().map_or(0, i32::from),
    }
}

pub fn letter(thread: ThreadId) -> String {
    match u8::try_from(thread.0) {
        Ok(0) | Err(_) => "-".into(),
        Ok(byte) => char::from(byte).into(),
    }
}

impl Drawing {
    pub fn parse(text: &str) -> Self {
        let (mut kernel, mut spans) = (String::new(), String::from("-- domain user\n"));
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [cpu, at, what, ref rest @ ..] = words[..] else {
                panic!("no processor, time and event in {line:?}");
            };
            let argument = |n: usize| rest.get(n).copied().unwrap_or("");
            let event = match what {
                "start" | "end" | "attach" | "detach" => {
                    let event = span_event(what, rest);
                    spans += &format!("cpu{cpu} {at} {event}\n");
                    continue;
                }
                "switch" => {
                    let (prev, state) = argument(0).split_once(':').unwrap_or((argument(0), "R"));
                    let state = ["R", "S", "D"].iter().position(|known| *known == state);
                    let (state, next) = (state.expect("a state"), argument(1));
                    format!(
                        "sched_switch prev_comm={prev} prev_tid={} prev_state={state} next_comm={next} next_tid={}",
                        tid(prev),
                        tid(next)
                    )
                }
                "wake" => {
                    let who = format!("comm={} tid={} target_cpu=0", argument(0), tid(argument(0)));
                    kernel += &format!("cpu{cpu} {at} sched_waking {who}\n");
                    format!("sched_wakeup {who}")
                }
                "waking" | "wakeup" => {
                    let who = argument(0);
                    format!("sched_{what} comm={who} tid={} target_cpu=0", tid(who))
                }
                "signal" => {
                    let who = argument(0);
                    let pid = tid(who);
                    format!(
                        "signal_generate sig=10 errno=0 code=0 comm={who} pid={pid} group=0 result=0"
                    )
                }
                "dump" => {
                    let [a, p, x, q] = [0, 1, 2, 3].map(|n| tid(argument(n)));
                    let name = format!("{at} lttng_statedump_process");
                    kernel += &format!(
                        "cpu{cpu} {name}_state tid={a} pid={p} ppid=1 name={}\n\
                         cpu{cpu} {name}_pid_ns tid={a} vtid={x} vpid={q} vppid=0 ns_level=1\n",
                        argument(0)
                    );
                    format!(
                        "lttng_statedump_process_pid_ns tid={a} vtid={a} vpid={p} vppid=1 ns_level=0"
                    )
                }
                "call" if argument(1) == "mutex" => format!(
                    "syscall_entry_{} fd=1 uaddr=0x7f001228 utime=0 op=128 val=2",
                    argument(0)
                ),
                "call" => format!("syscall_entry_{} fd=1", argument(0)),
                "ret" => {
                    let returned = rest.get(1).copied().unwrap_or("0");
                    format!("syscall_exit_{} ret={returned}", argument(0))
                }
                // Events of the processor, from about then to the next one.
                "loses" => {
                    kernel += &format!("-- lost-packets 1 cpu{cpu}\n");
                    continue;
                }
                "send" => "net_dev_queue skbaddr=0x10 name=lo".into(),
                "receive" => {
                    kernel += &format!("cpu{cpu} {at} irq_softirq_entry vec=3\n");
                    "net_if_receive_skb skbaddr=0x10 name=lo".into()
                }
                "received" => "irq_softirq_exit vec=3".into(),
                "timer" => "timer_hrtimer_expire_entry hrtimer=0x1".into(),
                "timerend" => "timer_hrtimer_expire_exit hrtimer=0x1".into(),
                other => panic!("no event is called {other:?}"),
            };
            kernel += &format!("cpu{cpu} {at} {event}\n");
        }
        let parse = |text: &str| DrawnTrace::parse(text).expect("the drawing can be read");
        Self {
            kernel: parse(&kernel),
            spans: parse(&spans),
        }
    }

    /// The same with packets that begin elsewhere.
    pub fn recut(&self, seed: u64) -> Self {
        Self {
            kernel: self.kernel.recut_at_random(seed, 4),
            spans: self.spans.recut_at_random(seed ^ 1, 3),
        }
    }

    pub fn find(&self, jobs: usize, chunk_bytes: u64) -> Found {
        let options = Options {
            jobs: jobs.try_into().expect("there is a worker"),
            chunk_bytes: Some(chunk_bytes),
            ..Options::default()
        };
        let lines = Timelines::build(&self.kernel, &options).expect("nobody cancels");
        let lines = lines.state.expect("the drawing has kernel events");
        let events = span_events(&self.spans, &options).expect("nobody cancels");
        let requests = Requests::build(events.state.unwrap_or_default(), Some(&lines));
        Found { lines, requests }
    }
}

fn span_event(what: &str, words: &[&str]) -> String {
    let [thread, span, ref process @ ..] = words[..] else {
        panic!("no thread and span in {words:?}");
    };
    let (trace, span) = span.split_once('.').expect("TRACE.SPAN");
    let name = match what {
        "start" | "end" => format!("{what}_span"),
        _ => what.to_owned(),
    };
    let ids = format!("trace_id_high=0x0 trace_id_low=0x{trace} span_id=0x{span}");
    let process = process.first().map_or(1, |process| tid(process));
    match thread {
        "?" => format!("slowpath_span:{name} {ids} @vpid={process}"),
        thread => format!(
            "slowpath_span:{name} {ids} @vpid={process} @vtid={}",
            tid(thread)
        ),
    }
}

impl Found {
    /// The request that is a span, for instance `1.2`.
    pub fn id(&self, span: &str) -> RequestId {
        let (id, _) = (self.requests.ids())
            .find(|(_, request)| {
                let key = request.key;
                format!("{:x}.{:x}", key.trace.low, key.span.0) == span
            })
            .expect("the span is a request");
        id
    }

    /// For instance `1.2 100..300: a 100..150, b 160..300 (Attach, NoEnd)`.
    pub fn servings(&self) -> String {
        let mut text = String::new();
        for (_, request) in self.requests.ids() {
            let key = request.key;
            let servings = request.servings.iter().map(|serving| {
                let (begin, end) = (serving.range.begin.ns(), serving.range.end.ns());
                format!(" {} {begin}..{end}", letter(serving.thread))
            });
            let servings: Vec<String> = servings.collect();
            text += &format!(
                "{:x}.{:x} {}..{}:{} ({:?}, {:?})\n",
                key.trace.low,
                key.span.0,
                request.window.begin.ns(),
                request.window.end.ns(),
                servings.join(","),
                request.placed_by,
                request.shown
            );
        }
        text
    }

    /// A line per segment, indented by depth: `100..300 a RUNNING for 1.3`.
    pub fn path(&self, span: &str) -> String {
        let path = self.requests.path(Some(&self.lines), self.id(span));
        let mut text = String::new();
        for (segment, other) in path.path.segments.iter().zip(&path.blocked_by) {
            let (begin, end) = (segment.range.begin.ns(), segment.range.end.ns());
            let indent = "  ".repeat(segment.depth as usize);
            let (who, state) = (letter(segment.thread), segment.state.name());
            text += &format!("{indent}{begin}..{end} {who} {state}");
            if let Some(other) = other {
                let key = self.requests.get(other.request).key;
                text += &format!(" for {:x}.{:x}", key.trace.low, key.span.0);
            }
            text.push('\n');
        }
        text
    }

    /// For instance `RUNNING 10, TIMER 90`.
    pub fn summary(&self, span: &str) -> String {
        let summary = self.requests.summary(Some(&self.lines), self.id(span));
        let states = State::ALL.iter().filter_map(|&state| {
            let length = summary.states.of(state).get();
            (length > 0).then(|| format!("{} {length}", state.name()))
        });
        states.collect::<Vec<_>>().join(", ")
    }
}

/// Compares texts line by line, but for what the lines after the first are all indented by in the test.
pub fn assert_shows(found: &str, expected: &str) {
    let mut lines = expected.lines();
    let first = lines.next().unwrap_or_default();
    let rest: Vec<&str> = lines.collect();
    let indent = (rest.iter())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    let rest = rest.iter().map(|line| &line[indent..]);
    let expected: Vec<&str> = [first].into_iter().chain(rest).collect();
    assert_eq!(found.trim_end(), expected.join("\n"));
}
