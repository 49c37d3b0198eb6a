//! A request as all exporters need it: with its host, and what it and its threads are called.

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

    /// What a request goes by: its operation, else the thread that served it first.
    pub(crate) fn name(self, request: &Request) -> String {
        let operation = request.operation();
        if !operation.is_empty() {
            return operation.to_owned();
        }
        let first = request.threads().first().copied();
        let comm = first
            .zip(self.lines)
            .map(|(thread, lines)| lines.name(thread, request.window.end).into_owned());
        comm.unwrap_or_default()
    }
}
