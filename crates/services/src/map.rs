//! The map of services: who calls whom, how often and how long, from the calling-context tree.
//!
//! Operations of one service that call each other are inside of it: a call is where the service
//! changes. Time on critical paths belongs to the call through which the request came to the service
//! that spent it, so that the parts of all calls, and of what nobody called, add up to the requests'
//! time.

use rustc_hash::FxHashMap;
use serde::Serialize;
use slowpath_model::Nanoseconds;
use utoipa::ToSchema;

use crate::contexts::Totals;
use crate::histogram::Histogram;
use crate::names::NameId;
use crate::survey::Summary;

/// Services and the calls between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct ServiceMap {
    /// Services, those with the most time on critical paths first.
    pub services: Vec<ServiceRow>,
    /// Who calls whom, those with the most time on critical paths first.
    pub calls: Vec<CallRow>,
}

/// A service.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = ServiceOfMap)]
pub struct ServiceRow {
    /// Its name.
    pub service: String,
    /// What came to it.
    #[serde(flatten)]
    pub served: Served,
}

/// The calls of one service to another.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = ServiceCall)]
pub struct CallRow {
    /// Who calls.
    pub caller: String,
    /// Who is called.
    pub callee: String,
    /// What came to the callee by these calls.
    #[serde(flatten)]
    pub served: Served,
}

/// Calls that came to a service, timed by the spans of the service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct Served {
    /// Calls, those of nobody (requests) included.
    pub count: u64,
    /// Of these, failed.
    pub errors: u64,
    /// Their mean time.
    pub mean: Nanoseconds,
    /// Half of them took no longer.
    pub p50: Nanoseconds,
    /// 99 of 100 took no longer.
    pub p99: Nanoseconds,
    /// The longest, exactly.
    pub max: Nanoseconds,
    /// The service's own time on the requests' critical paths.
    pub critical: Nanoseconds,
    /// `critical` as part of all requests' time.
    pub critical_share: f64,
}

/// Sums of one service, or of the calls from one to another.
#[derive(Default)]
struct Sums {
    count: u64,
    errors: u64,
    time: Nanoseconds,
    times: Histogram,
    critical: Nanoseconds,
}

impl Sums {
    fn add_calls(&mut self, totals: &Totals) {
        self.count += totals.count;
        self.errors += totals.errors;
        self.time += totals.inclusive;
        self.times.merge(&totals.inclusive_times);
    }

    fn served(&self, latency: Nanoseconds) -> Served {
        let [p50, p99] = self.times.percentiles([50, 99]);
        Served {
            count: self.count,
            errors: self.errors,
            mean: Nanoseconds(self.time.get().checked_div(self.count).unwrap_or(0)),
            p50,
            p99,
            max: self.times.largest(),
            critical: self.critical,
            critical_share: match latency.get() {
                0 => 0.0,
                all => self.critical.get() as f64 / all as f64,
            },
        }
    }
}

impl ServiceMap {
    /// The map of all requests of `summary`.
    pub fn new(summary: &Summary) -> Self {
        let tree = &summary.tree;
        let mut services: FxHashMap<NameId, Sums> = FxHashMap::default();
        let mut calls: FxHashMap<(NameId, NameId), Sums> = FxHashMap::default();
        // Through which call each context came to its service; callers come before callees.
        let mut entries: Vec<Option<NameId>> = Vec::with_capacity(tree.contexts().len());
        for context in tree.contexts() {
            let (service, totals) = (context.service, &context.totals);
            let caller = context.parent.map(|parent| tree.get(parent).service);
            let is_entry = caller != Some(service);
            let entry = match context.parent {
                Some(parent) if !is_entry => entries[parent.0 as usize],
                _ => caller,
            };
            entries.push(entry);
            let sums = services.entry(service).or_default();
            sums.critical += totals.critical;
            if is_entry {
                sums.add_calls(totals);
            }
            if let Some(caller) = entry {
                let sums = calls.entry((caller, service)).or_default();
                sums.critical += totals.critical;
                if is_entry {
                    sums.add_calls(totals);
                }
            }
        }
        let latency = summary.latency;
        let text = |name| summary.names.text(name).to_owned();
        let mut services: Vec<_> = (services.iter().filter(|(_, sums)| sums.count > 0))
            .map(|(&service, sums)| ServiceRow {
                service: text(service),
                served: sums.served(latency),
            })
            .collect();
        // Ties by name, so that the order does not depend on that of the input.
        services.sort_by(|one, other| {
            (other.served.critical.cmp(&one.served.critical))
                .then_with(|| one.service.cmp(&other.service))
        });
        let mut calls: Vec<_> = (calls.iter().filter(|(_, sums)| sums.count > 0))
            .map(|(&(caller, callee), sums)| CallRow {
                caller: text(caller),
                callee: text(callee),
                served: sums.served(latency),
            })
            .collect();
        calls.sort_by(|one, other| {
            (other.served.critical.cmp(&one.served.critical))
                .then_with(|| (&one.caller, &one.callee).cmp(&(&other.caller, &other.callee)))
        });
        Self { services, calls }
    }
}
