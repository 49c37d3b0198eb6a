//! What applications told about their spans: every start, end, attach and detach of one host.
//!
//! A pass over the user-space traces. An event means the same wherever a chunk begins, so nothing
//! is pending and a merge puts lists one behind the other. Which request ran where is not decided
//! here (`assign.rs`).

use serde::{Deserialize, Serialize};
use slowpath_concepts::{Concepts, Fact, FactKind};
use slowpath_engine::{Analysis, Cancelled, Chunk, Options, Outcome};
use slowpath_model::{CpuId, Event, ProcessId, SpanId, StreamId, ThreadId, Timestamp, TraceId};
use slowpath_platform::LongList;
use slowpath_source::{Packet, Source};

use crate::request::SpanKey;

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

impl SpanEventKind {
    const ALL: [Self; 4] = [Self::Start, Self::End, Self::Attach, Self::Detach];
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
    teller: Teller,
}

/// Who said it, and where. Packed, as there may be millions of events at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Teller {
    cpu: u32,
    thread: i32,
    process: i32,
}

impl Teller {
    /// No processor, thread or process has these numbers.
    const NO_CPU: u32 = u32::MAX;
    const NOBODY: i32 = i32::MIN;
}

impl SpanEvent {
    /// What an application says about the span `key`.
    pub(crate) fn new(
        at: Timestamp,
        kind: SpanEventKind,
        key: SpanKey,
        cpu: Option<CpuId>,
        thread: Option<ThreadId>,
        process: Option<ProcessId>,
    ) -> Self {
        Self {
            at,
            kind,
            trace: key.trace,
            span: key.span,
            teller: Teller {
                cpu: cpu.map_or(Teller::NO_CPU, |cpu| cpu.0),
                thread: thread.map_or(Teller::NOBODY, |thread| thread.0),
                process: process.map_or(Teller::NOBODY, |process| process.0),
            },
        }
    }

    /// The span.
    pub fn key(&self) -> SpanKey {
        SpanKey {
            trace: self.trace,
            span: self.span,
        }
    }

    /// The processor on which it was said, where known.
    pub fn cpu(&self) -> Option<CpuId> {
        Some(CpuId(self.teller.cpu)).filter(|cpu| cpu.0 != Teller::NO_CPU)
    }

    /// The thread that said it, where known: as recorded, which may be by its own namespace, until
    /// the kernel's time lines have told its number on the host.
    pub fn thread(&self) -> Option<ThreadId> {
        Some(ThreadId(self.teller.thread)).filter(|thread| thread.0 != Teller::NOBODY)
    }

    /// Its process, where recorded: by its own namespace.
    pub fn process(&self) -> Option<ProcessId> {
        Some(ProcessId(self.teller.process)).filter(|process| process.0 != Teller::NOBODY)
    }

    pub(crate) fn of_process(&mut self, process: Option<ProcessId>) {
        self.teller.process = process.map_or(Teller::NOBODY, |process| process.0);
    }

    pub(crate) fn told_by(&mut self, thread: Option<ThreadId>) {
        self.teller.thread = thread.map_or(Teller::NOBODY, |thread| thread.0);
    }
}

/// Very many events, of which most lie in a temporary file.
pub(crate) struct SpanEvents(LongList<6>);

impl SpanEvents {
    pub(crate) fn iter(&self) -> impl Iterator<Item = SpanEvent> {
        self.0.iter().map(|row| SpanEvent {
            at: Timestamp::from_ns(row[0].cast_signed()),
            kind: SpanEventKind::ALL[(row[5] >> 32) as usize],
            trace: TraceId {
                high: row[1],
                low: row[2],
            },
            span: SpanId(row[3]),
            teller: Teller {
                cpu: (row[4] >> 32) as u32,
                thread: (row[4] as u32).cast_signed(),
                process: (row[5] as u32).cast_signed(),
            },
        })
    }
}

impl FromIterator<SpanEvent> for SpanEvents {
    fn from_iter<All: IntoIterator<Item = SpanEvent>>(all: All) -> Self {
        let pair = |one: u32, other: i32| u64::from(one) << 32 | u64::from(other.cast_unsigned());
        let mut rows = LongList::default();
        for event in all {
            let Teller {
                cpu,
                thread,
                process,
            } = event.teller;
            rows.push([
                event.at.ns().cast_unsigned(),
                event.trace.high,
                event.trace.low,
                event.span.0,
                pair(cpu, thread),
                pair(event.kind as u32, process),
            ]);
        }
        Self(rows)
    }
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
            // Numbered, a sort needs no memory to keep the order of those of one time.
            for (said, number) in told.iter_mut().zip(0..) {
                said.number = number;
            }
            told.sort_unstable_by_key(|said| (said.event.at, said.stream, said.number));
            told.into_iter().map(|said| said.event).collect()
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
    told: Vec<Said>,
    /// Where the chunk that is being passed over lies.
    #[serde(skip)]
    place: (StreamId, Option<CpuId>),
}

/// An event with where it was found.
#[derive(Debug, Serialize, Deserialize)]
struct Said {
    event: SpanEvent,
    stream: StreamId,
    /// Its position among all, when these are complete.
    number: u32,
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
        let key = SpanKey {
            trace: mark.trace,
            span: mark.span,
        };
        let event = SpanEvent::new(event.at, kind, key, cpu, mark.thread, mark.process);
        state.told.push(Said {
            event,
            stream,
            number: 0,
        });
    }

    fn merge(&self, earlier: &mut Gathered, mut later: Gathered) {
        earlier.told.append(&mut later.told);
    }
}
