//! Goes through traces one by one and adds each to a calling-context tree; on several threads, the result is the same.
//!
//! Holds the traces that are being worked on and one tree, whatever the number of threads: each of these makes trees of
//! a few traces, and adds them to it.

use std::io;
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use slowpath_model::Nanoseconds;

use crate::contexts::{ContextId, ContextTree};
use crate::histogram::Histogram;
use crate::links::Mended;
use crate::names::Names;
use crate::operations::{Limits, Operations};
use crate::path::critical_path;
use crate::record::SpanRecord;
use crate::sort::{Store, Traces};
use crate::timeline::{Node, Timeline};
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
            let Some(Place { context, .. }) = *place else {
                continue;
            };
            if placed.is_too_deep(node, context) {
                summary.tree.add_deeper_span();
                continue;
            }
            let totals = summary.tree.totals(context);
            let length = node.whole.length();
            totals.count += 1;
            totals.errors += u64::from(node.record.failed);
            totals.inclusive += length;
            totals.exclusive += node.exclusive;
            totals.inclusive_times.add(length);
            totals.exclusive_times.add(node.exclusive);
            totals.see(length, node.record.trace, node.record.span);
            totals.slack += slack.unwrap_or_default();
            totals.with_slack += u64::from(slack.is_some());
        }
        summary.add_requests(&line, &placed);
    }

    /// Finds the requests of a trace and the contexts of its spans.
    fn place(&mut self, line: &Timeline) -> Placed {
        let mut placed = Placed {
            roots: Vec::new(),
            places: Vec::with_capacity(line.nodes().len()),
        };
        for (node, position) in line.nodes().iter().zip(0..) {
            let called = (node.record.service, node.record.operation);
            let above = (node.parent).and_then(|parent| placed.places[parent as usize]);
            let is_root = above.is_none() && node.record.may_be_request;
            if is_root {
                placed.roots.push(position);
            }
            let root = above
                .map(|above| above.root)
                .or(is_root.then_some(position));
            let tree = &mut self.summary.tree;
            placed.places.push(root.map(|root| {
                let parent = above.map(|above| above.context);
                let (service, operation) = self.operations.counted_as(called);
                let context = tree.context(parent, service, operation);
                Place { root, context }
            }));
            if let Some(now) = tree.make_room() {
                for place in placed.places.iter_mut().flatten() {
                    place.context = now[place.context.0 as usize];
                }
            }
        }
        placed
    }
}

/// Where the spans of a trace belong.
struct Placed {
    /// Positions of the requests.
    roots: Vec<u32>,
    /// For each span; none where it belongs to no request.
    places: Vec<Option<Place>>,
}

/// Where a span belongs.
#[derive(Clone, Copy)]
struct Place {
    /// Position of its request.
    root: u32,
    /// That of the last call above it where its own path would be too long.
    context: ContextId,
}

impl Placed {
    /// Whether `node` is in `context` only because its own path would be too long.
    fn is_too_deep(&self, node: &Node, context: ContextId) -> bool {
        let above = (node.parent).and_then(|parent| self.places[parent as usize]);
        above.is_some_and(|above| above.context == context)
    }
}

impl Summary {
    fn add_requests(&mut self, line: &Timeline, placed: &Placed) {
        let nodes = line.nodes();
        // The spans of each context of each request.
        let mut members: Vec<(u32, ContextId, u32)> = (placed.places.iter().zip(0..))
            .filter_map(|(place, position)| {
                let Place { root, context } = (*place)?;
                let is_told = !placed.is_too_deep(&nodes[position as usize], context);
                is_told.then_some((root, context, position))
            })
            .collect();
        members.sort_unstable();
        let members: Vec<_> = members.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).collect();
        let mut replay = Replay::new(line);
        let context_of = |node: u32| placed.places[node as usize].map(|place| place.context);
        let mut on_path = vec![false; nodes.len()];
        for &root in &placed.roots {
            let latency = nodes[root as usize].range.length();
            self.requests += 1;
            self.latency += latency;
            self.latencies.add(latency);
            let mut own: Vec<ContextId> = Vec::new();
            let mut involved: Vec<ContextId> = Vec::new();
            for stretch in critical_path(line, root) {
                let Some(context) = context_of(stretch.node) else {
                    continue;
                };
                self.tree.totals(context).critical += stretch.range.length();
                own.push(context);
                // Callers are on the path as well, even with no time of their own.
                let mut node = Some(stretch.node);
                while let Some(caller) = node.filter(|node| !on_path[*node as usize]) {
                    on_path[caller as usize] = true;
                    involved.extend(context_of(caller));
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
            for &context in &involved {
                self.tree.totals(context).led_to_critical_path += 1;
            }
            // Spans off the path can vanish and the request lasts as long: only these have drag.
            let mut unknown = false;
            for context in involved {
                let found = members.binary_search_by_key(&(root, context), |of| (of[0].0, of[0].1));
                let spans = found.map_or(&[][..], |found| members[found]);
                let spans: Vec<u32> = spans.iter().map(|&(_, _, span)| span).collect();
                match replay.drag(root, &spans) {
                    Some(drag) => self.tree.totals(context).drag += drag,
                    None => unknown = true,
                }
            }
            self.without_drag += u64::from(unknown);
        }
    }
}
