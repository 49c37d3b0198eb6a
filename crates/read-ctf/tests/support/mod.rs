//! Layouts as short text, so that tests show what a metadata text means at a glance.
//!
//! `u27le@1` is an unsigned integer of 27 bits, little endian, aligned to 1 bit; `->r0` keeps its
//! value in register 0; `=ClockTimestamp` is its role; `~` says that its bits are reversed.

#![allow(dead_code)]

pub mod walked;

use std::fmt::Write;

use slowpath_model::DisplayBase;
use slowpath_read_ctf::layout::{
    ByteOrder, ClockLayout, Encoding, EnumerationLabel, FieldLayout, IntegerMeaning, Role,
    StreamLayout, StructureLayout, TraceLayout,
};
use slowpath_read_ctf::metadata::{Metadata, parse};
use slowpath_source::NamedBytes;

/// Parses a text that must be understood.
pub fn understood(text: &str) -> Metadata {
    parse(&NamedBytes::new("metadata", text.to_owned()))
        .unwrap_or_else(|fault| panic!("{fault}\n{text}"))
}

/// What is wrong with a text: `LINE:COLUMN: MESSAGE`.
pub fn fault(text: &str) -> String {
    match parse(&NamedBytes::new("metadata", text.to_owned())) {
        Ok(metadata) => panic!("understood:\n{}", layout(&metadata.layout)),
        Err(fault) => {
            let (line, column) = fault.place.line.expect("a place in the text");
            format!("{line}:{column}: {}", fault.message)
        }
    }
}

/// The notes on a text: `LINE:COLUMN: MESSAGE` each.
pub fn notes(metadata: &Metadata) -> Vec<String> {
    let shown = |note: &slowpath_model::Diagnostic| {
        let (line, column) = note.place.line.expect("a place in the text");
        format!("{line}:{column}: {}", note.message)
    };
    metadata.diagnostics.iter().map(shown).collect()
}

/// Everything but events, one line each.
pub fn layout(trace: &TraceLayout) -> String {
    let mut text = String::new();
    let mut line = |name: &str, said: String| writeln!(text, "{name} {said}").expect("text grows");
    for clock in &trace.clocks {
        line("clock", self::clock(clock));
    }
    if let Some(header) = &trace.packet_header {
        line("packet-header", structure(header));
    }
    for stream in &trace.streams {
        let clock = stream.clock.map(|clock| format!(" clock {clock}"));
        line(
            "stream",
            format!("{}{}", stream.id, clock.unwrap_or_default()),
        );
        for (name, part) in parts(stream) {
            line(name, structure(part));
        }
        for event in &stream.events {
            line("event", format!("{} {}", event.id, event.name));
            let parts = [
                ("  context", &event.specific_context),
                ("  fields", &event.payload),
            ];
            for (name, part) in parts {
                if let Some(part) = part {
                    line(name, structure(part));
                }
            }
        }
    }
    text
}

fn parts(stream: &StreamLayout) -> impl Iterator<Item = (&'static str, &StructureLayout)> {
    [
        ("packet-context", &stream.packet_context),
        ("event-header", &stream.event_header),
        ("event-context", &stream.common_context),
    ]
    .into_iter()
    .filter_map(|(name, part)| Some((name, part.as_ref()?)))
}

fn clock(clock: &ClockLayout) -> String {
    let ClockLayout {
        name,
        frequency,
        offset_seconds,
        offset_cycles,
        ..
    } = clock;
    format!("{name} {frequency} Hz from {offset_seconds} s {offset_cycles}")
}

/// A structure: `{name: class, ...}@alignment`.
pub fn structure(structure: &StructureLayout) -> String {
    let member = |name: &str, class: &FieldLayout| format!("{name}: {}", field(class));
    let members = structure
        .members
        .iter()
        .map(|inner| member(&inner.name, &inner.class));
    format!(
        "{{{}}}@{}",
        members.collect::<Vec<_>>().join(", "),
        structure.alignment
    )
}

