//! A request as all exporters need it: with its host, and what it and its threads are called.

use slowpath_critical_path::Segment;
use slowpath_kernel::timelines::Timelines;
use slowpath_requests::{Request, RequestId, RequestPath, Requests};

/// The requests of a host that are to be written.
#[derive(Clone, Copy)]
pub struct HostRequests<'run> {
    /// The host's name; empty where unknown.
    pub host: &'run str,
    /// All of the host's requests.
    pub requests: &'run Requests,
    /// The host's time lines, where its kernel was traced.
    pub lines: Option<&'run Timelines>,
    /// Those that are meant, in the order of their begin.
    pub chosen: &'run [RequestId],
}

impl<'run> HostRequests<'run> {
    /// The chosen requests with their ids.
    pub(crate) fn all(self) -> impl Iterator<Item = (RequestId, &'run Request)> {
        let requests = self.requests;
        (self.chosen.iter()).map(move |&id| (id, requests.get(id)))
    }

    pub(crate) fn path(self, id: RequestId) -> RequestPath {
        self.requests.path(self.lines, id)
    }

    /// What a request goes by.
    pub(crate) fn name(self, request: &Request) -> String {
        request.name(self.lines)
    }
}

/// What a state of a request's path is called: that of another thread names it.
pub(crate) fn state_name(segment: &Segment) -> String {
    let state = segment.state.name();
    match segment.depth {
        0 => state.to_owned(),
        _ => format!("{state} of {}", segment.comm),
    }
}
