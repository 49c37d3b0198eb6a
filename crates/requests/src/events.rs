//! What applications told about their spans: every start, end, attach and detach of one host.
//!
//! A pass over the user-space traces. An event means the same wherever a chunk begins, so nothing
//! is pending and a merge puts lists one behind the other. Which request ran where is not decided
//! here (`assign.rs`).

use serde::{Deserialize, Serialize};
use slowpath_concepts::{Concepts, Fact, FactKind};
use slowpath_engine::{Analysis, Cancelled, Chunk, Options, Outcome};
use slowpath_model::{CpuId, Event, ProcessId, SpanId, StreamId, ThreadId, Timestamp, TraceId};
use slowpath_source::{Packet, Source};

/// What an application says about a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SpanEventKind {
    /// The span starts.
    Start,
    /// The span ends.
    End,
    /// The thread works for the span from now on.
    Attach,
    /// The thread works for the span no more.
    Detach,
}

/// One event about a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanEvent {
    /// When.
    pub at: Timestamp,
    /// What.
    pub kind: SpanEventKind,
    /// The distributed trace that the span belongs to.
    pub trace: TraceId,
    /// The span.
    pub span: SpanId,
    /// The processor on which it was said, where known.
    pub cpu: Option<CpuId>,
    /// The thread that said it, where known: as recorded, which may be by its own namespace, until
    /// the kernel's time lines have told its number on the host.
    pub thread: Option<ThreadId>,
    /// Its process, where recorded: by its own namespace.
    pub process: Option<ProcessId>,
}

/// The facts that spans are made of.
const FACTS: &[FactKind] = &[
    FactKind::SpanStart,
    FactKind::SpanEnd,
    FactKind::SpanAttach,
    FactKind::SpanDetach,
];

/// Whether `source` has span events at all, by its schema.
pub fn has_span_events(source: &dyn Source) -> bool {
    let concepts = Concepts::resolve(source.schema(), FACTS);
    FACTS.iter().any(|&kind| concepts.has(kind))
}

/// Collects the span events of `source` in the order of time; events of one time in the order of
/// their streams. The state is `None` where there is no packet.
pub fn span_events(
    source: &dyn Source,
    options: &Options<'_>,
) -> Result<Outcome<Vec<SpanEvent>>, Cancelled> {
    let concepts = Concepts::resolve(source.schema(), FACTS);
    let gather = Gather {
        concepts: &concepts,
    };
    let outcome = slowpath_engine::run(source, concepts.projection(), &gather, options)?;
    Ok(Outcome {
        state: outcome.state.map(|gathered| {
            let mut told = gathered.told;
            told.sort_by_key(|(stream, event)| (event.at, *stream));
            told.into_iter().map(|(_, event)| event).collect()
        }),
        diagnostics: outcome.diagnostics,
        timings: outcome.timings,
    })
}

struct Gather<'run> {
    concepts: &'run Concepts,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Gathered {
    told: Vec<(StreamId, SpanEvent)>,
    /// Where the chunk that is being passed over lies.
    #[serde(skip)]
    place: (StreamId, Option<CpuId>),
}

impl Analysis for Gather<'_> {
    type State = Gathered;

    fn begin(&self, chunk: &Chunk) -> Gathered {
        Gathered {
            told: Vec::new(),
            place: (chunk.stream, chunk.cpu),
        }
    }

    fn packet(&self, state: &mut Gathered, packet: &Packet) {
        state.place.1 = packet.cpu.or(state.place.1);
    }

    fn event(&self, state: &mut Gathered, event: &Event<'_>) {
        let (kind, mark) = match self.concepts.fact(event) {
            Some(Fact::SpanStart(mark)) => (SpanEventKind::Start, mark),
            Some(Fact::SpanEnd(mark)) => (SpanEventKind::End, mark),
            Some(Fact::SpanAttach(mark)) => (SpanEventKind::Attach, mark),
            Some(Fact::SpanDetach(mark)) => (SpanEventKind::Detach, mark),
            _ => return,
        };
        let (stream, cpu) = state.place;
        let event = SpanEvent {
            at: event.at,
            kind,
            trace: mark.trace,
            span: mark.span,
            cpu,
            thread: mark.thread,
            process: mark.process,
        };
        state.told.push((stream, event));
    }

    fn merge(&self, earlier: &mut Gathered, mut later: Gathered) {
        earlier.told.append(&mut later.told);
    }
}
