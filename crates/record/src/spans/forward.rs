//! Passing requests on to the user's own collector, as well as may be.
//!
//! One request at a time out of a queue bounded in bytes. A collector that hangs, fails or is not
//! there costs requests, which are counted, and nothing else: nothing is tried twice.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::CONTENT_TYPE;
use hyper::http::uri::{InvalidUri, PathAndQuery, Scheme};
use hyper::{Method, Request, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::sync::mpsc;

use super::counts::Counts;
use super::partial_success::PartialSuccess;
use super::raw_codec::RawCodec;

/// What may wait for the collector.
const QUEUE_BYTES: usize = 16 << 20;
/// Beside its bytes, a waiting request costs about this much.
const OVERHEAD_BYTES: usize = 128;
/// How long a collector may take for a request.
const PATIENCE: Duration = Duration::from_secs(5);
/// What is read of a collector's answer: one that is longer is not looked at.
const MOST_ANSWER_BYTES: usize = 64 << 10;

/// What a request tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Traces,
    Metrics,
    Logs,
}

/// Path over HTTP and method over gRPC of each signal (OTLP specification 1.x).
const PATHS: [(Signal, &str, &str); 3] = [
    (
        Signal::Traces,
        "/v1/traces",
        "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    ),
    (
        Signal::Metrics,
        "/v1/metrics",
        "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
    ),
    (
        Signal::Logs,
        "/v1/logs",
        "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    ),
];

impl Signal {
    /// The signal that arrives at `path`, over gRPC or over HTTP.
    pub(crate) fn at(path: &str, over_grpc: bool) -> Option<Self> {
        let fits =
            |(_, http, grpc): &&(Self, &str, &str)| path == if over_grpc { *grpc } else { *http };
        PATHS.iter().find(fits).map(|(signal, _, _)| *signal)
    }

    fn paths(self) -> (&'static str, &'static str) {
        let row = match self {
            Self::Traces => PATHS[0],
            Self::Metrics => PATHS[1],
            Self::Logs => PATHS[2],
        };
        (row.1, row.2)
    }
}

/// A request to pass on.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub(crate) signal: Signal,
    /// Else it is protobuf.
    pub(crate) is_json: bool,
    pub(crate) message: Bytes,
}

/// Where to pass requests on to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardTarget {
    /// As the user wrote it.
    text: String,
    /// Scheme `http`, without a slash at its end.
    base: Uri,
    over_grpc: bool,
}

/// Why a text names no collector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} names no collector: http://HOST:4318 (OTLP over HTTP) or grpc://HOST:4317 is wanted; \
     for one that wants TLS or a key, run a collector on this machine that passes on"
)]
pub struct NoTarget(String);

impl FromStr for ForwardTarget {
    type Err = NoTarget;

    fn from_str(text: &str) -> Result<Self, NoTarget> {
        let no_target = || NoTarget(text.to_owned());
        let (over_grpc, rest) = match text.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("grpc", rest)) => (true, rest),
            _ => return Err(no_target()),
        };
        let base: Result<Uri, InvalidUri> =
            format!("http://{}", rest.trim_end_matches('/')).parse();
        let base = base.map_err(|_| no_target())?;
        let is_usable = base.scheme() == Some(&Scheme::HTTP)
            && base.host().is_some_and(|host| !host.is_empty())
            && base.query().is_none();
        match is_usable {
            true => Ok(Self {
                text: text.to_owned(),
                base,
                over_grpc,
            }),
            false => Err(no_target()),
        }
    }
}

impl std::fmt::Display for ForwardTarget {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// The near end of the queue.
#[derive(Debug)]
pub(crate) struct ForwardQueue {
    sender: mpsc::UnboundedSender<Outgoing>,
    waiting: Arc<Waiting>,
    counts: Arc<Counts>,
}

/// What waits or is on its way.
#[derive(Debug, Default)]
struct Waiting {
    bytes: AtomicUsize,
    requests: AtomicUsize,
}

impl Waiting {
    /// Whether `outgoing` finds room.
    fn enter(&self, outgoing: &Outgoing) -> bool {
        let bytes = outgoing.message.len() + OVERHEAD_BYTES;
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        let has_room = before + bytes <= QUEUE_BYTES;
        if !has_room {
            self.leave(bytes);
        }
        has_room
    }

