//! `slowpath critical-path --merged`: the paths of many threads as one graph.
//!
//! For people: who held others up, doing what. As JSON: the whole graph, a shared state once.

use std::io::{self, Write};

use serde::Serialize;
use slowpath_critical_path::{CriticalPath, Edge, Graph, Holdups, Node, NodeId};
use slowpath_model::{Nanoseconds, counted, shown};

use crate::tables;

/// A graph as a JSON document.
#[derive(Serialize)]
struct GraphOfHost<'graph> {
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'graph str>,
    paths: Vec<Path>,
    nodes: Vec<NodeRow<'graph>>,
    holdups: Vec<HoldupRow>,
}

#[derive(Serialize)]
struct Path {
    tid: i32,
    begin_ns: i64,
    end_ns: i64,
    /// Positions in `nodes`; absent where the window is empty.
    first: Option<u32>,
    last: Option<u32>,
}

#[derive(Serialize)]
struct NodeRow<'graph> {
    begin_ns: i64,
    end_ns: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'graph str>,
    tid: i32,
    comm: &'graph str,
    state: &'static str,
    detail: &'graph str,
    paths: u32,
    waiting: u32,
    next: Vec<Next>,
}

/// Where paths go: `paths` are positions in the document's `paths`; `null`: all others.
#[derive(Serialize)]
struct Next {
    node: u32,
    paths: Option<Vec<u32>>,
}

#[derive(Serialize)]
struct HoldupRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    tid: i32,
    comm: String,
    state: &'static str,
    length_ns: Nanoseconds,
    waited_ns: Nanoseconds,
    at_once: u32,
}

/// Writes the graph of `paths`, with their host where there are several, as JSON.
pub fn write_graph(
    output: &mut impl Write,
    paths: &[CriticalPath],
    host: Option<&str>,
) -> io::Result<()> {
    let graph = Graph::merge(paths);
    let mut holdups = Holdups::default();
    paths.iter().for_each(|path| holdups.add(path));
    serde_json::to_writer(&mut *output, &document(&graph, holdups, host))?;
    writeln!(output)
}

/// Writes who held others up, with their host where there are several, as a table of `rows`.
pub fn write_holdups(
    output: &mut impl Write,
    holdups: Holdups,
    host: Option<&str>,
    rows: usize,
) -> io::Result<()> {
    if let Some(host) = host {
        writeln!(output, "host {}", shown(host))?;
    }
    writeln!(
        output,
        "{}; what several have in common is counted once\n",
        counted(holdups.paths(), "path", "paths")
    )?;
    let all = holdups.all();
    if all.is_empty() {
        return writeln!(output, "no thread waited for another");
    }
    output.write_all(tables::holdups(&all, rows).as_bytes())
}

fn document<'graph>(
    graph: &'graph Graph,
    holdups: Holdups,
    host: Option<&'graph str>,
) -> GraphOfHost<'graph> {
    let paths = graph.paths().iter().map(|path| Path {
        tid: path.thread.0,
        begin_ns: path.window.begin.ns(),
        end_ns: path.window.end.ns(),
        first: path.nodes.map(|(first, _)| first.0),
        last: path.nodes.map(|(_, last)| last.0),
    });
    let holdups = holdups.all().into_iter().map(|holdup| HoldupRow {
        host: holdup.host_name.as_deref().map(str::to_owned),
        tid: holdup.thread.0,
        comm: holdup.comm.to_string(),
        state: holdup.state.name(),
        length_ns: holdup.length,
        waited_ns: holdup.waited,
        at_once: holdup.at_once,
    });
    GraphOfHost {
        host,
        paths: paths.collect(),
        nodes: (graph.nodes().iter().zip(0..))
            .map(|(node, position)| row(node, graph.edges(NodeId(position))))
            .collect(),
        holdups: holdups.collect(),
    }
}

fn row<'graph>(node: &'graph Node, edges: impl Iterator<Item = Edge<'graph>>) -> NodeRow<'graph> {
    let next = edges.map(|edge| Next {
        node: edge.to.0,
        paths: (edge.paths).map(|paths| paths.iter().map(|path| path.0).collect()),
    });
    NodeRow {
        begin_ns: node.range.begin.ns(),
        end_ns: node.range.end.ns(),
        host: node.host_name.as_deref(),
        tid: node.thread.0,
        comm: &node.comm,
        state: node.state.name(),
        detail: &node.detail,
        paths: node.paths,
        waiting: node.waiting,
        next: next.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nobody_waited_for_another_it_is_said() {
        let mut output = Vec::new();
        write_holdups(&mut output, Holdups::default(), None, 20).expect("memory takes it");
        let text = String::from_utf8(output).expect("text");
        let expected = "0 paths; what several have in common is counted once\n\nno thread waited for another\n";
        assert_eq!(text, expected);
    }
}
