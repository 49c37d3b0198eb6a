//! Events as JSON lines: `{"ns", "stream", "cpu", "name", "context": {…}, "fields": {…}}`.
//!
//! Integers are numbers, enumerations `{"value", "labels"}`, text is text (bytes that are not UTF-8
//! are replaced), binary objects are arrays of numbers. Floats that are no numbers are `"NaN"`, `"Infinity"`, `"-Infinity"`.

use std::io::Write as _;

use slowpath_model::{DisplayBase, EnumerationValue, FieldVisitor, Scope};
use slowpath_session::{EventPlace, OpenedSource};
use slowpath_source::Source;

use slowpath_views::class_name;

/// Prints events one JSON object each.
pub(super) struct JsonLines<'run> {
    traces: &'run [OpenedSource],
}

impl<'run> JsonLines<'run> {
    pub(super) fn new(traces: &'run [OpenedSource]) -> Self {
        Self { traces }
    }

    pub(super) fn write(&mut self, line: &mut Vec<u8>, place: EventPlace, source: &dyn Source) {
        let packet = &source.packets()[place.packet.index()];
        let _ = write!(line, "{{\"ns\":{}", place.at.ns());
        let host = &source.schema().host;
        if !host.is_empty() {
            line.extend_from_slice(b",\"host\":");
            write_text(line, host);
        }
        line.extend_from_slice(b",\"stream\":");
        write_text(line, &source.streams()[packet.stream.index()].name);
        if let Some(cpu) = packet.cpu {
            let _ = write!(line, ",\"cpu\":{cpu}");
        }
        line.extend_from_slice(b",\"name\":");
        write_text(line, class_name(self.traces, place.trace, place.class));
        line.extend_from_slice(b",\"context\":{");
        let mut fields = FieldJson {
            line,
            need_comma: false,
            in_fields: false,
        };
        source.visit(place.packet, place.position, &mut fields);
        if !fields.in_fields {
            fields.open_fields();
        }
        line.extend_from_slice(b"}}\n");
    }
}

fn write_text(line: &mut Vec<u8>, text: &str) {
    // Writing into a vector cannot fail.
    let _ = serde_json::to_writer(line, text);
}

/// Prints fields into a line.
struct FieldJson<'line> {
    line: &'line mut Vec<u8>,
    need_comma: bool,
    in_fields: bool,
}

impl FieldJson<'_> {
    fn open_fields(&mut self) {
        self.line.extend_from_slice(b"},\"fields\":{");
        self.need_comma = false;
        self.in_fields = true;
    }

    fn comma(&mut self) {
        if self.need_comma {
            self.line.push(b',');
        }
        self.need_comma = true;
    }

    fn value(&mut self, text: std::fmt::Arguments<'_>) {
        self.comma();
        let _ = self.line.write_fmt(text);
    }

    fn labels(&mut self, labels: &mut dyn Iterator<Item = &str>) {
        self.line.extend_from_slice(b",\"labels\":[");
        for (position, label) in labels.enumerate() {
            if position > 0 {
                self.line.push(b',');
            }
            write_text(self.line, label);
        }
        self.line.extend_from_slice(b"]}");
    }

    fn open(&mut self, bracket: u8) {
        self.comma();
        self.line.push(bracket);
        self.need_comma = false;
    }

    fn close(&mut self, bracket: u8) {
        self.line.push(bracket);
        self.need_comma = true;
    }
}

impl FieldVisitor for FieldJson<'_> {
    fn scope(&mut self, scope: Scope) {
        if scope == Scope::Payload {
            self.open_fields();
        }
    }

    fn end_scope(&mut self) {}

    fn name(&mut self, name: &str) {
        self.comma();
        write_text(self.line, name);
        self.line.push(b':');
        self.need_comma = false;
    }

    fn unsigned(&mut self, value: u64, _bits: u32, _base: DisplayBase) {
        self.value(format_args!("{value}"));
    }

    fn signed(&mut self, value: i64, _bits: u32, _base: DisplayBase) {
        self.value(format_args!("{value}"));
    }

    fn boolean(&mut self, value: bool) {
        self.value(format_args!("{value}"));
    }

    fn enumeration(
        &mut self,
        value: EnumerationValue,
        _bits: u32,
        _base: DisplayBase,
        labels: &mut dyn Iterator<Item = &str>,
    ) {
        match value {
            EnumerationValue::Unsigned(value) => self.value(format_args!("{{\"value\":{value}")),
            EnumerationValue::Signed(value) => self.value(format_args!("{{\"value\":{value}")),
        }
        self.labels(labels);
    }

    fn bit_array(&mut self, value: u64, _bits: u32, labels: &mut dyn Iterator<Item = &str>) {
        self.value(format_args!("{{\"value\":{value}"));
        self.labels(labels);
    }

    fn float(&mut self, value: f64, _single: bool) {
        // JSON has no numbers for these; as text, as protobuf's JSON has them, they are told apart.
        match serde_json::Number::from_f64(value) {
            Some(number) => self.value(format_args!("{number}")),
            None if value.is_nan() => self.value(format_args!("\"NaN\"")),
            None if value > 0.0 => self.value(format_args!("\"Infinity\"")),
            None => self.value(format_args!("\"-Infinity\"")),
        }
    }

    fn text(&mut self, value: &[u8]) {
        self.comma();
        write_text(self.line, &String::from_utf8_lossy(value));
    }

    fn blob(&mut self, value: &[u8]) {
        self.open(b'[');
        for byte in value {
            self.value(format_args!("{byte}"));
        }
        self.close(b']');
    }

    fn begin_structure(&mut self) {
        self.open(b'{');
    }

    fn end_structure(&mut self) {
        self.close(b'}');
    }

    fn begin_array(&mut self, _length: u64, _dynamic: bool) {
        self.open(b'[');
    }

    fn end_array(&mut self) {
        self.close(b']');
    }

    fn begin_variant(&mut self, option: &str) {
        self.open(b'{');
        self.name(option);
    }

    fn end_variant(&mut self) {
        self.close(b'}');
    }

    fn nothing(&mut self) {
        self.value(format_args!("null"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_that_json_has_no_numbers_for_are_told_apart() {
        let mut line = Vec::new();
        let mut fields = FieldJson {
            line: &mut line,
            need_comma: false,
            in_fields: true,
        };
        for value in [1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            fields.float(value, false);
        }
        let line = String::from_utf8_lossy(&line);
        assert_eq!(line, r#"1.5,"NaN","Infinity","-Infinity""#);
    }
}
