//! What data stores did for their clients: tables, rows, and how much went through them over a time.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use slowpath_views::{StoreOverTime, StoreRow, StoreTables, store_over_time};
use utoipa::{IntoParams, ToSchema};

use super::MOST_PIXELS;
use super::exchange::{Answer, Asked, parts, range_of};
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
            Answer::of(&*recording.store.get()?)
        })
        .await
}

/// Rows of data stores, and what their values mean.
#[derive(Serialize, ToSchema)]
struct StoreRowList<'rows> {
    /// By server: its event loop, its other threads, its clients' connections.
    rows: &'rows [StoreRow],
    /// What threads do, by value of `store`.
    operations: &'rows [String],
    /// Where what a client asked for lies, by value of `store` of connections.
    structures: &'rows [String],
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
                commands: &store.rows.commands,
            })
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
