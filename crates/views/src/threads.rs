//! Threads and processors as rows of a time line, and what each row shows over a time.
//!
//! Rows are numbered in the order of host, process and thread. Everything comes out of the state
//! history, so that it is there at once when a recording is opened again.

use std::collections::BTreeMap;

use serde::Serialize;
use slowpath_critical_path::State;
use slowpath_history::{AttributeId, History};
use slowpath_model::{HostId, TimeRange};
use slowpath_session::{AttributePath, Subject, UNKNOWN_THREAD};
use utoipa::ToSchema;

use crate::{Clocks, Origin, RowPlace, TimeByState};

/// A thread, as a row.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Thread)]
pub struct ThreadRow {
    /// Its place.
    pub row: usize,
    /// Its host.
    pub host: HostId,
    /// Its number.
    pub tid: i64,
    /// Its process, where known.
    #[schema(required)]
    pub pid: Option<i64>,
    /// Its name.
    pub comm: String,
    /// When it began to exist, as far as the recording shows.
    pub begin_ns: i64,
    /// When it ended.
    pub end_ns: i64,
    /// How long it was in each state.
    #[schema(value_type = TimeByState)]
    pub states: BTreeMap<&'static str, u64>,
    /// Whether it ever worked for a request.
    pub serves_requests: bool,
}

/// A processor, as a row.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Processor)]
pub struct CpuRow {
    /// Its place.
    pub row: usize,
    /// Its host.
    pub host: HostId,
    /// Its number.
    pub cpu: u32,
    /// How long threads ran on it.
    pub busy_ns: u64,
    /// For how long it is known what it did.
    pub known_ns: u64,
}

/// What a row can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Track {
    /// What threads did: the position of a state in [`State::ALL`].
    Threads,
    /// Who ran on processors: the thread's number.
    Cpus,
    /// What threads worked for: the number of a request.
    Requests,
}

/// The attributes of a thread.
#[derive(Clone, Copy, Default)]
struct Attributes {
    state: Option<AttributeId>,
    name: Option<AttributeId>,
    process: Option<AttributeId>,
    request: Option<AttributeId>,
}

/// All rows of a recording, with where the history keeps them.
pub struct Rows {
    /// Threads by row.
    pub threads: Vec<ThreadRow>,
    /// Processors by row.
    pub cpus: Vec<CpuRow>,
    states_of: Vec<AttributeId>,
    requests_of: Vec<Option<AttributeId>>,
    cpus_of: Vec<AttributeId>,
    recorded_of: Vec<AttributeId>,
    by_thread: BTreeMap<(HostId, i64), usize>,
    clocks: Clocks,
}

impl Rows {
    /// Finds the rows. `hosts` are the hosts with time lines in their order.
    pub fn of(history: &History, hosts: &[String], clocks: Clocks) -> Self {
        let host_of = |name: Option<&str>| match name {
            None => Some(HostId(0)),
            Some(name) => {
                let place = hosts.iter().position(|host| host == name);
                place.map(|place| HostId(place as u32))
            }
        };
        let mut threads: BTreeMap<(HostId, i64), Attributes> = BTreeMap::new();
        let mut cpus: BTreeMap<(HostId, u32), (Option<AttributeId>, Option<AttributeId>)> =
            BTreeMap::new();
        for (attribute, id) in history.attributes().iter().zip((0..).map(AttributeId)) {
            let Some(path) = AttributePath::parse(&attribute.path) else {
                continue;
            };
            let Some(host) = host_of(path.host) else {
                continue;
            };
            match path.subject {
                Subject::Cpu(cpu) if path.what == "thread" => {
                    cpus.entry((host, cpu)).or_default().0 = Some(id);
                }
                Subject::Cpu(cpu) if path.what == "recorded" => {
                    cpus.entry((host, cpu)).or_default().1 = Some(id);
                }
                Subject::Cpu(_) | Subject::Store { .. } => {}
                Subject::Thread(thread) => {
                    let known = threads.entry((host, thread)).or_default();
                    match path.what {
                        "state" => known.state = Some(id),
                        "name" => known.name = Some(id),
                        "process" => known.process = Some(id),
                        "request" => known.request = Some(id),
                        _ => {}
                    }
                }
            }
        }
        let mut rows = Self {
            threads: Vec::with_capacity(threads.len()),
            cpus: Vec::with_capacity(cpus.len()),
            states_of: Vec::new(),
            requests_of: Vec::new(),
            cpus_of: Vec::new(),
            recorded_of: Vec::new(),
            by_thread: BTreeMap::new(),
            clocks,
        };
        let mut found: Vec<(ThreadRow, AttributeId, Option<AttributeId>)> = threads
            .into_iter()
            .filter_map(|((host, tid), attributes)| {
                let state = attributes.state?;
                let origin = rows.clocks.of_host(host);
                let row = thread_row(history, host, tid, state, attributes, origin);
                Some((row, state, attributes.request))
            })
            .collect();
        found.sort_by_key(|(row, ..)| (row.host, row.pid.unwrap_or(row.tid), row.tid));
        for ((row, state, request), place) in found.into_iter().zip(0..) {
            rows.by_thread.insert((row.host, row.tid), place);
            rows.threads.push(ThreadRow { row: place, ..row });
            rows.states_of.push(state);
            rows.requests_of.push(request);
        }
        let cpus = cpus.into_iter().filter_map(|(of, (thread, recorded))| {
            let recorded = recorded?;
            Some((of, thread?, recorded))
        });
        for (((host, cpu), id, recorded), row) in cpus.zip(0..) {
            let time = |attribute, is_meant: fn(i64) -> bool| -> u64 {
                let times = history.times(attribute, TimeRange::ALL).into_iter();
                let meant = times.filter(|(value, _)| is_meant(value.0));
                meant.map(|(_, length)| length.get()).sum()
            };
            let unknown = time(id, |thread| thread == UNKNOWN_THREAD);
            rows.cpus.push(CpuRow {
                row,
                host,
                cpu,
                busy_ns: time(id, |thread| thread > 0),
                known_ns: time(recorded, |_| true).saturating_sub(unknown),
            });
            rows.cpus_of.push(id);
            rows.recorded_of.push(recorded);
        }
        rows
    }

