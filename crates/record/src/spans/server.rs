//! The wire: gRPC and HTTP on the same ports, told apart by the request.
//!
//! Any exporter finds what it speaks at any of the addresses. All that a stranger can make large is
//! bounded here: connections, bytes of a body before and after it is unpacked, bytes of all bodies, and
//! the time that one takes. A body has room for what has come of it, no more: one that does not come
//! keeps nobody else waiting.

use std::convert::Infallible;
use std::future::{Ready, poll_fn, ready};
use std::io::Read;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use prost::Message;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;
use tonic::body::Body;
use tonic::codec::CompressionEncoding;
use tonic::server::UnaryService;
use tonic::{Code, Status};

use super::connections::{Connection, Connections, PATIENCE_WITH_LEAVING};
use super::forward::{Outgoing, Signal};
use super::glance::Malformed;
use super::intake::{Intake, LostSpans};
use super::raw_codec::RawCodec;

/// No message may be larger, unpacked or not.
pub(crate) const MOST_MESSAGE_BYTES: usize = 8 << 20;
/// What bodies that have not been dealt with may take together: eight of the largest.
const ROOM_FOR_BODIES: usize = 8 * MOST_MESSAGE_BYTES;
/// How long a body waits for others to be dealt with; its sender is then told to try again.
const PATIENCE_WITH_OTHERS: Duration = Duration::from_secs(1);
/// What is read ahead of a body over HTTP/1.
const READ_AHEAD_BYTES: usize = 64 << 10;
/// For further connections idle ones are closed; where none is idle, they wait.
const MOST_CONNECTIONS: usize = 512;
/// Requests at a time on one connection.
const MOST_STREAMS: u32 = 16;
/// What a connection may send ahead of being read.
const WINDOW_BYTES: u32 = 256 << 10;
/// How long the body of a request may take to arrive.
const PATIENCE_WITH_BODIES: Duration = Duration::from_secs(10);
/// How long the rest of a refused body is read and thrown away: whoever sends all of it before it looks
/// for an answer would find the connection broken instead.
const PATIENCE_WITH_REFUSED: Duration = Duration::from_secs(4);
/// How long an idle connection that is asked to leave may take to say goodbye.
const PATIENCE_WITH_GOODBYES: Duration = Duration::from_millis(20);
/// How long a connection may be idle.
const PATIENCE_WITH_SILENCE: Duration = Duration::from_secs(120);

/// Answers requests.
#[derive(Debug)]
pub(crate) struct Server {
    intake: Arc<Intake>,
    /// In bytes.
    room: Semaphore,
    connections: Arc<Connections>,
}

impl Server {
    pub(crate) fn new(intake: Arc<Intake>) -> Self {
        Self::with_room_for(MOST_CONNECTIONS, intake)
    }

    fn with_room_for(connections: usize, intake: Arc<Intake>) -> Self {
        Self {
            intake,
            room: Semaphore::new(ROOM_FOR_BODIES),
            connections: Arc::new(Connections::new(connections)),
        }
    }

