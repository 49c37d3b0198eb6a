//! Sends requests to a server over HTTP/1.1 and notes how long each took.
//!
//! Either as fast as answers come (each connection sends its next request when the last is answered),
//! or at a fixed rate, where a request that had to wait for a free connection counts from when it was
//! due. Threads that block; it shares the processors with the server, as a front end would.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

/// An answer that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is kept of an answer that tells of a failure, in bytes.
const LONGEST_TEXT: u64 = 200;

/// What to send.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Paths, taken in turn.
    pub paths: &'static [&'static str],
    /// Requests in all.
    pub requests: u64,
    /// Connections, each with a thread.
    pub connections: usize,
    /// Requests per second; `None` for as fast as answers come.
    pub rate: Option<u64>,
}

/// What came back.
#[derive(Debug, Default)]
pub struct Answers {
    /// How long answers with status 200 took, ascending, in microseconds.
    pub latencies: Vec<f64>,
    /// How many requests failed, by what came instead: another status, or the error of the connection.
    pub failures: BTreeMap<String, u64>,
    /// From the first request to the last answer.
    pub took: Duration,
}

/// Sends the load; asks `stopped` now and then.
///
/// # Errors
/// When stopped.
pub fn send(
    server: SocketAddr,
    load: &Load,
    stopped: &dyn Fn() -> bool,
) -> anyhow::Result<Answers> {
    let next = AtomicU64::new(0);
    let giving_up = AtomicBool::new(false);
    let working = AtomicUsize::new(load.connections);
    let answers = Mutex::new(Answers::default());
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..load.connections {
            scope.spawn(|| {
                let own = one_connection(server, load, begin, &next, &giving_up);
                if let Ok(mut all) = answers.lock() {
                    all.latencies.extend(own.latencies);
                    for (said, count) in own.failures {
                        *all.failures.entry(said).or_default() += count;
                    }
                    all.took = all.took.max(own.took);
                }
                working.fetch_sub(1, Relaxed);
            });
        }
        while working.load(Relaxed) > 0 {
            std::thread::sleep(Duration::from_millis(50));
            if stopped() {
                giving_up.store(true, Relaxed);
            }
        }
    });
    ensure!(!giving_up.into_inner(), "stopped");
    let mut answers = answers.into_inner().unwrap_or_default();
    answers.latencies.sort_by(f64::total_cmp);
    Ok(answers)
}

fn one_connection(
    server: SocketAddr,
    load: &Load,
    begin: Instant,
    next: &AtomicU64,
    giving_up: &AtomicBool,
) -> Answers {
    let mut own = Answers::default();
    let mut connection = None;
    loop {
        let number = next.fetch_add(1, Relaxed);
        if number >= load.requests || giving_up.load(Relaxed) {
            return own;
        }
        let start = load
            .rate
            .map_or_else(Instant::now, |rate| when_due(begin, number, rate));
        let path = load.paths[number as usize % load.paths.len()];
        let failure = match ask(&mut connection, server, path) {
            Ok(Answer { status: 200, .. }) => {
                own.latencies.push(start.elapsed().as_secs_f64() * 1e6);
                None
            }
            Ok(Answer { status, text }) => Some(format!("{status} {text}")),
            Err(cause) => {
                connection = None;
                Some(format!("no answer: {cause:#}"))
            }
        };
        if let Some(said) = failure {
            *own.failures.entry(said).or_default() += 1;
        }
        own.took = begin.elapsed();
    }
}

/// Sleeps until request `number` is due; returns the time that its latency counts from: when it was
/// due, or when the sleeper woke, whose oversleeping is not the server's.
fn when_due(begin: Instant, number: u64, rate: u64) -> Instant {
    let due = begin + Duration::from_secs_f64(number as f64 / rate.max(1) as f64);
    let ahead = due.saturating_duration_since(Instant::now());
    if ahead.is_zero() {
        return due;
    }
    std::thread::sleep(ahead);
    Instant::now()
}

/// An answer to a request.
#[derive(Debug)]
pub struct Answer {
    /// As HTTP has it.
    pub status: u16,
    /// The first line, where the status is not 200.
    text: String,
}

