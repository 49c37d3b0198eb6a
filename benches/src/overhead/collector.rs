//! A receiver of spans that counts what comes and throws it away: the cheapest a collector can be, so
//! that whatever slowpath does with spans counts against slowpath.
//!
//! OTLP over HTTP, of which it understands only where a message ends. Ends with the process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use anyhow::Context;

/// The receiver; what it counts.
pub struct Collector {
    /// Where it listens.
    pub address: SocketAddr,
    bytes: Arc<AtomicU64>,
}

impl Collector {
    /// Listens on a free port of this machine.
    ///
    /// # Errors
    /// Where there is none.
    pub fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no port for the collector")?;
        let address = listener.local_addr()?;
        let bytes = Arc::new(AtomicU64::new(0));
        let counted = bytes.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counted = counted.clone();
                // A sender that goes away or talks nonsense ends its own connection only.
                std::thread::spawn(move || serve(stream, &counted));
            }
        });
        Ok(Self { address, bytes })
    }

    /// Bytes of messages received so far.
    pub fn received(&self) -> u64 {
        self.bytes.load(Relaxed)
    }
}

fn serve(stream: TcpStream, counted: &AtomicU64) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    let mut length = 0;
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Ok(());
        }
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().unwrap_or(0);
            }
            None if line.trim_end().is_empty() => {
                let body = std::io::copy(&mut (&mut stream).take(length), &mut std::io::sink())?;
                counted.fetch_add(body, Relaxed);
                // An empty message: everything was accepted.
                let accepted = "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n\
                                Content-Length: 0\r\n\r\n";
                stream.get_mut().write_all(accepted.as_bytes())?;
                length = 0;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_and_accepted() {
        let collector = Collector::start().expect("a free port");
        let mut stream = TcpStream::connect(collector.address).expect("it listens");
        for _ in 0..2 {
            stream
                .write_all(b"POST /v1/traces HTTP/1.1\r\nContent-Length: 5\r\n\r\nspans")
                .expect("it reads");
            let mut answer = [0; 15];
            stream.read_exact(&mut answer).expect("it answers");
            assert_eq!(&answer, b"HTTP/1.1 200 OK");
            let mut rest = vec![0; 1024];
            let _ = stream.read(&mut rest).expect("the rest of the head");
        }
        assert_eq!(collector.received(), 10);
    }
}
