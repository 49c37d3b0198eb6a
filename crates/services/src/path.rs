//! The critical path over the spans of one request: whose time made it last as long as it did.
//!
//! CRISP's method (Zhang et al., USENIX ATC 2022): backwards from the end; a span that waits for the
//! child that ended last hands over to it, and where that child began, to the sibling that had ended
//! last by then. The stretches cover the request without gap or overlap. Siblings that end just when
//! the next begins count as before it (Jaeger's own algorithm drops them), and a sibling that names
//! its predecessor (FOLLOWS_FROM) goes there and nowhere else.

use slowpath_model::{TimeRange, Timestamp};

use crate::timeline::Timeline;

/// Time on the critical path that a span spent itself, not in a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Position of the span in the time line.
    pub node: u32,
    /// When.
    pub range: TimeRange,
}

/// The critical path of the request that the span at `root` stands for, latest stretch first.
pub fn critical_path(line: &Timeline, root: u32) -> Vec<Stretch> {
    /// A span on the path: how far back it is done, and how many of its children come before.
    struct Open {
        node: u32,
        done: Timestamp,
        next: u32,
    }
    let nodes = line.nodes();
    let open = |node: u32| {
        let span = &nodes[node as usize];
        Open {
            node,
            done: span.range.end,
            next: span.detached - span.children.start,
        }
    };
    let mut path = Vec::new();
    let mut opened = vec![open(root)];
    while let Some(span) = opened.last_mut() {
        let node = &nodes[span.node as usize];
        let child = (span.next.checked_sub(1)).map(|before| node.children.start + before);
        let begin = child.map_or(node.range.begin, |child| nodes[child as usize].range.end);
        let range = TimeRange::new(begin, span.done);
        if !range.is_empty() {
            let node = span.node;
            path.push(Stretch { node, range });
        }
        let Some(child) = child else {
            opened.pop();
            continue;
        };
        span.done = nodes[child as usize].range.begin;
        span.next = nodes[child as usize].before;
        opened.push(open(child));
    }
    path
}
