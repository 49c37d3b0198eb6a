//! A finding as plain data, and as the output contract's JSON.

use serde::{Serialize, Serializer};
use slowpath_model::{ThreadId, TimeRange};
use slowpath_requests::SpanKey;
use utoipa::ToSchema;

/// What kind of cause was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ToSchema)]
#[schema(rename_all = "kebab-case")]
pub enum FindingId {
    /// The kernel stops a control group that has used up its CPU time.
    CpuQuota,
    /// Others ran instead.
    CpuContention,
    /// Ready threads wait for a processor while another one is idle.
    CpuPlacement,
    /// The thread has used up its runtime of SCHED_DEADLINE.
    DeadlineRuntime,
    /// A lock is held by somebody else.
    LockContention,
    /// A disk.
    DiskWait,
    /// Another host.
    NetworkWait,
    /// A time to come.
    TimerWait,
    /// Another process that computes.
    ProcessWait,
    /// Another device, or work of the kernel.
    KernelWait,
    /// A signal stopped the thread.
    StoppedBySignal,
    /// The control group was frozen.
    Frozen,
    /// The thread works for another request.
    BlockedByRequest,
    /// The language's runtime, for instance its garbage collector.
    RuntimeThreads,
    /// Parts one after the other that do not need each other's results, as far as can be seen.
    SerialCalls,
    /// Events that are missing make the answer unsafe.
    LostEvents,
    /// The recording does not tell where the time went.
    UnknownTime,
}

impl FindingId {
    /// The name in every output.
    pub fn name(self) -> &'static str {
        match self {
            Self::CpuQuota => "cpu-quota",
            Self::CpuContention => "cpu-contention",
            Self::CpuPlacement => "cpu-placement",
            Self::DeadlineRuntime => "deadline-runtime",
            Self::LockContention => "lock-contention",
            Self::DiskWait => "disk-wait",
            Self::NetworkWait => "network-wait",
            Self::TimerWait => "timer-wait",
            Self::ProcessWait => "process-wait",
            Self::KernelWait => "kernel-wait",
            Self::StoppedBySignal => "stopped-by-signal",
            Self::Frozen => "frozen",
            Self::BlockedByRequest => "blocked-by-request",
            Self::RuntimeThreads => "runtime-threads",
            Self::SerialCalls => "serial-calls",
            Self::LostEvents => "lost-events",
            Self::UnknownTime => "unknown-time",
        }
    }
}

impl Serialize for FindingId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = FindingSeverity)]
pub enum Severity {
    /// At least a tenth of the slow requests' time.
    Low,
    /// At least a quarter.
    Medium,
    /// At least half.
    High,
}

impl Severity {
    /// The severity of what takes this share of the slow requests' time.
    pub fn of(share: f64) -> Self {
        match share {
            share if share >= 0.5 => Self::High,
            share if share >= 0.25 => Self::Medium,
            _ => Self::Low,
        }
    }
}

/// What a finding rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// In words, with figures.
    pub text: String,
    /// What can be done about just this; most evidence has none.
    pub hint: Option<&'static str>,
    /// When.
    pub range: Option<TimeRange>,
    /// The thread of the requests' host that it is about.
    pub thread: Option<ThreadId>,
    /// A request in which it can be seen.
    pub request: Option<SpanKey>,
}

impl Evidence {
    /// Evidence that is no more than its words.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            hint: None,
            range: None,
            thread: None,
            request: None,
        }
    }
}

impl Serialize for Evidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Row<'text> {
            text: &'text str,
            #[serde(skip_serializing_if = "Option::is_none")]
            hint: Option<&'static str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            begin_ns: Option<i64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            end_ns: Option<i64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            tid: Option<ThreadId>,
            #[serde(skip_serializing_if = "Option::is_none")]
            trace_id: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            span_id: Option<String>,
        }
        Row {
            text: &self.text,
            hint: self.hint,
            begin_ns: self.range.map(|range| range.begin.ns()),
            end_ns: self.range.map(|range| range.end.ns()),
            tid: self.thread,
            trace_id: self.request.map(|key| key.trace.to_string()),
            span_id: self.request.map(|key| key.span.to_string()),
        }
        .serialize(serializer)
    }
}

/// A cause of slow requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Its kind.
    pub id: FindingId,
    /// How much it matters.
    pub severity: Severity,
    /// In a line.
    pub title: String,
    /// In a few sentences.
    pub explanation: String,
    /// What it rests on; never empty.
    pub evidence: Vec<Evidence>,
    /// What can be done.
    pub advice: String,
    /// When it was so, within the window that is looked at.
    pub range: TimeRange,
    /// The share of the slow requests' time that it touches. Shares of several findings overlap: a
    /// lock may be waited for whose holder waits for a disk.
    pub share: f64,
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Row<'finding> {
            id: FindingId,
            severity: Severity,
            title: &'finding str,
            explanation: &'finding str,
            evidence: &'finding [Evidence],
            advice: &'finding str,
            begin_ns: i64,
            end_ns: i64,
            share: f64,
        }
        Row {
            id: self.id,
            severity: self.severity,
            title: &self.title,
            explanation: &self.explanation,
            evidence: &self.evidence,
            advice: &self.advice,
            begin_ns: self.range.begin.ns(),
            end_ns: self.range.end.ns(),
            share: (self.share * 1e4).round() / 1e4,
        }
        .serialize(serializer)
    }
}
