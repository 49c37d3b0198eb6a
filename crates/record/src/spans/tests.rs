//! A receiver on a port of loopback, and senders of all manners: each request with what it is
//! answered, what is kept, and what is counted.

use std::future::ready;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;

use super::server::MOST_MESSAGE_BYTES;
use super::*;

const PROTOBUF: &str = "application/x-protobuf";
const JSON: &str = "application/json";

struct Running {
    folder: tempfile::TempDir,
    receiver: SpanReceiver,
}

impl Running {
    fn start(forward: Option<String>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let options = SpanOptions {
            listen: SpansChoice::At(vec![SocketAddr::from(([127, 0, 0, 1], 0))]),
            forward: forward.map(|target| target.parse().expect("a target")),
            rules: Vec::new(),
        };
        let started = SpanReceiver::start(&options, folder.path(), Mode::Standard, &mut |_| {});
        Self {
            receiver: started.expect("a receiver").expect("it is on"),
            folder,
        }
    }

    fn address(&self) -> SocketAddr {
        self.receiver.addresses[0]
    }

    /// What was counted and kept.
    fn finish(self) -> (SpansPart, Vec<ExportTraceServiceRequest>) {
        let now = crate::host::now();
        let part = self.receiver.finish(self.folder.path(), now, now);
        (part, kept(self.folder.path()))
    }
}

/// The messages of `spans/otlp-1.pb`.
fn kept(folder: &Path) -> Vec<ExportTraceServiceRequest> {
    let bytes = std::fs::read(folder.join("spans/otlp-1.pb")).unwrap_or_default();
    let mut rest = &bytes[..];
    let mut messages = Vec::new();
    while let Some((size, behind)) = rest.split_first_chunk() {
        let (message, next) = behind.split_at(u32::from_be_bytes(*size) as usize);
        messages.push(ExportTraceServiceRequest::decode(message).expect("a message"));
        rest = next;
    }
    messages
}

/// Sends a request over HTTP/1.1; the status and the body of its answer.
fn post(address: SocketAddr, head: &str, body: &[u8]) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let head = format!("{head}\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("sent");
    // A body that is refused for its size may not be read to its end.
    let _ = stream.write_all(body);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no answer: {}", String::from_utf8_lossy(&answer)));
    let status = std::str::from_utf8(&answer[9..12]).expect("a status");
    (
        status.parse().expect("a number"),
        answer[end + 4..].to_vec(),
    )
}

fn post_traces(address: SocketAddr, content_type: &str, more: &str, body: &[u8]) -> (u16, Vec<u8>) {
    let length = body.len();
    let head = format!(
        "POST /v1/traces HTTP/1.1\r\ncontent-type: {content_type}\r\ncontent-length: {length}{more}"
    );
    post(address, &head, body)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("packed");
    encoder.finish().expect("packed")
}

#[test]
fn protobuf_gzip_and_json_over_http_are_kept_alike() {
    let running = Running::start(None);
    let request = samples::request("shop", "/buy", 3);
    let message = request.encode_to_vec();
    let text = serde_json::to_vec(&request).expect("JSON");
    let packed = "\r\ncontent-encoding: gzip";
    for (content_type, more, body) in [
        (PROTOBUF, "", message.clone()),
        (PROTOBUF, packed, gzip(&message)),
        (JSON, "", text.clone()),
        ("application/json; charset=utf-8", packed, gzip(&text)),
    ] {
        let (status, answer) = post_traces(running.address(), content_type, more, &body);
        assert_eq!(status, 200, "{content_type}{more}");
        let expected: &[u8] = if content_type == PROTOBUF { b"" } else { b"{}" };
        assert_eq!(answer, expected);
    }
    let (part, kept) = running.finish();
    assert_eq!(kept, vec![request; 4]);
    assert_eq!(
        (part.requests, part.spans, part.refused_requests),
        (4, 12, 0)
    );
}

