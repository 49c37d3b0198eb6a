//! What data stores did for their clients: tables, rows, and how much went through them over a time.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use slowpath_critical_path::critical_path_among;
use slowpath_views::{
    AtServer, PathRow, StoreArrows, StoreMeanwhile, StoreOperations, StoreOverTime, StoreRow,
    StoreTables, path_row, store_arrows, store_meanwhile, store_operations, store_over_time,
};
use utoipa::{IntoParams, ToSchema};

use super::exchange::{Answer, Asked, Posted, limited, parts, range_of};
use super::{MOST_ITEMS, MOST_PIXELS, MOST_ROWS};
use crate::description::STORES;
use crate::jobs::NotThere;
use crate::problem::Problem;
use crate::recording::Job;
use crate::serve::Shared;

/// Commands, clients, the 200 slowest commands, messages between nodes, and what stands out. All of the recording.
#[utoipa::path(get, path = "/store", tag = STORES,
    responses((status = OK, body = StoreTables), NotThere))]
pub(super) async fn store(State(shared): State<Shared>) -> Result<Answer, Problem> {
    shared
        .answer(|recording| {
            recording.want(Job::Store);
            Answer::of(&recording.store.get()?.document)
        })
        .await
}

/// Rows of data stores, and what their values mean.
#[derive(Serialize, ToSchema)]
struct StoreRowList<'rows> {
    /// By server: its event loop, its other threads, its clients' connections, what threads did to these.
    rows: &'rows [StoreRow],
    /// What threads do, by value of `store`.
    operations: &'rows [String],
    /// Where what a client asked for lies, by value of `store` of connections.
    structures: &'rows [String],
    /// What threads do to connections, by value of `store` of rows that show it.
    connection_operations: &'rows [String],
    /// Names of commands, by value of `store-commands`.
    commands: &'rows [String],
}

/// Event loops, threads and connections.
#[utoipa::path(get, path = "/store/rows", tag = STORES,
    responses((status = OK, body = StoreRowList), NotThere))]
pub(super) async fn store_rows(State(shared): State<Shared>) -> Result<Answer, Problem> {
    shared
        .answer(|recording| {
            recording.want(Job::StoreHistory);
            let store = recording.store_history.get()?;
            Answer::of(&StoreRowList {
                rows: &store.rows.rows,
                operations: &store.rows.operations,
                structures: &store.rows.structures,
                connection_operations: &store.rows.connection_operations,
                commands: &store.rows.commands,
            })
        })
        .await
}

/// Rows of data stores of which something is wanted for a time.
#[derive(Deserialize, ToSchema)]
#[schema(as = StoreRowsQuestion)]
pub(super) struct StoreRowsPosted {
    /// Which.
    #[schema(max_items = 10_000)]
    rows: Vec<usize>,
    /// From when.
    begin_ns: i64,
    /// Until when.
    end_ns: i64,
    /// How many at most.
    #[serde(default = "some")]
    #[schema(default = 10_000, maximum = 100_000)]
    limit: usize,
}

fn some() -> usize {
    10_000
}

/// The way of commands among the rows, from connections through threads and back, and of what was published in a cluster,
/// from node to node and on to subscribers. Of more than `limit` arrows none is told.
#[utoipa::path(post, path = "/store/arrows", tag = STORES, request_body = StoreRowsPosted,
    responses((status = OK, body = StoreArrows), NotThere))]
pub(super) async fn store_way(
    State(shared): State<Shared>,
    Posted(question): Posted<StoreRowsPosted>,
) -> Result<Answer, Problem> {
    shared
        .answer(move |recording| {
            limited("rows", question.rows.len(), MOST_ROWS)?;
            let range = range_of(question.begin_ns, question.end_ns)?;
            let limit = limited("arrows", question.limit, MOST_ITEMS)?;
            recording.want(Job::Store);
            recording.want(Job::StoreHistory);
            recording.want(Job::StoreHops);
            let store = recording.store_history.get()?;
            let hops = recording.store_hops.get()?;
            let (history, rows) = (&store.opened.history, &store.rows);
            let found = store_arrows(history, rows, &hops, &question.rows, range, limit);
            Answer::of(&found)
        })
        .await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct MeanwhileAsked {
    /// The host's name, where rows have one.
    host: Option<String>,
    /// The server's number.
    server: u32,
    /// The number of the client that sent the command.
    client: u64,
    /// From when.
    begin_ns: i64,
    /// Until when.
    end_ns: i64,
}

/// What a server did while a command was under way.
#[derive(Serialize, ToSchema)]
struct StoreCommandPath {
    /// What its event loop did, as far as its agent tells.
    meanwhile: StoreMeanwhile,
    /// The critical path of its main thread, where the kernel's events tell of it.
    #[schema(required)]
    path: Option<PathRow>,
}

/// What a server's event loop did, and what its main thread waited for, while a command of a client was under way.
#[utoipa::path(get, path = "/store/command", tag = STORES, params(MeanwhileAsked),
    responses((status = OK, body = StoreCommandPath), NotThere))]
