//! How a running recorder is asked for a snapshot: a socket in its folder, one line each way.
//!
//! The request is `snapshot`; the answer is a JSON object with either `folder` or `error`.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::RecordError;

pub(crate) const SOCKET_NAME: &str = "control.sock";
const REQUEST: &str = "snapshot";

/// How long a recorder waits for the line of a client: it has rings to empty.
const PATIENCE_WITH_CLIENTS: Duration = Duration::from_millis(200);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Folder(PathBuf),
    Error(String),
}

/// Asks the recorder that writes to `folder` for a snapshot and waits until it is written; returns
/// the snapshot's folder.
///
/// # Errors
/// When no recorder runs there, or it has no snapshot to give.
pub fn request_snapshot(folder: &Path) -> Result<PathBuf, RecordError> {
    let not_running = |cause| RecordError::NotRunning {
        folder: folder.to_owned(),
        cause,
    };
    let mut stream = connect(folder).map_err(not_running)?;
    let exchange = |stream: &mut UnixStream| -> io::Result<Answer> {
        writeln!(stream, "{REQUEST}")?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    };
    match exchange(&mut stream) {
        Ok(Answer::Folder(snapshot)) => Ok(snapshot),
        Ok(Answer::Error(reason)) => Err(RecordError::SnapshotRefused(reason)),
        Err(cause) => Err(RecordError::System {
            what: "the recorder gave no answer",
            cause,
        }),
    }
}

/// Whether a recorder answers in `folder`.
pub(crate) fn is_recording_running(folder: &Path) -> bool {
    connect(folder).is_ok()
}

fn connect(folder: &Path) -> io::Result<UnixStream> {
    let (_held, address) = short_address(folder)?;
    UnixStream::connect(address)
}

/// A socket's address may have 107 bytes only, so the folder is named by a descriptor, which must
/// live as long as the address is used.
fn short_address(folder: &Path) -> io::Result<(File, PathBuf)> {
    let held = File::open(folder)?;
    let address = PathBuf::from(format!("/proc/self/fd/{}/{SOCKET_NAME}", held.as_raw_fd()));
    Ok((held, address))
}

/// The recorder's end.
#[derive(Debug)]
pub(crate) struct ControlSocket {
    listener: UnixListener,
}

impl ControlSocket {
    /// Listens in `folder`; only this user may connect.
    pub(crate) fn listen(folder: &Path) -> io::Result<Self> {
        let (_held, address) = short_address(folder)?;
        let listener = UnixListener::bind(&address)?;
        fs::set_permissions(&address, fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener })
    }

    /// The descriptor to wait on; readable when somebody asks.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Answers one client, if one is waiting: `take` makes the snapshot or says why not.
    pub(crate) fn answer(&self, take: impl FnOnce() -> Result<PathBuf, String>) {
        let Ok((stream, _)) = self.listener.accept() else {
            return;
        };
        // A client that goes away without its answer has lost nothing of the recording.
        let _ = serve(stream, take);
    }
}

fn serve(mut stream: UnixStream, take: impl FnOnce() -> Result<PathBuf, String>) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE_WITH_CLIENTS))?;
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    let answer = match line.trim() {
        REQUEST => take().map_or_else(Answer::Error, Answer::Folder),
        // Somebody who only looked whether a recorder is there.
        "" => return Ok(()),
        other => Answer::Error(format!("unknown request {other:?}")),
    };
    writeln!(stream, "{}", serde_json::to_string(&answer)?)
}

/// Removes the socket of a recorder that has ended.
pub(crate) fn remove_socket(folder: &Path) {
    // Absent when the recorder never got so far.
    let _ = fs::remove_file(folder.join(SOCKET_NAME));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_asked_for_and_answered_however_long_the_path() {
        let base = tempfile::tempdir().expect("a temporary folder");
        let folder = base.path().join("d".repeat(120));
        fs::create_dir(&folder).expect("a folder");
        let socket = ControlSocket::listen(&folder).expect("a socket");
        let answers = [
            Ok(PathBuf::from("/r/snapshot-1")),
            Err("nothing there".to_owned()),
        ];
        for answer in answers {
            let client = std::thread::spawn({
                let folder = folder.clone();
                move || request_snapshot(&folder).map_err(|error| error.to_string())
            });
            let limit = Duration::from_secs(5);
            slowpath_platform::wait::wait_readable(&[socket.descriptor()], limit).expect("poll");
            socket.answer(|| answer.clone());
            let received = client.join().expect("the client ends");
            let expected =
                answer.map_err(|reason| format!("the recorder gave no snapshot: {reason}"));
            assert_eq!(received, expected);
        }
        drop(socket);
        let error = request_snapshot(&folder).expect_err("nobody listens");
        assert!(
            error.to_string().starts_with("no recording is running in "),
            "{error}"
        );
    }
}
