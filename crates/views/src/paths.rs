//! A critical path as rows, with times from the begin of the recording.

use std::collections::BTreeMap;

use serde::Serialize;
use slowpath_critical_path::{CriticalPath, LinkKind, State};
use slowpath_model::{HostId, ThreadId};
use utoipa::openapi::schema::AdditionalProperties;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::Origin;

/// A critical path.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Path)]
pub struct PathRow {
    /// The host that was asked about.
    pub host: HostId,
    /// The thread that was asked about; of a request the one that served it last.
    pub tid: ThreadId,
    /// Begin of the window.
    pub begin_ns: i64,
    /// End of the window.
    pub end_ns: i64,
    /// In the order of time; they cover the window.
    pub segments: Vec<SegmentRow>,
    /// In the order of time.
    pub links: Vec<LinkRow>,
    /// Time by state; adds up to the window.
    #[schema(value_type = TimeByState)]
    pub states: BTreeMap<&'static str, u64>,
}

/// One thread in one state.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = PathSegment)]
pub struct SegmentRow {
    /// When.
    pub begin_ns: i64,
    /// Until when.
    pub end_ns: i64,
    /// Where.
    pub host: HostId,
    /// Whose state it is.
    pub tid: ThreadId,
    /// The thread's name; empty where unknown.
    pub comm: String,
    /// The state.
    #[schema(value_type = State)]
    pub state: &'static str,
    /// How many threads wait for each other here: 0 in the thread that was asked about.
    pub depth: u32,
    /// What it waited for, in words; empty where there is no more to say than the state.
    pub detail: String,
    /// The number of the request that the thread worked for instead, or that it was waited for by.
    #[schema(required)]
    pub blocked_by: Option<usize>,
}

/// The path goes from one thread to another.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = PathLink)]
pub struct LinkRow {
    /// When.
    pub at_ns: i64,
    /// The host that it comes from.
    pub from_host: HostId,
    /// The thread that it comes from.
    pub from_tid: ThreadId,
    /// The host in which it goes on.
    pub to_host: HostId,
    /// The thread in which it goes on.
    pub to_tid: ThreadId,
    /// Why: `wait`, `wake-up`, `creation`, `packet`.
    #[schema(value_type = LinkKind)]
    pub kind: &'static str,
}

/// How the description of an interface shows a map from states' names to nanoseconds.
pub struct TimeByState;

impl PartialSchema for TimeByState {
    fn schema() -> RefOr<Schema> {
        let about = "Nanoseconds by state; states that took no time are absent.";
        let map = ObjectBuilder::new().description(Some(about));
        let with_state =
            |map: ObjectBuilder, state: State| map.property(state.name(), u64::schema());
        let map = State::ALL.into_iter().fold(map, with_state);
        map.additional_properties(Some(AdditionalProperties::FreeForm(false)))
            .into()
    }
}

impl ToSchema for TimeByState {}

/// A path as rows; `blocked_by` tells the number of the other request for each segment, and may end
/// early.
pub fn path_row(path: &CriticalPath, blocked_by: &[Option<usize>], origin: Origin) -> PathRow {
    let others = blocked_by.iter().copied().chain(std::iter::repeat(None));
    let segments = path.segments.iter().zip(others);
    let links = path.links.iter();
    let summary = path.summary().into_iter();
    PathRow {
        host: path.host,
        tid: path.thread,
        begin_ns: origin.offset(path.window.begin),
        end_ns: origin.offset(path.window.end),
        segments: segments
            .map(|(segment, blocked_by)| SegmentRow {
                begin_ns: origin.offset(segment.range.begin),
                end_ns: origin.offset(segment.range.end),
                host: segment.host,
                tid: segment.thread,
                comm: segment.comm.as_ref().to_owned(),
                state: segment.state.name(),
                depth: segment.depth,
                detail: segment.detail.as_ref().to_owned(),
                blocked_by,
            })
            .collect(),
        links: links
            .map(|link| LinkRow {
                at_ns: origin.offset(link.at),
                from_host: link.hosts[0],
                from_tid: link.from,
                to_host: link.hosts[1],
                to_tid: link.to,
                kind: link.kind.name(),
            })
            .collect(),
        states: summary
            .map(|(state, length)| (state.name(), length.get()))
            .collect(),
    }
}

impl PathRow {
    /// The same with segments that are shorter than `width` nanoseconds put together: what follows each
    /// other within that width is shown as what of it lasted longest. Sums by state stay as they are.
    #[must_use]
    pub fn coarsened(mut self, width: i64) -> Self {
        let mut segments: Vec<SegmentRow> = Vec::new();
        let mut longest = 0;
        for segment in std::mem::take(&mut self.segments) {
            let length = segment.end_ns - segment.begin_ns;
            match segments.last_mut() {
                Some(last) if length < width && segment.end_ns - last.begin_ns <= width => {
                    let begin = last.begin_ns;
                    let end = segment.end_ns;
                    if length > longest {
                        longest = length;
                        *last = segment;
                    }
                    (last.begin_ns, last.end_ns) = (begin, end);
                }
                _ => {
                    longest = length;
                    segments.push(segment);
                }
            }
        }
        self.segments = segments;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_segments_are_put_together_and_long_ones_stay() {
        let segment = |begin_ns, end_ns, state| SegmentRow {
            begin_ns,
            end_ns,
            host: HostId(0),
            tid: ThreadId(1),
            comm: String::new(),
            state,
            depth: 0,
            detail: String::new(),
            blocked_by: None,
        };
        let path = PathRow {
            host: HostId(0),
            tid: ThreadId(1),
            begin_ns: 0,
            end_ns: 130,
            segments: vec![
                segment(0, 100, "TIMER"),
                segment(100, 102, "RUNNING"),
                segment(102, 107, "BLOCKED"),
                segment(107, 109, "RUNNING"),
                segment(109, 130, "NETWORK"),
            ],
            links: Vec::new(),
            states: BTreeMap::new(),
        };
        let coarse = path.coarsened(10).segments;
        let shown: Vec<_> = coarse
            .iter()
            .map(|one| (one.begin_ns, one.end_ns, one.state))
            .collect();
        assert_eq!(
            shown,
            [
                (0, 100, "TIMER"),
                (100, 109, "BLOCKED"),
                (109, 130, "NETWORK")
            ]
        );
    }
}