#[test]
fn requests_are_passed_on_over_either_protocol_byte_for_byte() {
    for scheme in ["http", "grpc"] {
        let collector = Running::start(None);
        let target = format!("{scheme}://{}", collector.address());
        let running = Running::start(Some(target.clone()));
        let requests: Vec<_> = (1..=5)
            .map(|count| samples::request("shop", "/buy", count))
            .collect();
        for request in &requests {
            let message = request.encode_to_vec();
            assert_eq!(
                post_traces(running.address(), PROTOBUF, "", &message).0,
                200
            );
        }
        let logs =
            "POST /v1/logs HTTP/1.1\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0";
        assert_eq!(post(running.address(), logs, b"").0, 200);
        let (part, kept) = running.finish();
        assert_eq!(kept, requests);
        assert_eq!(part.forward, Some(target));
        assert_eq!(
            (
                part.other_requests,
                part.forwarded_requests,
                part.lost_forwards
            ),
            (1, 6, 0)
        );
        let (part, kept) = collector.finish();
        assert_eq!(kept, requests, "over {scheme}");
        assert_eq!((part.spans, part.other_requests), (15, 1));
    }
}

/// A collector that answers each request so, in messages of gRPC where it is asked over that.
fn collector_that_answers(content_type: &'static str, answer: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("no waiting");
    let address = listener.local_addr().expect("an address");
    let respond = move |request: Request<Incoming>| {
        let over_grpc = request.headers()[CONTENT_TYPE] == "application/grpc";
        let length = (answer.len() as u32).to_be_bytes();
        let (content_type, body) = match over_grpc {
            true => ("application/grpc", [&[0], &length[..], &answer].concat()),
            false => (content_type, answer.clone()),
        };
        let status = HeaderMap::from_iter([(
            HeaderName::from_static("grpc-status"),
            HeaderValue::from_static("0"),
        )]);
        let body = Full::new(Bytes::from(body)).with_trailers(ready(Some(Ok(status))));
        let response = Response::builder().header(CONTENT_TYPE, content_type);
        ready(response.body(body))
    };
    std::thread::spawn(move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            while let Ok((stream, _)) = listener.accept().await {
                let service = service_fn(respond.clone());
                tokio::spawn(async move {
                    let protocols = auto::Builder::new(TokioExecutor::new());
                    let _ = protocols
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
    });
    address
}

#[test]
fn what_a_collector_rejects_of_a_message_that_it_takes_is_counted() {
    let five = &b"\x0a\x0c\x08\x05\x12\x08too many"[..];
    let five_in_json = r#"{"partialSuccess":{"rejectedSpans":"5","errorMessage":"too many"}}"#;
    let long = five_in_json.to_owned() + &" ".repeat(1 << 17);
    for (scheme, content_type, answer, rejected) in [
        ("http", PROTOBUF, five, 5),
        ("grpc", PROTOBUF, five, 5),
        ("http", JSON, five_in_json.as_bytes(), 5),
        ("http", PROTOBUF, b"", 0),
        ("grpc", PROTOBUF, b"", 0),
        ("http", PROTOBUF, b"thank you", 0),
        ("grpc", PROTOBUF, b"thank you", 0),
        ("http", JSON, b"thank you", 0),
        ("http", JSON, long.as_bytes(), 0),
    ] {
        let collector = collector_that_answers(content_type, answer.to_vec());
        let running = Running::start(Some(format!("{scheme}://{collector}")));
        let message = samples::request("shop", "/buy", 8).encode_to_vec();
        let logs =
            "POST /v1/logs HTTP/1.1\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0";
        for _ in 0..2 {
            let (status, _) = post_traces(running.address(), PROTOBUF, "", &message);
            assert_eq!(status, 200);
        }
        assert_eq!(post(running.address(), logs, b"").0, 200);
        let (part, _) = running.finish();
        let answer = String::from_utf8_lossy(&answer[..answer.len().min(80)]);
        assert_eq!(
            (part.forwarded_requests, part.lost_forwards),
            (3, 0),
            "{scheme}, {answer}"
        );
        assert_eq!(
            (part.rejected_spans, part.rejected_others),
            (2 * rejected, rejected),
            "{scheme}, {answer}"
        );
    }
}

#[test]
fn what_is_malformed_or_too_large_is_refused_and_counted() {
    let running = Running::start(None);
    let address = running.address();
    let too_large = vec![0; MOST_MESSAGE_BYTES + 1];
    let bomb = gzip(&vec![0; 64 << 20]);
    let many_objects = format!("[{}]", "{},".repeat(300_000));
    let packed = "\r\ncontent-encoding: gzip";
    for (content_type, more, body, expected) in [
        (PROTOBUF, "", &b"no protobuf"[..], 400),
        (JSON, "", b"{\"resourceSpans\":", 400),
        (JSON, "", b"[1]", 400),
        (JSON, "", b" []", 400),
        (JSON, "", many_objects.as_bytes(), 400),
        (JSON, "", &[b'['; 100_000], 400),
        (PROTOBUF, packed, b"no gzip", 400),
        (PROTOBUF, packed, &bomb, 413),
        (PROTOBUF, "", &too_large, 413),
        (PROTOBUF, "\r\ncontent-encoding: br", b"", 415),
        ("text/html", "", b"", 415),
    ] {
        let (status, _) = post_traces(address, content_type, more, body);
        assert_eq!(
            status,
            expected,
            "{content_type}{more} of {} bytes",
            body.len()
        );
    }
    let (status, told) = post_traces(address, JSON, "", b"{");
    let told: serde_json::Value = serde_json::from_slice(&told).expect("JSON");
    assert_eq!((status, told["code"].as_i64()), (400, Some(3)));
    assert_eq!(post(address, "GET /v1/traces HTTP/1.1", b"").0, 405);
    assert_eq!(post(address, "GET /metrics HTTP/1.1", b"").0, 404);

    // It still works.
    let good = samples::request("shop", "/buy", 1);
    assert_eq!(
        post_traces(address, PROTOBUF, "", &good.encode_to_vec()).0,
        200
    );
    let (part, kept) = running.finish();
    assert_eq!(kept, [good]);
    assert_eq!(part.requests, 1, "and none of the refused ones");
    assert_eq!(part.refused_requests, 13, "but not those to other paths");
}

#[test]
fn a_collector_that_hangs_or_is_not_there_holds_nobody_up() {
    let hanging = TcpListener::bind("127.0.0.1:0").expect("a port");
    let absent = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr());
    for target in [hanging.local_addr(), absent] {
        let target = target.expect("an address");
        let running = Running::start(Some(format!("http://{target}")));
        let message = samples::request("shop", "/buy", 1).encode_to_vec();
        let begin = Instant::now();
        for _ in 0..20 {
            assert_eq!(
                post_traces(running.address(), PROTOBUF, "", &message).0,
                200
            );
        }
        let (part, kept) = running.finish();
        assert!(
            begin.elapsed() < Duration::from_secs(30),
            "{:?}",
            begin.elapsed()
        );
        assert_eq!(
            (kept.len(), part.forwarded_requests, part.lost_forwards),
            (20, 0, 20)
        );
    }
}

#[test]
fn spans_that_cannot_be_written_are_counted() {
    let running = Running::start(None);
    std::fs::write(running.folder.path().join("spans"), "in the way").expect("a file");
    let message = samples::request("shop", "/buy", 3).encode_to_vec();
    assert_eq!(
        post_traces(running.address(), PROTOBUF, "", &message).0,
        200
    );
    let now = crate::host::now();
    let part = running.receiver.finish(running.folder.path(), now, now);
    assert_eq!((part.requests, part.spans, part.lost_spans), (0, 0, 3));
}