pub(super) async fn store_command(
    State(shared): State<Shared>,
    Asked(question): Asked<MeanwhileAsked>,
) -> Result<Answer, Problem> {
    shared
        .answer(move |recording| {
            let range = range_of(question.begin_ns, question.end_ns)?;
            recording.want(Job::Store);
            recording.want(Job::StoreHistory);
            let tables = recording.store.get()?;
            let store = recording.store_history.get()?;
            let of = AtServer {
                host: question.host.as_deref(),
                server: question.server,
                client: question.client,
            };
            let meanwhile = store_meanwhile(&store.opened.history, &store.rows, of, range);
            let meanwhile = meanwhile.ok_or_else(|| {
                Problem::Unknown(format!("there is no server {}", question.server))
            })?;
            let requests = recording.requests.get()?;
            let all = requests.recorded.all();
            let is_its = |(name, _): &&(String, _)| of.host.is_none_or(|host| host == name);
            let path = tables.hosts.iter().find(is_its).and_then(|(name, tables)| {
                let host = recording.host_named(name);
                let lines = all.hosts().lines(host)?;
                let origin = recording.clocks().ok()?.of_host(host);
                let thread = tables.main_thread(of.server, lines, origin)?;
                let window = origin.range(range.0, range.1).intersect(lines.range());
                let path = critical_path_among(all.hosts(), host, thread, window);
                Some(path_row(&path, &[], origin))
            });
            Answer::of(&StoreCommandPath { meanwhile, path })
        })
        .await
}

/// What threads did to connections, of the rows that show it.
#[utoipa::path(post, path = "/store/operations", tag = STORES, request_body = StoreRowsPosted,
    responses((status = OK, body = StoreOperations), NotThere))]
pub(super) async fn store_touches(
    State(shared): State<Shared>,
    Posted(question): Posted<StoreRowsPosted>,
) -> Result<Answer, Problem> {
    shared
        .answer(move |recording| {
            limited("rows", question.rows.len(), MOST_ROWS)?;
            let range = range_of(question.begin_ns, question.end_ns)?;
            let limit = limited("operations", question.limit, MOST_ITEMS)?;
            recording.want(Job::StoreHistory);
            let store = recording.store_history.get()?;
            let history = &store.opened.history;
            let found = store_operations(history, &store.rows, &question.rows, range, limit);
            Answer::of(&found)
        })
        .await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct OverTimeAsked {
    /// From when.
    begin_ns: i64,
    /// Until when.
    end_ns: i64,
    /// Into how many equal parts the time is cut.
    #[param(minimum = 1, maximum = 16_384)]
    buckets: usize,
}

/// Servers over a time.
#[derive(Serialize, ToSchema)]
struct StoresOverTime {
    /// Each server.
    servers: Vec<StoreOverTime>,
}

/// How busy event loops were, how many clients waited, and what clients and other nodes were sent, over a time.
#[utoipa::path(get, path = "/store/over-time", tag = STORES, params(OverTimeAsked),
    responses((status = OK, body = StoresOverTime), NotThere))]
pub(super) async fn store_through_time(
    State(shared): State<Shared>,
    Asked(question): Asked<OverTimeAsked>,
) -> Result<Answer, Problem> {
    shared
        .answer(move |recording| {
            let range = range_of(question.begin_ns, question.end_ns)?;
            let buckets = parts("buckets", question.buckets, MOST_PIXELS)?;
            recording.want(Job::StoreHistory);
            let store = recording.store_history.get()?;
            let servers = store_over_time(&store.opened.history, &store.rows, range, buckets);
            Answer::of(&StoresOverTime { servers })
        })
        .await
}
