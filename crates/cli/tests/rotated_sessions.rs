//! A session that was rotated is told as if it had not been, where numbers of packets tell that none is missing: also of a
//! processor that did nothing when it was rotated, whose next packet comes late (LTTng before 2.12 opened none then).

mod support;

use support::{packets, slowpath};

const FIRST_OF_0: &str = "
    packet 1000000..10000000
    1000000 0>7
    10000000 7>8";
const FIRST_OF_1: &str = "
    packet 1000000..9000000
    1000000 0>9
    9000000 >read 3";
const LATER_OF_0: &str = "
    packet 11000000..90000000 number=1
    11000000 8>7
    90000000 7>0";
const LATER_OF_1: &str = "
    packet 80000000..85000000 number=1
    80000000 <read 4
    85000000 9>0";

#[test]
fn a_processor_may_be_idle_when_a_session_is_rotated() {
    let of = |of_0: &str, of_1: &str| format!("stream cpu_0 0{of_0}\nstream cpu_1 1{of_1}");
    let (first, later) = (of(FIRST_OF_0, FIRST_OF_1), of(LATER_OF_0, LATER_OF_1));
    let whole = packets::written(&of(
        &[FIRST_OF_0, LATER_OF_0].concat(),
        &[FIRST_OF_1, LATER_OF_1].concat(),
    ));
    let rotated = packets::rotated(&[&first, &later]);
    for question in [
        &["cpu", "--json"][..],
        &["io", "--json"],
        &["latency", "--json"],
        &["thread-states", "--json"],
        &["critical-path", "--comm", "*", "--json"],
    ] {
        let [expected, found] = [&whole, &rotated].map(|trace| slowpath(question, trace.path()));
        assert_eq!(found.stderr, expected.stderr, "{question:?}");
        let text =
            |printed: &support::Printed| String::from_utf8_lossy(&printed.stdout).into_owned();
        assert_eq!(text(&found), text(&expected), "{question:?}");
    }
    // Where a packet is missing, it is told.
    let later = later.replace("80000000..85000000 number=1", "80000000..85000000 number=2");
    let rotated = packets::rotated(&[&first, &later]);
    let told = slowpath(&["cpu", "--json"], rotated.path());
    assert!(told.json()["cpus"][1]["unknown_ns"].as_u64() > Some(0));
}
