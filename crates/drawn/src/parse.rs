//! From the text of a drawing to its schema and its streams.
//!
//! Two passes: the lines into words, then the classes' fields (the union over all lines of a name)
//! and the events by them. Knows nothing of packets but where they were cut.

use std::collections::HashMap;

use slowpath_model::{
    CpuId, EventClass, EventClassId, Field, FieldKind, Schema, Scope, ThreadId, TimeRange,
    Timestamp, TracerDomain,
};

use crate::{DrawnEvent, Line, Value};

/// A line of the drawing that cannot be understood.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}: `{text}`\n  hint: see the documentation of crate slowpath-drawn")]
pub struct DrawError {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: &'static str,
    /// The line.
    pub text: String,
}

pub(crate) fn parse(text: &str) -> Result<(Schema, Vec<Line>), DrawError> {
    let mut parser = Parser::default();
    parser.schema.domain = TracerDomain::Kernel;
    for (line, number) in text.lines().zip(1..) {
        parser.line(line).map_err(|message| DrawError {
            line: number,
            message,
            text: line.to_owned(),
        })?;
    }
    for event in parser.lines.iter_mut().flat_map(|line| &mut line.events) {
        let fields = parser.schema.event_classes[event.class.index()]
            .fields
            .len();
        event.values.resize(fields, None);
    }
    Ok((parser.schema, parser.lines))
}

#[derive(Default)]
struct Parser {
    schema: Schema,
    classes: HashMap<String, EventClassId>,
    lines: Vec<Line>,
}

