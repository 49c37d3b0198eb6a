//! What the readers of all formats share: names kept once, problems counted, spans checked on their
//! way to the sink.

use std::collections::BTreeMap;
use std::sync::Arc;

use slowpath_model::{Diagnostic, DiagnosticCode, Place, Timestamp};

use crate::interner::Interner;
use crate::{Attribute, AttributeValue, ReadOptions, Span, SpanKind, SpanSink, SpanStatus};

/// A span with one time at 0 and the other beyond this has no time there. Files made by hand count from 0.
const YEAR_NS: i64 = 365 * 86_400 * 1_000_000_000;

/// Whether it is of a clock rather than of a file made by hand.
pub(crate) fn is_of_a_clock(at: Timestamp) -> bool {
    at.ns() > YEAR_NS
}

/// The attribute of spans that are none: `slowpath export` made them of the states of requests, and whoever shows these
/// tells them with the others.
const OF_STATES: &str = "slowpath.state";

/// Whether a span with this attribute is to be left out, as [`Builder::left_out_state`] tells.
pub(crate) fn is_of_states(key: &str) -> bool {
    key == OF_STATES
}

/// The attribute of a request's own span that `slowpath export` gave the times of its events: the times that it was told
/// with, `BEGIN END` in nanoseconds. Read with these it is a copy of what told it.
const TOLD_NS: &str = "slowpath.told_ns";

/// Whether an attribute tells the times that are to be read in place of the span's own, as [`told_times`] does.
pub(crate) fn is_of_told_times(key: &str) -> bool {
    key == TOLD_NS
}

/// The times that such an attribute tells.
pub(crate) fn told_times(value: &str) -> Option<(Timestamp, Timestamp)> {
    let time = |text: &str| text.parse().ok().filter(|ns| *ns >= 0);
    let (begin, end) = value.split_once(' ')?;
    Some((
        Timestamp::from_ns(time(begin)?),
        Timestamp::from_ns(time(end)?),
    ))
}

/// Builds spans for a sink.
pub(crate) struct Builder<'sink> {
    pub(crate) options: ReadOptions,
    names: Interner,
    file: String,
    problems: BTreeMap<DiagnosticCode, Diagnostic>,
    has_spans: bool,
    sink: &'sink mut dyn SpanSink,
}

/// What the spans of one process have in common.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) service: Arc<str>,
    pub(crate) attributes: Vec<Attribute>,
}

impl<'sink> Builder<'sink> {
    pub(crate) fn new(file: &str, options: ReadOptions, sink: &'sink mut dyn SpanSink) -> Self {
        Self {
            options,
            names: Interner::default(),
            file: file.to_owned(),
            problems: BTreeMap::new(),
            has_spans: false,
            sink,
        }
    }

    /// A text that other spans may share.
    pub(crate) fn name(&mut self, text: &str) -> Arc<str> {
        self.names.text(text)
    }

    /// Counts a problem; the first of its kind is described.
    pub(crate) fn problem(
        &mut self,
        code: DiagnosticCode,
        byte: u64,
        message: impl FnOnce() -> String,
    ) {
        let file = &self.file;
        let problem = self.problems.entry(code).or_insert_with(|| {
            let place = Place {
                file: file.clone(),
                byte: Some(byte),
                ..Place::default()
            };
            Diagnostic::new(code, place, message())
        });
        problem.count = Some(problem.count.unwrap_or(0) + 1);
    }

    /// A span that [`is_of_states`] is not given to the sink.
    pub(crate) fn left_out_state(&mut self, byte: u64) {
        self.problem(DiagnosticCode::AddedSpans, byte, || {
            "a span is a state of a request, added by slowpath; it is left out".to_owned()
        });
    }