/// One GET, and its answer. Opens the connection where there is none.
///
/// # Errors
/// Where the connection fails or the answer has no length.
pub fn ask(
    connection: &mut Option<BufReader<TcpStream>>,
    server: SocketAddr,
    path: &str,
) -> anyhow::Result<Answer> {
    let stream = match connection {
        Some(stream) => stream,
        None => {
            let stream = TcpStream::connect_timeout(&server, PATIENCE)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            connection.insert(BufReader::new(stream))
        }
    };
    let request = format!("GET {path} HTTP/1.1\r\nHost: {server}\r\n\r\n");
    stream.get_mut().write_all(request.as_bytes())?;
    answer(stream)
}

/// Reads an answer to its end.
fn answer(stream: &mut impl BufRead) -> anyhow::Result<Answer> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok());
    let status: u16 = status.context("no status")?;
    let mut length = None;
    loop {
        line.clear();
        ensure!(stream.read_line(&mut line)? > 0, "cut off");
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok();
        }
    }
    let length: u64 = length.context("no length")?;
    let mut text = Vec::new();
    let mut body = stream.take(length);
    if status != 200 {
        (&mut body).take(LONGEST_TEXT).read_to_end(&mut text)?;
    }
    let copied = std::io::copy(&mut body, &mut std::io::sink())?;
    ensure!(text.len() as u64 + copied == length, "cut off");
    let text = String::from_utf8_lossy(&text);
    let text = text.lines().next().unwrap_or_default().to_owned();
    Ok(Answer { status, text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// Answers every request of one connection with 200, every third with 500, after `delay`.
    fn serve(delay: Duration) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it has an address");
        std::thread::spawn(move || {
            let Ok((stream, _)) = listener.accept() else {
                return;
            };
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            let mut count = 0;
            while stream.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
                if line == "\r\n" {
                    count += 1;
                    std::thread::sleep(delay);
                    let status = if count % 3 == 0 {
                        "500 Broken"
                    } else {
                        "200 OK"
                    };
                    let text = format!("HTTP/1.1 {status}\r\nContent-Length: 6\r\n\r\nso\nso\n");
                    if stream.get_mut().write_all(text.as_bytes()).is_err() {
                        return;
                    }
                }
                line.clear();
            }
        });
        address
    }

    fn check(rate: Option<u64>, delay_ms: u64) -> Answers {
        let load = Load {
            paths: &["/"],
            requests: 9,
            connections: 1,
            rate,
        };
        let answers = send(serve(Duration::from_millis(delay_ms)), &load, &|| false);
        answers.expect("all were sent")
    }

    #[test]
    fn answers_are_counted_by_their_status() {
        let answers = check(None, 0);
        assert_eq!(answers.latencies.len(), 6);
        assert_eq!(answers.failures, BTreeMap::from([("500 so".to_owned(), 3)]));
    }

    #[test]
    fn requests_without_an_answer_have_failed() {
        let nobody = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let load = Load {
            paths: &["/"],
            requests: 3,
            connections: 1,
            rate: None,
        };
        let answers = send(nobody.expect("a free port"), &load, &|| false).expect("all were sent");
        assert!(answers.latencies.is_empty());
        let (said, count) = answers.failures.first_key_value().expect("they failed");
        assert!(
            said.starts_with("no answer: ") && *count == 3,
            "{said}: {count}"
        );
    }

    #[test]
    fn a_request_that_waited_for_the_connection_counts_from_when_it_was_due() {
        // Due every 10 ms, answered every 30 ms: the eighth (the last with status 200) was due at
        // 70 ms and is answered at 240 ms.
        let slowest = check(Some(100), 30).latencies.pop();
        assert!(
            slowest.is_some_and(|micros| micros > 165_000.0),
            "{slowest:?}"
        );
    }

    #[test]
    fn nobody_is_asked_once_stopped() {
        let load = Load {
            paths: &["/"],
            requests: u64::MAX,
            connections: 1,
            rate: Some(20),
        };
        send(serve(Duration::ZERO), &load, &|| true).expect_err("it was stopped");
    }
}