    /// The row of a thread.
    pub fn of_thread(&self, host: HostId, tid: i64) -> Option<usize> {
        self.by_thread.get(&(host, tid)).copied()
    }

    /// How times of the row's host become offsets; the first host's where there is no such row.
    pub(crate) fn origin(&self, track: Track, row: usize) -> Origin {
        let host = match track {
            Track::Threads | Track::Requests => self.threads.get(row).map(|row| row.host),
            Track::Cpus => self.cpus.get(row).map(|row| row.host),
        };
        self.clocks.of_host(host.unwrap_or_default())
    }

    /// The clocks by which times are shown.
    pub fn clocks(&self) -> &Clocks {
        &self.clocks
    }

    /// Where the history keeps a row; `None` where there is no such row.
    pub fn place(&self, track: Track, row: usize) -> Option<RowPlace> {
        let attribute = match track {
            Track::Threads => self.states_of.get(row).copied(),
            Track::Cpus => self.cpus_of.get(row).copied(),
            Track::Requests => self.requests_of.get(row).copied().flatten(),
        };
        Some(RowPlace {
            attribute: attribute?,
            origin: self.origin(track, row),
        })
    }

    /// Each processor with who runs on it, and with when it was recorded.
    pub(crate) fn cpu_attributes(
        &self,
    ) -> impl Iterator<Item = (&CpuRow, AttributeId, AttributeId)> {
        let attributes = self.cpus_of.iter().zip(&self.recorded_of);
        let rows = self.cpus.iter().zip(attributes);
        rows.map(|(row, (running, recorded))| (row, *running, *recorded))
    }
}

fn thread_row(
    history: &History,
    host: HostId,
    tid: i64,
    state: AttributeId,
    attributes: Attributes,
    origin: Origin,
) -> ThreadRow {
    let last =
        |attribute: Option<AttributeId>| history.intervals(attribute?, TimeRange::ALL).last();
    let name = last(attributes.name);
    let life = name.map_or(history.range(), |name| name.range);
    let comm = name.and_then(|name| history.value_name(name.attribute, name.value));
    let mut states = BTreeMap::new();
    for (value, length) in history.times(state, TimeRange::ALL) {
        let known = usize::try_from(value.0)
            .ok()
            .and_then(|at| State::ALL.get(at));
        if let Some(known) = known {
            states.insert(known.name(), length.get());
        }
    }
    ThreadRow {
        row: 0,
        host,
        tid,
        pid: last(attributes.process).map(|process| process.value.0),
        comm: comm.unwrap_or_default().to_owned(),
        begin_ns: origin.offset(life.begin),
        end_ns: origin.offset(life.end),
        states,
        serves_requests: last(attributes.request).is_some(),
    }
}
