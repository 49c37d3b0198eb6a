//! What the tests of received spans share: a recording of spans and nothing else, and how one is sent.

#![allow(dead_code, reason = "each test uses a part")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use slowpath_record::{
    AgentsChoice, KernelChoice, Mode, RecordOptions, RedisChoice, SpanOptions, SpansChoice,
    UserSpaceChoice,
};

/// Records what is sent to a free port of loopback while the command runs.
pub fn spans_alone(folder: &Path, mode: Mode, rules: &[&str], command: &[&str]) -> RecordOptions {
    RecordOptions {
        output: folder.to_owned(),
        replace: false,
        mode,
        duration: Some(Duration::from_secs(120)),
        kernel: KernelChoice::None,
        events: Vec::new(),
        user_space: UserSpaceChoice::Nothing,
        spans: SpanOptions {
            listen: SpansChoice::At(vec!["127.0.0.1:0".parse().expect("an address")]),
            forward: None,
            rules: rules.iter().map(|rule| rule.parse().expect(rule)).collect(),
        },
        agents: AgentsChoice::Off,
        redis: RedisChoice::default(),
        node: false,
        buffer_bytes_per_cpu: None,
        accounts: Vec::new(),
        command: command.iter().map(Into::into).collect(),
    }
}

/// Sends a message of OTLP, as protobuf, over HTTP; the status of the answer.
pub fn post(address: &str, body: &[u8]) -> u16 {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let head = format!(
        "POST /v1/traces HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
         content-type: application/x-protobuf\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("sent");
    stream.write_all(body).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer[9..12].parse().expect("a status")
}
