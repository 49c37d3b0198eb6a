//! What the tests of received spans share: a recording of spans and nothing else.

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
