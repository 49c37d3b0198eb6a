//! The merged graph: the paper's Figure 6, and on random paths that each is recovered.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::{Tracer, path, range, tid, timelines, trace};
use proptest::prelude::*;
use slowpath_critical_path::{Cause, CriticalPath, Graph, Holdups, PathId, Segment, State};
use slowpath_model::{HostId, ThreadId, TimeRange};

/// A path's own segments, as the graph tells them.
fn recovered(graph: &Graph, path: PathId) -> Vec<(TimeRange, ThreadId, State, Arc<str>)> {
    let mut pieces: Vec<(TimeRange, ThreadId, State, Arc<str>)> = Vec::new();
    for node in graph.path(path) {
        let node = &graph.nodes()[node.0 as usize];
        match pieces.last_mut() {
            Some((range, thread, state, detail))
                if (*thread, *state, &*detail) == (node.thread, node.state, &node.detail) =>
            {
                assert_eq!(range.end, node.range.begin, "the path has no gap");
                range.end = node.range.end;
            }
            _ => pieces.push((node.range, node.thread, node.state, node.detail.clone())),
        }
    }
    pieces
}

fn holdups(paths: &[CriticalPath]) -> Vec<slowpath_critical_path::Holdup> {
    let mut holdups = Holdups::default();
    paths.iter().for_each(|path| holdups.add(path));
    holdups.all()
}

/// Segments that differ in depth only are one state.
fn told(path: &CriticalPath) -> Vec<(TimeRange, ThreadId, State, Arc<str>)> {
    let mut pieces: Vec<(TimeRange, ThreadId, State, Arc<str>)> = Vec::new();
    for segment in path.segments.iter() {
        match pieces.last_mut() {
            Some((range, thread, state, detail))
                if (*thread, *state, &*detail)
                    == (segment.thread, segment.state, &segment.detail) =>
            {
                range.end = segment.range.end;
            }
            _ => pieces.push((
                segment.range,
                segment.thread,
                segment.state,
                segment.detail.clone(),
            )),
        }
    }
    pieces
}

#[test]
fn threads_that_wait_for_one_mutex_share_its_holder() {
    // c holds the mutex until 300, then a until 400, then b (the paper's Figure 6).
    let drawing = "
        0   0 switch - a
        1   0 switch - b
        2   0 switch - c
        0 100 switch a:S -
        1 200 switch b:S -
        2 300 wake a
        0 300 switch - a
        0 400 wake b
        1 400 switch - b
        0 500 raise 1
        1 500 raise 1
        2 500 raise 1";
    let lines = timelines(&trace(drawing, Tracer::Lttng), 1, u64::MAX);
    let paths = ["a", "b", "c"].map(|letter| path(&lines, letter, range(0, 500)));
    let graph = Graph::merge(&paths);
    let nodes: Vec<(char, i64, i64, u32)> = (graph.nodes().iter())
        .map(|node| {
            let letter = char::from(node.thread.0 as u8);
            (
                letter,
                node.range.begin.ns(),
                node.range.end.ns(),
                node.paths,
            )
        })
        .collect();
    assert_eq!(
        nodes,
        [
            ('a', 0, 100, 1),
            ('b', 0, 200, 1),
            ('c', 0, 100, 1),
            ('c', 100, 200, 2),
            ('c', 200, 300, 3),
            ('a', 300, 400, 2),
            ('c', 300, 500, 1),
            ('a', 400, 500, 1),
            ('b', 400, 500, 1),
        ]
    );
    for (number, path) in (0..).zip(&paths) {
        assert_eq!(recovered(&graph, PathId(number)), told(path));
    }
    let holdups = holdups(&paths);
    let told: Vec<(i32, u64, u64, u32)> = (holdups.iter())
        .map(|h| (h.thread.0, h.length.get(), h.waited.get(), h.at_once))
        .collect();
    assert_eq!(told, [(tid("c"), 200, 300, 2), (tid("a"), 100, 100, 1)]);
}

