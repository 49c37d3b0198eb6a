//! The requests of all hosts of an experiment: what paths that lead from host to host need.
//!
//! Holds references only, so that it may be made wherever a path is asked for. How paths are found is
//! not here (`path.rs`), nor what they add up to (`summary.rs`).

use slowpath_critical_path::Hosts;
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{HostId, ThreadId};

use crate::path::RequestPath;
use crate::request::{Request, RequestId};
use crate::requests::Requests;
use crate::summary::Summary;

/// A request of any host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestOfHost {
    /// The host.
    pub host: HostId,
    /// The request there.
    pub request: RequestId,
}

/// A thread of any host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadOfHost {
    /// The host.
    pub host: HostId,
    /// The thread there.
    pub thread: ThreadId,
}

/// All hosts with their requests, by [`HostId`].
#[derive(Clone, Debug)]
pub struct AllHosts<'run> {
    hosts: Hosts<'run>,
    requests: Vec<&'run Requests>,
}

impl<'run> AllHosts<'run> {
    /// The hosts, and the requests of each.
    pub fn new(hosts: Hosts<'run>, requests: Vec<&'run Requests>) -> Self {
        Self { hosts, requests }
    }

    /// The hosts with their time lines.
    pub fn hosts(&self) -> &Hosts<'run> {
        &self.hosts
    }

    /// The requests of a host.
    ///
    /// # Panics
    /// Where there is no such host.
    pub fn requests(&self, host: HostId) -> &'run Requests {
        self.requests[host.index()]
    }

    /// A request.
    ///
    /// # Panics
    /// Where there is no such host, or the id is that of another one.
    pub fn get(&self, of: RequestOfHost) -> &'run Request {
        self.requests(of.host).get(of.request)
    }

    /// A request in words, for instance `request 55cb4297a1b2c3d4 (GET /dispatch)`.
    pub fn described(&self, of: RequestOfHost) -> String {
        self.requests(of.host).described(of.request)
    }
}

/// The same of one host alone, whose time lines are `lines`; without them all time is unknown.
impl Requests {
    fn alone<'run>(&'run self, lines: Option<&'run Timelines>) -> AllHosts<'run> {
        AllHosts::new(Hosts::one(lines), vec![self])
    }

    /// See [`AllHosts::path`].
    pub fn path(&self, lines: Option<&Timelines>, request: RequestId) -> RequestPath {
        self.alone(lines).path(of_first(request))
    }

    /// See [`AllHosts::summary`].
    pub fn summary<'run>(
        &'run self,
        lines: Option<&'run Timelines>,
        request: RequestId,
    ) -> Summary<'run> {
        self.alone(lines).summary(of_first(request))
    }
}

fn of_first(request: RequestId) -> RequestOfHost {
    let host = HostId(0);
    RequestOfHost { host, request }
}
