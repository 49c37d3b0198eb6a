//! The critical paths of many threads as one graph, in which a shared state is one node.
//!
//! What Algorithm 2 of *Multi-level critical path analysis* builds by splitting states one by one
//! is built here in one sweep: equal states of a thread are cut wherever one of them begins or
//! ends. A path's way is stored only where paths part, so the graph grows with the distinct
//! intervals and the partings, not with the paths times their length. It is not the walk: paths
//! are computed before they are merged.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use slowpath_model::{HostId, ThreadId, TimeRange, Timestamp};

use crate::{CriticalPath, State};

/// A node of a [`Graph`]: its position in [`Graph::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A path of a [`Graph`]: its position in the list that was merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u32);

/// A thread in a state, once for all the paths that go through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// When.
    pub range: TimeRange,
    /// Where.
    pub host: HostId,
    /// The host's name, where paths lie on several hosts.
    pub host_name: Option<Arc<str>>,
    /// Whose state it is.
    pub thread: ThreadId,
    /// The thread's name; empty where unknown.
    pub comm: Arc<str>,
    /// The state.
    pub state: State,
    /// What the state is about, in words; may be empty.
    pub detail: Arc<str>,
    /// How many paths go through it.
    pub paths: u32,
    /// How many of these paths are of other threads, which wait here.
    pub waiting: u32,
}

/// A path's thread and window, and the nodes at its ends; `None` for an empty window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathEnds {
    /// The thread that was asked about.
    pub thread: ThreadId,
    /// The window that was asked about.
    pub window: TimeRange,
    /// The first and the last node in the order of time.
    pub nodes: Option<(NodeId, NodeId)>,
}

/// Where paths go from a node. No path that ends in the node is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge<'graph> {
    /// The node that follows in time.
    pub to: NodeId,
    /// Who goes there; `None`: all that have no edge of their own.
    pub paths: Option<&'graph [PathId]>,
}

/// The critical paths of many threads, merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    nodes: Vec<Node>,
    paths: Vec<PathEnds>,
    edges: Edges,
}

/// All edges; of each node in the order of the nodes they lead to, the edge of all others last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Edges {
    /// By node: where its edges end in `all`.
    ends: Vec<u32>,
    /// Where they lead, and the part of `paths` that goes there; `None`: all others.
    all: Vec<(NodeId, Option<(u32, u32)>)>,
    paths: Vec<PathId>,
}

impl Edges {
    /// Adds the edges of the next node: of the paths that leave its track, each to a node, and of those
    /// that stay on it.
    fn push(&mut self, exits: &[(NodeId, NodeId, PathId)], onward: Option<NodeId>) {
        let first = self.all.len();
        for group in exits.chunk_by(|(_, to, _), (_, other, _)| to == other) {
            let begin = self.paths.len() as u32;
            self.paths.extend(group.iter().map(|(.., path)| *path));
            self.all
                .push((group[0].1, Some((begin, self.paths.len() as u32))));
        }
        match (onward, &mut self.all[first..]) {
            (Some(to), _) => self.all.push((to, None)),
            (None, [only]) => only.1 = None,
            (None, _) => {}
        }
        self.ends.push(self.all.len() as u32);
    }

    fn of(&self, node: NodeId) -> impl Iterator<Item = Edge<'_>> {
        let node = node.0 as usize;
        let begin = node.checked_sub(1).map_or(0, |before| self.ends[before]);
        let edges = &self.all[begin as usize..self.ends[node] as usize];
        edges.iter().map(|(to, paths)| Edge {
            to: *to,
            paths: paths.map(|(begin, end)| &self.paths[begin as usize..end as usize]),
        })
    }
}

/// Equal states of one thread: what one path goes through, another may share.
#[derive(Default)]
struct Track {
    /// By path and position there.
    segments: Vec<(TimeRange, PathId, u32)>,
    /// Nodes in the order of time.
    nodes: Vec<NodeId>,
}

impl Graph {
    /// Merges `paths`.
    ///
    /// Takes time and space linear in the segments, up to the sorting.
    pub fn merge(paths: &[CriticalPath]) -> Self {
        let mut keys: FxHashMap<(HostId, ThreadId, State, Arc<str>), u32> = FxHashMap::default();
        let mut tracks: Vec<Track> = Vec::new();
        let mut ways: Vec<Vec<u32>> = Vec::with_capacity(paths.len());
        for (path, number) in paths.iter().zip(0..) {
            let mut way = Vec::with_capacity(path.segments.len());
            for (segment, position) in path.segments.iter().zip(0..) {
                let key = (segment.host, segment.thread, segment.state, segment.detail);
                let track = *keys.entry(key).or_insert_with(|| {
                    tracks.push(Track::default());
                    tracks.len() as u32 - 1
                });
                (tracks[track as usize].segments).push((segment.range, PathId(number), position));
                way.push(track);
            }
            ways.push(way);
        }
        let nodes = nodes(&mut tracks, paths);
        let mut graph = Self {
            edges: Edges::default(),
            nodes,
            paths: Vec::with_capacity(paths.len()),
        };
        graph.connect(paths, &ways, &tracks);
        graph
    }

    /// In the order of their begin.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The merged paths, as they were given.
    pub fn paths(&self) -> &[PathEnds] {
        &self.paths
    }

