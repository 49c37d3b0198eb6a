//! On which paths of services the contexts of reports lie. A path is that of a call which goes to the context's endpoint,
//! from its process. Where several contexts and several paths have the endpoint in common, methods that spans name above
//! the call decide; where there are none, nothing is guessed.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use slowpath_read_transfers::{Context, Frame, Transfers};
use utoipa::ToSchema;

use crate::calls::{Calls, Fact};
use crate::endpoint::Endpoint;
use crate::report::TransferRow;

/// What spans tell of all services, as it is needed here.
#[derive(Clone, Debug, Default)]
pub struct ServicePaths {
    /// Requests.
    pub requests: u64,
    /// Sum of their times, in nanoseconds.
    pub latency: u64,
    /// All paths, those without marks too.
    pub paths: usize,
    /// Paths of calls that have marks, the first rank first.
    pub marked: Vec<MarkedPath>,
}

/// A path of calls some of whose last spans have marks.
#[derive(Clone, Debug)]
pub struct MarkedPath {
    /// The path.
    pub path: ServicePath,
    /// Who makes the last call.
    pub service: String,
    /// The marks of its spans.
    pub marks: Vec<u32>,
    /// Those of the spans above it in the same service, the outermost first, one list for each part of the path.
    pub above: Vec<Vec<u32>>,
}

/// A path of calls between services, as `slowpath services` has it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ServicePath {
    /// Its rank by distance, from 1.
    pub rank: usize,
    /// `service[operation]` from the request down; the last one is the call by which the objects come.
    pub path: Vec<String>,
    /// Sum of the times of its spans, in nanoseconds.
    pub inclusive: u64,
    /// That as part of all requests' time; more than 1 where calls overlap.
    pub share: f64,
}

/// Why a context lies on no path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoPath {
    /// No span tells that it is of the process, at the time of the report.
    NoProcess,
    /// No call of the process goes to the endpoint, or that is not known.
    NoCall,
    /// Other contexts have the endpoint too, or other services' spans tell of such a process, and the calls are on several
    /// paths.
    Ambiguous,
    /// The calls lie deeper than paths are told, or belong to no request.
    NotTold,
}

/// How many rows lie on paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = TransfersOnServices)]
pub struct OnServices {
    /// Requests of which spans tell.
    pub requests: u64,
    /// Sum of their times, in nanoseconds.
    pub latency: u64,
    /// All paths of calls.
    pub paths: usize,
    /// Rows that lie on at least one.
    pub rows_on_paths: usize,
    /// Rows that lie on none, by why.
    pub rows_without: RowsWithout,
}

/// Rows that lie on no path, by why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = TransfersWithoutPath)]
pub struct RowsWithout {
    /// See [`NoPath::NoProcess`].
    pub no_process: usize,
    /// See [`NoPath::NoCall`].
    pub no_call: usize,
    /// See [`NoPath::Ambiguous`].
    pub ambiguous: usize,
    /// See [`NoPath::NotTold`].
    pub not_told: usize,
}

impl OnServices {
    pub(crate) fn of(services: &ServicePaths, rows: &[TransferRow]) -> Self {
        let mut rows_without = RowsWithout::default();
        rows.iter()
            .filter_map(|row| row.no_path)
            .for_each(|why| rows_without.count(why));
        Self {
            requests: services.requests,
            latency: services.latency,
            paths: services.paths,
            rows_on_paths: rows.iter().filter(|row| !row.paths.is_empty()).count(),
            rows_without,
        }
    }
}

impl RowsWithout {
    fn count(&mut self, why: NoPath) {
        *match why {
            NoPath::NoProcess => &mut self.no_process,
            NoPath::NoCall => &mut self.no_call,
            NoPath::Ambiguous => &mut self.ambiguous,
            NoPath::NotTold => &mut self.not_told,
        } += 1;
    }
}

/// The paths of one context, the first rank first, or why there are none.
pub(crate) type Placed = Result<Vec<ServicePath>, NoPath>;

/// The paths of all contexts, by report and context.
pub(crate) fn places(
    reports: &[Transfers],
    calls: &Calls,
    services: &ServicePaths,
) -> Vec<Vec<Placed>> {
    let place = Places::new(reports, calls, services);
    let of_report = |(report, transfers): (usize, &Transfers)| {
        let program = calls.program(report);
        let contexts = transfers.contexts.iter();
        contexts.map(|context| place.of(program, context)).collect()
    };
    reports.iter().enumerate().map(of_report).collect()
}

/// An endpoint of a program, by numbers.
type Target = (usize, usize);

