//! What programs receive and never use, as agents for Java told.

use axum::extract::State;
use slowpath_transfers::Report;

use super::exchange::Answer;
use crate::description::TRANSFERS;
use crate::jobs::NotThere;
use crate::problem::Problem;
use crate::recording::Job;
use crate::serve::Shared;

/// Classes of objects by where they arrive, with what of them nothing reads, as `slowpath transfers` tells. All of the
/// reports' time.
#[utoipa::path(get, path = "/transfers", tag = TRANSFERS,
    responses((status = OK, body = Report), NotThere))]
pub(super) async fn transfers(State(shared): State<Shared>) -> Result<Answer, Problem> {
    shared
        .answer(|recording| {
            recording.want(Job::Transfers);
            Answer::of(&*recording.transfers.get()?)
        })
        .await
}
