//! TSDL's blocks: `trace`, `env`, `clock`, `stream`, `event`, `callsite`, and declarations of types
//! between them.

use std::rc::Rc;

use super::lexer::Kind;
use super::values::Value;
use super::{Fault, Parser};
use crate::layout::{ByteOrder, ClockLayout, EnvironmentValue};
use crate::metadata::draft::{Draft, DraftEvent, DraftStream, DraftTrace, Language};

impl<'text> Parser<'text, '_> {
    /// The whole text.
    pub(super) fn trace(mut self) -> Result<DraftTrace, Fault> {
        let mut draft = DraftTrace {
            language: Language::Tsdl,
            uuid: None,
            name: None,
            environment: Vec::new(),
            clocks: Vec::new(),
            byte_order: ByteOrder::Little,
            packet_header: None,
            streams: Vec::new(),
            events: Vec::new(),
        };
        let mut seen = false;
        while self.token.kind != Kind::End {
            let at = self.at();
            if self.takes(";")? {
                continue;
            }
            if self.sees_declaration() {
                self.declaration()?;
                continue;
            }
            let block = match self.token.kind {
                Kind::Word => self.word(),
                _ => b"",
            };
            match block {
                b"trace" if seen => return Err(Fault::new(at, "there is a second `trace` block")),
                b"trace" => {
                    seen = true;
                    self.take()?;
                    self.trace_block(at, &mut draft)?;
                }
                b"env" => {
                    self.take()?;
                    self.environment(&mut draft.environment)?;
                }
                b"clock" => {
                    self.take()?;
                    let clock = self.clock(at)?;
                    draft.clocks.push(clock);
                }
                b"stream" => {
                    self.take()?;
                    draft.streams.push(self.stream(at)?);
                }
                b"event" => {
                    self.take()?;
                    draft.events.push(self.event(at)?);
                }
                b"callsite" => {
                    self.take()?;
                    self.attributes(|_, _, _, _| Ok(()))?;
                }
                _ => {
                    return Err(self.expected(
                        "`trace`, `env`, `clock`, `stream`, `event`, `callsite` or the declaration of a type",
                    ));
                }
            }
            self.expect(";")?;
        }
        if !seen {
            return Err(self.expected("a `trace` block"));
        }
        Ok(draft)
    }

    /// `{ declarations, path = value; path := type; }`
    fn block(
        &mut self,
        what: &str,
        mut entry: impl FnMut(&str, Entry<'text>) -> Result<bool, Fault>,
    ) -> Result<(), Fault> {
        self.scoped(|parser| {
            parser.expect("{")?;
            while !parser.takes("}")? {
                if parser.takes(";")? {
                    continue;
                }
                if parser.sees_declaration() {
                    parser.declaration()?;
                    continue;
                }
                let at = parser.at();
                let path = parser.attribute_path()?;
                let written = if parser.takes(":=")? {
                    Entry::Type(parser.type_expression()?)
                } else if parser.takes("=")? {
                    Entry::Value(parser.value()?)
                } else {
                    return Err(parser.expected("`=` or `:=`"));
                };
                parser.expect(";")?;
                if !entry(&path, written)? {
                    parser.ignore(at, &path, what);
                }
            }
            Ok(())
        })
    }

    fn trace_block(&mut self, at: usize, draft: &mut DraftTrace) -> Result<(), Fault> {
        let (mut major, mut minor, mut byte_order) = (None, None, None);
        self.block("the trace", |path, entry| {
            match (path, entry) {
                ("major", Entry::Value(value)) => {
                    if value.unsigned(path)? != 1 {
                        return Err(value.expected(path, "1 (of CTF 1.8)"));
                    }
                    major = Some(());
                }
                ("minor", Entry::Value(value)) => {
                    if value.unsigned(path)? != 8 {
                        return Err(value.expected(path, "8 (of CTF 1.8)"));
                    }
                    minor = Some(());
                }
                ("uuid", Entry::Value(value)) => draft.uuid = Some(value.uuid()?),
                ("byte_order", Entry::Value(value)) => {
                    let order = value.byte_order()?;
                    let order =
                        order.ok_or_else(|| value.expected(path, "`le`, `be` or `network`"))?;
                    byte_order = Some(order);
                }
                ("packet.header", Entry::Type(class)) => draft.packet_header = Some(class),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        for (stated, name) in [(major, "major"), (minor, "minor")] {
            stated.ok_or_else(|| Fault::new(at, format!("the trace has no `{name}`")))?;
        }
        draft.byte_order =
            byte_order.ok_or_else(|| Fault::new(at, "the trace has no `byte_order`"))?;
        Ok(())
    }

    fn environment(&mut self, entries: &mut Vec<(String, EnvironmentValue)>) -> Result<(), Fault> {
        self.attributes(|_, _, name, value| {
            entries.push((name.to_owned(), value.environment()));
            Ok(())
        })
    }

    fn clock(&mut self, at: usize) -> Result<ClockLayout, Fault> {
        let mut clock = ClockLayout {
            name: String::new(),
            frequency: 1_000_000_000,
            offset_seconds: 0,
            offset_cycles: 0,
            // CTF 1.8 §8: offsets count from the epoch.
            origin_is_epoch: true,
            absolute: false,
            precision: 1,
            uuid: None,
            description: String::new(),
        };
        self.attributes(|parser, name_at, name, value| {
            match name {
                "name" => value.text(name)?.clone_into(&mut clock.name),
                "uuid" => clock.uuid = Some(value.uuid()?),
                "description" => value.text(name)?.clone_into(&mut clock.description),
                "freq" => {
                    clock.frequency = value.unsigned(name)?;
                    if clock.frequency == 0 {
                        return Err(value.expected(name, "at least one cycle per second"));
                    }
                }
                "precision" => clock.precision = value.unsigned(name)?,
                "offset_s" => clock.offset_seconds = value.signed(name)?,
                "offset" => clock.offset_cycles = value.unsigned(name)?,
                "absolute" => clock.absolute = value.boolean(name)?,
                _ => parser.ignore(name_at, name, "a clock"),
            }
            Ok(())
        })?;
        match clock.name.is_empty() {
            true => Err(Fault::new(at, "the clock has no `name`")),
            false => Ok(clock),
        }
    }

    fn stream(&mut self, at: usize) -> Result<DraftStream, Fault> {
        let mut stream = DraftStream {
            at,
            ..DraftStream::default()
        };
        self.block("a stream", |path, entry| {
            match (path, entry) {
                ("id", Entry::Value(value)) => stream.id = Some(value.unsigned(path)?),
                ("event.header", Entry::Type(class)) => stream.event_header = Some(class),
                ("event.context", Entry::Type(class)) => stream.common_context = Some(class),
                ("packet.context", Entry::Type(class)) => stream.packet_context = Some(class),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(stream)
    }

    fn event(&mut self, at: usize) -> Result<DraftEvent, Fault> {
        let mut event = DraftEvent {
            at,
            ..DraftEvent::default()
        };
        let mut named = false;
        self.block("an event", |path, entry| {
            match (path, entry) {
                ("name", Entry::Value(value)) => {
                    value.text(path)?.clone_into(&mut event.name);
                    named = true;
                }
                ("id", Entry::Value(value)) => event.id = Some(value.unsigned(path)?),
                ("stream_id", Entry::Value(value)) => event.stream_id = Some(value.unsigned(path)?),
                ("loglevel", Entry::Value(value)) => event.log_level = Some(value.signed(path)?),
                ("model.emf.uri", Entry::Value(value)) => {
                    let uri = value.text(path)?;
                    event.emf_uri = Some(uri.to_owned()).filter(|uri| !uri.is_empty());
                }
                ("context", Entry::Type(class)) => event.specific_context = Some(class),
                ("fields", Entry::Type(class)) => event.payload = Some(class),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        match named {
            true => Ok(event),
            false => Err(Fault::new(at, "the event has no `name`")),
        }
    }
}

/// What stands on the right in a block.
enum Entry<'text> {
    Value(Value<'text>),
    Type(Rc<Draft>),
}