fn field(class: &FieldLayout) -> String {
    match class {
        FieldLayout::Integer(integer) => {
            let mut text = String::new();
            let sign = if integer.signed { "i" } else { "u" };
            let reversed = if integer.reversed_bits { "~" } else { "" };
            let order = order(integer.byte_order);
            write!(
                text,
                "{sign}{}{order}{reversed}@{}",
                integer.bits, integer.alignment
            )
            .expect("text grows");
            text += base(integer.base);
            text += &match &integer.meaning {
                IntegerMeaning::Number => String::new(),
                IntegerMeaning::Boolean => " bool".to_owned(),
                IntegerMeaning::Enumeration(list) => format!(" enum{}", labels(list)),
                IntegerMeaning::BitArray(list) => format!(" bits{}", labels(list)),
            };
            text + &kept(integer.keep.map(|register| register.0)) + &role(integer.role)
        }
        FieldLayout::VariableInteger(integer) => {
            let mut text = if integer.signed { "vi" } else { "vu" }.to_owned() + base(integer.base);
            if let Some(list) = &integer.labels {
                text = text + " enum" + &labels(list);
            }
            text + &kept(integer.keep.map(|register| register.0)) + &role(integer.role)
        }
        FieldLayout::Float(float) => {
            let reversed = if float.reversed_bits { "~" } else { "" };
            format!(
                "f{}{}{reversed}@{}",
                float.bits,
                order(float.byte_order),
                float.alignment
            )
        }
        FieldLayout::Text(text) => format!("text{}", encoding(text.encoding)),
        FieldLayout::StaticText {
            length,
            encoding,
            alignment,
        } => {
            format!("text[{length}]{}@{alignment}", self::encoding(*encoding))
        }
        FieldLayout::DynamicText {
            length,
            encoding,
            alignment,
        } => {
            format!(
                "text[r{}]{}@{alignment}",
                length.0,
                self::encoding(*encoding)
            )
        }
        FieldLayout::StaticArray {
            length,
            element,
            alignment,
            role,
        } => {
            format!(
                "[{length}]@{alignment} {}{}",
                field(element),
                self::role(*role)
            )
        }
        FieldLayout::DynamicArray {
            length,
            element,
            alignment,
        } => {
            format!("[r{}]@{alignment} {}", length.0, field(element))
        }
        FieldLayout::StaticBlob { length, role } => format!("blob[{length}]{}", self::role(*role)),
        FieldLayout::DynamicBlob { length } => format!("blob[r{}]", length.0),
        FieldLayout::Structure(inner) => structure(inner),
        FieldLayout::Variant(variant) => {
            let option = |name: &str, ranges: &[(i128, i128)], class| {
                format!("{name}({}): {}", self::ranges(ranges), field(class))
            };
            let options = variant.options.iter();
            let options = options.map(|inner| option(&inner.name, &inner.ranges, &inner.class));
            let sign = if variant.selector_signed {
                "signed "
            } else {
                ""
            };
            format!(
                "<{sign}r{}>{{{}}}",
                variant.selector.0,
                options.collect::<Vec<_>>().join(", ")
            )
        }
        FieldLayout::Optional(optional) => {
            let sign = if optional.selector_signed {
                "signed "
            } else {
                ""
            };
            format!(
                "?{sign}r{}({}) {}",
                optional.selector.0,
                ranges(&optional.ranges),
                field(&optional.class)
            )
        }
    }
}

fn order(order: ByteOrder) -> &'static str {
    match order {
        ByteOrder::Little => "le",
        ByteOrder::Big => "be",
    }
}

fn base(base: DisplayBase) -> &'static str {
    match base {
        DisplayBase::Binary => " bin",
        DisplayBase::Octal => " oct",
        DisplayBase::Decimal => "",
        DisplayBase::Hexadecimal => " hex",
    }
}

fn encoding(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Utf8 => "",
        Encoding::Utf16Le => " utf16le",
        Encoding::Utf16Be => " utf16be",
        Encoding::Utf32Le => " utf32le",
        Encoding::Utf32Be => " utf32be",
    }
}

fn labels(labels: &[EnumerationLabel]) -> String {
    let label = |label: &EnumerationLabel| format!("{}({})", label.label, ranges(&label.ranges));
    format!(
        "[{}]",
        labels.iter().map(label).collect::<Vec<_>>().join(" ")
    )
}

fn ranges(ranges: &[(i128, i128)]) -> String {
    let range = |&(first, last): &(i128, i128)| match (first, last) {
        (first, last) if first == last => first.to_string(),
        (first, last) if last == i128::from(u64::MAX) => format!("{first}.."),
        (first, last) => format!("{first}..{last}"),
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(" ")
}

fn kept(register: Option<u16>) -> String {
    register.map_or_else(String::new, |register| format!(" ->r{register}"))
}

fn role(role: Option<Role>) -> String {
    role.map_or_else(String::new, |role| format!(" ={role:?}"))
}
