//! Whether a system is ready: a port is open, a line was printed, or a command succeeds.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

use super::child::Program;
use super::filling::Filled;
use crate::spec::{Pattern, Ready};

/// So much of a file is read at a time.
pub(super) const PIECE: usize = 1 << 20;

/// What is waited for, names filled in.
pub(super) enum Waiting<'run> {
    Nothing,
    Port(String),
    /// The log has been looked through up to there.
    Line(&'run Pattern, u64),
    Command(Program),
}

impl<'run> Waiting<'run> {
    pub(super) fn new(ready: Option<&'run Ready>, filled: &Filled<'_>) -> Result<Self, String> {
        Ok(match ready {
            None => Self::Nothing,
            Some(Ready::Line(pattern)) => Self::Line(pattern, 0),
            Some(Ready::Command(command)) => {
                Self::Command(filled.program(command, &Default::default())?)
            }
            Some(Ready::Port(template)) => {
                let text = filled.text(template)?;
                let address = match text.contains(':') {
                    true => text.clone(),
                    false => format!("127.0.0.1:{text}"),
                };
                if address.to_socket_addrs().is_err() {
                    return Err(format!("`{text}` is no port: 7000, or host:7000"));
                }
                Self::Port(address)
            }
        })
    }

    /// The port, if somebody listens there before the system has been started.
    pub(super) fn taken_port(&self) -> Option<String> {
        match self {
            Self::Port(address) if is_open(address) => Some(address.clone()),
            _ => None,
        }
    }

    /// Whether the sign is there. `log` has what the system has printed.
    pub(super) fn is_met<E>(
        &mut self,
        log: &Path,
        succeeds: impl FnOnce(&Program) -> Result<bool, E>,
    ) -> Result<bool, E> {
        Ok(match self {
            Self::Nothing => true,
            Self::Port(address) => is_open(address),
            Self::Line(pattern, seen) => {
                let text = read_from(log, *seen);
                // A line that has no end yet is looked at again.
                let end = text.iter().rposition(|byte| *byte == b'\n');
                *seen += match end {
                    Some(end) => end as u64 + 1,
                    None if text.len() == PIECE => PIECE as u64,
                    None => 0,
                };
                pattern.0.is_match(&String::from_utf8_lossy(&text))
            }
            Self::Command(program) => return succeeds(program),
        })
    }
}

fn is_open(address: &str) -> bool {
    let mut addresses = address.to_socket_addrs().into_iter().flatten();
    addresses.any(|one| TcpStream::connect_timeout(&one, Duration::from_secs(1)).is_ok())
}

/// What a file holds from an offset on, [`PIECE`] bytes at most; nothing where it cannot be read.
pub(super) fn read_from(path: &Path, offset: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok(mut file) = File::open(path)
        && file.seek(SeekFrom::Start(offset)).is_ok()
    {
        let _ = file.take(PIECE as u64).read_to_end(&mut bytes);
    }
    bytes
}

/// The last line of a file that says something, as the end of a sentence; empty where there is none.
pub(super) fn last_line(path: &Path) -> String {
    let size = std::fs::metadata(path).map_or(0, |file| file.len());
    let text = read_from(path, size.saturating_sub(4096));
    let text = String::from_utf8_lossy(&text).into_owned();
    let last = text
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty());
    last.map_or(String::new(), |line| {
        format!(": {}", line.chars().take(300).collect::<String>())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_however_much_was_printed_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        let pattern = Pattern(regex::Regex::new("(?m)^READY$").expect("an expression"));
        let mut waiting = Waiting::Line(&pattern, 0);
        let mut text = "x".repeat(99) + "\n";
        text = text.repeat(3 * PIECE / text.len());
        std::fs::write(&log, &text).expect("written");
        let mut is_met = || {
            waiting
                .is_met(&log, |_| Ok::<_, ()>(false))
                .expect("no command")
        };
        assert!((0..5).all(|_| !is_met()));
        text += "REA";
        std::fs::write(&log, &text).expect("written");
        assert!(!is_met());
        text += "DY";
        std::fs::write(&log, &text).expect("written");
        assert!(is_met());
    }
}
