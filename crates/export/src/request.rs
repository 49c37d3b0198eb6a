//! A request as all exporters need it: with its host, and what it and its threads are called.

use slowpath_critical_path::Segment;
use slowpath_model::HostId;
use slowpath_requests::{AllHosts, Request, RequestId, RequestOfHost, RequestPath};

/// The requests of a host that are to be written.
#[derive(Clone, Copy)]
pub struct HostRequests<'run> {
    /// All requests of all hosts.
    pub all: &'run AllHosts<'run>,
    /// The host.
    pub id: HostId,
    /// Those that are meant, in the order of their begin.
    pub chosen: &'run [RequestId],
}

impl<'run> HostRequests<'run> {
    /// The host's name; empty where unknown.
    pub(crate) fn host(self) -> &'run str {
        self.all.hosts().name(self.id)
    }

    /// The chosen requests with their ids.
    pub(crate) fn requests(self) -> impl Iterator<Item = (RequestId, &'run Request)> {
        let requests = self.all.requests(self.id);
        (self.chosen.iter()).map(move |&id| (id, requests.get(id)))
    }

    pub(crate) fn path(self, request: RequestId) -> RequestPath {
        let host = self.id;
        self.all.path(RequestOfHost { host, request })
    }

    /// What a request goes by.
    pub(crate) fn name(self, request: &Request) -> String {
        request.name(self.all.hosts().lines(self.id))
    }

    /// The same of a request of whichever host.
    pub(crate) fn name_of_any(self, other: RequestOfHost) -> String {
        let lines = self.all.hosts().lines(other.host);
        self.all.get(other).name(lines)
    }
}

/// The name of a state's thread, with its host where the path lies on several.
pub(crate) fn thread_name(segment: &Segment) -> String {
    match &segment.host_name {
        Some(host) => format!("{} on {host}", segment.comm),
        None => segment.comm.to_string(),
    }
}

/// What a state of a request's path is called: that of another thread names it.
pub(crate) fn state_name(segment: &Segment) -> String {
    let state = segment.state.name();
    match segment.depth {
        0 => state.to_owned(),
        _ => format!("{state} of {}", thread_name(segment)),
    }
}
