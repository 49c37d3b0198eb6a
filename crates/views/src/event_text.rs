//! Events as babeltrace2 prints them (its `sink.text.pretty` with default parameters).

use std::fmt::Write as _;
use std::io::Write as _;

use slowpath_model::{
    DisplayBase, EnumerationValue, EventClassId, FieldVisitor, Scope, Timestamp, shown,
};
use slowpath_session::{EventPlace, OpenedSource};
use slowpath_source::Source;

use crate::local_time::LocalTime;

/// Prints events one line each.
pub struct TextForm<'run> {
    traces: &'run [OpenedSource],
    /// By trace: what stands between the time and the event's name.
    origins: Vec<String>,
    last: Option<Timestamp>,
    clock: LocalTime,
}

impl<'run> TextForm<'run> {
    /// Of these traces, none of whose events was printed yet.
    pub fn new(traces: &'run [OpenedSource]) -> Self {
        Self {
            traces,
            origins: traces.iter().map(origin).collect(),
            last: None,
            clock: LocalTime::default(),
        }
    }

    /// Adds an event's line, with its end, to `line`. `source` is that of the event's trace.
    pub fn write(&mut self, line: &mut Vec<u8>, place: EventPlace, source: &dyn Source) {
        if source.has_clock(place.packet) {
            line.push(b'[');
            self.clock.write(line, place.at);
            line.extend_from_slice(b"] (+");
            match self.last {
                None => line.extend_from_slice(b"?.?????????"),
                Some(last) => {
                    let delta = place.at.since(last).get();
                    write_seconds(line, delta / 1_000_000_000, (delta % 1_000_000_000) as u32);
                }
            }
            line.extend_from_slice(b") ");
            self.last = Some(place.at);
        }
        line.extend_from_slice(self.origins[place.trace].as_bytes());
        match class_name(self.traces, place.trace, place.class) {
            "" => line.extend_from_slice(b"<unknown>"),
            name => line.extend_from_slice(shown(name).as_bytes()),
        }
        line.extend_from_slice(b": ");
        write_fields(line, place, source);
        line.push(b'\n');
    }
}

/// Adds an event's fields, as they stand in its line, to `line`.
pub(crate) fn write_fields(line: &mut Vec<u8>, place: EventPlace, source: &dyn Source) {
    let mut fields = FieldText {
        line,
        first_scope: true,
        levels: Vec::with_capacity(8),
        scope_begin: 0,
        optional_scope: false,
    };
    source.visit(place.packet, place.position, &mut fields);
}

/// The name of an event class of a trace; empty where it has none.
pub fn class_name(traces: &[OpenedSource], trace: usize, class: EventClassId) -> &str {
    let classes = &traces[trace].source.schema().event_classes;
    classes
        .get(class.index())
        .map_or("", |class| class.name.as_str())
}

/// `host process (pid) `, as far as the trace states them.
fn origin(trace: &OpenedSource) -> String {
    let schema = trace.source.schema();
    let get = |wanted: &str| {
        let mut environment = schema.environment.iter();
        let entry = environment.find(|(key, _)| key == wanted);
        entry
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    };
    let mut text = schema.host.clone();
    if let Some(process) = get("procname") {
        if !text.is_empty() {
            text.push(':');
        }
        text.push_str(process);
    }
    if let Some(pid) = get("vpid") {
        if !text.is_empty() {
            text.push(':');
        }
        let _ = write!(text, "({pid})");
    }
    if !text.is_empty() {
        text.push(' ');
    }
    shown(&text).into_owned()
}

fn write_seconds(line: &mut Vec<u8>, seconds: u64, nanoseconds: u32) {
    push_decimal(line, seconds);
    line.push(b'.');
    let mut digits = [b'0'; 9];
    let mut rest = nanoseconds;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    line.extend_from_slice(&digits);
}

fn push_decimal(line: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut begin = digits.len();
    loop {
        begin -= 1;
        digits[begin] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    line.extend_from_slice(&digits[begin..]);
}

/// What is open around the next value.
#[derive(Clone, Copy)]
enum Level {
    /// Members, of which so many have been printed.
    Members(u64),
    /// Elements of an array, of which so many have been printed.
    Elements(u64),
    /// The one value of a variant.
    Variant,
}

/// Prints fields into a line.
struct FieldText<'line> {
    line: &'line mut Vec<u8>,
    first_scope: bool,
    levels: Vec<Level>,
    scope_begin: usize,
    /// The scope is not printed when it turns out to have no member to show.
    optional_scope: bool,
}

