//! Handlers of device interrupts and softirqs, from entry to exit on one processor, innermost first.
//!
//! An exit whose entry lies in an earlier chunk waits for that chunk; over a gap nothing is paired.

use serde::{Deserialize, Serialize};
use slowpath_concepts::{Concepts, Fact, FactKind, Softirq};
use slowpath_engine::{Analysis, Chunk, Distribution};
use slowpath_model::{Event, Projection, TimeRange, Timestamp};
use slowpath_source::{Packet, Source};

use super::{LatencyKind, LatencyReport, report};
use crate::answer::Answer;
use crate::by_stream::ByStream;
use crate::{Extent, Window};

/// The analysis.
pub(super) struct Interrupts {
    kind: LatencyKind,
    window: Window,
    concepts: Concepts,
}

/// What a chunk, or several, told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Told {
    handlers: Handlers,
    nests: ByStream<Nest>,
    /// Only while a chunk is passed over.
    nest: Nest,
}

/// The handlers that ran, with how long they took.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Handlers(Vec<Handler>);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Handler {
    number: u32,
    name: Box<[u8]>,
    taken: Distribution,
}

impl Handlers {
    fn position(&mut self, number: u32, name: &[u8]) -> usize {
        let is_it = |handler: &Handler| handler.number == number && *handler.name == *name;
        self.0.iter().position(is_it).unwrap_or_else(|| {
            self.0.push(Handler {
                number,
                name: name.into(),
                taken: Distribution::default(),
            });
            self.0.len() - 1
        })
    }
}

/// One processor's handlers that lack an end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Nest {
    /// Exits before which no entry was seen.
    exits: Vec<(Timestamp, u32)>,
    /// Entries, by position in the list of handlers, after which no exit was seen.
    entries: Vec<(Timestamp, usize)>,
    /// Events were lost somewhere: what follows has nothing to do with what came before.
    has_gap: bool,
}

impl Interrupts {
    pub(super) fn irqs(source: &dyn Source, range: TimeRange) -> Self {
        let kinds = [FactKind::IrqEntry, FactKind::IrqExit];
        Self::new(source, range, LatencyKind::Irq, &kinds)
    }

    pub(super) fn softirqs(source: &dyn Source, range: TimeRange) -> Self {
        let kinds = [FactKind::SoftirqEntry, FactKind::SoftirqExit];
        Self::new(source, range, LatencyKind::Softirq, &kinds)
    }

    fn new(source: &dyn Source, range: TimeRange, kind: LatencyKind, kinds: &[FactKind]) -> Self {
        Self {
            kind,
            window: Extent::of(source).window(range),
            concepts: Concepts::resolve(source.schema(), kinds),
        }
    }

    fn exit(&self, handlers: &mut Handlers, nest: &mut Nest, at: Timestamp, number: u32) {
        let is_it = |&(_, handler): &(Timestamp, usize)| handlers.0[handler].number == number;
        match nest.entries.iter().rposition(is_it) {
            Some(position) => {
                let (from, handler) = nest.entries.remove(position);
                if self.window.contains(from) && self.window.contains(at) {
                    handlers.0[handler].taken.add(at.since(from));
                }
            }
            None if nest.has_gap => {}
            None => nest.exits.push((at, number)),
        }
    }

    /// Goes on with `later` where `known` ends.
    fn follow(&self, handlers: &mut Handlers, known: &mut Nest, later: Nest) {
        for (at, number) in later.exits {
            self.exit(handlers, known, at, number);
        }
        if later.has_gap {
            known.entries.clear();
            known.has_gap = true;
        }
        known.entries.extend(later.entries);
    }
}

impl Answer for Interrupts {
    type Report = LatencyReport;

    fn projection(&self) -> &Projection {
        self.concepts.projection()
    }

    fn range(&self) -> TimeRange {
        self.window.and_before()
    }

    fn report(&self, told: Told) -> LatencyReport {
        let Told {
            mut handlers,
            nests,
            ..
        } = told;
        nests.joined(|_, known, later| self.follow(&mut handlers, known, later));
        let named = handlers.0.into_iter().map(|handler| {
            let name = match self.kind {
                LatencyKind::Softirq => Softirq(handler.number).name().to_owned(),
                _ => format!(
                    "{} {}",
                    handler.number,
                    String::from_utf8_lossy(&handler.name)
                ),
            };
            (name, handler.taken)
        });
        report(self.kind, self.window, named)
    }
}

impl Analysis for Interrupts {
    type State = Told;

    fn begin(&self, _chunk: &Chunk) -> Told {
        Told::default()
    }

    fn packet(&self, told: &mut Told, packet: &Packet) {
        if packet.lacks_events_before() {
            told.nest.entries.clear();
            told.nest.has_gap = true;
        }
    }

    #[inline]
    fn event(&self, told: &mut Told, event: &Event<'_>) {
        let Told { handlers, nest, .. } = told;
        let mut enter = |number, name| {
            let handler = handlers.position(number, name);
            nest.entries.push((event.at, handler));
        };
        match self.concepts.fact(event) {
            Some(Fact::IrqEntry { irq, name }) => enter(irq, name),
            Some(Fact::SoftirqEntry(softirq)) => enter(softirq.0, b""),
            Some(Fact::IrqExit { irq }) => self.exit(handlers, nest, event.at, irq),
            Some(Fact::SoftirqExit(softirq)) => self.exit(handlers, nest, event.at, softirq.0),
            _ => {}
        }
    }

    fn end(&self, told: &mut Told, chunk: &Chunk) {
        told.nests = ByStream::of(chunk, std::mem::take(&mut told.nest));
    }

    fn merge(&self, earlier: &mut Told, later: Told) {
        let handlers = later.handlers.0.into_iter().map(|handler| {
            let position = earlier.handlers.position(handler.number, &handler.name);
            earlier.handlers.0[position].taken.merge(handler.taken);
            position
        });
        let renumbered: Vec<usize> = handlers.collect();
        let mut later_nests = later.nests;
        later_nests.for_each(|nest| {
            for (_, handler) in &mut nest.entries {
                *handler = renumbered[*handler];
            }
        });
        let handlers = &mut earlier.handlers;
        earlier.nests.merge(later_nests, |_, known, later| {
            self.follow(handlers, known, later)
        });
    }
}
