//! What system calls of each tracer are told as: a line of a trace and the fact.

use slowpath_concepts::{Concepts, Fact, FactKind};
use slowpath_drawn::DrawnTrace;
use slowpath_model::Event;
use slowpath_source::Source;

/// The facts of a trace, in words.
fn told(text: &str, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let trace = DrawnTrace::parse(text).unwrap();
    let kinds = [
        FactKind::SyscallEntry,
        FactKind::SyscallExit,
        FactKind::Fork,
    ];
    let concepts = Concepts::resolve_calls(trace.schema(), &kinds, wanted);
    let decoder = trace.decoder(concepts.projection());
    let name = |id: slowpath_concepts::SyscallId| &concepts.syscall_names()[id.index()];
    let number = |value: Option<i32>| value.map_or("-".into(), |value| value.to_string());
    let mut facts = Vec::new();
    for packet in trace.packets() {
        decoder.decode(packet.id, &mut |event: &Event<'_>| {
            facts.push(match concepts.fact(event) {
                Some(Fact::SyscallEntry(entry)) => format!(
                    "enter {} fd {} other {} path {} thread {}",
                    name(entry.call),
                    number(entry.fd),
                    number(entry.other_fd),
                    String::from_utf8_lossy(entry.path.unwrap_or(b"-")),
                    number(entry.thread.map(|thread| thread.0)),
                ),
                Some(Fact::SyscallExit(exit)) => format!(
                    "leave {} ret {} pair {:?}",
                    exit.call.map_or("?", |call| name(call)),
                    exit.ret,
                    exit.pair.unwrap_or_default(),
                ),
                Some(Fact::Fork {
                    parent,
                    child,
                    child_process,
                    ..
                }) => {
                    let process = child_process.map(|process| process.0);
                    format!("fork {parent} -> {child} of {}", number(process))
                }
                _ => "nothing".into(),
            });
        });
    }
    facts
}

fn check(line: &str, expected: &str) {
    assert_eq!(told(line, |_| true), [expected], "{line}");
}

#[test]
fn calls_of_lttng() {
    check(
        "cpu0 1 syscall_entry_read fd=3 count=9",
        "enter read fd 3 other - path - thread -",
    );
    check(
        "cpu0 1 syscall_entry_read fd=3 @tid=12 @pid=11",
        "enter read fd 3 other - path - thread 12",
    );
    check(
        "cpu0 1 syscall_entry_openat dfd=-100 filename=/etc/hosts",
        "enter openat fd - other - path /etc/hosts thread -",
    );
    check(
        "cpu0 1 syscall_entry_sendfile64 out_fd=4 in_fd=3",
        "enter sendfile64 fd 3 other 4 path - thread -",
    );
    check(
        "cpu0 1 syscall_exit_pipe2 ret=0 fildes=[3,4]",
        "leave pipe2 ret 0 pair [3, 4]",
    );
    check(
        "cpu0 1 syscall_exit_pipe ret=0 fildes=hex:03000000ff010000",
        "leave pipe ret 0 pair [3, 511]",
    );
    check(
        "cpu0 1 compat_syscall_exit_read ret=-11",
        "leave compat_read ret -11 pair [0, 0]",
    );
    check(
        "cpu0 1 syscall_entry_unknown id=326 args=[3,0,5,0,100,0]",
        "enter copy_file_range fd 3 other 5 path - thread -",
    );
}

#[test]
fn calls_of_lttng_before_2_6() {
    check(
        "cpu0 1 sys_open filename=/etc/hosts",
        "enter open fd - other - path /etc/hosts thread -",
    );
    check(
        "cpu0 1 sys_exit error_code=0",
        "enter exit fd - other - path - thread -",
    );
    check("cpu0 1 exit_syscall ret=3", "leave ? ret 3 pair [0, 0]");
}

