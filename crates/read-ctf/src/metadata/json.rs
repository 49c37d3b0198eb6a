//! CTF 2 metadata (specification 2.0): a sequence of JSON fragments, each after a record separator
//! (RFC 7464). Also reads the drafts before 2.0 that tracers wrote.
//!
//! Extensions are left out with a note; attributes are for others, but for the log level and the
//! EMF URI, which CTF 1.8 had and babeltrace2 keeps in its own.

mod classes;
mod node;

use std::collections::HashMap;
use std::rc::Rc;

use super::draft::{Draft, DraftEvent, DraftStream, DraftTrace, Language};
use super::{Fault, Notes};
use crate::layout::{ByteOrder, ClockLayout, EnvironmentValue};
use node::{Node, Object};

const RECORD_SEPARATOR: u8 = 0x1e;

/// Whether text is CTF 2 metadata.
pub(super) fn is_in(text: &[u8]) -> bool {
    text.first() == Some(&RECORD_SEPARATOR)
}

/// Reads CTF 2 metadata.
pub(super) fn read(text: &[u8], notes: &mut Notes) -> Result<DraftTrace, Fault> {
    let text = std::str::from_utf8(text)
        .map_err(|error| Fault::new(error.valid_up_to(), "CTF 2 metadata must be UTF-8"))?;
    let mut fragments = Fragments {
        trace: DraftTrace {
            language: Language::Json,
            uuid: None,
            name: None,
            environment: Vec::new(),
            clocks: Vec::new(),
            byte_order: ByteOrder::Little,
            packet_header: None,
            streams: Vec::new(),
            events: Vec::new(),
        },
        aliases: HashMap::new(),
        clock_positions: HashMap::new(),
        depth: 0,
        notes,
    };
    let mut at = 0;
    let mut is_first = true;
    for record in text.split(char::from(RECORD_SEPARATOR)) {
        let blank = record.len() - record.trim_start().len();
        if blank < record.len() {
            let node = Node::parse(&record[blank..], at + blank)?;
            fragments.fragment(node, is_first)?;
            is_first = false;
        }
        at += record.len() + 1;
    }
    match is_first {
        true => Err(Fault::new(0, "expected a preamble fragment, there is none")),
        false => Ok(fragments.trace),
    }
}

struct Fragments<'notes> {
    trace: DraftTrace,
    /// Field classes by the names that aliases gave them.
    aliases: HashMap<String, Rc<Draft>>,
    clock_positions: HashMap<String, usize>,
    depth: u32,
    notes: &'notes mut Notes,
}