struct Places<'all> {
    calls: &'all Calls,
    marked: &'all [MarkedPath],
    /// Paths of calls to each endpoint, by position.
    paths_to: HashMap<Target, Vec<usize>>,
    /// Endpoints to which the calls of each path go.
    targets: Vec<Vec<Target>>,
    /// Methods above each path's call, the outermost first.
    methods: Vec<Vec<Vec<usize>>>,
    /// The different call paths of each endpoint.
    call_paths: HashMap<Target, HashSet<&'all [Frame]>>,
}

impl<'all> Places<'all> {
    fn new(reports: &'all [Transfers], calls: &'all Calls, services: &'all ServicePaths) -> Self {
        let mut places = Self {
            calls,
            marked: &services.marked,
            paths_to: HashMap::new(),
            targets: Vec::new(),
            methods: Vec::new(),
            call_paths: HashMap::new(),
        };
        let methods_of = |marks: &Vec<u32>| -> Vec<usize> {
            let facts = marks.iter().flat_map(|&mark| calls.facts(mark));
            let method = |fact| match fact {
                Fact::Method(number) => Some(number),
                Fact::Calls(..) => None,
            };
            facts.filter_map(method).collect()
        };
        for (position, path) in services.marked.iter().enumerate() {
            let facts = path.marks.iter().flat_map(|&mark| calls.facts(mark));
            let target = |fact| match fact {
                Fact::Calls(program, endpoint) => Some((program, endpoint)),
                Fact::Method(_) => None,
            };
            let mut targets: Vec<Target> = facts.filter_map(target).collect();
            targets.sort_unstable();
            targets.dedup();
            for &target in &targets {
                places.paths_to.entry(target).or_default().push(position);
            }
            places.targets.push(targets);
            let above = path.above.iter().map(methods_of);
            let above = above.filter(|methods| !methods.is_empty()).collect();
            places.methods.push(above);
        }
        for (report, transfers) in reports.iter().enumerate() {
            let program = calls.program(report);
            for context in &transfers.contexts {
                let endpoint = Endpoint::of(context);
                let found = endpoint.and_then(|endpoint| calls.endpoint(program, &endpoint));
                if let Some((endpoint, _)) = found {
                    let paths = places.call_paths.entry((program, endpoint)).or_default();
                    paths.insert(&context.call_path);
                }
            }
        }
        places
    }

    fn of(&self, program: usize, context: &Context) -> Placed {
        if !self.calls.was_seen(program) {
            return Err(NoPath::NoProcess);
        }
        let endpoint = Endpoint::of(context).ok_or(NoPath::NoCall)?;
        let (endpoint, was_called) =
            (self.calls.endpoint(program, &endpoint)).ok_or(NoPath::NoCall)?;
        let Some(candidates) = self.paths_to.get(&(program, endpoint)) else {
            return Err(match was_called {
                true => NoPath::NotTold,
                false => NoPath::NoCall,
            });
        };
        let named = || -> Vec<usize> {
            let positions = candidates.iter().copied();
            positions
                .filter(|&path| self.goes_through(path, &context.call_path))
                .collect()
        };
        let chosen = match candidates.len() {
            1 => candidates.clone(),
            _ => match named() {
                named if !named.is_empty() => named,
                _ if self.is_alone(candidates) => candidates.clone(),
                _ => return Err(NoPath::Ambiguous),
            },
        };
        let paths = chosen
            .iter()
            .map(|&position| self.marked[position].path.clone());
        Ok(paths.collect())
    }

    /// Whether spans name methods above the call of a path, and all of these are on the call path, in their order.
    fn goes_through(&self, path: usize, call_path: &[Frame]) -> bool {
        let methods = &self.methods[path];
        let mut frames = call_path.iter();
        !methods.is_empty()
            && methods.iter().all(|methods| {
                frames.any(|frame| {
                    let name = format!("{}.{}", frame.class, frame.method);
                    methods
                        .iter()
                        .any(|&method| self.calls.is_method(method, &name))
                })
            })
    }

    /// Whether objects come by these paths to one place of the program only, and that is of one service.
    fn is_alone(&self, paths: &[usize]) -> bool {
        let mut services = paths.iter().map(|&path| &self.marked[path].service);
        let targets = paths.iter().flat_map(|&path| &self.targets[path]);
        let mut places =
            targets.flat_map(|target| self.call_paths.get(target).into_iter().flatten());
        let (service, place) = (services.next(), places.next());
        services.all(|other| Some(other) == service) && places.all(|other| Some(other) == place)
    }
}