#[test]
fn calls_of_ftrace() {
    check(
        "cpu0 1 sys_enter id=0 args=[7,8,9,0,0,0]",
        "enter read fd 7 other - path - thread -",
    );
    check(
        "cpu0 1 sys_enter id=75 args=[7,8,9,0,0,0]",
        "enter fdatasync fd 7 other - path - thread -",
    );
    check(
        "cpu0 1 sys_enter id=436 args=[7,4294967295,4,0,0,0]",
        "enter close_range fd 7 other -1 path - thread -",
    );
    check(
        "cpu0 1 sys_exit id=1 ret=5",
        "leave write ret 5 pair [0, 0]",
    );
    check(
        "cpu0 1 sys_enter_openat __syscall_nr=257 filename=0x7fff0000",
        "enter openat fd - other - path - thread -",
    );
    check(
        "cpu0 1 sys_exit_read __syscall_nr=0 ret=0",
        "leave read ret 0 pair [0, 0]",
    );
    let arm = "-- environment machine=aarch64\ncpu0 1 sys_enter id=63 args=[7,8,9,0,0,0]";
    check(arm, "enter read fd 7 other - path - thread -");
    let on =
        |environment: &str, event: &str| format!("-- environment {environment}\ncpu0 1 {event}");
    check(
        &on("machine=riscv64", "sys_enter id=63 args=[7,8,9,0,0,0]"),
        "enter read fd 7 other - path - thread -",
    );
    check(
        &on("machine=i686", "sys_enter id=3 args=[7,8,9,0,0,0]"),
        "enter read fd 7 other - path - thread -",
    );
    check(
        &on(
            "uname=\"Linux arm64-builds 6.1.0 x86_64\"",
            "sys_enter id=0 args=[7,8,9,0,0,0]",
        ),
        "enter read fd 7 other - path - thread -",
    );
    check(
        &on("machine=s390x", "sys_enter id=3 args=[7,8,9,0,0,0]"),
        "enter syscall_3 fd - other - path - thread -",
    );
    check(
        "cpu0 1 sys_exit id=451 ret=0",
        "leave cachestat ret 0 pair [0, 0]",
    );
    check(
        "cpu0 1 sys_exit id=511 ret=0",
        "leave syscall_511 ret 0 pair [0, 0]",
    );
    let of_32_bit = |event: &str| format!("-- 32-bit 70 71\ncpu0 1 {event} @common_pid=71");
    check(
        &of_32_bit("sys_enter id=4 args=[7,8,9,0,0,0]"),
        "enter compat_write fd 7 other - path - thread 71",
    );
    check(
        &of_32_bit("sys_exit id=45 ret=1000000"),
        "leave compat_brk ret 1000000 pair [0, 0]",
    );
    check(
        &of_32_bit("sys_enter id=221 args=[7,0,9,0,0,0]"),
        "enter compat_fcntl64 fd 7 other - path - thread 71",
    );
    check(&of_32_bit("sys_enter id=222 args=[7,8,9,0,0,0]"), "nothing");
    check(
        "-- 32-bit 70\ncpu0 1 sys_enter id=1 args=[7,8,9,0,0,0] @common_pid=72",
        "enter write fd 7 other - path - thread 72",
    );
    check("cpu0 1 sys_enter id=100000 args=[7,8,9,0,0,0]", "nothing");
}

#[test]
fn calls_that_nobody_wants_are_not_decoded() {
    let named = "cpu0 1 syscall_entry_futex op=0\ncpu0 2 syscall_entry_read fd=3";
    assert_eq!(told(named, |call| call == "read").len(), 1);
    let unnamed = "cpu0 1 sys_futex op=0\ncpu0 2 sys_read fd=3\ncpu0 3 exit_syscall ret=0";
    assert_eq!(
        told(unnamed, |call| call == "read").len(),
        3,
        "exits need every entry"
    );
}

#[test]
fn forks_of_both_tracers() {
    check(
        "cpu0 1 sched_process_fork parent_tid=5 parent_pid=4 child_tid=6 child_pid=4",
        "fork 5 -> 6 of 4",
    );
    check(
        "cpu0 1 sched_process_fork parent_pid=5 child_pid=6",
        "fork 5 -> 6 of -",
    );
}