impl Fragments<'_> {
    fn fragment(&mut self, node: Node<'_>, is_first: bool) -> Result<(), Fault> {
        let object = node.object("a fragment (a JSON object)")?;
        let kind_node = object.need("type")?;
        let kind = kind_node.text("the type of a fragment")?;
        if is_first && kind != "preamble" {
            return Err(kind_node.expected("`preamble`, as this is the first fragment"));
        }
        self.note_extensions(&object);
        match kind.as_str() {
            "preamble" => self.preamble(&object),
            "field-class-alias" => {
                let class = self.class(object.need("field-class")?)?;
                let name = object.need("name")?.text("the name of a field class")?;
                self.aliases.insert(name, class);
                Ok(())
            }
            "trace-class" => self.trace_class(&object),
            "clock-class" => self.clock_class(&object),
            "data-stream-class" => self.stream_class(&object),
            "event-record-class" => self.event_class(&object),
            unknown => {
                self.notes.add(kind_node.at, || {
                    format!("the fragment type `{unknown}` is not known; the fragment is left out")
                });
                Ok(())
            }
        }
    }

    fn note_extensions(&mut self, object: &Object<'_>) {
        if let Some(node) = object.get("extensions") {
            self.notes.add(node.at, || {
                "no extension of CTF 2 is known; these are left out".to_owned()
            });
        }
    }

    fn preamble(&mut self, object: &Object<'_>) -> Result<(), Fault> {
        let version = object.need("version")?;
        if version.integer("a version")? != 2 {
            return Err(version.expected("version 2"));
        }
        self.trace.uuid = object.get("uuid").map(uuid).transpose()?;
        Ok(())
    }

    fn trace_class(&mut self, object: &Object<'_>) -> Result<(), Fault> {
        self.trace.name = object.text("name")?;
        if let (None, Some(node)) = (self.trace.uuid, object.get("uuid")) {
            self.trace.uuid = Some(uuid(node)?);
        }
        if let Some(node) = object.get("environment") {
            for (name, value) in node.object("an environment")?.entries {
                let value = match value.is_text() {
                    true => EnvironmentValue::Text(value.text("text")?),
                    false => EnvironmentValue::Integer(value.signed("a whole number or text")?),
                };
                self.trace.environment.push((String::from(name), value));
            }
        }
        self.trace.packet_header = self.optional_class(object, "packet-header-field-class")?;
        Ok(())
    }

    fn optional_class(
        &mut self,
        object: &Object<'_>,
        name: &str,
    ) -> Result<Option<Rc<Draft>>, Fault> {
        object.get(name).map(|node| self.class(node)).transpose()
    }

    fn clock_class(&mut self, object: &Object<'_>) -> Result<(), Fault> {
        // Drafts before 2.0 had a name only.
        let id = match object.get("id") {
            Some(node) => node.text("the id of a clock class")?,
            None => object.need("name")?.text("the name of a clock class")?,
        };
        let frequency = object.need("frequency")?;
        let mut clock = ClockLayout {
            name: id.clone(),
            frequency: frequency.unsigned("a number of cycles per second")?,
            offset_seconds: 0,
            offset_cycles: 0,
            origin_is_epoch: false,
            absolute: false,
            precision: object.unsigned("precision")?.unwrap_or(0),
            uuid: object.get("uuid").map(uuid).transpose()?,
            description: object.text("description")?.unwrap_or_default(),
        };
        if clock.frequency == 0 {
            return Err(frequency.expected("at least one cycle per second"));
        }
        if let Some(origin) = object.get("origin") {
            clock.origin_is_epoch = origin.is_text() && origin.text("an origin")? == "unix-epoch";
            clock.absolute = clock.origin_is_epoch;
        }
        if let Some(offset) = object.get("offset-from-origin") {
            let offset = offset.object("an offset")?;
            if let Some(seconds) = offset.get("seconds") {
                clock.offset_seconds = seconds.signed("a whole number of seconds")?;
            }
            clock.offset_cycles = offset.unsigned("cycles")?.unwrap_or(0);
        }
        self.clock_positions.insert(id, self.trace.clocks.len());
        self.trace.clocks.push(clock);
        Ok(())
    }

    fn stream_class(&mut self, object: &Object<'_>) -> Result<(), Fault> {
        let clock = object.get("default-clock-class-id");
        let clock = clock.or_else(|| object.get("default-clock-class-name"));
        let position = |node: Node<'_>| {
            let id = node.text("the id of a clock class")?;
            let position = self.clock_positions.get(&id).copied();
            position.ok_or_else(|| node.expected("the id of a clock class described before"))
        };
        let clock = clock.map(position).transpose()?;
        let stream = DraftStream {
            at: object.at,
            id: Some(object.unsigned("id")?.unwrap_or(0)),
            name: object.text("name")?,
            clock,
            packet_context: self.optional_class(object, "packet-context-field-class")?,
            event_header: self.optional_class(object, "event-record-header-field-class")?,
            common_context: self
                .optional_class(object, "event-record-common-context-field-class")?,
        };
        self.trace.streams.push(stream);
        Ok(())
    }

    fn event_class(&mut self, object: &Object<'_>) -> Result<(), Fault> {
        let (log_level, emf_uri) = babeltrace_attributes(object)?;
        let event = DraftEvent {
            at: object.at,
            stream_id: Some(object.unsigned("data-stream-class-id")?.unwrap_or(0)),
            id: Some(object.unsigned("id")?.unwrap_or(0)),
            name: object.text("name")?.unwrap_or_default(),
            log_level,
            emf_uri,
            specific_context: self.optional_class(object, "specific-context-field-class")?,
            payload: self.optional_class(object, "payload-field-class")?,
        };
        self.trace.events.push(event);
        Ok(())
    }
}

fn uuid(node: Node<'_>) -> Result<[u8; 16], Fault> {
    let expected = "16 numbers from 0 to 255";
    let bytes = node.array(expected)?;
    let byte = |byte: Node<'_>| {
        u8::try_from(byte.unsigned(expected)?).map_err(|_| byte.expected(expected))
    };
    let bytes: Vec<u8> = bytes.into_iter().map(byte).collect::<Result<_, _>>()?;
    bytes.try_into().map_err(|_| node.expected(expected))
}

/// Log level and EMF URI, which babeltrace2 writes as attributes.
fn babeltrace_attributes(object: &Object<'_>) -> Result<(Option<i64>, Option<String>), Fault> {
    const LEVELS: [&str; 15] = [
        "emergency",
        "alert",
        "critical",
        "error",
        "warning",
        "notice",
        "info",
        "debug:system",
        "debug:program",
        "debug:process",
        "debug:module",
        "debug:unit",
        "debug:function",
        "debug:line",
        "debug",
    ];
    let attributes = object
        .get("attributes")
        .or_else(|| object.get("user-attributes"));
    let Some(attributes) = attributes else {
        return Ok((None, None));
    };
    let attributes = attributes.object("attributes")?.get("babeltrace.org,2020");
    let Some(attributes) = attributes
        .map(|node| node.object("attributes"))
        .transpose()?
    else {
        return Ok((None, None));
    };
    let level = attributes.text("log-level")?;
    let level = level.and_then(|level| LEVELS.iter().position(|name| *name == level));
    Ok((level.map(|level| level as i64), attributes.text("emf-uri")?))
}
