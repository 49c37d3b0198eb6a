//! Colours and heights of states, by their keys.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::outputs::Output;
use super::{Model, OfOutput, about};
use crate::problem::Problem;
use crate::recording::Recording;
use crate::serve::Shared;

/// States with their colours: what runs is green, what waits for a processor orange and red, other
/// waits have colours of their own.
const STATES: [(&str, &str, f64); 12] = [
    ("RUNNING", "#2e9e4f", 1.0),
    ("PREEMPTED", "#d9541e", 0.5),
    ("WAIT_CPU", "#f0932b", 0.5),
    ("INTERRUPTED", "#b5338a", 0.75),
    ("BLOCKED", "#d8b400", 0.5),
    ("TIMER", "#8a93a6", 0.5),
    ("BLOCK_DEVICE", "#7b4ec9", 0.5),
    ("NETWORK", "#2a7fd4", 0.5),
    ("USER_INPUT", "#4cb8b0", 0.5),
    ("IPI", "#9c6b4a", 0.5),
    ("BLOCKED_BY_REQUEST", "#c0392b", 0.5),
    ("UNKNOWN", "#b8b8b8", 0.33),
];

/// A colour of that hue (0 to 360), of one lightness and saturation.
pub(super) fn of_hue(hue: f64) -> String {
    let part = |shift: f64| {
        let k = (shift + hue / 30.0).rem_euclid(12.0);
        let value = 0.5 - 0.3 * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0);
        (value * 255.0).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", part(0.0), part(8.0), part(4.0))
}

#[derive(Deserialize)]
pub(super) struct NoParameters {}

pub(super) async fn styles(
    State(shared): State<Shared>,
    Path(of): OfOutput,
    body: Bytes,
) -> Result<Response, Problem> {
    about(
        shared,
        of,
        |output| output.is_time_graph() || output.is_xy(),
        body,
        styles_of,
    )
    .await
}

fn styles_of(_: &Recording, output: Output, NoParameters {}: NoParameters) -> Model<Value> {
    let style = |name: &str, colour: &str, height: f64, group: &str| {
        json!({ "values": {
            "style-name": name,
            "background-color": colour,
            "height": height,
            "opacity": 1.0,
            "style-group": group,
        }})
    };
    let mut styles = Map::new();
    match output {
        Output::Cpus => {
            styles.insert("THREAD".to_owned(), style("Thread", "#2e9e4f", 1.0, "CPU"));
        }
        Output::Threads | Output::Requests => {
            for (name, colour, height) in STATES {
                styles.insert(name.to_owned(), style(name, colour, height, "States"));
            }
            styles.insert(
                "WAKE_UP".to_owned(),
                style("Wake-up", "#646464", 0.1, "Arrows"),
            );
        }
        _ => {}
    }
    Ok(json!({ "styles": styles }))
}

#[cfg(test)]
mod tests {
    use slowpath_critical_path::State;

    use super::*;

    #[test]
    fn every_state_has_a_colour() {
        let known = STATES.map(|(name, ..)| name);
        assert_eq!(known, State::ALL.map(State::name));
        assert_eq!(of_hue(0.0).len(), 7);
    }
}