#[test]
fn waiters_of_one_thread_do_not_multiply_it() {
    // 100 paths that all follow the same holder through 200 states.
    let states = [State::Running, State::BlockDevice];
    let holder: Vec<(i64, State)> = (0..200).map(|n| (n * 10, states[n as usize % 2])).collect();
    let segment = |begin, end, thread, state| Segment {
        range: range(begin, end),
        recorded: range(begin, end),
        host: HostId(0),
        host_name: None,
        thread: ThreadId(thread),
        comm: Default::default(),
        state,
        depth: 0,
        call: None,
        cause: Cause::None,
        detail: Default::default(),
    };
    let paths: Vec<CriticalPath> = (1..=100)
        .map(|waiter| CriticalPath {
            host: HostId(0),
            thread: ThreadId(waiter),
            window: range(-10, 2010),
            segments: std::iter::once(segment(-10, 0, waiter, State::Running))
                .chain(holder.iter().map(|(at, s)| segment(*at, at + 10, 1000, *s)))
                .chain([segment(2000, 2010, waiter, State::Running)])
                .collect(),
            links: Default::default(),
            corrections: Vec::new(),
        })
        .collect();
    let graph = Graph::merge(&paths);
    assert_eq!(graph.nodes().len(), 200 + 2 * 100);
    let node_ids = (0..graph.nodes().len() as u32).map(slowpath_critical_path::NodeId);
    let (mut edges, mut named) = (0, 0);
    for edge in node_ids.flat_map(|node| graph.edges(node)) {
        edges += 1;
        named += edge.paths.map_or(0, <[PathId]>::len);
    }
    assert_eq!((edges, named), (100 + 199 + 100, 100));
}

/// Begin; length, thread and number of the state of each piece.
type DrawnPath = (i64, Vec<(i64, i32, usize)>);

fn paths() -> impl Strategy<Value = Vec<CriticalPath>> {
    let segment = (1i64..6, 0i32..3, 0usize..3);
    let path = (0i64..10, prop::collection::vec(segment, 0..12));
    prop::collection::vec(path, 0..8).prop_map(|drawn| {
        let states = [State::Running, State::Preempted, State::Timer];
        let of = |(thread, (begin, pieces)): (i32, DrawnPath)| {
            let mut end = begin;
            let segments = (pieces.into_iter())
                .map(|(length, thread, state)| {
                    end += length;
                    Segment {
                        range: range(end - length, end),
                        recorded: range(end - length, end),
                        host: HostId(0),
                        host_name: None,
                        thread: ThreadId(thread),
                        comm: Default::default(),
                        state: states[state],
                        depth: 0,
                        call: None,
                        cause: Cause::None,
                        detail: Default::default(),
                    }
                })
                .collect();
            CriticalPath {
                host: HostId(0),
                thread: ThreadId(thread),
                window: range(begin, end),
                segments,
                links: Default::default(),
                corrections: Vec::new(),
            }
        };
        (0..).zip(drawn).map(of).collect()
    })
}

proptest! {
    #[test]
    fn every_path_is_recovered_and_no_state_is_kept_twice(paths in paths()) {
        let graph = Graph::merge(&paths);
        for (number, path) in (0..).zip(&paths) {
            prop_assert_eq!(recovered(&graph, PathId(number)), told(path));
        }
        let nodes = graph.nodes();
        for (position, node) in nodes.iter().enumerate() {
            let same = |other: &&slowpath_critical_path::Node| {
                (other.thread, other.state) == (node.thread, node.state)
                    && other.range.begin < node.range.end
                    && other.range.end > node.range.begin
            };
            prop_assert_eq!(nodes.iter().filter(same).count(), 1, "{:?}", node);
            let id = slowpath_critical_path::NodeId(position as u32);
            let through = (0..paths.len() as u32).filter(|path| {
                graph.path(PathId(*path)).any(|other| other == id)
            });
            prop_assert_eq!(through.count() as u32, node.paths);
        }
        let waited = |holdup: &slowpath_critical_path::Holdup| {
            let key = (holdup.thread, holdup.state);
            (key, (holdup.length.get(), holdup.waited.get(), holdup.at_once))
        };
        let found: BTreeMap<_, _> = holdups(&paths).iter().map(waited).collect();
        let mut expected = BTreeMap::new();
        for node in nodes.iter().filter(|node| node.waiting > 0) {
            let key = (node.thread, node.state);
            let (length, waited, at_once) = expected.entry(key).or_insert((0, 0, 0));
            *length += node.range.length().get();
            *waited += node.range.length().get() * u64::from(node.waiting);
            *at_once = node.waiting.max(*at_once);
        }
        prop_assert_eq!(found, expected);
        let bounds: usize = paths.iter().map(|path| 2 * path.segments.len()).sum();
        prop_assert!(nodes.len() <= bounds);
    }
}
