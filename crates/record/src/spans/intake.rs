//! What becomes of a request once its bytes are here: kept, passed on, held against the rules.
//!
//! Synchronous, and nothing in it waits. How requests come is `server.rs`'s matter.

use std::sync::Arc;

use bytes::Bytes;
use prost::Message;

use super::counts::Counts;
use super::forward::{ForwardQueue, Outgoing, Signal};
use super::glance::{Malformed, glance};
use super::json::request_in_json;
use super::store::{Batch, Store, TimeSpan};
use super::triggers::Triggers;

/// A JSON text with more objects than this is refused: each of them costs a hundred times its bytes
/// while it is translated.
const MOST_JSON_OBJECTS: usize = 200_000;

/// Takes in requests.
#[derive(Debug)]
pub(crate) struct Intake {
    pub(crate) store: Store,
    pub(crate) forward: Option<ForwardQueue>,
    pub(crate) triggers: Option<Triggers>,
    pub(crate) counts: Arc<Counts>,
}

/// Spans that could not be kept although they were understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LostSpans(pub(crate) u64);

impl Intake {
    /// Takes an `ExportTraceServiceRequest`.
    ///
    /// # Errors
    /// Where it is none; nothing of it is kept then.
    pub(crate) fn traces(&self, message: Bytes) -> Result<LostSpans, Malformed> {
        let mut spans = 0;
        let mut time = TimeSpan {
            begin_ns: u64::MAX,
            end_ns: 0,
        };
        glance(&message, |span| {
            spans += 1;
            time.begin_ns = time.begin_ns.min(span.begin_ns);
            time.end_ns = time.end_ns.max(span.end_ns);
        })?;
        if let Some(triggers) = &self.triggers {
            triggers.look_at(&message);
        }
        if let Some(forward) = &self.forward {
            forward.offer(Outgoing {
                signal: Signal::Traces,
                is_json: false,
                message: message.clone(),
            });
        }
        let batch = Batch {
            message,
            spans,
            time,
        };
        if self.store.keep(batch) {
            return Ok(LostSpans(0));
        }
        self.counts.lost_spans.add(spans);
        Ok(LostSpans(spans))
    }

    /// Takes the same in the protocol's JSON form.
    ///
    /// # Errors
    /// Where it is none, or too large to be translated.
    pub(crate) fn traces_in_json(&self, text: &[u8]) -> Result<LostSpans, Malformed> {
        if text.iter().filter(|byte| **byte == b'{').count() > MOST_JSON_OBJECTS {
            return Err(Malformed("the JSON text has more than 200,000 objects"));
        }
        // A list of the message's members would be taken for the message otherwise.
        if text.trim_ascii_start().first() != Some(&b'{') {
            return Err(Malformed("the JSON text is no object"));
        }
        let request = request_in_json(text)
            .ok_or(Malformed("the JSON text is malformed or has other members"))?;
        self.traces(request.encode_to_vec().into())
    }

    /// Takes metrics or logs: passed on where there is somewhere, else dropped.
    pub(crate) fn other(&self, outgoing: Outgoing) {
        self.counts.other_requests.add(1);
        if let Some(forward) = &self.forward {
            forward.offer(outgoing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spans::samples;

    #[test]
    fn a_disk_that_takes_nothing_costs_spans_and_no_more_memory() {
        let (store, _unread) = Store::stuck();
        let intake = Intake {
            store,
            forward: None,
            triggers: None,
            counts: Arc::default(),
        };
        let operation = "x".repeat(1 << 20);
        let message = Bytes::from(samples::request("shop", &operation, 2).encode_to_vec());
        let lost = (0..40).map(|_| intake.traces(message.clone()).expect("a request").0);
        assert_eq!(lost.sum::<u64>(), 2 * 25, "15 of 2 MiB wait");
        assert_eq!(intake.counts.lost_spans.get(), 50);
    }
}