    /// Where paths go from a node.
    pub fn edges(&self, node: NodeId) -> impl Iterator<Item = Edge<'_>> {
        self.edges.of(node)
    }

    /// A path's own way through the graph, in the order of time: its nodes tile its window.
    pub fn path(&self, path: PathId) -> impl Iterator<Item = NodeId> {
        let ends = (self.paths.get(path.0 as usize)).and_then(|path| path.nodes);
        let mut next = ends.map(|(first, _)| first);
        std::iter::from_fn(move || {
            let node = next?;
            next = match ends {
                Some((_, last)) if last == node => None,
                _ => self.after(node, path),
            };
            Some(node)
        })
    }

    fn after(&self, node: NodeId, path: PathId) -> Option<NodeId> {
        let own = |edge: &Edge<'_>| {
            let paths = edge.paths;
            paths.is_none_or(|paths| paths.binary_search(&path).is_ok())
        };
        self.edges(node).find(own).map(|edge| edge.to)
    }

    /// Stores the ends of each path, and its way where it leaves a track.
    fn connect(&mut self, paths: &[CriticalPath], ways: &[Vec<u32>], tracks: &[Track]) {
        // Where paths leave a track, where they go, and who.
        let mut exits: Vec<(NodeId, NodeId, PathId)> = Vec::new();
        // By node: how many paths stay on the track.
        let mut staying: Vec<u32> = self.nodes.iter().map(|node| node.paths).collect();
        for ((path, way), number) in paths.iter().zip(ways).zip(0..) {
            let node_at = |track: u32, at: fn(&Self, NodeId) -> Timestamp, when: Timestamp| {
                let nodes = &tracks[track as usize].nodes;
                nodes[nodes.partition_point(|&node| at(self, node) < when)]
            };
            let begin: fn(&Self, NodeId) -> Timestamp =
                |graph, node| graph.nodes[node.0 as usize].range.begin;
            let end: fn(&Self, NodeId) -> Timestamp =
                |graph, node| graph.nodes[node.0 as usize].range.end;
            let mut first = None;
            let mut last: Option<NodeId> = None;
            for (segment, &track) in path.segments.iter().zip(way) {
                let enters = node_at(track, begin, segment.range.begin);
                if let Some(last) = last {
                    exits.push((last, enters, PathId(number)));
                }
                first.get_or_insert(enters);
                let leaves = node_at(track, end, segment.range.end);
                staying[leaves.0 as usize] -= 1;
                last = Some(leaves);
            }
            self.paths.push(PathEnds {
                thread: path.thread,
                window: path.window,
                nodes: first.zip(last),
            });
        }
        let mut onward: Vec<Option<NodeId>> = vec![None; self.nodes.len()];
        for track in tracks {
            for pair in track.nodes.windows(2) {
                if staying[pair[0].0 as usize] > 0 {
                    onward[pair[0].0 as usize] = Some(pair[1]);
                }
            }
        }
        exits.sort_unstable();
        let mut rest = &exits[..];
        for (node, onward) in (0..).map(NodeId).zip(onward) {
            let count = rest.partition_point(|(from, ..)| *from == node);
            let (own, others) = rest.split_at(count);
            self.edges.push(own, onward);
            rest = others;
        }
    }
}

/// Cuts the tracks into nodes, in the order of their begin.
fn nodes(tracks: &mut [Track], paths: &[CriticalPath]) -> Vec<Node> {
    let mut cut: Vec<(Node, u32)> = Vec::new();
    for (track, number) in tracks.iter_mut().zip(0..) {
        let mut bounds: Vec<Timestamp> = (track.segments.iter())
            .flat_map(|(range, ..)| [range.begin, range.end])
            .collect();
        bounds.sort_unstable();
        bounds.dedup();
        // How many more paths, and paths of others, go through from each bound on.
        let mut changes = vec![(0_i64, 0_i64); bounds.len()];
        let place = |at: Timestamp| bounds.partition_point(|bound| *bound < at);
        let segment = |(_, path, position): &(TimeRange, PathId, u32)| {
            (paths[path.0 as usize].segments).get(*position as usize)
        };
        let Some(first) = track.segments.first().and_then(segment) else {
            continue;
        };
        for (range, path, _) in &track.segments {
            let of = &paths[path.0 as usize];
            let waits = i64::from((of.host, of.thread) != (first.host, first.thread));
            for (at, sign) in [(range.begin, 1), (range.end, -1)] {
                let change = &mut changes[place(at)];
                change.0 += sign;
                change.1 += sign * waits;
            }
        }
        track.segments.sort_by_key(|(range, ..)| range.begin);
        // They differ in the thread's name only, which may have changed meanwhile.
        let mut likes = track.segments.iter().filter_map(segment).peekable();
        let Some(mut like) = likes.next() else {
            continue;
        };
        let (mut through, mut waiting) = (0, 0);
        for (pair, change) in bounds.windows(2).zip(&changes) {
            through += change.0;
            waiting += change.1;
            while let Some(next) = likes.next_if(|next| next.range.begin <= pair[0]) {
                like = next;
            }
            if through > 0 {
                let node = Node {
                    range: TimeRange::new(pair[0], pair[1]),
                    host: like.host,
                    host_name: like.host_name.clone(),
                    thread: like.thread,
                    comm: like.comm.clone(),
                    state: like.state,
                    detail: like.detail.clone(),
                    paths: through as u32,
                    waiting: waiting as u32,
                };
                cut.push((node, number));
            }
        }
        // As large as what is made of it.
        track.segments = Vec::new();
    }
    cut.sort_by_key(|(node, _)| (node.range.begin, node.host, node.thread, node.state));
    for (position, (_, track)) in cut.iter().enumerate() {
        tracks[*track as usize].nodes.push(NodeId(position as u32));
    }
    cut.into_iter().map(|(node, _)| node).collect()
}
