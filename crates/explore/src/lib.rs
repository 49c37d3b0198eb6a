//! Which configuration is fast: trials of a specification, chosen by policies, kept in a store, compared with intervals.
//!
//! After Go and Colmenares, *Enabling Performance Exploration and Analysis for Multi-parametric Systems* (2016). Runs
//! programs and measures them from outside. What recordings say about a difference is computed here from paths
//! (`reason.rs`); making and opening recordings is the command line's.

#![forbid(unsafe_code)]

mod additive;
mod columns;
mod dashboard;
mod exploration;
mod expression;
mod importance;
mod policy;
mod probes;
mod reason;
mod recommend;
mod remote;
mod results;
mod rounds;
mod run;
mod space;
mod spec;
mod statistics;
mod store;
mod template;
mod trial;
mod value;

pub use columns::write_parquet;
pub use dashboard::{
    Axis, Cell, Dashboard, Drift, HeatMap, HeatMapAsked, MetricName, NoHeatMap, NotShown, Panel,
    ParameterRow, Progress, ReadExploration, Recommended, RecommendedFile, State, TrialRow,
    as_it_began, drifts, exploration_at,
};
pub use exploration::{Begin, Change, End, Event, Exploration, ExploreError, change};
pub use importance::{Importance, Method};
pub use policy::{Policy, PolicyError, Seen, Tried, Wanted, policy};
pub use probes::{Counts, DamagedProbes, Probe, ProbeKind, ProbeMemory, Record};
pub use reason::{Account, Accounts, Cause};
pub use recommend::recommend;
pub use remote::{Agent, AgentError};
pub use results::{Luck, MetricRow, Note, ObjectiveRow, Results, Row, Standing, csv};
pub use run::{Calls, Ended, Observed, RunError, Times, Unusable, check_functions, measure};
pub use slowpath_platform::signals::{EndSignal, SignalPipe};
pub use space::{Domain, GridError, Parameter, Space};
pub use spec::{
    Aggregate, Function, Load, Metric, Objective, OfCalls, PolicyChoice, ProbeMetric, ProbeName,
    RemoteAgent, Source, Spec, SpecError, Take, TimeUnit,
};
pub use statistics::{Difference, Sample, four_digits};
pub use store::{About, FILE_NAME, Reason, Store, StoreError};
pub use trial::{Failure, Outcome, Trial};
pub use value::{Configuration, Value};
