//! What probes tell of a server, asked in every way that must not matter: the same as its agent would.

use slowpath_model::TimeRange;

use crate::tests::{ask, check};

/// A line of a processor at a time, by thread 7 of process 7.
fn line(cpu: u32, at: u64, words: &str) -> String {
    format!("cpu{cpu} {at} {words} @common_pid=7\n")
}

fn probed(lines: &[(u32, u64, &str)]) -> String {
    lines
        .iter()
        .map(|(cpu, at, words)| line(*cpu, *at, words))
        .collect()
}

const READ: &str = "redis_read vpid=7 function=1 fd=9 client_id=5";
const READ_RETURN: &str = "redis_read_return vpid=7 function=1";
const GET: &str = "redis_call vpid=7 function=2 client_id=5 command=get";
const CALL_RETURN: &str = "redis_call_return vpid=7 function=2";
const WRITE: &str = "redis_write vpid=7 function=3 client_id=5";
const WRITE_RETURN: &str = "redis_write_return vpid=7 function=3";

#[test]
fn a_return_is_of_the_entry_before_and_bytes_of_the_calls_between() {
    let text = probed(&[
        (0, 100, READ),
        (0, 110, "syscall_exit_read ret=23"),
        (0, 120, GET),
        // What the command reads itself.
        (0, 125, "syscall_exit_read ret=4000"),
        (1, 150, CALL_RETURN),
        (1, 160, READ_RETURN),
        (1, 200, WRITE),
        (1, 210, "syscall_exit_write ret=5"),
        (1, 220, "syscall_exit_writev ret=6"),
        (1, 230, WRITE_RETURN),
        // Of nobody.
        (1, 240, "syscall_exit_write ret=700"),
        (1, 250, WRITE_RETURN),
    ]);
    let report = check(&text, "1 get 5: 130 = 20 + 0 + 30 + 50 + 30");
    let server = &report.servers[0];
    assert_eq!((server.bytes_read, server.bytes_written), (23, 11));
    assert_eq!(report.clients[0].port, 0);
}

#[test]
fn an_address_is_of_the_client_that_was_read_while_the_descriptor_was_that_socket() {
    let asked = [
        (0, 100, READ),
        (0, 110, "syscall_exit_read ret=23"),
        (0, 120, GET),
        (0, 150, CALL_RETURN),
        (0, 160, READ_RETURN),
        (0, 200, WRITE),
        (0, 210, "syscall_exit_write ret=5"),
        (0, 230, WRITE_RETURN),
    ];
    let told = |since: u64, until: u64| {
        let words = format!(
            "slowpath_redis_socket pid=7 fd=9 peer=10.0.0.2 peer_port=50000 own=10.0.0.1 own_port=6379 \
             since_ns={since} asked_ns={until} answered_ns={until}"
        );
        let text = probed(&asked) + &line(1, 300, &format!("print buf=\"{words}\""));
        ask(&text, TimeRange::ALL).clients[0].port
    };
    assert_eq!(told(250, 50), 50000);
    // It became that socket only after the client was read, or may have been another one by then.
    assert_eq!(told(150, 50), 0);
    assert_eq!(told(290, 250), 0);
}

#[test]
fn what_others_write_into_the_trace_is_no_address() {
    for words in [
        "hello",
        "slowpath_redis_socket",
        "slowpath_redis_socket pid=x fd=9",
        "slowpath_redis_socket pid=7 fd=9 peer=a peer_port=70000 own=b own_port=1 since_ns=1 asked_ns=1 answered_ns=1",
    ] {
        let text = probed(&[
            (0, 100, READ),
            (0, 110, "syscall_exit_read ret=23"),
            (0, 120, GET),
            (0, 150, CALL_RETURN),
        ]) + &line(1, 300, &format!("print buf=\"{words}\""));
        let report = ask(&text, TimeRange::ALL);
        assert_eq!(report.clients[0].port, 0, "{words}");
    }
}

#[test]
fn of_a_call_in_a_call_each_return_is_its_own() {
    let text = probed(&[
        (0, 100, READ),
        (0, 110, "syscall_exit_read ret=40"),
        (
            0,
            120,
            "redis_call vpid=7 function=2 client_id=5 command=eval",
        ),
        (
            0,
            130,
            "redis_call vpid=7 function=2 client_id=1 command=get",
        ),
        (0, 140, CALL_RETURN),
        (0, 170, CALL_RETURN),
        (0, 180, READ_RETURN),
        (0, 200, WRITE),
        (0, 210, "syscall_exit_write ret=5"),
        (0, 230, WRITE_RETURN),
    ]);
    let report = check(&text, "1 eval 5: 130 = 20 + 0 + 50 + 30 + 30");
    let inside: Vec<(&str, u64)> = (report.commands.iter())
        .map(|row| (row.command.as_str(), row.inside))
        .collect();
    assert_eq!(inside, [("eval", 0), ("get", 1)]);
}
