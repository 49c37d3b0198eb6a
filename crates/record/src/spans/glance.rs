//! A glance at an OTLP request: how many spans, of which service, from when to when.
//!
//! Walks the protobuf bytes of an `ExportTraceServiceRequest` in place. Decoding it into structures
//! would cost memory that a hostile sender chooses (an empty span is two bytes on the wire); this
//! allocates nothing. Not a reader of spans: `read-spans` is.

/// What is seen of a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SpanGlance<'a> {
    /// `service.name` of its resource; empty where there is none.
    pub(crate) service: &'a [u8],
    /// The name of its operation.
    pub(crate) operation: &'a [u8],
    pub(crate) trace_id: &'a [u8],
    pub(crate) span_id: &'a [u8],
    /// Nanoseconds since the epoch; that of the end where there is none.
    pub(crate) begin_ns: u64,
    /// Nanoseconds since the epoch.
    pub(crate) end_ns: u64,
    /// Whether its status is an error.
    pub(crate) is_error: bool,
}

/// The bytes are no such message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an OTLP trace request: {0}")]
pub(crate) struct Malformed(pub(crate) &'static str);

const UNKNOWN_WIRE_TYPE: Malformed = Malformed("a field of no known wire type");

/// Calls `each` for every span of the request in `message`.
///
/// # Errors
/// Where the bytes are no such message; `each` has been called for the spans before that place.
pub(crate) fn glance<'a>(
    message: &'a [u8],
    mut each: impl FnMut(SpanGlance<'a>),
) -> Result<(), Malformed> {
    for resource_spans in messages(message, 1) {
        let resource_spans = resource_spans?;
        // The resource may stand behind its spans.
        let mut service: &[u8] = b"";
        for resource in messages(resource_spans, 1) {
            service = service_name(resource?)?.unwrap_or(service);
        }
        for scope_spans in messages(resource_spans, 2) {
            for span in messages(scope_spans?, 2) {
                each(span_glance(span?, service)?);
            }
        }
    }
    Ok(())
}

fn service_name(resource: &[u8]) -> Result<Option<&[u8]>, Malformed> {
    for attribute in messages(resource, 1) {
        let attribute = attribute?;
        if messages(attribute, 1).next().transpose()? != Some(b"service.name") {
            continue;
        }
        if let Some(value) = messages(attribute, 2).next().transpose()? {
            return messages(value, 1).next().transpose();
        }
    }
    Ok(None)
}

fn span_glance<'a>(span: &'a [u8], service: &'a [u8]) -> Result<SpanGlance<'a>, Malformed> {
    let mut seen = SpanGlance {
        service,
        ..SpanGlance::default()
    };
    for field in (Fields { rest: span }) {
        match field? {
            (1, Value::Bytes(bytes)) => seen.trace_id = bytes,
            (2, Value::Bytes(bytes)) => seen.span_id = bytes,
            (5, Value::Bytes(bytes)) => seen.operation = bytes,
            (7, Value::Fixed64(time)) => seen.begin_ns = time,
            (8, Value::Fixed64(time)) => seen.end_ns = time,
            (15, Value::Bytes(status)) => {
                for field in (Fields { rest: status }) {
                    if let (3, Value::Varint(code)) = field? {
                        seen.is_error = code == 2;
                    }
                }
            }
            _ => {}
        }
    }
    // Else it would have lasted since 1970, and break every rule.
    if seen.begin_ns == 0 {
        seen.begin_ns = seen.end_ns;
    }
    Ok(seen)
}

/// The fields `number` of a message that are messages, texts or bytes.
fn messages(message: &[u8], number: u64) -> impl Iterator<Item = Result<&[u8], Malformed>> {
    Fields { rest: message }.filter_map(move |field| match field {
        Ok((found, Value::Bytes(bytes))) if found == number => Some(Ok(bytes)),
        Ok(_) => None,
        Err(malformed) => Some(Err(malformed)),
    })
}

/// The value of a field, as the wire has it.
enum Value<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32,
}

