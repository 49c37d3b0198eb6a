//! How far the clocks of hosts are apart, as far as one distributed trace shows it.
//!
//! A call begins after its caller and, where the caller waits, ends before it. Where spans of another host
//! say otherwise, one shift of that host's clock is sought that puts all of its spans right (Jaeger's
//! adjuster does so span by span; one clock has one shift). Evidence, not truth: a shift that nothing
//! demands is zero. Raw times are not touched.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use slowpath_model::{Diagnostic, DiagnosticCode, Place};

use crate::{AttributeValue, ReferenceKind, Span, SpanKind};

/// Differences up to this are how formats round (Jaeger: to microseconds).
const ROUNDING_NS: i64 = 1000;

/// What has to be added to the times of a host's spans to put them on the time of the trace's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostShift {
    /// The host: its name, with id and address where known; else the service.
    pub host: Arc<str>,
    /// Nanoseconds to add.
    pub shift_ns: i64,
    /// Calls into it that lay outside of their callers.
    pub evidence: u64,
}

/// The hosts of a trace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hosts {
    pub(crate) shifts: Vec<HostShift>,
    /// By span.
    pub(crate) host_of: Vec<u32>,
}

/// What the calls from one host to another allow: shifts from `least` to `most`.
#[derive(Clone, Copy)]
struct Allowed {
    least: i64,
    most: i64,
    outside: u64,
}

impl Hosts {
    /// The hosts of `spans`, whose parents are `parents` and which come callers before callees in `order`.
    pub(crate) fn new(
        spans: &[Span],
        parents: &[Option<u32>],
        order: &[u32],
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        let mut hosts = Self {
            shifts: Vec::new(),
            host_of: vec![0; spans.len()],
        };
        hosts.identify(spans, order, diagnostics);
        let mut calls: BTreeMap<(u32, u32), Allowed> = BTreeMap::new();
        for (child, parent) in parents.iter().enumerate() {
            let Some(parent) = parent.map(|parent| parent as usize) else {
                continue;
            };
            let pair = (hosts.host_of[parent], hosts.host_of[child]);
            if pair.0 != pair.1
                && let Some(call) = allowed(&spans[parent], &spans[child])
            {
                let all = calls.entry(pair).or_insert(Allowed { outside: 0, ..call });
                all.least = all.least.max(call.least);
                all.most = all.most.min(call.most);
                all.outside += call.outside;
            }
        }
        hosts.follow(&calls);
        for shift in hosts.shifts.iter().filter(|shift| shift.shift_ns != 0) {
            let message = format!(
                "the clock of {} is taken to be {} ns {} that of {}",
                shift.host,
                shift.shift_ns.unsigned_abs(),
                if shift.shift_ns > 0 {
                    "behind"
                } else {
                    "ahead of"
                },
                hosts.shifts[0].host,
            );
            let place = Place::default();
            diagnostics.push(Diagnostic {
                count: Some(shift.evidence),
                ..Diagnostic::new(DiagnosticCode::ClockSkew, place, message)
            });
        }
        hosts
    }

    fn identify(&mut self, spans: &[Span], order: &[u32], diagnostics: &mut Vec<Diagnostic>) {
        let mut known: BTreeMap<Arc<str>, u32> = BTreeMap::new();
        let mut names: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
        for &position in order {
            let span = &spans[position as usize];
            let (name, identity) = identity_of(span);
            let next = self.shifts.len() as u32;
            let host = *known.entry(identity.clone()).or_insert(next);
            if host == next {
                self.shifts.push(HostShift {
                    host: identity,
                    shift_ns: 0,
                    evidence: 0,
                });
            }
            if let Some(name) = name {
                names.entry(name).or_default().insert(host);
            }
            self.host_of[position as usize] = host;
        }
        for (name, hosts) in names.iter().filter(|(_, hosts)| hosts.len() > 1) {
            let message = format!("{} hosts are called `{name}`", hosts.len());
            let place = Place::default();
            diagnostics.push(Diagnostic {
                count: Some(hosts.len() as u64),
                ..Diagnostic::new(DiagnosticCode::SameHostName, place, message)
            });
        }
    }

    /// From the root's host on: what each host's clock has to be shifted by, given its callers'.
    fn follow(&mut self, calls: &BTreeMap<(u32, u32), Allowed>) {
        let mut reached = vec![false; self.shifts.len()];
        for first in 0..self.shifts.len() as u32 {
            if std::mem::replace(&mut reached[first as usize], true) {
                continue;
            }
            let mut waiting = VecDeque::from([first]);
            while let Some(caller) = waiting.pop_front() {
                for ((_, callee), call) in calls.range((caller, 0)..=(caller, u32::MAX)) {
                    if std::mem::replace(&mut reached[*callee as usize], true) {
                        continue;
                    }
                    let of_caller = self.shifts[caller as usize].shift_ns;
                    let shift = &mut self.shifts[*callee as usize];
                    shift.shift_ns = of_caller.saturating_add(call.shift());
                    shift.evidence = call.outside;
                    waiting.push_back(*callee);
                }
            }
        }
    }
}

impl Allowed {
    /// None where none is needed; else the callee in the middle of its caller.
    fn shift(&self) -> i64 {
        let rounding = -ROUNDING_NS..=ROUNDING_NS;
        if self.least <= ROUNDING_NS && self.most >= -ROUNDING_NS {
            return 0;
        }
        let shift = match self.most {
            i64::MAX => self.least,
            most => self.least.midpoint(most),
        };
        if rounding.contains(&shift) { 0 } else { shift }
    }
}

/// What one call says; `None` where its callee may lie anywhere.
fn allowed(parent: &Span, child: &Span) -> Option<Allowed> {
    let handed_over = matches!(child.kind, SpanKind::Consumer | SpanKind::Producer);
    let waits = (child.references.iter()).any(|reference| {
        reference.kind == ReferenceKind::ChildOf
            && (reference.span == parent.span || child.span == parent.span)
    }) || child.span == parent.span;
    if handed_over || !waits {
        return None;
    }
    let length = |span: &Span| span.end.since(span.begin);
    let least = parent.begin.ns().saturating_sub(child.begin.ns());
    // A server that works longer than its client waits was abandoned: only its begin is certain.
    let call = parent.kind == SpanKind::Client && child.kind == SpanKind::Server;
    let most = if call && length(child) <= length(parent) {
        parent.end.ns().saturating_sub(child.end.ns())
    } else {
        i64::MAX
    };
    let outside = u64::from(least > ROUNDING_NS || most < -ROUNDING_NS);
    Some(Allowed {
        least,
        most,
        outside,
    })
}

/// The host's name where the span says it, and all that tells it from others.
fn identity_of(span: &Span) -> (Option<&str>, Arc<str>) {
    let text = |keys: &[&str]| {
        // Those of the process stand last.
        (span.attributes.iter().rev()).find_map(|attribute| match &attribute.value {
            AttributeValue::Text(text) if keys.contains(&&*attribute.key) => Some(&**text),
            _ => None,
        })
    };
    let name = text(&["host.name", "hostname"]);
    let id = text(&["host.id"]).or_else(|| text(&["host.ip", "ip"]));
    let identity = match (name, id) {
        (Some(name), Some(id)) => Arc::from(format!("host {name} ({id})")),
        (Some(only), None) | (None, Some(only)) => Arc::from(format!("host {only}")),
        (None, None) => Arc::from(format!("service {}", span.service)),
    };
    (name, identity)
}
