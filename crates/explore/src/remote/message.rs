//! What an explorer and the agent on another machine say to each other: JSON documents over TCP, each behind its length.
//!
//! Version 1. A connection begins with the explorer's [`Hello`], which has the token, and the agent's [`Welcome`]. Control
//! connections then carry [`Order`]s one way and [`Report`]s the other; data connections [`Number`]s to the explorer.
//! Nothing is encrypted.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::run::Ended;
use crate::trial::Outcome;
use crate::value::Configuration;

/// Of everything in this file.
pub(super) const VERSION: u32 = 1;

/// No message is longer, in bytes. Before the token is known, [`MOST_OF_STRANGERS`].
const MOST: usize = 64 << 20;
pub(super) const MOST_OF_STRANGERS: usize = 4096;

/// How long writing to somebody who does not read may take.
pub(super) const WRITE_LIMIT: Duration = Duration::from_secs(5);

/// Both sides say so often that they are there…
pub(super) const ALIVE: Duration = Duration::from_secs(1);
/// …and are taken for cut off after so long a silence.
pub(super) const SILENCE: Duration = Duration::from_secs(4);

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Channel {
    Control,
    Data,
}

/// The first word of the explorer.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) version: u32,
    pub(super) token: String,
    /// Tells this exploration from others.
    pub(super) exploration: String,
    pub(super) channel: Channel,
}

/// The agent's answer.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Welcome {
    pub(super) version: u32,
    /// Why it is none.
    pub(super) refused: Option<String>,
    /// Where the output of trials is.
    pub(super) output: String,
}

/// Reasons of an agent for which there is something to be done.
pub(super) const OTHER_TOKEN: &str = "its token is another one";
pub(super) const BUSY: &str = "it works for another exploration";

/// What the explorer wants.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Order {
    /// To be done once: who gets it again, as the connection was cut, goes on with it, or answers again. Another attempt ends
    /// what is being done.
    Do {
        attempt: u64,
        task: Task,
        specification: Specification,
    },
    /// The policy has seen enough of this attempt.
    Enough { attempt: u64 },
    /// It is still there.
    Alive,
}

/// What is to be done.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Task {
    /// A trial.
    Trial {
        id: i64,
        batch: u32,
        configuration: Configuration,
        limit_ms: Option<u64>,
        /// Whether the explorer wants to see numbers while it runs.
        is_watched: bool,
    },
    /// What trials changed is to be restored.
    Restore,
}

/// A specification with all that it names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Specification {
    pub(super) name: String,
    pub(super) text: String,
    /// Templates by their path as the specification has it.
    pub(super) templates: BTreeMap<String, String>,
}

/// What the agent tells.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Report {
    /// It is still there.
    Alive,
    /// The attempt has been done.
    Done {
        attempt: u64,
        /// Of a trial, how it ended; else why no trial can be run, or what could not be restored.
        result: Result<Option<Trialled>, String>,
    },
}

/// A number that a running workload gave.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Number {
    pub(super) attempt: u64,
    pub(super) metric: String,
    pub(super) value: f64,
}

/// [`Ended`], as it is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Trialled {
    outcome: String,
    words: String,
    measures: BTreeMap<String, f64>,
    notes: String,
    took_ns: u64,
}

impl From<Ended> for Trialled {
    fn from(ended: Ended) -> Self {
        Self {
            outcome: ended.outcome.name().to_owned(),
            words: ended.outcome.words().to_owned(),
            measures: ended.measures,
            notes: ended.notes,
            took_ns: u64::try_from(ended.took.as_nanos()).unwrap_or(u64::MAX),
        }
    }
}

impl Trialled {
    /// As the explorer has it; `None` where it is no outcome of this version.
    pub(super) fn ended(self) -> Option<Ended> {
        Some(Ended {
            outcome: Outcome::from_name(&self.outcome, self.words)?,
            measures: self.measures,
            notes: self.notes,
            took: Duration::from_nanos(self.took_ns),
        })
    }
}

/// Writes a message.
pub(super) fn write(stream: &mut TcpStream, message: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    let length = u32::try_from(text.len())
        .ok()
        .filter(|_| text.len() <= MOST);
    let length = length.ok_or(io::ErrorKind::InvalidInput)?;
    // In one piece, so that no other message comes in between and none waits for the rest.
    stream.write_all(&[&length.to_le_bytes()[..], &text].concat())
}

/// Puts messages together from what arrives.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
}

impl Inbox {
    /// Reads what is there, waiting as long as the stream's time limit says; false where the other side has hung up.
    pub(super) fn fill(&mut self, stream: &mut TcpStream) -> io::Result<bool> {
        let mut piece = [0; 1 << 16];
        match stream.read(&mut piece) {
            Ok(0) => Ok(false),
            Ok(count) => {
                self.bytes.extend_from_slice(&piece[..count]);
                Ok(true)
            }
            Err(cause) if is_no_end(&cause) => Ok(true),
            Err(cause) => Err(cause),
        }
    }

    /// The next message, if it is complete.
    pub(super) fn next<M: DeserializeOwned>(&mut self, most: usize) -> io::Result<Option<M>> {
        let Some(length) = self.bytes.first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*length) as usize;
        if length > most.min(MOST) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let Some(text) = self.bytes.get(4..4 + length) else {
            return Ok(None);
        };
        let message = serde_json::from_slice(text)?;
        self.bytes.drain(..4 + length);
        Ok(Some(message))
    }
}

fn is_no_end(cause: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(cause.kind(), WouldBlock | TimedOut | Interrupted)
}

/// Any message that is not longer than strangers' may be.
pub(super) const ANY: usize = MOST;
