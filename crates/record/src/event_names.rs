//! Which kernel events are recorded: presets, names and globs, resolved against what a kernel has.
//!
//! Names are ftrace's, `system:event`; `lttng.rs` translates them.

use crate::error::RecordError;

/// A preset's name, what it is for, and its patterns. A kernel may lack some.
pub const PRESETS: &[(&str, &str, &[&str])] = &[
    (
        "sched",
        "who runs, who waits, who wakes whom; processes coming and going",
        SCHED,
    ),
    ("syscalls", "system calls and signals", SYSCALLS),
    (
        "irq",
        "interrupts, softirqs, messages between processors",
        IRQ,
    ),
    ("timer", "timers that are set and fire", TIMER),
    (
        "io",
        "requests to disks, and the system calls that move bytes",
        IO,
    ),
    (
        "net",
        "packets on their way through the host, and sockets",
        NET,
    ),
];

/// All presets together, without [`NOT_BY_DEFAULT`].
const DEFAULT: &str = "default";

/// Left to those who ask for the preset or the event: no analysis reads them beside the others, and a
/// busy service fires hundreds with each request (`slowpath-benches overhead`).
const NOT_BY_DEFAULT: &[&str] = &[
    // Tells who sent what is received where packets are not recorded.
    "irq:softirq_raise",
    "timer:hrtimer_start",
    "timer:timer_expire_entry",
    "timer:timer_expire_exit",
    "net:net_dev_xmit",
    "sock:inet_sock_set_state",
    "sock:sk_data_ready",
];

const SCHED: &[&str] = &[
    "sched:sched_switch",
    "sched:sched_waking",
    "sched:sched_wakeup",
    "sched:sched_wakeup_new",
    "sched:sched_migrate_task",
    "sched:sched_process_fork",
    "sched:sched_process_exec",
    "sched:sched_process_exit",
    "sched:sched_process_free",
    "power:cpu_idle",
];

const SYSCALLS: &[&str] = &[
    "raw_syscalls:sys_enter",
    "raw_syscalls:sys_exit",
    "signal:signal_generate",
    "signal:signal_deliver",
];

const IRQ: &[&str] = &[
    "irq:irq_handler_entry",
    "irq:irq_handler_exit",
    "irq:softirq_raise",
    "irq:softirq_entry",
    "irq:softirq_exit",
    "irq_vectors:local_timer_*",
    "irq_vectors:reschedule_*",
    "irq_vectors:call_function_*",
    "irq_vectors:irq_work_*",
    // Where processors have no vectors of their own (arm64).
    "ipi:ipi_entry",
    "ipi:ipi_exit",
];

const TIMER: &[&str] = &[
    "timer:hrtimer_start",
    "timer:hrtimer_expire_entry",
    "timer:hrtimer_expire_exit",
    "timer:timer_expire_entry",
    "timer:timer_expire_exit",
];

const IO: &[&str] = &[
    "raw_syscalls:sys_enter",
    "raw_syscalls:sys_exit",
    "block:block_rq_insert",
    "block:block_rq_issue",
    "block:block_rq_complete",
    "io_uring:io_uring_submit_req",
    "io_uring:io_uring_submit_sqe",
    "io_uring:io_uring_file_get",
    "io_uring:io_uring_complete",
];

/// A packet is followed by its address (`skbaddr`) from the sender's queue to the receiver's
/// softirq, a socket (`skaddr`) from its ports to the wake-up of its reader.
const NET: &[&str] = &[
    "net:net_dev_queue",
    "net:net_dev_xmit",
    "net:netif_rx",
    "net:netif_receive_skb",
    "sock:inet_sock_set_state",
    "sock:sk_data_ready",
];

/// The names of the presets, `default` first.
pub(crate) fn preset_names() -> Vec<&'static str> {
    std::iter::once(DEFAULT)
        .chain(PRESETS.iter().map(|(name, ..)| *name))
        .collect()
}