    /// Accepts connections for ever.
    pub(crate) async fn accept(self: Arc<Self>, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let connection = self.connections.admit().await;
                    tokio::spawn(Arc::clone(&self).serve(stream, connection));
                }
                // Out of descriptors, or the connection is gone already.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    async fn serve(self: Arc<Self>, stream: TcpStream, connection: Connection) {
        // Where this is refused, answers are only later.
        let _ = stream.set_nodelay(true);
        let connection = Arc::new(connection);
        let of_this = Arc::clone(&connection);
        let mut leaving = pin!(of_this.is_asked_to_leave());
        let service = service_fn(move |request| {
            let (server, connection) = (Arc::clone(&self), Arc::clone(&connection));
            async move {
                let _answering = connection.answering();
                Ok::<_, Infallible>(server.answer(request).await)
            }
        });
        let mut protocols = auto::Builder::new(TokioExecutor::new());
        protocols
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(PATIENCE_WITH_SILENCE)
            .max_buf_size(READ_AHEAD_BYTES);
        protocols
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(MOST_STREAMS)
            .initial_stream_window_size(WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES)
            .keep_alive_interval(PATIENCE_WITH_SILENCE);
        let mut serving = pin!(protocols.serve_connection(TokioIo::new(stream), service));
        let is_over = poll_fn(|context| {
            // A sender that breaks off has lost nothing of ours.
            if serving.as_mut().poll(context).is_ready() {
                return Poll::Ready(true);
            }
            leaving.as_mut().poll(context).map(|()| false)
        });
        if !is_over.await {
            serving.as_mut().graceful_shutdown();
            let goodbye = timeout(PATIENCE_WITH_GOODBYES, serving.as_mut());
            // Of a request that does not come on there is nothing to lose.
            if goodbye.await.is_err() && of_this.is_answering() {
                let _ = timeout(PATIENCE_WITH_LEAVING, serving).await;
            }
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let over_grpc = is(request.headers(), CONTENT_TYPE, "application/grpc");
        let Some(signal) = Signal::at(request.uri().path(), over_grpc) else {
            return match over_grpc {
                true => Status::unimplemented("traces, metrics and logs are taken").into_http(),
                false => plain(
                    StatusCode::NOT_FOUND,
                    "OTLP is taken at /v1/traces, /v1/metrics and /v1/logs",
                ),
            };
        };
        let answering = async {
            match over_grpc {
                true => self.answer_over_grpc(signal, request).await,
                false => self.answer_over_http(signal, request).await,
            }
        };
        let answer = timeout(PATIENCE_WITH_BODIES, answering)
            .await
            .unwrap_or_else(|_| plain(StatusCode::REQUEST_TIMEOUT, "the request took too long"));
        let grpc_status = answer.headers().get("grpc-status");
        if !answer.status().is_success() || grpc_status.is_some_and(|status| status != "0") {
            self.intake.counts.refused_requests.add(1);
        }
        answer
    }

    async fn answer_over_grpc(&self, signal: Signal, request: Request<Incoming>) -> Response<Body> {
        let taker = Taker {
            intake: &self.intake,
            signal,
        };
        let (head, mut body) = request.into_parts();
        let (body, _room) = match self
            .arrived(&mut body, MOST_MESSAGE_BYTES + GRPC_HEAD_BYTES)
            .await
        {
            Ok(arrived) => arrived,
            Err(wrong) => return wrong.status().into_http(),
        };
        let request = Request::from_parts(head, Full::new(body));
        tonic::server::Grpc::new(RawCodec)
            .accept_compressed(CompressionEncoding::Gzip)
            .max_decoding_message_size(MOST_MESSAGE_BYTES)
            .unary(taker, request)
            .await
    }

    async fn answer_over_http(&self, signal: Signal, request: Request<Incoming>) -> Response<Body> {
        if request.method() != Method::POST {
            let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, "POST is taken");
            let post = hyper::header::HeaderValue::from_static("POST");
            answer.headers_mut().insert(ALLOW, post);
            return answer;
        }
        let headers = request.headers().clone();
        let is_json = is(&headers, CONTENT_TYPE, "application/json");
        if !is_json && !is(&headers, CONTENT_TYPE, "application/x-protobuf") {
            return plain(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "application/x-protobuf and application/json are taken",
            );
        }
        let mut body = request.into_body();
        let (packed, _room) = match self.arrived(&mut body, MOST_MESSAGE_BYTES).await {
            Ok(arrived) => arrived,
            Err(wrong) => {
                let thrown_away = async { while let Some(Ok(_)) = body.frame().await {} };
                // The answer is the same where more comes.
                let _ = timeout(PATIENCE_WITH_REFUSED, thrown_away).await;
                return refused(is_json, wrong.refusal());
            }
        };
        let message = unpacked(&headers, packed);
        let result = message.and_then(|message| self.take(signal, is_json, message));
        match result {
            Ok(lost) => structured(StatusCode::OK, is_json, &success(lost), || {
                json_success(lost)
            }),
            Err(refusal) => refused(is_json, refusal),
        }
    }

    /// The whole of a body, with the room that it takes until that is dropped.
    async fn arrived(
        &self,
        body: &mut Incoming,
        most: usize,
    ) -> Result<(Bytes, SemaphorePermit<'_>), NotArrived> {
        let mut bytes = Vec::new();
        let mut room = self
            .room
            .try_acquire_many(0)
            .map_err(|_| NotArrived::NoRoom)?;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| NotArrived::Broken(error.to_string()))?;
            let Ok(data) = frame.into_data() else {
                continue;
            };
            if bytes.len() + data.len() > most {
                return Err(NotArrived::TooLarge);
            }
            bytes.reserve(data.len());
            let more = bytes.capacity().saturating_sub(room.num_permits());
            let more = self
                .room
                .acquire_many(u32::try_from(more).unwrap_or(u32::MAX));
            match timeout(PATIENCE_WITH_OTHERS, more).await {
                Ok(Ok(more)) => room.merge(more),
                Ok(Err(_)) | Err(_) => return Err(NotArrived::NoRoom),
            }
            bytes.extend_from_slice(&data);
        }
        bytes.shrink_to_fit();
        Ok((bytes.into(), room))
    }

    fn take(&self, signal: Signal, is_json: bool, message: Bytes) -> Result<LostSpans, Refusal> {
        let malformed = |cause: Malformed| (StatusCode::BAD_REQUEST, cause.to_string());
        match (signal, is_json) {
            (Signal::Traces, false) => self.intake.traces(message).map_err(malformed),
            (Signal::Traces, true) => self.intake.traces_in_json(&message).map_err(malformed),
            _ => {
                self.intake.other(Outgoing {
                    signal,
                    is_json,
                    message,
                });
                Ok(LostSpans(0))
            }
        }
    }
}

