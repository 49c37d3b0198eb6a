//! `slowpath serve` as tests ask it: a server on a trace, questions as they go over the wire.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::unpacked;

/// A server, ended with the test.
pub struct Server {
    child: Child,
    pub port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What came back.
pub struct Answer {
    pub status: u16,
    pub headers: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!(
                "{error}: {}",
                String::from_utf8_lossy(&self.body[..self.body.len().min(300)])
            )
        })
    }
}

impl Server {
    pub fn of(trace: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_slowpath"))
            .args(["serve", "--port", "0"])
            .arg(trace)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("slowpath runs");
        let mut said = BufReader::new(child.stderr.take().expect("standard error"));
        let mut line = String::new();
        while !line.contains("http://127.0.0.1:") {
            line.clear();
            assert!(
                said.read_line(&mut line).expect("it says something") > 0,
                "the server ended"
            );
        }
        let port = line
            .trim_end()
            .trim_end_matches('/')
            .rsplit(':')
            .next()
            .unwrap();
        Self {
            port: port.parse().expect("a port"),
            child,
        }
    }

    /// Sends bytes as they are and reads all that comes back.
    pub fn raw(&self, question: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream.write_all(question).expect("it reads");
        let mut back = Vec::new();
        let _ = stream.read_to_end(&mut back);
        back
    }

    pub fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let has_host = headers.to_lowercase().contains("host:");
        let host = match has_host {
            true => String::new(),
            false => format!("Host: localhost:{}\r\n", self.port),
        };
        let question = format!(
            "{method} {path} HTTP/1.1\r\n{host}{headers}Connection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let back = self.raw(question.as_bytes());
        let end = back
            .windows(4)
            .position(|window| window == b"\r\n\r\n")
            .expect("a head");
        let head = String::from_utf8_lossy(&back[..end]).into_owned();
        let mut body = back[end + 4..].to_vec();
        if head.to_lowercase().contains("transfer-encoding: chunked") {
            body = unchunked(&body);
        }
        Answer {
            status: head
                .split(' ')
                .nth(1)
                .and_then(|code| code.parse().ok())
                .expect("a status"),
            headers: head,
            body,
        }
    }

    /// Asks until the answer is there.
    pub fn answer(&self, method: &str, path: &str, body: &Value) -> Answer {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        for _ in 0..1_200 {
            let answer = self.ask(method, path, "", &body);
            if answer.status != 202 {
                return answer;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{path} is not answered");
    }

    pub fn get(&self, path: &str) -> Value {
        let answer = self.answer("GET", path, &Value::Null);
        assert_eq!(
            answer.status,
            200,
            "{path}: {}",
            String::from_utf8_lossy(&answer.body)
        );
        answer.json()
    }

    pub fn post(&self, path: &str, body: Value) -> Value {
        let answer = self.answer("POST", path, &body);
        assert_eq!(
            answer.status,
            200,
            "{path}: {}",
            String::from_utf8_lossy(&answer.body)
        );
        answer.json()
    }
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = body.windows(2).position(|window| window == b"\r\n") {
        let length = String::from_utf8_lossy(&body[..end]).into_owned();
        let length = usize::from_str_radix(&length, 16).expect("a length");
        if length == 0 {
            break;
        }
        whole.extend_from_slice(&body[end + 2..end + 2 + length]);
        body = &body[end + 2 + length + 2..];
    }
    whole
}

/// A recording with requests, and the server that shows it.
pub fn served(
    archive: &str,
    folder: &str,
) -> Option<(Server, std::path::PathBuf, tempfile::TempDir)> {
    let traces = unpacked(archive)?.join(folder);
    // A folder of its own, as the state history is kept beside it.
    let home = tempfile::tempdir().expect("a temporary folder");
    let link = home.path().join(folder);
    std::os::unix::fs::symlink(&traces, &link).expect("a link");
    Some((Server::of(&link), traces, home))
}

pub fn i64_of(value: &Value, key: &str) -> i64 {
    value[key]
        .as_i64()
        .unwrap_or_else(|| panic!("{key} of {value}"))
}
