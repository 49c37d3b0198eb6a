//! A span reduced to what the calling-context tree needs: 78 bytes on disk, so that many can be held,
//! sorted, and moved to disk and back.

use slowpath_model::{SpanId, TimeRange, Timestamp, TraceId};
use slowpath_read_spans::{ReferenceKind, Span, SpanKind, SpanStatus};

use crate::mark::Mark;
use crate::names::NameId;

/// What is kept of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanRecord {
    /// Its distributed trace.
    pub trace: TraceId,
    /// Its own id.
    pub span: SpanId,
    /// The span that it hangs below, within the same trace.
    pub parent: Option<SpanId>,
    /// The span that it names as the one before it ([`ReferenceKind::FollowsFrom`]), beside a parent.
    pub follows: Option<SpanId>,
    /// Who made it.
    pub service: NameId,
    /// What was done.
    pub operation: NameId,
    /// When, by its host's clock.
    pub range: TimeRange,
    /// Its side of a call.
    pub kind: SpanKind,
    /// Whether it failed.
    pub failed: bool,
    /// Whether its parent does not wait for it: it only follows from it.
    pub detached: bool,
    /// Whether it is a request where no span above it is one.
    pub may_be_request: bool,
    /// What the caller found out about it.
    pub mark: Mark,
}

impl SpanRecord {
    /// What is kept of `span`.
    pub fn new(span: &Span, may_be_request: bool) -> Self {
        let follows = (span.references.iter())
            .find(|reference| {
                reference.kind == ReferenceKind::FollowsFrom && reference.trace == span.trace
            })
            .map(|reference| reference.span);
        let parent = span.parent();
        Self {
            trace: span.trace,
            span: span.span,
            parent: parent.or(follows),
            follows: parent.and(follows),
            service: NameId::of(&span.service),
            operation: NameId::of(&span.operation),
            range: TimeRange::new(span.begin, span.end),
            kind: span.kind,
            failed: span.status == SpanStatus::Error,
            detached: parent.is_none() && follows.is_some(),
            may_be_request,
            mark: Mark::NONE,
        }
    }

    /// Its length when written.
    pub(crate) const BYTES: usize = 78;

    /// Writes it; ids of 0 stand for none, as everywhere in tracing.
    pub(crate) fn write(&self, output: &mut Vec<u8>) {
        let id = |span: Option<SpanId>| span.unwrap_or_default().0;
        let numbers = [
            self.trace.high,
            self.trace.low,
            self.span.0,
            id(self.parent),
            id(self.follows),
            self.range.begin.ns() as u64,
            self.range.end.ns() as u64,
            self.service.0,
            self.operation.0,
        ];
        numbers
            .iter()
            .for_each(|number| output.extend(number.to_le_bytes()));
        let kind = KINDS.iter().position(|kind| *kind == self.kind);
        output.push(kind.unwrap_or(0) as u8);
        let flags = [self.failed, self.detached, self.may_be_request];
        output.push((flags.iter().rev()).fold(0, |bits, &flag| bits << 1 | u8::from(flag)));
        output.extend(self.mark.number().to_le_bytes());
    }

    /// Reads what [`Self::write`] wrote.
    pub(crate) fn read(bytes: &[u8; Self::BYTES]) -> Self {
        let number = |position: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[position * 8..][..8]);
            u64::from_le_bytes(number)
        };
        let id = |position| Some(SpanId(number(position))).filter(|span| span.0 != 0);
        let [.., kind, flags, m0, m1, m2, m3] = *bytes;
        Self {
            trace: TraceId {
                high: number(0),
                low: number(1),
            },
            span: SpanId(number(2)),
            parent: id(3),
            follows: id(4),
            service: NameId(number(7)),
            operation: NameId(number(8)),
            range: TimeRange::new(
                Timestamp::from_ns(number(5) as i64),
                Timestamp::from_ns(number(6) as i64),
            ),
            kind: KINDS.get(kind as usize).copied().unwrap_or_default(),
            failed: flags & 1 != 0,
            detached: flags & 2 != 0,
            may_be_request: flags & 4 != 0,
            mark: Mark::new(u32::from_le_bytes([m0, m1, m2, m3])),
        }
    }
}

/// The kinds in the order of their written numbers.
const KINDS: [SpanKind; 5] = [
    SpanKind::Internal,
    SpanKind::Server,
    SpanKind::Client,
    SpanKind::Producer,
    SpanKind::Consumer,
];