/// The events of `available` (one `system:event` a line, as in `available_events`) that `wanted`
/// asks for, in their order of request, each once. Empty `wanted` means the default.
///
/// # Errors
/// When a pattern of the user's matches no event. What a preset names and this kernel lacks is left
/// out.
pub(crate) fn resolve(available: &str, wanted: &[String]) -> Result<Vec<String>, RecordError> {
    let default = [DEFAULT.to_owned()];
    let wanted = if wanted.is_empty() {
        &default[..]
    } else {
        wanted
    };
    let mut chosen: Vec<String> = Vec::new();
    for pattern in wanted {
        let matches: Vec<&str> = match preset(pattern) {
            Some(patterns) => patterns
                .iter()
                .flat_map(|one| matching(available, one))
                .collect(),
            None => matching(available, pattern).collect(),
        };
        if matches.is_empty() {
            return Err(RecordError::UnknownEvent {
                pattern: pattern.clone(),
            });
        }
        for event in matches {
            if !chosen.iter().any(|one| one == event) {
                chosen.push(event.to_owned());
            }
        }
    }
    Ok(chosen)
}

/// The patterns behind a preset's name.
pub(crate) fn preset(name: &str) -> Option<Vec<&'static str>> {
    if name == DEFAULT {
        let all = PRESETS.iter().flat_map(|(_, _, patterns)| patterns.iter());
        let wanted = all.filter(|pattern| !NOT_BY_DEFAULT.contains(pattern));
        return Some(wanted.copied().collect());
    }
    let found = PRESETS.iter().find(|(preset, ..)| *preset == name);
    found.map(|(_, _, patterns)| patterns.to_vec())
}

fn matching<'a>(available: &'a str, pattern: &'a str) -> impl Iterator<Item = &'a str> {
    available
        .lines()
        .filter(move |event| glob_matches(pattern, event))
}

/// Whether `text` fits `pattern`, where `*` stands for any run of characters and `?` for one.
pub(crate) fn glob_matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at_pattern, mut at_text) = (0, 0);
    let mut last_star = None;
    while at_text < text.len() {
        match pattern.get(at_pattern) {
            Some(b'*') => {
                last_star = Some((at_pattern, at_text));
                at_pattern += 1;
            }
            Some(&wanted) if wanted == b'?' || wanted == text[at_text] => {
                at_pattern += 1;
                at_text += 1;
            }
            _ => match last_star {
                Some((star, swallowed)) => {
                    last_star = Some((star, swallowed + 1));
                    at_pattern = star + 1;
                    at_text = swallowed + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at_pattern..].iter().all(|left| *left == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "sched:sched_switch\nsched:sched_waking\nblock:block_rq_issue\n\
                          block:block_rq_complete\nraw_syscalls:sys_enter\nraw_syscalls:sys_exit\n\
                          ext4:ext4_sync_file_enter\nnet:net_dev_queue\nnet:net_dev_xmit\n";

    fn check(wanted: &[&str], expected: &str) {
        let wanted: Vec<String> = wanted.iter().map(|one| (*one).to_owned()).collect();
        let resolved = match resolve(KERNEL, &wanted) {
            Ok(events) => events.join(" "),
            Err(error) => error.to_string(),
        };
        assert_eq!(resolved, expected, "for {wanted:?}");
    }

    #[test]
    fn presets_names_and_globs_become_the_kernels_events() {
        check(&["sched"], "sched:sched_switch sched:sched_waking");
        check(&["block:*"], "block:block_rq_issue block:block_rq_complete");
        check(
            &["*:*_enter"],
            "raw_syscalls:sys_enter ext4:ext4_sync_file_enter",
        );
        check(
            &["sched:sched_?a*", "sched"],
            "sched:sched_waking sched:sched_switch",
        );
        check(
            &[],
            "sched:sched_switch sched:sched_waking raw_syscalls:sys_enter raw_syscalls:sys_exit \
             block:block_rq_issue block:block_rq_complete net:net_dev_queue",
        );
        check(
            &["sched", "sched:shed_switch"],
            "no kernel event here matches \"sched:shed_switch\"",
        );
        check(&["irq"], "no kernel event here matches \"irq\"");
    }

    #[test]
    fn what_the_default_leaves_out_is_in_a_preset() {
        for event in NOT_BY_DEFAULT {
            assert!(
                PRESETS
                    .iter()
                    .any(|(.., patterns)| patterns.contains(event)),
                "{event}"
            );
        }
        check(&["net"], "net:net_dev_queue net:net_dev_xmit");
        check(
            &["default", "net"],
            "sched:sched_switch sched:sched_waking raw_syscalls:sys_enter raw_syscalls:sys_exit \
             block:block_rq_issue block:block_rq_complete net:net_dev_queue net:net_dev_xmit",
        );
    }
}
