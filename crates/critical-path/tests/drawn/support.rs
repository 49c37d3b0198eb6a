//! Drawings for tests of time lines: a short form of kernel events with threads called by letters.
//!
//! One event per line: processor, time, what.
//!
//! ```text
//! 0 100 switch a:S b       a leaves processor 0 (S sleeps, D waits for a device, R could go on,
//!                          X is gone), b runs there; - is the idle thread, k is ksoftirqd/0
//! 0 110 waking a           0 120 wakeup a        0 120 wake a (both)    0 130 new c   0 130 fork c
//! 0 140 irq 5 name / irqend 5         softirq 3 / softirqend 3     timer / timerend
//! 0 150 raise 3            queue 0x1 lo    loop 0x1 lo    receive 0x1 lo
//! 0 155 send a.b 7         arrive a.b 7   (a TCP segment from host a to host b by its number)
//! 0 160 call futex 0x10    (at this word; without one, the trace does not tell; `untimed`: without a time-out;
//!                          `mutex`: for a mutex, without a time-out; `timed-mutex`: with one)
//! 0 160 call futex         ret futex        interrupted futex     signal a (to thread a)     signal a process (of a)
//! -- lost 3 cpu0           as in slowpath-drawn
//! ```
//!
//! Threads a to t are of one process, F is of another one, u to z are of none that is known.

use slowpath_critical_path::{CriticalPath, critical_path};
use slowpath_drawn::DrawnTrace;
use slowpath_engine::Options;
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{ProcessId, ThreadId, TimeRange, Timestamp};

/// Whose event names the drawing is told in.
#[derive(Clone, Copy, Debug)]
pub enum Tracer {
    Lttng,
    Ftrace,
}

/// The drawing as a trace.
pub fn trace(drawing: &str, tracer: Tracer) -> DrawnTrace {
    let lines: Vec<String> = drawing
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .flat_map(|line| match line.starts_with("--") {
            true => vec![line.to_owned()],
            false => events(line, tracer),
        })
        .collect();
    DrawnTrace::parse(&lines.join("\n")).expect("the drawing can be read")
}

/// The id of a thread called by a letter.
pub fn tid(letter: &str) -> i32 {
    match letter {
        "-" => 0,
        letter => letter.bytes().next().map_or(0, i32::from),
    }
}

fn comm(letter: &str) -> &str {
    match letter {
        "-" => "swapper/0",
        "k" => "ksoftirqd/0",
        letter => letter,
    }
}

fn events(line: &str, tracer: Tracer) -> Vec<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [cpu, at, what, ref rest @ ..] = words[..] else {
        panic!("no processor, time and event in {line:?}");
    };
    let argument = |n: usize| rest.get(n).copied().unwrap_or("");
    let (id, timer, net) = match tracer {
        Tracer::Lttng => (
            "tid",
            "timer_hrtimer_expire",
            ["net_dev_queue", "net_if_rx", "net_if_receive_skb"],
        ),
        Tracer::Ftrace => (
            "pid",
            "hrtimer_expire",
            ["net_dev_queue", "netif_rx", "netif_receive_skb"],
        ),
    };
    let softirq = match tracer {
        Tracer::Lttng => "irq_softirq",
        Tracer::Ftrace => "softirq",
    };
    let wake = |name: &str, letter: &str| {
        format!(
            "{name} comm={} {id}={} target_cpu=0",
            comm(letter),
            tid(letter)
        )
    };
    let packet = |name: &str| format!("{name} skbaddr={} name={}", argument(0), argument(1));
    let told = match what {
        "switch" => {
            let (prev, state) = argument(0).split_once(':').unwrap_or((argument(0), "R"));
            let state = match state {
                "R" => 0,
                "S" => 1,
                "D" => 2,
                "T" => 4,
                _ => 16,
            };
            let next = argument(1);
            vec![format!(
                "sched_switch prev_comm={} prev_{id}={} prev_state={state} next_comm={} next_{id}={}",
                comm(prev),
                tid(prev),
                comm(next),
                tid(next)
            )]
        }
        "waking" => vec![wake("sched_waking", argument(0))],
        "wakeup" => vec![wake("sched_wakeup", argument(0))],
        "wake" => vec![
            wake("sched_waking", argument(0)),
            wake("sched_wakeup", argument(0)),
        ],
        "new" => vec![wake("sched_wakeup_new", argument(0))],
        "fork" => vec![format!(
            "sched_process_fork parent_{id}=1 child_{id}={} child_comm={}",
            tid(argument(0)),
            comm(argument(0))
        )],
        "irq" => vec![format!(
            "irq_handler_entry irq={} name={}",
            argument(0),
            argument(1)
        )],
        "irqend" => vec![format!("irq_handler_exit irq={} ret=1", argument(0))],
        "raise" => vec![format!("{softirq}_raise vec={}", argument(0))],
        "softirq" => vec![format!("{softirq}_entry vec={}", argument(0))],
        "softirqend" => vec![format!("{softirq}_exit vec={}", argument(0))],
        "timer" => vec![format!("{timer}_entry hrtimer=0x1")],
        "timerend" => vec![format!("{timer}_exit hrtimer=0x1")],
        "queue" => vec![packet(net[0])],
        "loop" => vec![packet(net[1])],
        "receive" => vec![packet(net[2])],
        "call" => {
            let mut event = match tracer {
                Tracer::Lttng => format!("syscall_entry_{} fd=1", argument(0)),
                Tracer::Ftrace => format!("sys_enter_{} __syscall_nr=0", argument(0)),
            };
            if !argument(1).is_empty() {
                event += &format!(" uaddr={}", argument(1));
            }
            event += match argument(2) {
                "untimed" => " utime=0",
                "mutex" => " utime=0 op=128 val=2",
                "timed-mutex" => " utime=1 op=393 val=2",
                _ => "",
            };
            vec![event]
        }
        "ret" => vec![match tracer {
            Tracer::Lttng => format!("syscall_exit_{} ret=0", argument(0)),
            Tracer::Ftrace => format!("sys_exit_{} __syscall_nr=0 ret=0", argument(0)),
        }],
        "interrupted" => vec![match tracer {
            Tracer::Lttng => format!("syscall_exit_{} ret=-512", argument(0)),
            Tracer::Ftrace => format!("sys_exit_{} __syscall_nr=0 ret=-512", argument(0)),
        }],
        "signal" => vec![format!(
            "signal_generate sig=14 comm={} pid={} group={} result=0",
            comm(argument(0)),
            tid(argument(0)),
            u8::from(argument(1) == "process")
        )],
        "send" => vec![segment("net_dev_queue", argument(0), argument(1))],
        "arrive" => vec![segment("net_if_receive_skb", argument(0), argument(1))],
        other => panic!("no event is called {other:?}"),
    };
    told.into_iter()
        .map(|event| format!("cpu{cpu} {at} {event}"))
        .collect()
}