impl FieldText<'_> {
    /// Before an element of an array: its number.
    fn before_value(&mut self) {
        if let Some(Level::Elements(printed)) = self.levels.last_mut() {
            let number = *printed;
            *printed += 1;
            if number > 0 {
                self.line.extend_from_slice(b",");
            }
            self.line.extend_from_slice(b" [");
            push_decimal(self.line, number);
            self.line.extend_from_slice(b"] = ");
        }
    }

    fn close(&mut self, end: &[u8]) {
        self.levels.pop();
        self.line.extend_from_slice(end);
    }

    fn unsigned_number(&mut self, value: u64, bits: u32, base: DisplayBase) {
        if base == DisplayBase::Decimal {
            push_decimal(self.line, value);
        } else {
            self.based(value, bits, base, false);
        }
    }

    fn signed_number(&mut self, value: i64, bits: u32, base: DisplayBase) {
        if base != DisplayBase::Decimal {
            return self.based(value as u64, bits, base, true);
        }
        if value < 0 {
            self.line.push(b'-');
        }
        push_decimal(self.line, value.unsigned_abs());
    }

    /// An integer in a base other than ten, as many digits as it has bits.
    fn based(&mut self, value: u64, bits: u32, base: DisplayBase, signed: bool) {
        let bits = bits.clamp(1, 64);
        let digits_mask = |per_digit: u32| {
            let rounded = bits.div_ceil(per_digit) * per_digit;
            if rounded >= 64 {
                u64::MAX
            } else {
                (1 << rounded) - 1
            }
        };
        let _ = match base {
            DisplayBase::Decimal => write!(self.line, "{value}"),
            DisplayBase::Hexadecimal => write!(self.line, "0x{:X}", value & digits_mask(4)),
            DisplayBase::Octal if signed => write!(self.line, "0{:o}", value & digits_mask(3)),
            DisplayBase::Octal => write!(self.line, "0{value:o}"),
            DisplayBase::Binary => {
                let value = value & digits_mask(1);
                write!(self.line, "0b{value:0width$b}", width = bits as usize)
            }
        };
    }
}

impl FieldVisitor for FieldText<'_> {
    fn scope(&mut self, scope: Scope) {
        self.scope_begin = self.line.len();
        self.optional_scope = scope == Scope::PacketContext;
        if !self.first_scope {
            self.line.extend_from_slice(b", ");
        }
        self.line.push(b'{');
        self.levels.push(Level::Members(0));
    }

    fn end_scope(&mut self) {
        let empty = matches!(self.levels.last(), Some(Level::Members(0)));
        self.levels.clear();
        if empty && self.optional_scope {
            self.line.truncate(self.scope_begin);
            return;
        }
        self.line.extend_from_slice(b" }");
        self.first_scope = false;
    }

    fn name(&mut self, name: &str) {
        if let Some(Level::Members(printed)) = self.levels.last_mut() {
            if *printed > 0 {
                self.line.push(b',');
            }
            *printed += 1;
        }
        self.line.push(b' ');
        self.line.extend_from_slice(shown(name).as_bytes());
        self.line.extend_from_slice(b" = ");
    }

    fn unsigned(&mut self, value: u64, bits: u32, base: DisplayBase) {
        self.before_value();
        self.unsigned_number(value, bits, base);
    }

    fn signed(&mut self, value: i64, bits: u32, base: DisplayBase) {
        self.before_value();
        self.signed_number(value, bits, base);
    }

    fn boolean(&mut self, value: bool) {
        self.before_value();
        let text: &[u8] = if value { b"true" } else { b"false" };
        self.line.extend_from_slice(text);
    }

    fn enumeration(
        &mut self,
        value: EnumerationValue,
        bits: u32,
        base: DisplayBase,
        labels: &mut dyn Iterator<Item = &str>,
    ) {
        self.before_value();
        self.line.extend_from_slice(b"( ");
        match labels.next() {
            None => self.line.extend_from_slice(b"<unknown>"),
            Some(first) => {
                write_quoted(self.line, first.as_bytes());
                for label in labels {
                    self.line.extend_from_slice(b", ");
                    write_quoted(self.line, label.as_bytes());
                }
            }
        }
        self.line.extend_from_slice(b" : container = ");
        match value {
            EnumerationValue::Unsigned(value) => self.unsigned_number(value, bits, base),
            EnumerationValue::Signed(value) => self.signed_number(value, bits, base),
        }
        self.line.extend_from_slice(b" )");
    }

    fn bit_array(&mut self, value: u64, _bits: u32, _labels: &mut dyn Iterator<Item = &str>) {
        self.before_value();
        let _ = write!(self.line, "0x{value:X}");
    }

    fn float(&mut self, value: f64, _single: bool) {
        self.before_value();
        write_general_float(self.line, value);
    }

    fn text(&mut self, value: &[u8]) {
        self.before_value();
        write_quoted(self.line, value);
    }

    fn blob(&mut self, value: &[u8]) {
        self.begin_array(value.len() as u64, false);
        for &byte in value {
            self.unsigned(u64::from(byte), 8, DisplayBase::Hexadecimal);
        }
        self.end_array();
    }

    fn begin_structure(&mut self) {
        self.before_value();
        self.line.push(b'{');
        self.levels.push(Level::Members(0));
    }

    fn end_structure(&mut self) {
        self.close(b" }");
    }

    fn begin_array(&mut self, _length: u64, _dynamic: bool) {
        self.before_value();
        self.line.push(b'[');
        self.levels.push(Level::Elements(0));
    }

    fn end_array(&mut self) {
        self.close(b" ]");
    }

    fn begin_variant(&mut self, _option: &str) {
        self.before_value();
        self.line.extend_from_slice(b"{ ");
        self.levels.push(Level::Variant);
    }

    fn end_variant(&mut self) {
        self.close(b" }");
    }

    fn begin_optional(&mut self) {
        self.begin_variant("");
    }

    fn end_optional(&mut self) {
        self.end_variant();
    }

    fn nothing(&mut self) {
        self.before_value();
        self.line.extend_from_slice(b"<none>");
    }
}