/// The fields of a message, in their order; ends after the first that is malformed.
struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Result<(u64, Value<'a>), Malformed> {
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Varint(self.varint()?),
            1 => {
                let bytes = self.take(8)?.first_chunk();
                Value::Fixed64(u64::from_le_bytes(*bytes.unwrap_or(&[0; 8])))
            }
            2 => {
                let length = self.varint()?;
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                Value::Bytes(self.take(length)?)
            }
            5 => {
                self.take(4)?;
                Value::Fixed32
            }
            _ => return Err(UNKNOWN_WIRE_TYPE),
        };
        match key >> 3 {
            0 => Err(Malformed("a field without a number")),
            number => Ok((number, value)),
        }
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (first, rest) = self
                .rest
                .split_first()
                .ok_or(Malformed("it is cut short"))?;
            self.rest = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed("a number has more than 64 bits"))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(Malformed("it is cut short"))?;
        self.rest = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    use proptest::prelude::*;
    use prost::Message;

    use super::*;
    use crate::spans::samples;

    fn spans(message: &[u8]) -> Result<Vec<SpanGlance<'_>>, Malformed> {
        let mut spans = Vec::new();
        glance(message, |span| spans.push(span))?;
        Ok(spans)
    }

    #[test]
    fn what_is_seen_is_what_the_message_says() {
        let message = samples::request("shop", "/buy", 3).encode_to_vec();
        let seen = spans(&message).expect("a request");
        assert_eq!(seen.len(), 3);
        assert_eq!(seen[0].service, b"shop");
        assert_eq!(seen[0].operation, b"/buy");
        assert_eq!(seen[2].trace_id, [2; 16]);
        assert_eq!(seen[2].span_id, [2; 8]);
        assert_eq!(seen[0].end_ns - seen[0].begin_ns, samples::DURATION_NS);
        let errors: Vec<bool> = seen.iter().map(|span| span.is_error).collect();
        assert_eq!(errors, [true, false, false]);
        assert_eq!(spans(b"").expect("an empty request"), []);
    }

    #[test]
    fn a_span_without_a_start_lasts_no_time() {
        let mut request = samples::request("shop", "/buy", 1);
        request.resource_spans[0].scope_spans[0].spans[0].start_time_unix_nano = 0;
        let message = request.encode_to_vec();
        let seen = spans(&message).expect("a request");
        assert_eq!(seen[0].begin_ns, seen[0].end_ns);
    }

    #[test]
    fn what_a_full_decoder_refuses_by_its_frame_is_refused() {
        let message = samples::request("shop", "/buy", 2).encode_to_vec();
        for length in 1..message.len() {
            let cut = &message[..length];
            let decoded = ExportTraceServiceRequest::decode(cut);
            assert_eq!(spans(cut).is_err(), decoded.is_err(), "{length} bytes");
        }
        for nonsense in [
            &b"GET / HTTP/1.1"[..],
            b"\x00\x00",
            b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            &[0xff; 40],
        ] {
            assert!(spans(nonsense).is_err(), "{nonsense:?}");
        }
    }

    proptest! {
        /// Whatever a full decoder takes is taken, with as many spans; nothing panics.
        #[test]
        fn damaged_messages_are_seen_as_a_full_decoder_sees_them(
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut message = samples::request("shop", "/buy", 3).encode_to_vec();
            for (place, value) in changes {
                let place = place.index(message.len());
                message[place] = value;
            }
            message.truncate(message.len() - cut.index(3));
            let seen = spans(&message);
            if let Ok(request) = ExportTraceServiceRequest::decode(&message[..]) {
                let scopes = request.resource_spans.iter().flat_map(|one| &one.scope_spans);
                let count: usize = scopes.map(|scope| scope.spans.len()).sum();
                match seen {
                    Ok(spans) => prop_assert_eq!(spans.len(), count),
                    // Groups, which no version of the protocol has.
                    Err(cause) => prop_assert_eq!(cause, UNKNOWN_WIRE_TYPE),
                }
            }
        }
    }
}
