//! What disks did while threads waited for them: which disk ended each wait, and whose requests were
//! under way meanwhile.
//!
//! A pass over the block events alone. The disk that ended a wait is that of the request that was
//! completed last on the interrupted processor right before the wake-up. Kept is only what was under way during the
//! waits that are asked about. A request is that of the thread that put it in the disk's queue, where it
//! was: others may give it to the disk. That need not be whose data it is: the kernel's own threads write
//! back what programs wrote.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_concepts::{BlockDevice, Concepts, Direction, Fact, FactKind};
use slowpath_engine::{Analysis, Cancelled, Chunk, Options, Outcome};
use slowpath_model::{CpuId, Event, Projection, ThreadId, TimeRange, Timestamp};
use slowpath_source::Source;

use crate::InterruptedWait;
use crate::answer::{Answer, answer};
use crate::interrupted::{Times, interrupts};
use crate::lanes::{Lane, Lanes, Record, Whose};

/// The kernel counts disks in sectors of so many bytes, whatever the disk's own are.
const SECTOR: u64 = 512;

/// Requests that were put in queues and have not been seen again: more have become part of others.
const MOST_INSERTED: usize = 1 << 16;

/// A request that was under way in one of the waits that were asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskRequest {
    /// The disk's name, or its numbers where the trace has no name.
    pub disk: Arc<str>,
    /// From its issue to its first completion.
    pub range: TimeRange,
    /// How much it moves.
    pub bytes: u64,
    /// It writes, else it reads.
    pub writes: bool,
    /// The thread that put it in the disk's queue, else the one that issued it, where the trace tells.
    pub thread: Option<ThreadId>,
}

/// What disks did during some waits.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// In the order in which the waits were given: the disk that ended each.
    pub ended_by: Vec<Option<Arc<str>>>,
    /// In the order of their completion. Requests that move no data, or whose issue or completion is
    /// not in the trace, are left out.
    pub requests: Vec<DiskRequest>,
}

/// Finds what disks did during `waits`.
///
/// Takes about 50 bytes for each request that was under way in one of them.
///
/// # Errors
///
/// Where it was cancelled.
pub fn disk_use(
    source: &dyn Source,
    waits: &[InterruptedWait],
    options: &Options<'_>,
) -> Result<Outcome<DiskUse>, Cancelled> {
    answer(source, &Disks::new(source, waits), options)
}

struct Disks<'waits> {
    concepts: Concepts,
    waits: &'waits [InterruptedWait],
    /// When anybody waited.
    asked: Times,
    interrupts: BTreeMap<CpuId, Times>,
}