/// Status and reason.
type Refusal = (StatusCode, String);

/// What gRPC calls when it has a whole message.
struct Taker<'a> {
    intake: &'a Intake,
    signal: Signal,
}

impl UnaryService<Bytes> for Taker<'_> {
    type Response = Bytes;
    type Future = Ready<Result<tonic::Response<Bytes>, Status>>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        let message = request.into_inner();
        let answer = match self.signal {
            Signal::Traces => match self.intake.traces(message) {
                Ok(lost) => Ok(success(lost).encode_to_vec().into()),
                Err(malformed) => Err(Status::invalid_argument(malformed.to_string())),
            },
            signal => {
                self.intake.other(Outgoing {
                    signal,
                    is_json: false,
                    message,
                });
                // An empty message is the answer that all is well.
                Ok(Bytes::new())
            }
        };
        ready(answer.map(tonic::Response::new))
    }
}

/// Why a body is not here as a whole.
enum NotArrived {
    TooLarge,
    /// Others take all the room.
    NoRoom,
    Broken(String),
}

impl NotArrived {
    fn refusal(self) -> Refusal {
        match self {
            Self::TooLarge => too_large(),
            Self::NoRoom => (StatusCode::SERVICE_UNAVAILABLE, NO_ROOM.to_owned()),
            Self::Broken(why) => (StatusCode::BAD_REQUEST, why),
        }
    }

    fn status(self) -> Status {
        let code = match self {
            Self::TooLarge => Code::OutOfRange,
            Self::NoRoom => Code::Unavailable,
            Self::Broken(_) => Code::InvalidArgument,
        };
        Status::new(code, self.refusal().1)
    }
}

const NO_ROOM: &str = "other requests take all the room; try again";
/// What gRPC puts before a message.
const GRPC_HEAD_BYTES: usize = 5;

/// A body as it was before it was packed.
fn unpacked(headers: &HeaderMap, packed: Bytes) -> Result<Bytes, Refusal> {
    if is(headers, CONTENT_ENCODING, "gzip") {
        return unpack(&packed);
    }
    match headers.get(CONTENT_ENCODING) {
        Some(encoding) if encoding != "identity" => Err((
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the only encoding taken is gzip".to_owned(),
        )),
        _ => Ok(packed),
    }
}

fn unpack(packed: &[u8]) -> Result<Bytes, Refusal> {
    let mut unpacked = Vec::new();
    let limit = MOST_MESSAGE_BYTES as u64 + 1;
    let read = flate2::read::MultiGzDecoder::new(packed)
        .take(limit)
        .read_to_end(&mut unpacked);
    match read {
        Err(error) => Err((StatusCode::BAD_REQUEST, format!("gzip: {error}"))),
        Ok(_) if unpacked.len() > MOST_MESSAGE_BYTES => Err(too_large()),
        Ok(_) => {
            unpacked.shrink_to_fit();
            Ok(unpacked.into())
        }
    }
}