/// A segment with its headers, as LTTng tells them.
fn segment(event: &str, hosts: &str, number: &str) -> String {
    let (from, to) = hosts.split_once('.').expect("FROM.TO");
    let tcp = "network_header.ipv4.transport_header.tcp";
    format!(
        "{event} skbaddr=0x{number}00 name=eth0 network_header.ipv4.saddr=hex:0a0000{:02x} \
         network_header.ipv4.daddr=hex:0a0000{:02x} {tcp}.source_port=0x{:x} {tcp}.dest_port=0x{:x} \
         {tcp}.seq=0x{number} {tcp}.ack_seq=0x1 {tcp}.flags=0x18",
        tid(from),
        tid(to),
        tid(from),
        tid(to)
    )
}

pub fn range(begin: i64, end: i64) -> TimeRange {
    TimeRange::new(Timestamp::from_ns(begin), Timestamp::from_ns(end))
}

/// All time lines, by `jobs` workers in chunks of `chunk_bytes`.
pub fn timelines(trace: &DrawnTrace, jobs: usize, chunk_bytes: u64) -> Timelines {
    let options = Options {
        jobs: jobs.try_into().expect("there is a worker"),
        chunk_bytes: Some(chunk_bytes),
        ..Options::default()
    };
    let outcome = Timelines::build(trace, &options).expect("nobody cancels");
    let mut lines = outcome.state.expect("the drawing has events");
    let of_process = (b'a'..=b't').map(|letter| (ThreadId(letter.into()), ProcessId(97)));
    let of_another = (ThreadId(b'F'.into()), ProcessId(b'F'.into()));
    lines.add_saved(
        &[],
        &of_process.chain([of_another]).collect::<Vec<_>>(),
        &[],
        &[],
    );
    lines
}

/// The path of a thread called by a letter.
pub fn path(lines: &Timelines, letter: &str, window: TimeRange) -> CriticalPath {
    critical_path(lines, ThreadId(tid(letter)), window)
}

/// The path with a line per segment, indented by depth: `0..100 a RUNNING (detail)`.
pub fn shown(path: &CriticalPath) -> String {
    let mut text = String::new();
    for segment in path.segments.iter() {
        let indent = "  ".repeat(segment.depth as usize);
        let (begin, end) = (segment.range.begin.ns(), segment.range.end.ns());
        let who = match &*segment.comm {
            "" => segment.thread.to_string(),
            comm => comm.to_owned(),
        };
        text += &format!("{indent}{begin}..{end} {who} {}", segment.state.name());
        if !segment.detail.is_empty() {
            text += &format!(" ({})", segment.detail);
        }
        text.push('\n');
    }
    text
}

/// The critical path of `thread` from `begin` to `end` is `expected`, of LTTng's trace and of ftrace's, with several
/// numbers of workers and cuts of packets.
pub fn check(drawing: &str, thread: &str, (begin, end): (i64, i64), expected: &str) {
    /// How far the expectations below are indented by the source.
    const MARGIN: &str = "         ";
    let lines = expected
        .lines()
        .map(|line| line.strip_prefix(MARGIN).unwrap_or(line));
    let expected: String = lines.map(|line| format!("{line}\n")).collect();
    for tracer in [Tracer::Lttng, Tracer::Ftrace] {
        let drawn = trace(drawing, tracer);
        for (cut, drawn) in [
            drawn.recut_at_random(1, 2),
            drawn.recut_at_random(2, 3),
            drawn.clone(),
        ]
        .iter()
        .enumerate()
        {
            for (jobs, chunk_bytes) in [(1, u64::MAX), (1, 1), (2, 60), (8, 1)] {
                let lines = timelines(drawn, jobs, chunk_bytes);
                let path = path(&lines, thread, range(begin, end));
                assert_eq!(
                    shown(&path),
                    expected,
                    "{tracer:?}, cut {cut}, {jobs} workers, chunks of {chunk_bytes} bytes"
                );
            }
        }
    }
}

/// b runs, and a waits in `call` until a timer of its own or a timer's signal ends that.
pub fn awoken_by_a_timer(call: &str) -> String {
    format!(
        "1   0 switch - b
         0   0 switch - a
         0 100 call {call}
         0 110 switch a:S -
         0 198 timer
         0 199 wake a
         0 200 timerend
         0 202 switch - a
"
    )
}