/// What a chunk, or several, told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Told {
    lanes: Lanes<End>,
    /// Requests that were issued and not completed yet, by disk and sector.
    issued: FxHashMap<u32, FxHashMap<u64, (Timestamp, Issued)>>,
    /// Who put requests in queues that were not completed yet, by disk and sector.
    inserted: FxHashMap<u32, FxHashMap<u64, ThreadId>>,
    requests: Vec<Completed>,
    /// In interrupts that ended waits: when, on which processor, of which disk.
    endings: Vec<(Timestamp, CpuId, u32)>,
    names: FxHashMap<u32, String>,
    /// Only while a chunk is passed over.
    lane: Lane<End>,
    cpu: Option<CpuId>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct End {
    device: u32,
    sector: u64,
    what: Step,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Step {
    Inserted(ThreadId),
    Issued(Issued),
    Completed,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Issued {
    bytes: u64,
    writes: bool,
    thread: Option<ThreadId>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Completed {
    device: u32,
    range: TimeRange,
    what: Issued,
}

impl<'waits> Disks<'waits> {
    fn new(source: &dyn Source, waits: &'waits [InterruptedWait]) -> Self {
        const KINDS: [FactKind; 4] = [
            FactKind::BlockInsert,
            FactKind::BlockIssue,
            FactKind::BlockComplete,
            FactKind::DumpedDisk,
        ];
        Self {
            concepts: Concepts::resolve(source.schema(), &KINDS),
            waits,
            asked: Times::of(waits.iter().map(|wait| wait.range).collect()),
            interrupts: interrupts(waits.iter()),
        }
    }

    fn drain(&self, told: &mut Told, until: Timestamp, end: bool) {
        let (issued, requests) = (&mut told.issued, &mut told.requests);
        let inserted = &mut told.inserted;
        told.lanes.drain(until, end, |_, Record { at, what, .. }| {
            let End {
                device,
                sector,
                what,
            } = what;
            let issued = issued.entry(device).or_default();
            let inserted = inserted.entry(device).or_default();
            match what {
                Step::Inserted(thread) => {
                    if inserted.len() >= MOST_INSERTED {
                        inserted.clear();
                    }
                    inserted.insert(sector, thread);
                }
                Step::Issued(issue) => {
                    let thread = inserted.get(&sector).copied().or(issue.thread);
                    issued.insert(sector, (at, Issued { thread, ..issue }));
                }
                Step::Completed => {
                    inserted.remove(&sector);
                    if let Some((from, what)) = issued.remove(&sector)
                        && self.asked.touch(TimeRange::new(from, at))
                        && what.bytes > 0
                    {
                        let range = TimeRange::new(from, at);
                        requests.push(Completed {
                            device,
                            range,
                            what,
                        });
                    }
                }
            }
        });
    }
}

impl Answer for Disks<'_> {
    type Report = DiskUse;

    fn projection(&self) -> &Projection {
        self.concepts.projection()
    }

    /// Everything before, too: requests that are under way, names of disks. Requests that end after
    /// the last wait were under way in it.
    fn range(&self) -> TimeRange {
        TimeRange::ALL
    }

    fn report(&self, mut told: Told) -> DiskUse {
        self.drain(&mut told, Timestamp::MAX, true);
        let mut names: BTreeMap<u32, Arc<str>> = BTreeMap::new();
        let mut name = |device: u32| {
            let name = names.entry(device).or_insert_with(|| {
                let known = told.names.get(&device).cloned();
                known
                    .unwrap_or_else(|| BlockDevice(device).to_string())
                    .into()
            });
            name.clone()
        };
        // Of one time the one that was told last.
        told.endings.sort_by_key(|(at, cpu, _)| (*cpu, *at));
        let ended_by = self.waits.iter().map(|wait| {
            let is_before = |(at, cpu, _): &(Timestamp, CpuId, u32)| {
                (*cpu, *at) < (wait.cpu, wait.interrupt.end)
            };
            let past = told.endings.partition_point(is_before);
            let (at, cpu, device) = told.endings.get(past.checked_sub(1)?)?;
            (*cpu == wait.cpu && wait.interrupt.contains(*at)).then(|| name(*device))
        });
        DiskUse {
            ended_by: ended_by.collect(),
            requests: (told.requests.iter())
                .map(|request| DiskRequest {
                    disk: name(request.device),
                    range: request.range,
                    bytes: request.what.bytes,
                    writes: request.what.writes,
                    thread: request.what.thread,
                })
                .collect(),
        }
    }
}

impl Analysis for Disks<'_> {
    type State = Told;

    fn begin(&self, chunk: &Chunk) -> Told {
        Told {
            cpu: Some(chunk.processor()),
            ..Told::default()
        }
    }

    fn event(&self, told: &mut Told, event: &Event<'_>) {
        let (request, what) = match self.concepts.fact(event) {
            Some(Fact::BlockInsert {
                request,
                thread: Some(thread),
            }) => (request, Step::Inserted(thread)),
            Some(Fact::BlockIssue {
                request,
                thread,
                direction,
            }) => {
                let moves = direction != Direction::Neither;
                let issued = Issued {
                    bytes: u64::from(request.sectors) * SECTOR * u64::from(moves),
                    writes: direction == Direction::Write,
                    thread,
                };
                (request, Step::Issued(issued))
            }
            Some(Fact::BlockComplete(request)) => {
                if let Some(cpu) = told.cpu
                    && (self.interrupts.get(&cpu)).is_some_and(|times| times.contain(event.at))
                {
                    told.endings.push((event.at, cpu, request.device.0));
                }
                (request, Step::Completed)
            }
            Some(Fact::DumpedDisk { device, name }) => {
                let name = String::from_utf8_lossy(name).into_owned();
                told.names.insert(device.0, name);
                return;
            }
            _ => return,
        };
        told.lane.push(Record {
            at: event.at,
            thread: Whose::Nobody,
            what: End {
                device: request.device.0,
                sector: request.sector,
                what,
            },
        });
    }

    fn end(&self, told: &mut Told, chunk: &Chunk) {
        told.lanes = Lanes::of(chunk, std::mem::take(&mut told.lane));
    }

    fn merge(&self, earlier: &mut Told, later: Told) {
        earlier.lanes.merge(later.lanes);
        earlier.endings.extend(later.endings);
        earlier.names.extend(later.names);
    }

    fn settle(&self, told: &mut Told, watermark: Timestamp) {
        self.drain(told, watermark, false);
    }
}

#[cfg(test)]
mod tests {
    use slowpath_drawn::DrawnTrace;

    use super::*;
    use crate::answer::every_way;

    fn range(begin: i64, end: i64) -> TimeRange {
        TimeRange::new(Timestamp::from_ns(begin), Timestamp::from_ns(end))
    }

    #[test]
    fn a_wait_is_ended_by_the_disk_that_completed_last_before_the_wake_up() {
        let drawing = "cpu0 1 lttng_statedump_block_device dev=8388608 diskname=sda
            cpu0 10 block_rq_issue dev=8388608 sector=100 nr_sector=8 tid=7 rwbs=1
            cpu1 11 block_rq_insert dev=8388624 sector=100 nr_sector=2 tid=8 rwbs=4
            cpu1 12 block_rq_issue dev=8388624 sector=100 nr_sector=2 tid=99 rwbs=4
            cpu1 13 block_rq_issue dev=8388608 sector=300 nr_sector=0 tid=8 rwbs=256
            cpu0 14 block_rq_issue dev=8388608 sector=500 nr_sector=8 tid=9 rwbs=4
            cpu0 15 block_rq_complete dev=8388608 sector=500 nr_sector=8 rwbs=4
            cpu0 39 block_rq_complete dev=8388624 sector=100 nr_sector=2 rwbs=4
            cpu0 41 block_rq_complete dev=8388608 sector=100 nr_sector=8 rwbs=1
            cpu1 42 block_rq_complete dev=8388608 sector=300 nr_sector=0 rwbs=256
            cpu0 60 block_rq_issue dev=8388608 sector=700 nr_sector=8 tid=9 rwbs=1
            cpu0 70 block_rq_complete dev=8388608 sector=700 nr_sector=8 rwbs=1";
        let wait = |cpu, begin, end, interrupt| InterruptedWait {
            range: range(begin, end),
            cpu: CpuId(cpu),
            interrupt: range(interrupt, end + 1),
        };
        let waits = [
            wait(0, 20, 40, 38),
            wait(0, 20, 41, 38),
            wait(0, 20, 50, 45),
            wait(1, 20, 41, 38),
        ];
        let trace = DrawnTrace::parse(drawing).unwrap();
        let found = every_way::ask(&trace, |source| Disks::new(source, &waits));
        let ended_by: Vec<Option<&str>> = found.ended_by.iter().map(Option::as_deref).collect();
        assert_eq!(ended_by, [Some("8:16"), Some("sda"), None, None]);
        let request = |disk: &str, begin, end, bytes, writes, thread| DiskRequest {
            disk: disk.into(),
            range: range(begin, end),
            bytes,
            writes,
            thread: Some(ThreadId(thread)),
        };
        let expected = [
            request("8:16", 12, 39, 1024, false, 8),
            request("sda", 10, 41, 4096, true, 7),
        ];
        assert_eq!(found.requests, expected);
    }

    #[test]
    fn ftrace_tells_the_thread_in_the_context_and_the_direction_in_letters() {
        let drawing =
            "cpu0 10 block_rq_issue dev=8388608 sector=1 nr_sector=8 rwbs=FWS @common_pid=7
            cpu0 20 block_rq_complete dev=8388608 sector=1 nr_sector=8 rwbs=FWS @common_pid=9";
        let waits = [InterruptedWait {
            range: range(12, 21),
            cpu: CpuId(0),
            interrupt: range(19, 22),
        }];
        let trace = DrawnTrace::parse(drawing).unwrap();
        let found = every_way::ask(&trace, |source| Disks::new(source, &waits));
        assert_eq!(found.ended_by, [Some("8:0".into())]);
        let [request] = &found.requests[..] else {
            panic!("one request in {found:?}");
        };
        assert_eq!((request.writes, request.thread), (true, Some(ThreadId(7))));
    }
}
