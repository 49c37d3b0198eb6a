//! The modes that are compared, after §4.1 of Gelle et al. (2021), and the command of each.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

/// No server outlives this, whatever becomes of the benchmark.
const LONGEST_SECONDS: &str = "600";

/// How the server is observed. In brackets: the paper's scenario.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, clap::ValueEnum, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Its instrumentation makes spans that nobody records.
    NoTracing,
    /// All its spans, sent to a collector (B).
    Spans,
    /// Spans, and `slowpath record --snapshot` (C-1).
    Snapshot,
    /// Spans, and `slowpath record` (C-2).
    Standard,
    /// Kernel events and a system call for each start and end of a span (D-1).
    FakeCallSnapshot,
    /// The same in the standard mode (D-2).
    FakeCallStandard,
}

/// All, in the order in which they are run.
pub const ALL: [Mode; 6] = [
    Mode::NoTracing,
    Mode::Spans,
    Mode::Snapshot,
    Mode::Standard,
    Mode::FakeCallSnapshot,
    Mode::FakeCallStandard,
];

/// Whether HotROD pretends that its databases take time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delays {
    /// As its source has it: it sleeps 0.25 s for each ride.
    Pretended,
    /// It has none, as in the paper.
    None,
}

/// Where things lie and listen.
pub struct Place<'a> {
    /// The program to measure.
    pub slowpath: &'a Path,
    /// The builds of HotROD.
    pub programs: &'a Path,
    /// The folder that a recording goes to.
    pub recording: &'a Path,
    /// The library that fires span events.
    pub span_events: &'a Path,
    /// Who receives spans where slowpath does not.
    pub collector: SocketAddr,
    /// Further options of `slowpath record`.
    pub record_options: &'a [String],
}

impl Mode {
    /// As tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoTracing => "no tracing",
            Self::Spans => "spans only",
            Self::Snapshot => "slowpath, snapshot",
            Self::Standard => "slowpath, standard",
            Self::FakeCallSnapshot => "fake call, snapshot",
            Self::FakeCallStandard => "fake call, standard",
        }
    }

    /// The command that starts HotROD with `arguments`.
    pub fn command(self, delays: Delays, place: &Place<'_>, arguments: &[String]) -> Command {
        let folder = match delays {
            Delays::Pretended => place.programs.to_owned(),
            Delays::None => place.programs.join("undelayed"),
        };
        let program = match self {
            Self::NoTracing | Self::Spans => "hotrod-plain",
            Self::Snapshot | Self::Standard => "hotrod",
            Self::FakeCallSnapshot | Self::FakeCallStandard => "hotrod-getpid",
        };
        let mut words: Vec<OsString> = match self {
            Self::NoTracing | Self::Spans => ["timeout", "--foreground", LONGEST_SECONDS]
                .map(OsString::from)
                .to_vec(),
            _ => self.recorder(place),
        };
        words.push(folder.join(program).into());
        words.extend(arguments.iter().map(OsString::from));
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .env("SLOWPATH_SPANS_LIBRARY", place.span_events)
            .env(
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                format!("http://{}", place.collector),
            );
        if self == Self::NoTracing {
            command.env("OTEL_TRACES_SAMPLER", "always_off");
        }
        command
    }

    fn recorder(self, place: &Place<'_>) -> Vec<OsString> {
        let output: PathBuf = place.recording.into();
        let mut words = vec![place.slowpath.into(), "record".into()];
        words.extend(["-o".into(), output.into(), "--overwrite".into()]);
        words.extend(["--duration".into(), LONGEST_SECONDS.into()]);
        if matches!(self, Self::Snapshot | Self::FakeCallSnapshot) {
            words.push("--snapshot".into());
        }
        if matches!(self, Self::FakeCallSnapshot | Self::FakeCallStandard) {
            words.extend(["--ust".into(), "none".into()]);
        }
        words.extend(place.record_options.iter().map(OsString::from));
        words.push("--".into());
        words
    }
}