/// Text in quotes, escaped as babeltrace2 does.
fn write_quoted(line: &mut Vec<u8>, text: &[u8]) {
    line.push(b'"');
    for &byte in text {
        match byte {
            b'\\' | b'\'' | b'"' | b'?' => line.extend_from_slice(&[b'\\', byte]),
            0x07 => line.extend_from_slice(b"\\a"),
            0x08 => line.extend_from_slice(b"\\b"),
            0x1b => line.extend_from_slice(b"\\e"),
            0x0c => line.extend_from_slice(b"\\f"),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            b'\t' => line.extend_from_slice(b"\\t"),
            0x0b => line.extend_from_slice(b"\\v"),
            0..0x20 | 0x7f => {
                let _ = write!(line, "\\x{byte:02x}");
            }
            _ => line.push(byte),
        }
    }
    line.push(b'"');
}

/// A number as C's `%g` prints it: six significant digits, no trailing zeros.
fn write_general_float(line: &mut Vec<u8>, value: f64) {
    if !value.is_finite() {
        let text = match (value.is_nan(), value.is_sign_negative()) {
            (true, false) => "nan",
            (true, true) => "-nan",
            (false, false) => "inf",
            (false, true) => "-inf",
        };
        return line.extend_from_slice(text.as_bytes());
    }
    let scientific = format!("{value:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    let text = if (-4..6).contains(&exponent) {
        trim(&format!("{value:.*}", (5 - exponent).max(0) as usize))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trim(mantissa), exponent.abs())
    };
    line.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_as_c_prints_them() {
        let check = |value: f64, expected: &str| {
            let mut line = Vec::new();
            write_general_float(&mut line, value);
            assert_eq!(String::from_utf8(line).unwrap(), expected);
        };
        check(0.0, "0");
        check(-1.5, "-1.5");
        check(2.345_678_9, "2.34568");
        check(1e6, "1e+06");
        check(123_456.0, "123456");
        check(0.0001, "0.0001");
        check(0.000_012_345, "1.2345e-05");
        check(999_999.5, "1e+06");
        check(f64::NEG_INFINITY, "-inf");
    }

    #[test]
    fn text_is_escaped() {
        let mut line = Vec::new();
        write_quoted(&mut line, b"I'm \"fine\", you?\n\x01\\");
        assert_eq!(line, br#""I\'m \"fine\", you\?\n\x01\\""#);
    }
}
