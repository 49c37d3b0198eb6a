//! `slowpath report`: the application in one file, with the answers that it needs and no server.
//!
//! The answers are asked of the same router that serves them, so that a report shows what the server
//! would. The page finds them in itself; which ones it asks for is written in `web/src/model/report.ts`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use serde_json::{Value, json};
use tower_service::Service;

use crate::assets;
use crate::recording::Recording;
use crate::serve::{Shared, unguarded};

/// Of a recording without requests: the threads that ran most.
const MOST_THREADS: usize = 100;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum NoReport {
    /// The binary lacks the application.
    #[error(
        "this slowpath was built without the browser application\n  hint: make web, then build it again"
    )]
    NoApplication,
    /// A part could not be computed.
    #[error("{question}: {why}")]
    NoAnswer {
        /// What was asked.
        question: String,
        /// Why there is no answer.
        why: String,
    },
    /// Nothing can run.
    #[error("the report cannot be made: {0}")]
    Broken(#[from] std::io::Error),
}

/// The report's page: overview, findings, and so many of the slowest requests in full.
///
/// # Errors
/// Where the application is not in the binary, or something cannot be computed.
pub fn report(recording: &Arc<Recording>, slowest: usize) -> Result<String, NoReport> {
    let (Some(script), Some(style)) = (
        assets::text("report/report.js"),
        assets::text("report/report.css"),
    ) else {
        return Err(NoReport::NoApplication);
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let answers = runtime.block_on(answers(recording, slowest));
    recording.stop();
    runtime.shutdown_background();
    let data = json!({ "answers": answers? })
        .to_string()
        .replace('<', "\\u003c");
    // Neither may end its element early.
    let script = script.replace("</script", "<\\/script");
    let name = recording.name.replace('&', "&amp;").replace('<', "&lt;");
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{name} – slowpath</title>\n<style>{style}</style>\n</head>\n<body>\n\
         <div id=\"application\"></div>\n\
         <script type=\"application/json\" id=\"slowpath-report\">{data}</script>\n\
         <script>{script}</script>\n</body>\n</html>\n"
    ))
}

async fn answers(
    recording: &Arc<Recording>,
    slowest: usize,
) -> Result<BTreeMap<String, Value>, NoReport> {
    recording.start();
    let mut asker = Asker {
        router: unguarded(Shared::of(Arc::clone(recording))),
        answers: BTreeMap::new(),
    };
    // What says why there are no requests waits for them to be read.
    asker.ask("/api/operations").await?;
    let about = asker.ask("/api/recording").await?.unwrap_or_default();
    let duration = &about["duration_ns"];
    asker
        .ask(&format!(
            "/api/usage?begin_ns=0&end_ns={duration}&buckets=480"
        ))
        .await?;
    asker.ask("/api/findings").await?;
    let operations = asker.ask("/api/operations").await?.unwrap_or_default();
    for operation in operations["operations"].as_array().into_iter().flatten() {
        let name = |key: &str| operation[key].as_str().unwrap_or_default().to_owned();
        let shown = match name("operation").as_str() {
            "" => name("comm"),
            named => named.to_owned(),
        };
        let asked = [("service", name("service")), ("operation", shown)];
        let asked = asked.iter().filter(|(_, value)| !value.is_empty());
        let asked = asked.map(|(key, value)| format!("{key}={}&", encoded(value)));
        let url = format!("/api/distribution?{}buckets=60", asked.collect::<String>());
        asker.ask(&url).await?;
    }
    const LIST: &str = "/api/requests?sort=duration&order=desc&offset=0&limit=";
    asker.ask(&format!("{LIST}20")).await?;
    let page = asker
        .ask(&format!("{LIST}{slowest}"))
        .await?
        .unwrap_or_default();
    if slowest != 20 {
        asker.answers.remove(&format!("{LIST}{slowest}"));
    }
    let requests = page["requests"].as_array().cloned().unwrap_or_default();
    for request in &requests {
        asker
            .ask(&format!("/api/requests/{}", request["id"]))
            .await?;
    }
    if requests.is_empty()
        && let Some(threads) = asker.ask("/api/threads").await?
    {
        // Then the overview shows threads; a part of them, as there may be very many.
        let mut rows = threads["threads"].as_array().cloned().unwrap_or_default();
        rows.sort_by_key(|row| Reverse(row["states"]["RUNNING"].as_u64()));
        rows.truncate(MOST_THREADS);
        let held = json!({ "threads": rows });
        asker.answers.insert("/api/threads".to_owned(), held);
    }
    // The list that the page shows has those that it holds.
    let held = json!({ "total": requests.len(), "requests": requests });
    asker.answers.insert(format!("{LIST}100"), held);
    Ok(asker.answers)
}

struct Asker {
    router: axum::Router,
    answers: BTreeMap<String, Value>,
}

impl Asker {
    /// Asks until the answer is there and keeps it; `None` where there cannot be one for this recording.
    async fn ask(&mut self, url: &str) -> Result<Option<Value>, NoReport> {
        let failed = |why: String| NoReport::NoAnswer {
            question: url.to_owned(),
            why,
        };
        loop {
            let request = Request::get(url).body(Body::empty());
            let request = request.map_err(|error| failed(error.to_string()))?;
            let Ok(response) = self.router.call(request).await;
            let status = response.status();
            if status == StatusCode::ACCEPTED {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
            let kind = response.headers().get(header::CONTENT_TYPE).cloned();
            let body = to_bytes(response.into_body(), usize::MAX).await;
            let body = body.map_err(|error| failed(error.to_string()))?;
            let answer: Value = serde_json::from_slice(&body)
                .map_err(|error| failed(format!("{error} in {kind:?}")))?;
            return match status {
                StatusCode::OK => {
                    self.answers.insert(url.to_owned(), answer.clone());
                    Ok(Some(answer))
                }
                StatusCode::CONFLICT => Ok(None),
                _ => Err(failed(answer["title"].to_string())),
            };
        }
    }
}

/// A value of a query as browsers write it (`application/x-www-form-urlencoded`).
fn encoded(value: &str) -> String {
    let mut text = String::new();
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => {
                text.push(byte as char)
            }
            b' ' => text.push('+'),
            _ => text += &format!("%{byte:02X}"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn queries_are_written_as_browsers_do() {
        assert_eq!(super::encoded("GET /a b&c=é*"), "GET+%2Fa+b%26c%3D%C3%A9*");
    }
}