    fn leave(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ForwardQueue {
    /// Both ends of the queue to `target`.
    pub(crate) fn new(target: ForwardTarget, counts: Arc<Counts>) -> (Self, Forwarder) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let waiting = Arc::<Waiting>::default();
        let forwarder = Forwarder {
            target,
            receiver,
            waiting: Arc::clone(&waiting),
            counts: Arc::clone(&counts),
        };
        let queue = Self {
            sender,
            waiting,
            counts,
        };
        (queue, forwarder)
    }

    /// Passes a request on if there is room, else counts it as lost.
    pub(crate) fn offer(&self, outgoing: Outgoing) {
        if !self.waiting.enter(&outgoing) {
            self.counts.lost_forwards.add(1);
        } else if let Err(unsent) = self.sender.send(outgoing) {
            self.waiting.leave(unsent.0.message.len() + OVERHEAD_BYTES);
            self.counts.lost_forwards.add(1);
        }
    }

    /// Waits until everything has been passed on, but no longer than `limit`; counts the rest as
    /// lost.
    pub(crate) async fn drain(&self, limit: Duration) {
        let is_empty = async {
            while self.waiting.requests.load(Ordering::Relaxed) > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        if tokio::time::timeout(limit, is_empty).await.is_err() {
            let left = self.waiting.requests.load(Ordering::Relaxed) as u64;
            self.counts.lost_forwards.add(left);
        }
    }
}

/// The far end of the queue: sends.
#[derive(Debug)]
pub(crate) struct Forwarder {
    target: ForwardTarget,
    receiver: mpsc::UnboundedReceiver<Outgoing>,
    waiting: Arc<Waiting>,
    counts: Arc<Counts>,
}

impl Forwarder {
    /// Sends until the queue is gone.
    pub(crate) async fn run(mut self) {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(PATIENCE));
        let http = Client::builder(TokioExecutor::new()).build(connector.clone());
        let http2 = Client::builder(TokioExecutor::new())
            .http2_only(true)
            .build(connector);
        let grpc = tonic::client::Grpc::with_origin(http2, self.target.base.clone());
        while let Some(outgoing) = self.receiver.recv().await {
            let bytes = outgoing.message.len() + OVERHEAD_BYTES;
            let rejected = match outgoing.signal {
                Signal::Traces => &self.counts.rejected_spans,
                Signal::Metrics | Signal::Logs => &self.counts.rejected_others,
            };
            let sending = async {
                match self.target.over_grpc {
                    true => send_over_grpc(grpc.clone(), outgoing).await,
                    false => send_over_http(&http, &self.target.base, outgoing).await,
                }
            };
            let sent = tokio::time::timeout(PATIENCE, sending).await;
            match sent {
                Ok(Some(answer)) => {
                    self.counts.forwarded_requests.add(1);
                    rejected.add(answer.rejected);
                }
                _ => self.counts.lost_forwards.add(1),
            }
            self.waiting.leave(bytes);
        }
    }
}

async fn send_over_http(
    client: &Client<HttpConnector, Full<Bytes>>,
    base: &Uri,
    outgoing: Outgoing,
) -> Option<PartialSuccess> {
    let (path, _) = outgoing.signal.paths();
    let content_type = match outgoing.is_json {
        true => "application/json",
        false => "application/x-protobuf",
    };
    // A URI without a path shows itself with "/".
    let uri = format!("{}{path}", base.to_string().trim_end_matches('/'));
    let request = Request::builder()
        .method(Method::POST)
        .uri(uri)
        .header(CONTENT_TYPE, content_type)
        .body(Full::new(outgoing.message))
        .ok()?;
    let answer = client.request(request).await.ok()?;
    let is_taken = answer.status().is_success();
    let is_json = match answer.headers().get(CONTENT_TYPE) {
        Some(content_type) => content_type.as_bytes().starts_with(b"application/json"),
        None => outgoing.is_json,
    };
    // Read to its end, so that the connection can be used again.
    let body = Limited::new(answer.into_body(), MOST_ANSWER_BYTES);
    let body = body.collect().await;
    let body = body.map_or_else(|_| Bytes::new(), |body| body.to_bytes());
    is_taken.then(|| match is_json {
        true => PartialSuccess::in_json(&body),
        false => PartialSuccess::in_protobuf(&body),
    })
}

async fn send_over_grpc(
    mut client: tonic::client::Grpc<Client<HttpConnector, tonic::body::Body>>,
    outgoing: Outgoing,
) -> Option<PartialSuccess> {
    if outgoing.is_json {
        return None;
    }
    let (_, method) = outgoing.signal.paths();
    client.ready().await.ok()?;
    let request = tonic::Request::new(outgoing.message);
    let method = PathAndQuery::from_static(method);
    let answer = client.unary(request, method, RawCodec).await.ok()?;
    Some(PartialSuccess::in_protobuf(answer.get_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectors_are_named_by_scheme_host_and_port() {
        for text in [
            "http://localhost:4318",
            "grpc://10.0.0.1:4317/",
            "http://[::1]:4318/otlp",
        ] {
            let target: ForwardTarget = text.parse().expect(text);
            assert_eq!(target.to_string(), text);
            assert_eq!(target.over_grpc, text.starts_with("grpc"));
        }
        for text in [
            "",
            "localhost:4318",
            "https://a.example:4318",
            "http://",
            "http://a b",
            "http://h/?x=1",
        ] {
            let error = text.parse::<ForwardTarget>().expect_err(text);
            assert!(error.to_string().contains("http://HOST:4318"), "{error}");
        }
    }

    #[test]
    fn a_full_queue_counts_what_it_drops() {
        let target = "http://localhost:4318".parse().expect("a target");
        let counts = Arc::new(Counts::default());
        let (queue, _forwarder) = ForwardQueue::new(target, Arc::clone(&counts));
        for _ in 0..10 {
            queue.offer(Outgoing {
                signal: Signal::Traces,
                is_json: false,
                message: vec![0; 4 << 20].into(),
            });
        }
        assert_eq!(counts.lost_forwards.get(), 7, "three fit into 16 MiB");
        assert_eq!(queue.waiting.requests.load(Ordering::Relaxed), 3);
    }
}