fn too_large() -> Refusal {
    let megabytes = MOST_MESSAGE_BYTES >> 20;
    let why = format!("a message may have {megabytes} MiB; send smaller batches");
    (StatusCode::PAYLOAD_TOO_LARGE, why)
}

/// Whether a header's value begins with `expected`, whatever parameters follow.
fn is(headers: &HeaderMap, name: HeaderName, expected: &str) -> bool {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.is_some_and(|value| value.trim_start().starts_with(expected))
}

fn success(lost: LostSpans) -> ExportTraceServiceResponse {
    ExportTraceServiceResponse {
        partial_success: (lost.0 > 0).then(|| ExportTracePartialSuccess {
            rejected_spans: i64::try_from(lost.0).unwrap_or(i64::MAX),
            error_message: OVERLOADED.to_owned(),
        }),
    }
}

const OVERLOADED: &str = "spans come faster than they can be recorded";

fn json_success(lost: LostSpans) -> String {
    match lost.0 {
        0 => "{}".to_owned(),
        // Whole numbers of 64 bits are texts in JSON of protobuf.
        rejected => serde_json::json!({
            "partialSuccess": {"rejectedSpans": rejected.to_string(), "errorMessage": OVERLOADED}
        })
        .to_string(),
    }
}

/// `google.rpc.Status`, in which OTLP over HTTP tells of errors.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

fn refused(is_json: bool, (status, why): Refusal) -> Response<Body> {
    let code = match status {
        StatusCode::SERVICE_UNAVAILABLE => Code::Unavailable,
        _ => Code::InvalidArgument,
    };
    let told = RpcStatus {
        code: code as i32,
        message: why,
    };
    structured(status, is_json, &told, || {
        serde_json::json!({"code": told.code, "message": told.message}).to_string()
    })
}

/// An answer in the form of its request.
fn structured(
    status: StatusCode,
    is_json: bool,
    message: &impl Message,
    text: impl FnOnce() -> String,
) -> Response<Body> {
    match is_json {
        true => with_body(status, "application/json", text().into()),
        false => with_body(
            status,
            "application/x-protobuf",
            message.encode_to_vec().into(),
        ),
    }
}

fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    with_body(status, "text/plain", Bytes::from_static(text.as_bytes()))
}

