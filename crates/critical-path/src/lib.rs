//! Where a thread's time went, waits followed to what ended them: the critical path.
//!
//! Walks the time lines of threads backwards from the end of a window (Giraldeau & Dagenais, *Wait
//! analysis of distributed systems using kernel tracing*, 2016). Cost is proportional to the path,
//! not to the trace. A packet from another host leads there, where that host was recorded as well; else
//! it ends in NETWORK.

#![forbid(unsafe_code)]

mod bare;
mod device;
mod graph;
mod holdups;
mod hosts;
mod lists;
mod locks;
mod path;
mod serial;
mod state_of;
mod text;
mod walk;

pub use bare::{
    Backwards, BareLink, Cause, Detail, Piece, Words, critical_path, critical_path_among,
};
pub use graph::{Edge, Graph, Node, NodeId, PathEnds, PathId};
pub use holdups::{Holdup, Holdups};
pub use hosts::{Correction, Host, Hosts};
pub use lists::{Links, Segments};
pub use locks::LOCK_CALLS;
pub use path::{CriticalPath, Link, LinkKind, Segment, Share, State};
pub use state_of::state_of;
pub use text::without_numbers;
pub use walk::Walker;