impl Parser {
    fn line(&mut self, text: &str) -> Result<(), &'static str> {
        let words = words(text)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            [] => Ok(()),
            ["--", directive, arguments @ ..] => self.directive(directive, arguments),
            [stream, at, name, fields @ ..] => self.event(stream, at, name, fields),
            _ => Err("an event needs a stream, a time and a name"),
        }
    }

    fn directive(&mut self, directive: &str, arguments: &[&str]) -> Result<(), &'static str> {
        let number = |text: &str| text.parse::<u64>().map_err(|_| "not a number");
        match (directive, arguments) {
            ("packet", [stream]) => self.cut(stream, 0, 0),
            ("lost", [count, stream]) => self.cut(stream, number(count)?, 0),
            ("lost-packets", [count, stream]) => self.cut(stream, 0, number(count)?),
            ("cut-off", [at, stream]) => {
                let at = at.parse().map_err(|_| "the time is not a number")?;
                self.stream(stream).cut_off_at = Some(Timestamp::from_ns(at));
            }
            ("unreadable", [until, stream]) => {
                let until = until.parse().map_err(|_| "the time is not a number")?;
                let last = self.stream(stream).events.last_mut();
                last.ok_or("no event is before it")?.unreadable_until =
                    Some(Timestamp::from_ns(until));
            }
            ("domain", ["kernel"]) => self.schema.domain = TracerDomain::Kernel,
            ("domain", ["user"]) => self.schema.domain = TracerDomain::User,
            ("environment", variables) => {
                for variable in variables {
                    let (name, value) = variable.split_once('=').ok_or("no `=`")?;
                    self.environment(name, value.trim_matches('"'));
                }
            }
            ("32-bit", threads) => {
                for thread in threads {
                    let number = thread.parse().map_err(|_| "no number of a thread")?;
                    let thread = (ThreadId(number), TimeRange::ALL);
                    self.schema.threads_of_32_bit.push(thread);
                }
            }
            _ => return Err("unknown directive"),
        }
        Ok(())
    }

    fn environment(&mut self, name: &str, value: &str) {
        match name {
            "hostname" => self.schema.host = value.to_owned(),
            "boot" => self.schema.boot = value.to_owned(),
            "tracer_name" => self.schema.tracer = value.to_owned(),
            _ => {}
        }
        let variable = (name.to_owned(), value.to_owned());
        self.schema.environment.push(variable);
    }

    fn cut(&mut self, stream: &str, lost_events: u64, lost_packets: u64) {
        let line = self.stream(stream);
        let position = line.events.len();
        if position > 0 {
            line.cuts.insert(position);
        }
        if lost_events + lost_packets > 0 {
            let losses = line.losses.entry(position).or_default();
            losses.0 += lost_events;
            losses.1 += lost_packets;
        }
    }

    fn stream(&mut self, name: &str) -> &mut Line {
        let known = self.lines.iter().position(|line| line.name == name);
        let position = known.unwrap_or_else(|| {
            let digits = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
            let (stem, number) = name.split_at(digits);
            let buffer = name
                .strip_prefix("buffer")
                .and_then(|name| name.split('/').next()?.parse().ok());
            self.lines.push(Line {
                name: name.to_owned(),
                cpu: (stem.ends_with("cpu"))
                    .then(|| number.parse().ok().map(CpuId))
                    .flatten(),
                buffer: buffer.unwrap_or(0),
                ..Line::default()
            });
            self.lines.len() - 1
        });
        &mut self.lines[position]
    }

    fn event(
        &mut self,
        stream: &str,
        at: &str,
        name: &str,
        fields: &[&str],
    ) -> Result<(), &'static str> {
        let at = at.parse().map_err(|_| "the time is not a number")?;
        let at = Timestamp::from_ns(at);
        let class = *self.classes.entry(name.to_owned()).or_insert_with(|| {
            self.schema.event_classes.push(EventClass {
                name: name.to_owned(),
                fields: Vec::new(),
            });
            EventClassId(self.schema.event_classes.len() as u32 - 1)
        });
        let mut values = Vec::new();
        for field in fields {
            let (name, value) = field.split_once('=').ok_or("a field has no `=`")?;
            let (scope, name) = match name.strip_prefix('@') {
                Some(name) => (Scope::CommonContext, name),
                None => (Scope::Payload, name),
            };
            match value
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'))
            {
                None => self.value(class, name, scope, self::value(value), &mut values)?,
                Some(elements) => {
                    for (element, position) in elements.split(',').zip(0..) {
                        let name = format!("{name}.{position}");
                        self.value(class, &name, scope, self::value(element), &mut values)?;
                    }
                }
            }
        }
        let line = self.stream(stream);
        if line.events.last().is_some_and(|event| event.at > at) {
            return Err("the stream's time goes back");
        }
        line.events.push(DrawnEvent {
            class,
            at,
            values,
            unreadable_until: None,
        });
        Ok(())
    }

    fn value(
        &mut self,
        class: EventClassId,
        name: &str,
        scope: Scope,
        value: Value,
        values: &mut Vec<Option<Value>>,
    ) -> Result<(), &'static str> {
        let kind = match value {
            Value::Signed(_) => FieldKind::Signed,
            Value::Unsigned(_) => FieldKind::Unsigned,
            Value::Float(_) => FieldKind::Float,
            Value::Text(_) => FieldKind::Text,
            Value::Bytes(_) => FieldKind::Bytes,
        };
        let fields = &mut self.schema.event_classes[class.index()].fields;
        let known = fields
            .iter()
            .position(|field| field.name == name && field.scope == scope);
        let position = known.unwrap_or_else(|| {
            fields.push(Field {
                name: name.to_owned(),
                scope,
                kind,
            });
            fields.len() - 1
        });
        if fields[position].kind != kind {
            return Err("the field has a value of another kind in an earlier line");
        }
        if values.len() <= position {
            values.resize(position + 1, None);
        }
        values[position] = Some(value);
        Ok(())
    }
}

/// The words of a line up to a comment; blanks inside quotes do not part words.
fn words(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                word.push(c);
            }
            '#' if !quoted && word.is_empty() => break,
            c if c.is_whitespace() && !quoted => words.extend(take_word(&mut word)),
            c => word.push(c),
        }
    }
    if quoted {
        return Err("a quote is not closed");
    }
    words.extend(take_word(&mut word));
    Ok(words)
}

fn take_word(word: &mut String) -> Option<String> {
    (!word.is_empty()).then(|| std::mem::take(word))
}

fn value(text: &str) -> Value {
    if let Some(text) = text.strip_prefix('"') {
        return Value::Text(text.trim_end_matches('"').to_owned());
    }
    if let Some(number) = text
        .strip_prefix("0x")
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
    {
        return Value::Unsigned(number);
    }
    if let Some(bytes) = text.strip_prefix("hex:").and_then(bytes) {
        return Value::Bytes(bytes);
    }
    if let Ok(number) = text.parse() {
        return Value::Signed(number);
    }
    match text.parse() {
        Ok(number) if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
            Value::Float(number)
        }
        _ => Value::Text(text.to_owned()),
    }
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pairs = (0..digits.len()).step_by(2);
    let byte = |begin| u8::from_str_radix(digits.get(begin..begin + 2)?, 16).ok();
    pairs.map(byte).collect()
}
