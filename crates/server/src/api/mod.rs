//! The interface of our own views: `/api`.
//!
//! Handlers read the question, see to its limits and hand over to `views`; they compute nothing. What
//! stands above a handler, a question's field or an answer's field is the interface's documentation:
//! docs/reference/openapi.json and http.md are made of it (`cargo xtask generate`).

// `utoipa::path` names parameters so.
#![allow(unused_qualifications)]

mod analyses;
mod events;
mod exchange;
mod exploration;
mod recording;
mod requests;
mod store;
mod timeline;
mod transfers;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) use exchange::Answer;

use crate::description;
use crate::serve::Shared;

/// The most rows of a question about rows.
const MOST_ROWS: usize = 10_000;
/// The most pixels of a row, or parts of a time.
const MOST_PIXELS: usize = 16_384;
/// The most cells of a screen.
const MOST_CELLS: usize = 16 << 20;
/// The most of whatever a question says how many it wants.
const MOST_ITEMS: usize = 100_000;

/// Every question, in the order in which they are documented.
pub(crate) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(recording::recording))
        .routes(routes!(recording::progress))
        .routes(routes!(description::openapi))
        .routes(routes!(timeline::threads))
        .routes(routes!(timeline::cpus))
        .routes(routes!(timeline::screen))
        .routes(routes!(timeline::quiet))
        .routes(routes!(timeline::intervals))
        .routes(routes!(timeline::arrows))
        .routes(routes!(timeline::usage))
        .routes(routes!(timeline::io_over_time))
        .routes(routes!(timeline::lost))
        .routes(routes!(timeline::thread_path))
        .routes(routes!(requests::requests))
        .routes(routes!(requests::request))
        .routes(routes!(requests::paths))
        .routes(routes!(requests::operations))
        .routes(routes!(requests::distribution))
        .routes(routes!(requests::compare))
        .routes(routes!(analyses::findings))
        .routes(routes!(analyses::services))
        .routes(routes!(events::events))
        .routes(routes!(store::store))
        .routes(routes!(store::store_rows))
        .routes(routes!(store::store_way))
        .routes(routes!(store::store_touches))
        .routes(routes!(store::store_command))
        .routes(routes!(store::store_through_time))
        .routes(routes!(transfers::transfers))
        .routes(routes!(exploration::exploration_progress))
        .routes(routes!(exploration::exploration))
        .routes(routes!(exploration::heat_map))
        .routes(routes!(analyses::count))
        .routes(routes!(analyses::cpu))
        .routes(routes!(analyses::io))
        .routes(routes!(analyses::latency))
}
