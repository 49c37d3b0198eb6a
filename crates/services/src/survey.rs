//! Goes through traces one by one and adds each to a calling-context tree; on several threads, the result is the same.
//!
//! Holds the traces that are being worked on and one tree, whatever the number of threads: each of these makes trees of
//! a few traces, and adds them to it.

use std::io;
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use slowpath_model::Nanoseconds;

use crate::contexts::{ContextId, ContextTree, DEEPEST};
use crate::histogram::Histogram;
use crate::links::Mended;
use crate::names::{NameId, Names};
use crate::operations::{Limits, Operations};
use crate::path::critical_path;
use crate::record::SpanRecord;
use crate::sort::{Store, Traces};
use crate::timeline::Timeline;
use crate::what_if::{Replay, slacks};

/// What all traces together say.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The calling-context tree.
    pub tree: ContextTree,
    /// Distributed traces.
    pub traces: u64,
    /// Spans, without duplicates.
    pub spans: u64,
    /// Times of the requests: of the spans at the top of the tree.
    pub latencies: Histogram,
    /// Requests.
    pub requests: u64,
    /// Sum of their times.
    pub latency: Nanoseconds,
    /// Requests whose drag is not known: their spans overlap in too many ways.
    pub without_drag: u64,
    /// Services that are too rare to be told apart: their spans count as those of one.
    pub other_services: u64,
    /// Operations that are too rare to be told apart: their spans count as those of one of the service.
    pub other_operations: u64,
    /// What was wrong with the spans.
    pub mended: Mended,
    /// What services and operations are called.
    pub names: Names,
}

/// How to go through traces.
#[derive(Clone, Copy)]
pub struct SurveyOptions<'a> {
    /// How much is told apart.
    pub limits: Limits,
    /// Threads.
    pub jobs: NonZeroUsize,
    /// Told how many spans are done.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

/// Goes through all traces. What is above the requests and beside them does not count.
///
/// # Errors
/// Where spans cannot be read back from their store.
pub fn survey<S: Store>(mut traces: Traces<S>, options: SurveyOptions<'_>) -> io::Result<Summary> {
    let operations = traces.choose_operations(options.limits)?;
    let mut summary = survey_with(&mut traces, &operations, options)?;
    summary.other_services = operations.other_services;
    summary.other_operations = operations.other_operations;
    summary.names = operations.names;
    summary.tree.close();
    Ok(summary)
}

fn survey_with<S: Store>(
    traces: &mut Traces<S>,
    operations: &Operations,
    options: SurveyOptions<'_>,
) -> io::Result<Summary> {
    let mut records = Vec::new();
    let summary = Summary::new(ContextTree::new(options.limits.contexts));
    if options.jobs.get() == 1 {
        let mut surveyor = Surveyor {
            operations,
            summary,
        };
        while traces.next_trace(&mut records)? {
            (options.progress)(records.len() as u64);
            surveyor.add(std::mem::take(&mut records));
        }
        return Ok(surveyor.summary);
    }
    let summary = Mutex::new(summary);
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel::<Vec<Vec<SpanRecord>>>(options.jobs.get() * 2);
        // Owned by the workers alone: where none is left, sending fails instead of waiting for ever.
        let receiver = Arc::new(Mutex::new(receiver));
        let all = &summary;
        let work = move |receiver: Arc<Mutex<Receiver<Vec<Vec<SpanRecord>>>>>| {
            let all = || all.lock().unwrap_or_else(PoisonError::into_inner);
            while let Some(batch) = next_batch(&receiver) {
                let part = Summary::new(all().tree.part());
                let mut surveyor = Surveyor {
                    operations,
                    summary: part,
                };
                for trace in batch {
                    (options.progress)(trace.len() as u64);
                    surveyor.add(trace);
                }
                all().merge(surveyor.summary);
            }
        };
        for _ in 0..options.jobs.get() {
            let receiver = receiver.clone();
            scope.spawn(move || work(receiver));
        }
        drop(receiver);
        let mut batch = Vec::new();
        let mut spans = 0;
        // Small at first, so that few spans are shared out as well.
        let mut enough = 1;
        while traces.next_trace(&mut records)? {
            spans += records.len();
            batch.push(std::mem::take(&mut records));
            if spans >= enough {
                // It fails only where all workers have panicked, and then so does the scope.
                let _ = sender.send(std::mem::take(&mut batch));
                spans = 0;
                enough = (enough * 2).min(SPANS_PER_BATCH);
            }
        }
        let _ = sender.send(batch);
        io::Result::Ok(())
    })?;
    Ok(summary.into_inner().unwrap_or_else(PoisonError::into_inner))
}

