//! Data trees: what the requests of each operation spent their time on.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::{Value, json};
use slowpath_model::Nanoseconds;

use super::outputs::Output;
use super::time_graph::{TreeParameters, headers_of};
use super::{Model, OfOutput, about};
use crate::problem::Problem;
use crate::recording::Recording;
use crate::serve::Shared;

pub(super) async fn tree(
    State(shared): State<Shared>,
    Path(of): OfOutput,
    body: Bytes,
) -> Result<Response, Problem> {
    about(
        shared,
        of,
        |output| output == Output::Statistics,
        body,
        tree_of,
    )
    .await
}

fn tree_of(recording: &Recording, _: Output, asked: TreeParameters) -> Model<Value> {
    asked.range()?;
    let operations = recording.operations.get()?;
    let mut entries = Vec::new();
    for operation in operations.all() {
        let id = entries.len();
        let name = [&operation.name.operation, &operation.name.comm];
        let name = name
            .into_iter()
            .find(|name| !name.is_empty())
            .cloned()
            .unwrap_or_default();
        let name = match operation.name.service.as_str() {
            "" => name,
            service => format!("{service}: {name}"),
        };
        let median = operation.p50.to_string();
        entries.push(json!({
            "id": id, "parentId": -1, "hasData": true,
            "labels": [
                name, operation.count.to_string(), median, operation.p99.to_string(),
                operation.longest.to_string(), "",
            ],
        }));
        for band in &operation.bands {
            let (from, to) = (band.permille.0 as f64 / 10.0, band.permille.1 as f64 / 10.0);
            let most = band.states.longest();
            let most = most.first().map_or(String::new(), |(state, length)| {
                let mean = Nanoseconds(length.get() / band.count.max(1));
                format!("{} {mean}", state.name())
            });
            entries.push(json!({
                "id": entries.len(), "parentId": id, "hasData": true,
                "labels": [
                    format!("{from} % to {to} %"), band.count.to_string(), "", "",
                    band.durations.1.to_string(), most,
                ],
            }));
        }
    }
    let headers = headers_of(&[
        "Operation",
        "Requests",
        "Median",
        "99 %",
        "Longest",
        "Mostly (mean)",
    ]);
    Ok(json!({ "entries": entries, "headers": headers, "autoExpandLevel": 1 }))
}
