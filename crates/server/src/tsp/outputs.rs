//! The outputs: what there is to be seen.

use axum::extract::{Path, State};
use serde_json::{Value, json};

use super::OfOutput;
use crate::api::Answer;
use crate::problem::Problem;
use crate::recording::{Job, Recording};
use crate::serve::Shared;

/// What there is to be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// What each thread did.
    Threads,
    /// What ran on each processor.
    Cpus,
    /// The critical paths of requests.
    Requests,
    /// How busy the processors were.
    CpuUsage,
    /// Events over time.
    Histogram,
    /// All events.
    Events,
    /// All requests.
    RequestTable,
    /// What the requests of each operation spent their time on.
    Statistics,
    /// How many requests took how long.
    Latency,
}

impl Output {
    const ALL: [Self; 9] = [
        Self::Threads,
        Self::Cpus,
        Self::Requests,
        Self::CpuUsage,
        Self::Histogram,
        Self::Events,
        Self::RequestTable,
        Self::Statistics,
        Self::Latency,
    ];

    /// Id, type, name, description.
    fn about(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::Threads => (
                "slowpath.threads",
                "TIME_GRAPH",
                "Threads",
                "What each thread did over time, with the wake-ups between them",
            ),
            Self::Cpus => (
                "slowpath.cpus",
                "TIME_GRAPH",
                "CPUs",
                "Which thread ran on each CPU",
            ),
            Self::Requests => (
                "slowpath.requests",
                "TIME_GRAPH",
                "Request critical paths",
                "Where the time of each request went, waits followed to their causes; the slowest of the range",
            ),
            Self::CpuUsage => (
                "slowpath.cpu-usage",
                "TREE_TIME_XY",
                "CPU usage",
                "The share of time in which each CPU was busy",
            ),
            Self::Histogram => (
                "slowpath.histogram",
                "TREE_TIME_XY",
                "Histogram",
                "Events over time",
            ),
            Self::Events => (
                "slowpath.events",
                "TABLE",
                "Events",
                "Every event with its fields",
            ),
            Self::RequestTable => (
                "slowpath.request-table",
                "TABLE",
                "Requests",
                "Every request with its duration and where its time went, the longest first",
            ),
            Self::Statistics => (
                "slowpath.statistics",
                "DATA_TREE",
                "Request statistics",
                "Durations and states of the requests of each operation, by percentile band",
            ),
            Self::Latency => (
                "slowpath.latency",
                "TREE_GENERIC_XY",
                "Request latency",
                "How many requests took how long",
            ),
        }
    }

    /// The output of an id.
    pub(super) fn find(id: &str) -> Result<Self, Problem> {
        let found = Self::ALL.into_iter().find(|output| output.about().0 == id);
        found.ok_or_else(|| Problem::Unknown(format!("No output found with id {id}")))
    }

    pub(super) fn is_time_graph(self) -> bool {
        self.about().1 == "TIME_GRAPH"
    }

    pub(super) fn is_table(self) -> bool {
        self.about().1 == "TABLE"
    }

    pub(super) fn is_xy(self) -> bool {
        self.about().1 == "TREE_TIME_XY"
    }

    /// Sees to it that what it rests on is computed.
    pub(super) fn want(self, recording: &Recording) {
        recording.want(match self {
            Self::Threads | Self::Cpus | Self::CpuUsage => Job::History,
            Self::Requests | Self::RequestTable | Self::Latency => Job::Requests,
            Self::Statistics => Job::Operations,
            Self::Histogram | Self::Events => Job::EventIndex,
        });
    }

    fn described(self) -> Value {
        let (id, kind, name, description) = self.about();
        json!({ "id": id, "type": kind, "name": name, "description": description })
    }
}

pub(super) async fn all(
    State(shared): State<Shared>,
    Path(uuid): Path<String>,
) -> Result<Answer, Problem> {
    shared.registry.experiment(&uuid)?;
    Answer::of(&Output::ALL.map(Output::described))
}

pub(super) async fn one(
    State(shared): State<Shared>,
    Path((uuid, id)): OfOutput,
) -> Result<Answer, Problem> {
    shared.registry.experiment(&uuid)?;
    Answer::of(&Output::find(&id)?.described())
}

pub(super) async fn configuration_types(
    State(shared): State<Shared>,
    Path((uuid, id)): OfOutput,
) -> Result<Answer, Problem> {
    shared.registry.experiment(&uuid)?;
    Output::find(&id)?;
    Answer::of(&json!([]))
}