const SPANS_PER_BATCH: usize = 4096;

fn next_batch<T>(receiver: &Mutex<Receiver<T>>) -> Option<T> {
    receiver.lock().ok()?.recv().ok()
}

impl Summary {
    fn new(tree: ContextTree) -> Self {
        Self {
            tree,
            traces: 0,
            spans: 0,
            latencies: Histogram::default(),
            requests: 0,
            latency: Nanoseconds::ZERO,
            without_drag: 0,
            other_services: 0,
            other_operations: 0,
            mended: Mended::default(),
            names: Names::default(),
        }
    }

    /// Adds what `other` says.
    fn merge(&mut self, other: Self) {
        self.tree.merge(other.tree);
        self.traces += other.traces;
        self.spans += other.spans;
        self.latencies.merge(&other.latencies);
        self.requests += other.requests;
        self.latency += other.latency;
        self.without_drag += other.without_drag;
        self.mended.merge(&other.mended);
    }
}

/// Adds traces to a summary.
struct Surveyor<'a> {
    operations: &'a Operations,
    summary: Summary,
}

impl Surveyor<'_> {
    /// Adds all spans of one trace.
    fn add(&mut self, records: Vec<SpanRecord>) {
        let line = Timeline::new(records, &mut self.summary.mended);
        self.summary.traces += 1;
        self.summary.spans += line.nodes().len() as u64;
        let placed = self.place(&line);
        let summary = &mut self.summary;
        let slacks = slacks(&line, &placed.roots);
        for ((node, place), slack) in line.nodes().iter().zip(&placed.places).zip(slacks) {
            let Some(place) = place else {
                continue;
            };
            let path = placed.paths[place.path as usize];
            if !summary.tells(path) {
                summary.tree.add_deeper_span();
                continue;
            }
            let totals = summary.tree.totals(path.context);
            let length = node.whole.length();
            totals.count += 1;
            totals.errors += u64::from(node.record.failed);
            totals.inclusive += length;
            totals.exclusive += node.exclusive;
            totals.inclusive_times.add(length);
            totals.exclusive_times.add(node.exclusive);
            totals.see(length, node.record.trace, node.record.span);
            totals.marks.add(node.record.mark);
            totals.slack += slack.unwrap_or_default();
            totals.with_slack += u64::from(slack.is_some());
        }
        summary.add_requests(&line, &placed);
    }

    /// Finds the requests of a trace and the paths of its spans.
    fn place(&mut self, line: &Timeline) -> Placed {
        let mut placed = Placed {
            roots: Vec::new(),
            places: Vec::with_capacity(line.nodes().len()),
            paths: Vec::new(),
        };
        let mut known: FxHashMap<(Option<u32>, NameId, NameId), u32> = FxHashMap::default();
        for (node, position) in line.nodes().iter().zip(0..) {
            let above = (node.parent).and_then(|parent| placed.places[parent as usize]);
            let is_root = above.is_none() && node.record.may_be_request;
            if is_root {
                placed.roots.push(position);
            }
            let root = above
                .map(|above| above.root)
                .or(is_root.then_some(position));
            let place = root.map(|root| {
                let called = (node.record.service, node.record.operation);
                let (service, operation) = self.operations.counted_as(called);
                let above = above.map(|above| above.path);
                let calls = above.map_or(0, |above| placed.paths[above as usize].depth + 1);
                let path = match above.filter(|_| calls > DEEPEST) {
                    Some(above) => above,
                    None => *(known.entry((above, service, operation))).or_insert_with(|| {
                        self.add_path(&mut placed.paths, above, service, operation)
                    }),
                };
                Place { root, path }
            });
            placed.places.push(place);
        }
        placed
    }

    /// Adds a path to those of its trace, and to the tree where that is as deep; its position.
    fn add_path(
        &mut self,
        paths: &mut Vec<CallPath>,
        above: Option<u32>,
        service: NameId,
        operation: NameId,
    ) -> u32 {
        let tree = &mut self.summary.tree;
        let above = above.map(|above| paths[above as usize]);
        let position = paths.len() as u32;
        paths.push(CallPath {
            depth: above.map_or(0, |above| above.depth + 1),
            context: tree.context(above.map(|above| above.context), service, operation),
        });
        if let Some(now) = tree.make_room() {
            for path in paths {
                path.context = now[path.context.0 as usize];
            }
        }
        position
    }
}

