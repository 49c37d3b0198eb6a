//! Sessions of recording: what the kernel and applications do, written into a folder.
//!
//! One call records, [`record`]; another asks a running flight recorder for its memory,
//! [`request_snapshot`]. The folder is described in docs/formats/recording.md. This crate reads no
//! events: it moves what the tracers wrote and says beside it what is needed to read them.

#![forbid(unsafe_code)]

mod accounts;
mod agents;
mod claims;
mod command_line;
mod control;
mod environment;
mod error;
mod event_names;
mod ftrace;
mod group_quotas;
mod host;
mod leftovers;
mod lttng;
mod manifest;
mod node;
mod notes;
mod options;
mod plan;
mod processes;
mod recorder;
mod redis;
mod room_left;
mod session_daemon;
mod spans;
mod state_dump;
mod storage;
mod watch;

pub use agents::{Agent, AgentsChoice};
pub use control::request_snapshot;
pub use error::RecordError;
pub use event_names::PRESETS;
pub use manifest::{
    Account, Accounts, ClockReading, Cost, FailedSnapshots, KernelPart, Manifest, Mode,
    SlowRequest, SpansPart, Tracer, Trigger, UserSpacePart,
};
pub use options::{KernelChoice, RecordOptions, UserSpaceChoice};
pub use recorder::{CommandEnd, Outcome, record};
pub use redis::{RedisBackend, RedisChoice, RedisDetail, RedisServer};
pub use spans::{ForwardTarget, NoRule, NoTarget, PartialSuccess, Rule, SpanOptions, SpansChoice};
