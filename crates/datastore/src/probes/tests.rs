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

#[test]
fn a_command_that_is_executed_again_when_its_client_is_let_go_is_one() {
    const BLPOP: &str = "redis_call vpid=7 function=2 client_id=5 command=blpop";
    let blocked = [
        (0, 100, READ),
        (0, 110, "syscall_exit_read ret=40"),
        (0, 120, BLPOP),
        (0, 130, "redis_client_blocked vpid=7 function=0 client_id=5"),
        (0, 140, CALL_RETURN),
        (0, 160, READ_RETURN),
    ];
    let written = |at| {
        probed(&[
            (0, at, WRITE),
            (0, at + 10, "syscall_exit_write ret=5"),
            (0, at + 20, WRITE_RETURN),
        ])
    };
    let text =
        probed(&blocked) + &probed(&[(0, 900, BLPOP), (0, 950, CALL_RETURN)]) + &written(960);
    check(&text, "1 blpop 5: 880 = 20 + 0 + 20 + 820 + 20");
    // What is written meanwhile is of a command before it.
    let text = probed(&blocked)
        + &written(200)
        + &probed(&[(0, 900, BLPOP), (0, 950, CALL_RETURN)])
        + &written(960);
    let report = ask(&text, TimeRange::ALL);
    assert_eq!(report.servers[0].count, 1);
    // It waited no longer, and the same comes once more: with what was sent at once, or read by another thread.
    const RELEASED: &str = "redis_client_released vpid=7 function=0 client_id=5";
    let released = probed(&[(0, 890, RELEASED)]);
    let again = |at| probed(&[(0, at, BLPOP), (0, at + 10, CALL_RETURN)]);
    let text = probed(&blocked) + &released + &again(900) + &written(960);
    check(
        &text,
        "1 blpop 5: 880 = 20 + 0 + 20 + 820 + 20
         1 blpop 5: 880 = 20 + 780 + 10 + 50 + 20",
    );
    let text = probed(&blocked) + &released + &written(900) + &again(1000) + &written(1020);
    check(
        &text,
        "1 blpop 5: 820 = 20 + 0 + 20 + 760 + 20
         1 blpop 5: 40 = 0 + 0 + 10 + 10 + 20",
    );
}

#[test]
fn of_who_was_there_before_a_look_tells_the_connection_from_its_first_read_on() {
    let look = |more: &str| {
        format!(
            "print buf=\"slowpath_redis_socket pid=7 fd=9 peer=10.0.0.2 peer_port=6379 own=10.0.0.1 own_port=50000 \
             since_ns=10 asked_ns=9 answered_ns=8{more}\""
        )
    };
    let asked = [
        (0, 100, READ),
        (0, 110, "syscall_exit_read ret=23"),
        (
            0,
            120,
            "redis_call vpid=7 function=2 client_id=5 command=set",
        ),
        (0, 150, CALL_RETURN),
        (0, 160, READ_RETURN),
        (0, 200, READ),
        (0, 210, "syscall_exit_read ret=23"),
        (
            0,
            220,
            "redis_call vpid=7 function=2 client_id=5 command=set",
        ),
        (0, 250, CALL_RETURN),
        (0, 260, READ_RETURN),
    ];
    // What a replica gets from its primary: each read is over by itself, and has no reply.
    let text = line(1, 50, &look(" outgoing=1")) + &probed(&asked);
    let report = check(
        &text,
        "1 set 5: 50? = 20 + 0 + 30 + 0 + 0
         1 set 5: 50? = 20 + 0 + 30 + 0 + 0",
    );
    assert_eq!(report.clients[0].port, 6379);
    // Of one that was made since, a look before tells nothing.
    let made = line(0, 60, "redis_client_made vpid=7 function=0 client_id=5");
    let text = line(1, 50, &look("")) + &made + &probed(&asked);
    assert_eq!(ask(&text, TimeRange::ALL).clients[0].port, 0);
}

#[test]
fn what_an_io_thread_reads_is_of_the_client_that_it_was_given() {
    let text = probed(&[(0, 100, READ), (0, 105, READ_RETURN)])
        + "cpu1 110 redis_read_in_thread vpid=7 function=1 client_id=5 @common_pid=8\n\
          cpu1 120 syscall_exit_read ret=23 @common_pid=8\n\
          cpu1 130 redis_read_in_thread_return vpid=7 function=1 @common_pid=8\n"
        + &probed(&[
            (0, 140, GET),
            (0, 150, CALL_RETURN),
            (0, 160, WRITE),
            (0, 170, "syscall_exit_write ret=5"),
            (0, 180, WRITE_RETURN),
        ]);
    let report = check(&text, "1 get 5: 70 = 20 + 10 + 10 + 10 + 20");
    assert_eq!(report.servers[0].bytes_read, 23);
}

#[test]
fn an_io_thread_may_begin_to_read_before_it_is_left_to_it() {
    for left in [112, 125] {
        let text = line(0, 100, READ)
            + &line(0, left, READ_RETURN)
            + "cpu1 110 redis_read_in_thread vpid=7 function=1 client_id=5 @common_pid=8\n\
              cpu1 120 syscall_exit_read ret=23 @common_pid=8\n\
              cpu1 130 redis_read_in_thread_return vpid=7 function=1 @common_pid=8\n"
            + &probed(&[
                (0, 140, GET),
                (0, 150, CALL_RETURN),
                (0, 160, WRITE),
                (0, 170, "syscall_exit_write ret=5"),
                (0, 180, WRITE_RETURN),
            ]);
        let report = check(&text, "1 get 5: 80 = 30 + 10 + 10 + 10 + 20");
        assert_eq!(report.servers[0].bytes_read, 23, "{left}");
    }
}

#[test]
fn a_process_is_one_server_whatever_its_descriptors_tell() {
    let closed = [
        (0, 100, READ),
        (0, 110, "syscall_exit_read ret=0"),
        (0, 120, READ_RETURN),
        (0, 130, READ),
        (0, 140, READ_RETURN),
        (0, 150, "redis_read vpid=7 function=1 fd=9 client_id=4"),
        (0, 160, "syscall_exit_read ret=23"),
        (
            0,
            170,
            "redis_call vpid=7 function=2 client_id=4 command=get",
        ),
        (0, 180, CALL_RETURN),
    ];
    let report = ask(&probed(&closed), TimeRange::ALL);
    let told: Vec<(u32, u64)> = (report.servers.iter())
        .map(|row| (row.server, row.count))
        .collect();
    assert_eq!(told, [(1, 1)]);
}