/// Where the spans of a trace belong.
struct Placed {
    /// Positions of the requests.
    roots: Vec<u32>,
    /// For each span; none where it belongs to no request.
    places: Vec<Option<Place>>,
    /// The paths of calls, in the order in which the time line has their first spans: the same whatever the tree is.
    paths: Vec<CallPath>,
}

/// Where a span belongs.
#[derive(Clone, Copy)]
struct Place {
    /// Position of its request.
    root: u32,
    /// Position of its path.
    path: u32,
}

/// A path of calls in one trace. It ends where it has one call more than [`DEEPEST`], which no tree tells.
#[derive(Clone, Copy)]
struct CallPath {
    /// Calls above the last one.
    depth: u32,
    /// That of the last call told where the tree is not as deep.
    context: ContextId,
}

impl Summary {
    /// Whether `path` is not too long for the tree.
    fn tells(&self, path: CallPath) -> bool {
        self.tree.get(path.context).depth == path.depth
    }

    fn add_requests(&mut self, line: &Timeline, placed: &Placed) {
        let nodes = line.nodes();
        // The spans of each path of each request; requests in the order of `roots`.
        let mut members: Vec<(u32, u32, u32)> = (placed.places.iter().zip(0..))
            .filter_map(|(place, position)| {
                place.map(|Place { root, path }| (root, path, position))
            })
            .collect();
        members.sort_unstable();
        let requests = members.chunk_by(|one, other| one.0 == other.0);
        let mut replay = Replay::new(line);
        let path_of = |node: u32| placed.places[node as usize].map(|place| place.path);
        let mut on_path = vec![false; nodes.len()];
        for (&root, members) in placed.roots.iter().zip(requests) {
            let latency = nodes[root as usize].range.length();
            self.requests += 1;
            self.latency += latency;
            self.latencies.add(latency);
            let mut own: Vec<ContextId> = Vec::new();
            let mut involved: Vec<u32> = Vec::new();
            for stretch in critical_path(line, root) {
                let Some(path) = path_of(stretch.node) else {
                    continue;
                };
                let context = placed.paths[path as usize].context;
                self.tree.totals(context).critical += stretch.range.length();
                own.push(context);
                // Callers are on the path as well, even with no time of their own.
                let mut node = Some(stretch.node);
                while let Some(caller) = node.filter(|node| !on_path[*node as usize]) {
                    on_path[caller as usize] = true;
                    involved.extend(path_of(caller));
                    node = nodes[caller as usize].parent.filter(|_| caller != root);
                }
            }
            own.sort_unstable();
            own.dedup();
            for context in own {
                self.tree.totals(context).on_critical_path += 1;
            }
            involved.sort_unstable();
            involved.dedup();
            involved.retain(|&path| placed.paths[path as usize].depth < DEEPEST);
            // Spans off the critical path can vanish and the request lasts as long: only these have drag. It is found
            // for paths that this tree does not tell as well, so that whether it is known does not depend on the tree.
            let paths: Vec<_> = members.chunk_by(|one, other| one.1 == other.1).collect();
            replay.begin_request(members.len());
            let drags: Option<Vec<Nanoseconds>> = (involved.iter())
                .map(|&path| {
                    let found = paths.binary_search_by_key(&path, |members| members[0].1);
                    let spans = found.map_or(&[][..], |found| paths[found]);
                    let spans: Vec<u32> = spans.iter().map(|&(_, _, span)| span).collect();
                    replay.drag(root, &spans)
                })
                .collect();
            self.without_drag += u64::from(drags.is_none());
            let drags = drags.unwrap_or_else(|| vec![Nanoseconds::ZERO; involved.len()]);
            for (path, drag) in involved.into_iter().zip(drags) {
                let path = placed.paths[path as usize];
                if self.tells(path) {
                    let totals = self.tree.totals(path.context);
                    totals.led_to_critical_path += 1;
                    totals.drag += drag;
                }
            }
        }
    }
}
