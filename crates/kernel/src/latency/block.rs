//! Disk requests, from issue to the first completion of the same device and sector.
//!
//! Either end may be on any processor, so all are brought together in the order of time.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_concepts::{BlockDevice, BlockRequest, Concepts, Fact, FactKind};
use slowpath_engine::{Analysis, Chunk, Distribution};
use slowpath_model::{Event, Projection, TimeRange, Timestamp};
use slowpath_source::Source;

use super::{LatencyKind, LatencyReport, report};
use crate::answer::Answer;
use crate::lanes::{Lane, Lanes, Record, Whose};
use crate::{Extent, Window};

/// The analysis.
pub(super) struct Block {
    window: Window,
    concepts: Concepts,
}

/// What a chunk, or several, told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Told {
    lanes: Lanes<End>,
    /// Requests under way, by device and sector.
    issued: FxHashMap<u32, FxHashMap<u64, Timestamp>>,
    /// By device.
    taken: FxHashMap<u32, Distribution>,
    /// The disks' names.
    names: FxHashMap<u32, String>,
    /// Only while a chunk is passed over.
    lane: Lane<End>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct End {
    completes: bool,
    device: u32,
    sector: u64,
}

const KINDS: &[FactKind] = &[
    FactKind::BlockIssue,
    FactKind::BlockComplete,
    FactKind::DumpedDisk,
];

impl Block {
    pub(super) fn new(source: &dyn Source, range: TimeRange) -> Self {
        Self {
            window: Extent::of(source).window(range),
            concepts: Concepts::resolve(source.schema(), KINDS),
        }
    }

    fn drain(&self, told: &mut Told, until: Timestamp, end: bool) {
        let (issued, taken) = (&mut told.issued, &mut told.taken);
        told.lanes.drain(until, end, |_, Record { at, what, .. }| {
            let on_device = issued.entry(what.device).or_default();
            if !what.completes {
                on_device.insert(what.sector, at);
            } else if let Some(from) = on_device.remove(&what.sector)
                && self.window.contains(from)
                && self.window.contains(at)
            {
                taken.entry(what.device).or_default().add(at.since(from));
            }
        });
    }
}

impl Answer for Block {
    type Report = LatencyReport;

    fn projection(&self) -> &Projection {
        self.concepts.projection()
    }

    fn range(&self) -> TimeRange {
        self.window.and_before()
    }

    fn report(&self, mut told: Told) -> LatencyReport {
        self.drain(&mut told, Timestamp::MAX, true);
        let named = told.taken.into_iter().map(|(device, taken)| {
            let name = told.names.get(&device).cloned();
            (
                name.unwrap_or_else(|| BlockDevice(device).to_string()),
                taken,
            )
        });
        report(LatencyKind::Block, self.window, named)
    }
}

impl Analysis for Block {
    type State = Told;

    fn begin(&self, _chunk: &Chunk) -> Told {
        Told::default()
    }

    fn event(&self, told: &mut Told, event: &Event<'_>) {
        let mut push = |request: BlockRequest, completes| {
            told.lane.push(Record {
                at: event.at,
                thread: Whose::Nobody,
                what: End {
                    completes,
                    device: request.device.0,
                    sector: request.sector,
                },
            });
        };
        match self.concepts.fact(event) {
            Some(Fact::BlockIssue { request, .. }) => push(request, false),
            Some(Fact::BlockComplete(request)) => push(request, true),
            Some(Fact::DumpedDisk { device, name }) => {
                let name = String::from_utf8_lossy(name).into_owned();
                told.names.insert(device.0, name);
            }
            _ => {}
        }
    }

    fn end(&self, told: &mut Told, chunk: &Chunk) {
        told.lanes = Lanes::of(chunk, std::mem::take(&mut told.lane));
    }

    fn merge(&self, earlier: &mut Told, later: Told) {
        earlier.lanes.merge(later.lanes);
        earlier.names.extend(later.names);
    }

    fn settle(&self, told: &mut Told, watermark: Timestamp) {
        self.drain(told, watermark, false);
    }
}
