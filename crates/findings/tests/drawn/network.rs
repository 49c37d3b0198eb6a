//! Waits for other hosts: who is waited for, and whether recording there is advised.

use slowpath_findings::{Finding, FindingId};
use slowpath_model::{DiagnosticCode, HostId, TimeRange, Timestamp};

use crate::support::{Drawn, evidence, findings, only};

const CLIENT: u8 = 1;
const SERVER: u8 = 2;

/// A segment with its headers; the server's port is 5000.
fn segment(event: &str, from: u8, to: u8, number: u32) -> String {
    let tcp = "network_header.ipv4.transport_header.tcp";
    let port = |host| if host == SERVER { 5000 } else { 40_000 };
    format!(
        "{event} skbaddr=0x{number}00 name=eth0 network_header.ipv4.saddr=hex:0a0000{from:02x} \
         network_header.ipv4.daddr=hex:0a0000{to:02x} {tcp}.source_port={} {tcp}.dest_port={} \
         {tcp}.seq={number} {tcp}.ack_seq=1 {tcp}.flags=24",
        port(from),
        port(to)
    )
}

fn switch(from: &str, from_id: u32, state: u32, to: &str, to_id: u32) -> String {
    format!(
        "sched_switch prev_comm={from} prev_tid={from_id} prev_state={state} next_comm={to} next_tid={to_id}"
    )
}

/// Thread 7 asks the server and gets its answer 20 ms later.
fn client(server: u8) -> String {
    [
        format!("cpu0 0 {}", switch("swapper/0", 0, 0, "shop", 7)),
        "cpu0 10 start 7 1".to_owned(),
        format!("cpu0 100 {}", segment("net_dev_queue", CLIENT, server, 1)),
        format!("cpu0 110 {}", switch("shop", 7, 1, "swapper/0", 0)),
        "cpu0 20100 irq_softirq_entry vec=3".to_owned(),
        format!(
            "cpu0 20101 {}",
            segment("net_if_receive_skb", server, CLIENT, 2)
        ),
        "cpu0 20102 sched_waking comm=shop tid=7 target_cpu=0".to_owned(),
        "cpu0 20103 sched_wakeup comm=shop tid=7 target_cpu=0".to_owned(),
        "cpu0 20104 irq_softirq_exit vec=3".to_owned(),
        format!("cpu0 20110 {}", switch("swapper/0", 0, 0, "shop", 7)),
        "cpu0 20200 end 7 1".to_owned(),
        format!("cpu0 21000 {}", switch("shop", 7, 1, "swapper/0", 0)),
    ]
    .join("\n")
}

/// Thread 9 answers within 1 ms; the way there takes 5 ms, the way back the rest.
fn server() -> String {
    [
        format!("cpu0 0 {}", switch("swapper/0", 0, 0, "store", 9)),
        format!("cpu0 10 {}", switch("store", 9, 1, "swapper/0", 0)),
        "cpu0 5100 irq_softirq_entry vec=3".to_owned(),
        format!(
            "cpu0 5101 {}",
            segment("net_if_receive_skb", CLIENT, SERVER, 1)
        ),
        "cpu0 5102 sched_waking comm=store tid=9 target_cpu=0".to_owned(),
        "cpu0 5103 sched_wakeup comm=store tid=9 target_cpu=0".to_owned(),
        "cpu0 5104 irq_softirq_exit vec=3".to_owned(),
        format!("cpu0 5110 {}", switch("swapper/0", 0, 0, "store", 9)),
        format!("cpu0 6000 {}", segment("net_dev_queue", SERVER, CLIENT, 2)),
        format!("cpu0 6010 {}", switch("store", 9, 1, "swapper/0", 0)),
    ]
    .join("\n")
}

