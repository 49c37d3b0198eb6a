//! An exploration: how far it is, what was found, and a metric over parameters. It may run meanwhile.

use axum::extract::State;
use serde::Deserialize;
use slowpath_explore::{Dashboard, HeatMap, HeatMapAsked, Progress};
use utoipa::IntoParams;

use super::exchange::{Answer, Asked};
use crate::description::EXPLORATION;
use crate::exploration::Explored;
use crate::jobs::NotThere;
use crate::problem::Problem;
use crate::recording::Recording;
use crate::serve::Shared;

const NO_EXPLORATION: &str = "no exploration was opened\n  hint: `slowpath serve` shows the folder that `slowpath explore` writes";

/// Of what revision.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct RevisionAsked {
    /// That of the progress, so that answers to the same question are the same; what is answered is always the latest.
    #[allow(dead_code)]
    revision: Option<String>,
}

/// How far the exploration is. Quickly answered, to be asked for again and again.
#[utoipa::path(get, path = "/exploration/progress", tag = EXPLORATION,
    responses((status = OK, body = Progress), NotThere))]
pub(super) async fn exploration_progress(State(shared): State<Shared>) -> Result<Answer, Problem> {
    shared
        .answer(|recording| Answer::of(&explored(recording)?.progress()?))
        .await
}

/// All that there is to show of the exploration but heat maps.
#[utoipa::path(get, path = "/exploration", tag = EXPLORATION, params(RevisionAsked),
    responses((status = OK, body = Dashboard), NotThere))]
pub(super) async fn exploration(
    State(shared): State<Shared>,
    Asked(_): Asked<RevisionAsked>,
) -> Result<Answer, Problem> {
    shared
        .answer(|recording| Answer::of(&explored(recording)?.read()?.dashboard))
        .await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct HeatMapQuestion {
    /// A metric; the first objective where it is absent.
    metric: Option<String>,
    /// The parameter to the right; the most important one where it is absent.
    x: Option<String>,
    /// The parameter upwards; the next in importance where it is absent.
    y: Option<String>,
    /// Names of parameters with commas between, which tell panels apart; where it is absent the others, as long as panels
    /// are few. Empty: none.
    by: Option<String>,
    /// That of the progress, so that answers to the same question are the same; what is answered is always the latest.
    #[allow(dead_code)]
    revision: Option<String>,
}

/// A metric over two parameters, once for each combination of others.
#[utoipa::path(get, path = "/exploration/heat-map", tag = EXPLORATION, params(HeatMapQuestion),
    responses((status = OK, body = HeatMap), NotThere))]
pub(super) async fn heat_map(
    State(shared): State<Shared>,
    Asked(question): Asked<HeatMapQuestion>,
) -> Result<Answer, Problem> {
    let names = |by: String| {
        let names = by.split(',').filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    };
    let asked = HeatMapAsked {
        metric: question.metric,
        x: question.x,
        y: question.y,
        by: question.by.map(names),
    };
    shared
        .answer(move |recording| {
            let read = explored(recording)?.read()?;
            let map = read.heat_map(&asked);
            Answer::of(&map.map_err(|error| Problem::Bad(error.to_string()))?)
        })
        .await
}

fn explored(recording: &Recording) -> Result<&Explored, Problem> {
    let impossible = || Problem::Impossible(NO_EXPLORATION.to_owned());
    recording.exploration.as_ref().ok_or_else(impossible)
}