fn with_body(status: StatusCode, content_type: &'static str, bytes: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::new(Full::new(bytes)));
    *response.status_mut() = status;
    let content_type = hyper::header::HeaderValue::from_static(content_type);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::SocketAddr;

    use super::*;
    use crate::manifest::Mode;
    use crate::spans::counts::Counts;
    use crate::spans::store::Store;

    /// Answers at an address of loopback, with room for so many connections, until the process ends.
    fn serve(connections: usize) -> (tempfile::TempDir, SocketAddr) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let counts = Arc::new(Counts::default());
        let store = Store::start(folder.path(), Mode::Standard, Arc::clone(&counts));
        let intake = Intake {
            store: store.expect("a store").0,
            forward: None,
            triggers: None,
            counts,
        };
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("no waiting");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).expect("a listener");
                let server = Server::with_room_for(connections, Arc::new(intake));
                Arc::new(server).accept(listener).await;
            });
        });
        (folder, address)
    }

    fn connect(address: SocketAddr) -> std::net::TcpStream {
        let stream = std::net::TcpStream::connect(address).expect("it listens");
        let patience = Some(Duration::from_secs(20));
        stream.set_read_timeout(patience).expect("a timeout");
        stream
    }

    const HEAD: &str = "POST /v1/traces HTTP/1.1\r\nhost: x\r\n\
                        content-type: application/json\r\ncontent-length: 2\r\n\r\n";

    /// What is answered to what was sent; empty where the connection was closed.
    fn answer(mut stream: &std::net::TcpStream) -> String {
        let mut answer = [0; 1000];
        let length = stream.read(&mut answer).unwrap_or(0);
        String::from_utf8_lossy(&answer[..length]).into_owned()
    }

    fn post(mut stream: &std::net::TcpStream) -> String {
        let text = format!("{HEAD}{{}}");
        stream
            .write_all(text.as_bytes())
            .map_or(String::new(), |()| answer(stream))
    }

    #[test]
    fn who_has_been_idle_longest_gives_way_to_new_connections() {
        let (_folder, address) = serve(3);
        let busy = connect(address);
        // Its body is still to come.
        (&busy).write_all(HEAD.as_bytes()).expect("sent");
        let [idle, idle_since_later] = [(); 2].map(|()| connect(address));
        for stream in [&idle, &idle_since_later] {
            assert!(post(stream).starts_with("HTTP/1.1 200"));
        }
        let new = connect(address);
        assert!(post(&new).starts_with("HTTP/1.1 200"));
        assert_eq!(answer(&idle), "", "it is closed");
        assert!(post(&idle_since_later).starts_with("HTTP/1.1 200"));
        // Those that never said anything give way as well, without having been answered.
        let silent = [(); 6].map(|()| connect(address));
        let new = connect(address);
        assert!(post(&new).starts_with("HTTP/1.1 200"));
        assert_eq!(answer(&silent[0]), "");
        (&busy).write_all(b"{}").expect("sent");
        assert!(answer(&busy).starts_with("HTTP/1.1 200"));
    }

    #[test]
    fn requests_that_are_begun_and_not_gone_on_with_keep_nobody_waiting() {
        let (_folder, address) = serve(3);
        let begun: Vec<std::net::TcpStream> = (0..40)
            .map(|_| {
                let mut stream = connect(address);
                stream.write_all(b"POST /v1/tra").expect("sent");
                stream
            })
            .collect();
        let other = connect(address);
        // Each is given up within a part of a second.
        let patience = Some(PATIENCE_WITH_LEAVING * 20);
        other.set_read_timeout(patience).expect("a timeout");
        assert!(post(&other).starts_with("HTTP/1.1 200"));
        assert_eq!(answer(&begun[0]), "", "it is closed");
    }

    #[test]
    fn bodies_that_do_not_come_keep_nobody_waiting() {
        let (_folder, address) = serve(100);
        let large = "POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-protobuf\r\n\
                    content-length: 8000000\r\n\r\n";
        let chunked = "POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
                       transfer-encoding: chunked\r\n\r\n1\r\n{\r\n";
        let stalled: Vec<std::net::TcpStream> = [HEAD, large, chunked]
            .into_iter()
            .flat_map(|head| {
                (0..20).map(move |_| {
                    let mut stream = connect(address);
                    stream.write_all(head.as_bytes()).expect("sent");
                    stream
                })
            })
            .collect();
        let other = connect(address);
        let soon = Some(PATIENCE_WITH_BODIES / 2);
        other.set_read_timeout(soon).expect("a timeout");
        assert!(post(&other).starts_with("HTTP/1.1 200"));
        // Their bodies may still come.
        (&stalled[0]).write_all(b"{}").expect("sent");
        assert!(answer(&stalled[0]).starts_with("HTTP/1.1 200"));
    }

    #[test]
    fn who_sends_all_before_it_looks_for_an_answer_gets_a_refusal_too() {
        let (_folder, address) = serve(3);
        let bytes = 4 * MOST_MESSAGE_BYTES;
        let head = "POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
        let mut stream = connect(address);
        write!(stream, "{head}content-length: {bytes}\r\n\r\n").expect("sent");
        stream.write_all(&vec![b' '; bytes]).expect("all is taken");
        assert!(answer(&stream).starts_with("HTTP/1.1 413"));
    }

    #[test]
    fn a_sender_is_told_how_many_spans_were_lost() {
        let told = success(LostSpans(7)).encode_to_vec();
        let told = ExportTraceServiceResponse::decode(&told[..]).expect("a response");
        let partial = told.partial_success.expect("a loss");
        assert_eq!(
            (partial.rejected_spans, &*partial.error_message),
            (7, OVERLOADED)
        );
        let told: serde_json::Value =
            serde_json::from_str(&json_success(LostSpans(7))).expect("JSON");
        assert_eq!(told["partialSuccess"]["rejectedSpans"], "7");
        assert_eq!(success(LostSpans(0)).encode_to_vec(), b"");
    }
}