#[test]
fn a_peer_that_was_not_recorded_is_told_by_its_address() {
    let found = findings(&client(SERVER), Vec::new());
    let finding = only(&found, FindingId::NetworkWait);
    assert_eq!(finding.title, "Network: requests wait for 10.0.0.2:5000");
    assert!(
        finding
            .advice
            .contains("Record on the hosts of these addresses as well")
            && finding.advice.contains("10.0.0.2:5000"),
        "{}",
        finding.advice
    );
}

/// The same as a tracer without headers records it.
fn bare(drawing: &str) -> String {
    let lines = drawing.lines();
    let lines = lines.map(|line| line.split(" network_header").next().unwrap_or(line));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_packet_without_headers_has_no_peer() {
    let bare_client = bare(&client(SERVER));
    let found = findings(&bare_client, Vec::new());
    let finding = only(&found, FindingId::NetworkWait);
    assert_eq!(finding.title, "Network: requests wait for other hosts");
    let advice = &finding.advice;
    assert!(
        advice.starts_with("Record on the other host as well"),
        "{advice}"
    );
    // Among several hosts it may be one of these.
    let hosts = [("web-1", &*bare_client), ("store-1", &bare(&server()))];
    let found = Drawn::hosts(&hosts, Vec::new()).findings(HostId(0));
    let advice = &only(&found, FindingId::NetworkWait).advice;
    assert!(
        advice.contains("where it is none of the recorded hosts"),
        "{advice}"
    );
}

#[test]
fn packets_of_the_machine_itself_are_of_no_other_host() {
    // What a thread did not send comes from a timer of TCP.
    for drawing in [client(SERVER), bare(&client(SERVER))] {
        let found = findings(&drawing.replace("name=eth0", "name=lo"), Vec::new());
        let finding = only(&found, FindingId::NetworkWait);
        assert_eq!(
            finding.title,
            "Network: requests wait for this machine itself (loopback)"
        );
        let advice = &finding.advice;
        assert!(
            advice.contains("TCP_NODELAY") && !advice.contains("Record"),
            "{advice}"
        );
    }
}

#[test]
fn a_recorded_peer_is_told_by_its_name_and_needs_no_recording() {
    let drawn = Drawn::hosts(
        &[("web-1", &client(SERVER)), ("store-1", &server())],
        Vec::new(),
    );
    let found = drawn.findings(HostId(0));
    let finding = only(&found, FindingId::NetworkWait);
    assert_eq!(
        finding.title,
        "Network: requests wait for store-1 (10.0.0.2:5000)"
    );
    assert!(!finding.advice.contains("Record on"), "{}", finding.advice);
    // Another host than the one that answers does not matter.
    let third = 3;
    let drawn = Drawn::hosts(
        &[("web-1", &client(third)), ("store-1", &server())],
        Vec::new(),
    );
    let found = drawn.findings(HostId(0));
    let finding = only(&found, FindingId::NetworkWait);
    assert!(finding.advice.contains("Record on"), "{}", finding.advice);
}

#[test]
fn a_recorded_peer_whose_recording_is_cut_explains_the_wait() {
    let whole = server();
    // The answer is sent after the cut.
    let (cut, _) = whole.split_once("cpu0 6000").expect("an answer");
    let mut drawn = Drawn::hosts(&[("web-1", &client(SERVER)), ("store-1", cut)], Vec::new());
    let found = drawn.findings(HostId(0));
    let finding = only(&found, FindingId::NetworkWait);
    assert!(finding.title.contains("store-1"), "{}", finding.title);
    let missing =
        "What the sender did meanwhile is missing from its recording for: store-1 19.992 ms.";
    assert!(
        finding.explanation.contains(missing),
        "{}",
        finding.explanation
    );
    assert!(
        finding.advice.starts_with("Record without gaps on store-1"),
        "{}",
        finding.advice
    );
    let told = evidence(finding);
    assert!(
        told[0].ends_with("; what the sender did meanwhile is missing"),
        "{told:?}"
    );
    assert!(!found.iter().any(|one| one.id == FindingId::LostEvents));
    // The cut is told of with its reason, where there is one.
    drawn.wrong(HostId(1), DiagnosticCode::TruncatedPacket, None);
    let found = drawn.findings(HostId(0));
    let finding = only(&found, FindingId::LostEvents);
    for words in [
        "The recording of store-1 lacks what could not be read (TruncatedPacket).",
        "while events of there are missing: store-1 19.992 ms.",
    ] {
        assert!(
            finding.explanation.contains(words),
            "{}",
            finding.explanation
        );
    }
    assert!(finding.share > 0.9, "{finding:?}");
}

#[test]
fn what_is_missing_from_one_host_does_not_explain_what_is_unknown_of_another() {
    let hosts = [("web-1", &*client(SERVER)), ("store-1", &*server())];
    let mut drawn = Drawn::hosts(&hosts, Vec::new());
    // By the client's clock a part of the wait lies before the server's recording.
    drawn.wrong(HostId(0), DiagnosticCode::TruncatedPacket, None);
    let found = drawn.findings(HostId(0));
    only(&found, FindingId::UnknownTime);
    let lost = |found: &[Finding]| {
        let mut lost = found.iter().filter(|one| one.id == FindingId::LostEvents);
        lost.next().map(|one| one.explanation.clone())
    };
    assert_eq!(lost(&found), None);
    drawn.wrong(HostId(1), DiagnosticCode::TruncatedPacket, None);
    let explanation = lost(&drawn.findings(HostId(0))).unwrap_or_default();
    assert!(
        explanation.starts_with("The recording of store-1 lacks") && !explanation.contains("web-1"),
        "{explanation}"
    );
}

#[test]
fn what_a_ring_has_overwritten_asks_for_a_longer_one() {
    let hosts = [("web-1", &*client(SERVER)), ("store-1", &*server())];
    let mut drawn = Drawn::hosts(&hosts, Vec::new());
    let told = |drawn: &Drawn| {
        let found = drawn.findings(HostId(0));
        let finding = only(&found, FindingId::UnknownTime);
        [&finding.advice, &finding.explanation].map(Clone::clone)
    };
    // By the client's clock a part of the wait lies before the server's recording.
    let [advice, explanation] = told(&drawn);
    assert!(advice.starts_with("Record the scheduler"), "{advice}");
    assert!(!explanation.contains("overwritten"), "{explanation}");
    drawn.rings.insert(HostId(1), vec![TimeRange::ALL]);
    let [advice, explanation] = told(&drawn);
    assert!(advice.contains("--buffer-size"), "{advice}");
    assert!(explanation.contains("overwritten"), "{explanation}");
    // The snapshot before was taken when the server's first event came.
    let taken = Timestamp::from_ns(5_100_000);
    let filled = TimeRange::new(taken, Timestamp::MAX);
    drawn.rings.insert(HostId(1), vec![filled]);
    let [advice, explanation] = told(&drawn);
    assert!(
        advice.contains("snapshots that follow each other"),
        "{advice}"
    );
    assert!(
        explanation.contains("before the ring in memory began to be filled")
            && !explanation.contains("overwritten"),
        "{explanation}"
    );
}

/// The server's thread for a client that is told nowhere else: it reads the next request, which was sent
/// before the client began to wait for the answer.
#[test]
fn a_wait_for_a_request_on_its_way_has_the_client_as_its_peer() {
    let drawn = Drawn::hosts(
        &[("web-1", &client(SERVER)), ("store-1", &server())],
        Vec::new(),
    );
    let found = drawn.findings(HostId(0));
    let finding = only(&found, FindingId::NetworkWait);
    // On its way to the server the packet is waited for there, in thread 9.
    let told = evidence(finding);
    let peers = told.iter().find(|text| text.starts_with("by peer: "));
    let peers = peers.unwrap_or_else(|| panic!("no peers in {told:?}"));
    assert!(peers.contains("web-1"), "{peers}");
}