    /// The span's times; one that is not set and an end before the begin are mended.
    pub(crate) fn times(
        &mut self,
        begin: Timestamp,
        end: Timestamp,
        byte: u64,
    ) -> (Timestamp, Timestamp) {
        let last = begin.max(end);
        if last.ns() == 0 {
            self.problem(DiagnosticCode::UnsetTime, byte, || match begin == end {
                true => "a span has neither a start nor an end (both are 0)".to_owned(),
                false => {
                    "a span ends at 0, where times begin to be counted; it is taken to have none"
                        .to_owned()
                }
            });
            return (last, last);
        }
        if begin.min(end).ns() == 0 && is_of_a_clock(last) {
            let which = if begin < end { "start" } else { "end" };
            self.problem(DiagnosticCode::UnsetTime, byte, || {
                format!("a span has no {which} (0); it is taken to last no time")
            });
            return (last, last);
        }
        if end < begin {
            self.problem(DiagnosticCode::NegativeDuration, byte, || {
                let length = i128::from(end.ns()) - i128::from(begin.ns());
                format!("a span lasts {length} ns; it is taken to end where it begins")
            });
        }
        (begin, last)
    }

    /// Those of a span whose end was told as the time since its start: without a start, it has none.
    pub(crate) fn times_since_a_start(
        &mut self,
        begin: Timestamp,
        end: Timestamp,
        byte: u64,
    ) -> (Timestamp, Timestamp) {
        if begin.ns() != 0 || begin == end {
            return (begin, end);
        }
        self.problem(DiagnosticCode::UnsetTime, byte, || {
            "a span has a duration, but no start (0); it is taken to have neither".to_owned()
        });
        (begin, begin)
    }

    /// Gives a span of `process` to the sink.
    pub(crate) fn emit(&mut self, mut span: Span, process: &Process) {
        span.service = process.service.clone();
        if self.options.attributes {
            span.attributes.extend_from_slice(&process.attributes);
        }
        self.has_spans = true;
        self.sink.span(span);
    }

    /// Whether a span was given to the sink, or something was said of why none was.
    pub(crate) fn has_told(&self) -> bool {
        self.has_spans || !self.problems.is_empty()
    }

    /// Gives all problems to the sink.
    pub(crate) fn finish(self) {
        for mut problem in self.problems.into_values() {
            if let Some(count) = problem.count.filter(|count| *count > 1) {
                problem.message += &format!(" (the first of {count})");
            }
            self.sink.diagnostic(problem);
        }
    }
}

impl Process {
    pub(crate) fn unknown() -> Self {
        Self {
            service: Arc::from(""),
            attributes: Vec::new(),
        }
    }
}

/// The kind that Jaeger's tag `span.kind` or OTLP's names say.
pub(crate) fn kind_of_name(name: &str) -> SpanKind {
    match name.strip_prefix("SPAN_KIND_").unwrap_or(name) {
        "server" | "SERVER" => SpanKind::Server,
        "client" | "CLIENT" => SpanKind::Client,
        "producer" | "PRODUCER" => SpanKind::Producer,
        "consumer" | "CONSUMER" => SpanKind::Consumer,
        _ => SpanKind::Internal,
    }
}

/// The kind that OTLP numbers so.
pub(crate) fn kind_of_number(number: u64) -> SpanKind {
    match number {
        2 => SpanKind::Server,
        3 => SpanKind::Client,
        4 => SpanKind::Producer,
        5 => SpanKind::Consumer,
        _ => SpanKind::Internal,
    }
}

/// What OTLP's flags of a span say of its parent: of bit 8 whether they say so, of bit 9 that it is in another process.
pub(crate) fn has_remote_parent(flags: u64) -> Option<bool> {
    (flags & 1 << 8 != 0).then_some(flags & 1 << 9 != 0)
}

/// The status that OTLP numbers so.
pub(crate) fn status_of_number(number: u64) -> SpanStatus {
    match number {
        1 => SpanStatus::Ok,
        2 => SpanStatus::Error,
        _ => SpanStatus::Unset,
    }
}

/// Whether an attribute's value says yes (Jaeger's tag `error` comes as a bool or as text).
pub(crate) fn says_true(value: &AttributeValue) -> bool {
    match value {
        AttributeValue::Bool(value) => *value,
        AttributeValue::Text(value) => &**value == "true",
        _ => false,
    }
}
