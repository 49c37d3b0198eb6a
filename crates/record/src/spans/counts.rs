//! What the receiver has counted, for `slowpath.json`. Counted by several threads, read by another.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use super::forward::ForwardTarget;
use crate::manifest::SpansPart;

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What [`SpansPart`] explains, while it is counted.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) requests: Count,
    pub(crate) spans: Count,
    pub(crate) lost_spans: Count,
    pub(crate) refused_requests: Count,
    pub(crate) other_requests: Count,
    pub(crate) forwarded_requests: Count,
    pub(crate) lost_forwards: Count,
    pub(crate) rejected_spans: Count,
    pub(crate) rejected_others: Count,
}

impl Counts {
    /// The counts as they are now.
    pub(crate) fn part(
        &self,
        addresses: &[SocketAddr],
        forward: Option<&ForwardTarget>,
    ) -> SpansPart {
        SpansPart {
            addresses: addresses.iter().map(ToString::to_string).collect(),
            forward: forward.map(ToString::to_string),
            requests: self.requests.get(),
            spans: self.spans.get(),
            lost_spans: self.lost_spans.get(),
            refused_requests: self.refused_requests.get(),
            other_requests: self.other_requests.get(),
            forwarded_requests: self.forwarded_requests.get(),
            lost_forwards: self.lost_forwards.get(),
            rejected_spans: self.rejected_spans.get(),
            rejected_others: self.rejected_others.get(),
            rules_without_spans: Vec::new(),
        }
    }
}
