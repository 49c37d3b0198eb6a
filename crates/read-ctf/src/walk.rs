//! Walks a field of any class, member by member, telling a visitor what it sees.
//!
//! For printing, and for the classes that no plan can decode straight. Depth is bounded by the
//! layout, length by the packet: every element takes at least a bit or is not visited one by one.

use slowpath_model::{DisplayBase, EnumerationValue, FieldVisitor};

use crate::bits;
use crate::layout::{
    Encoding, EnumerationLabel, FieldLayout, IntegerLayout, IntegerMeaning, StructureLayout,
};
use crate::machine::{Damage, Machine, no_option};
use crate::plan::register_target;

/// Walks the members of a scope or structure; `hidden` members are decoded but not told.
pub(crate) fn members<V: FieldVisitor + ?Sized>(
    machine: &mut Machine<'_>,
    structure: &StructureLayout,
    visitor: &mut V,
    hidden: fn(&FieldLayout) -> bool,
) -> Result<(), Damage> {
    machine.align(structure.alignment)?;
    for member in &structure.members {
        if hidden(&member.class) {
            field(machine, &member.class, &mut Decoding)?;
        } else {
            visitor.name(&member.name);
            field(machine, &member.class, visitor)?;
        }
    }
    Ok(())
}

/// Walks one field.
pub(crate) fn field<V: FieldVisitor + ?Sized>(
    machine: &mut Machine<'_>,
    class: &FieldLayout,
    visitor: &mut V,
) -> Result<(), Damage> {
    if !matches!(class, FieldLayout::Structure(_)) {
        machine.align(class.alignment())?;
    }
    match class {
        FieldLayout::Integer(layout) => integer(machine, layout, visitor)?,
        FieldLayout::VariableInteger(layout) => {
            let (begin, end) = ((machine.at / 8) as usize, (machine.end / 8) as usize);
            let (value, size) = bits::read_leb128(machine.bytes, begin, end, layout.signed)
                .ok_or(Damage::EndlessInteger)?;
            machine.at += size as u64 * 8;
            if let Some(register) = layout.keep {
                machine.values[usize::from(register_target(register))] = value;
            }
            match &layout.labels {
                Some(labels) => {
                    enumeration(visitor, value, (64, layout.base), layout.signed, labels);
                }
                None if layout.signed => visitor.signed(value as i64, 64, layout.base),
                None => visitor.unsigned(value, 64, layout.base),
            }
        }
        FieldLayout::Float(layout) => {
            let at = take(machine, u64::from(layout.bits))?;
            let narrow = layout.bits.min(64);
            let (order, reversed) = (layout.byte_order, layout.reversed_bits);
            let word = bits::read(machine.bytes, at, narrow, order, reversed);
            let number = f64::from_bits(bits::widen_float(word, narrow));
            visitor.float(number, layout.bits == 32);
        }
        FieldLayout::Text(layout) => text_to_terminator(machine, layout.encoding, visitor)?,
        FieldLayout::StaticText {
            length, encoding, ..
        } => text_of_length(machine, *length, *encoding, visitor)?,
        FieldLayout::DynamicText {
            length, encoding, ..
        } => {
            let length = machine.values[usize::from(register_target(*length))];
            text_of_length(machine, length, *encoding, visitor)?;
        }
        FieldLayout::StaticArray {
            length, element, ..
        } => array(machine, *length, false, element, visitor)?,
        FieldLayout::DynamicArray {
            length, element, ..
        } => {
            let length = machine.values[usize::from(register_target(*length))];
            array(machine, length, true, element, visitor)?;
        }
        FieldLayout::StaticBlob { length, .. } => blob(machine, *length, visitor)?,
        FieldLayout::DynamicBlob { length } => {
            let length = machine.values[usize::from(register_target(*length))];
            blob(machine, length, visitor)?;
        }
        FieldLayout::Structure(structure) => {
            visitor.begin_structure();
            members(machine, structure, visitor, |_| false)?;
            visitor.end_structure();
        }
        FieldLayout::Variant(variant) => {
            let word = machine.values[usize::from(register_target(variant.selector))];
            let selector = selector(word, variant.selector_signed);
            let option = variant
                .options
                .iter()
                .find(|option| within(&option.ranges, selector));
            let option = option.ok_or(no_option(selector))?;
            visitor.begin_variant(&option.name);
            field(machine, &option.class, visitor)?;
            visitor.end_variant();
        }
        FieldLayout::Optional(optional) => {
            let word = machine.values[usize::from(register_target(optional.selector))];
            if within(&optional.ranges, selector(word, optional.selector_signed)) {
                visitor.begin_optional();
                field(machine, &optional.class, visitor)?;
                visitor.end_optional();
            } else {
                visitor.nothing();
            }
        }
    }
    Ok(())
}

/// A selector's value, as ranges are written.
pub(crate) fn selector(word: u64, signed: bool) -> i128 {
    match signed {
        true => i128::from(word as i64),
        false => i128::from(word),
    }
}

fn within(ranges: &[(i128, i128)], value: i128) -> bool {
    ranges
        .iter()
        .any(|&(first, last)| (first..=last).contains(&value))
}

/// The bit at which a field of `bits` bits begins; the position goes past it.
fn take(machine: &mut Machine<'_>, bits: u64) -> Result<u64, Damage> {
    let at = machine.at;
    if bits > machine.end.saturating_sub(at) {
        return Err(Damage::PastEnd { bits });
    }
    machine.at += bits;
    Ok(at)
}

fn integer<V: FieldVisitor + ?Sized>(
    machine: &mut Machine<'_>,
    layout: &IntegerLayout,
    visitor: &mut V,
) -> Result<(), Damage> {
    let at = take(machine, u64::from(layout.bits))?;
    let (order, reversed) = (layout.byte_order, layout.reversed_bits);
    let mut value = bits::read(machine.bytes, at, layout.bits, order, reversed);
    if layout.signed {
        value = bits::sign_extend(value, layout.bits);
    }
    if let Some(register) = layout.keep {
        machine.values[usize::from(register_target(register))] = value;
    }
    match &layout.meaning {
        IntegerMeaning::Number if layout.signed => {
            visitor.signed(value as i64, layout.bits, layout.base);
        }
        IntegerMeaning::Number => visitor.unsigned(value, layout.bits, layout.base),
        IntegerMeaning::Boolean => visitor.boolean(value != 0),
        IntegerMeaning::Enumeration(labels) => {
            let shown = (layout.bits, layout.base);
            enumeration(visitor, value, shown, layout.signed, labels);
        }
        IntegerMeaning::BitArray(flags) => {
            let active = |flag: &&EnumerationLabel| {
                let bit_set = |bit: i128| (0..64).contains(&bit) && value >> bit & 1 == 1;
                flag.ranges
                    .iter()
                    .any(|&(first, last)| (first..=last.min(63)).any(bit_set))
            };
            let mut labels = flags.iter().filter(active).map(|flag| flag.label.as_str());
            visitor.bit_array(value, layout.bits, &mut labels);
        }
    }
    Ok(())
}

fn enumeration<V: FieldVisitor + ?Sized>(
    visitor: &mut V,
    value: u64,
    (bits, base): (u32, DisplayBase),
    signed: bool,
    labels: &[EnumerationLabel],
) {
    let wide = selector(value, signed);
    let bears = labels.iter().filter(|label| within(&label.ranges, wide));
    let shown = match signed {
        true => EnumerationValue::Signed(value as i64),
        false => EnumerationValue::Unsigned(value),
    };
    visitor.enumeration(
        shown,
        bits,
        base,
        &mut bears.map(|label| label.label.as_str()),
    );
}

fn array<V: FieldVisitor + ?Sized>(
    machine: &mut Machine<'_>,
    length: u64,
    dynamic: bool,
    element: &FieldLayout,
    visitor: &mut V,
) -> Result<(), Damage> {
    let least = least_bits(element);
    if length.saturating_mul(least) > machine.end.saturating_sub(machine.at) {
        return Err(Damage::PastEnd {
            bits: length.saturating_mul(least),
        });
    }
    visitor.begin_array(length, dynamic);
    for _ in 0..length {
        let begin = machine.at;
        field(machine, element, visitor)?;
        if machine.at == begin {
            machine.count_empty_element()?;
        }
    }
    visitor.end_array();
    Ok(())
}

/// A lower bound of the size of a field, in bits.
fn least_bits(class: &FieldLayout) -> u64 {
    match class {
        FieldLayout::Integer(integer) => u64::from(integer.bits),
        FieldLayout::Float(float) => u64::from(float.bits),
        FieldLayout::VariableInteger(_) | FieldLayout::Text(_) => 8,
        FieldLayout::StaticText { length, .. } | FieldLayout::StaticBlob { length, .. } => {
            length.saturating_mul(8)
        }
        FieldLayout::StaticArray {
            length, element, ..
        } => length.saturating_mul(least_bits(element)),
        FieldLayout::Structure(structure) => {
            let members = structure.members.iter();
            let bits = members.map(|member| least_bits(&member.class));
            bits.fold(0, u64::saturating_add)
        }
        FieldLayout::Variant(variant) => {
            let options = variant.options.iter();
            let bits = options.map(|option| least_bits(&option.class));
            bits.min().unwrap_or(0)
        }
        FieldLayout::DynamicText { .. }
        | FieldLayout::DynamicArray { .. }
        | FieldLayout::DynamicBlob { .. }
        | FieldLayout::Optional(_) => 0,
    }
}

fn blob<V: FieldVisitor + ?Sized>(
    machine: &mut Machine<'_>,
    length: u64,
    visitor: &mut V,
) -> Result<(), Damage> {
    visitor.blob(take_bytes(machine, length)?);
    Ok(())
}

fn take_bytes<'packet>(
    machine: &mut Machine<'packet>,
    length: u64,
) -> Result<&'packet [u8], Damage> {
    let at = take(machine, length.saturating_mul(8))?;
    let content = machine.content((at / 8) as usize);
    Ok(content.get(..length as usize).unwrap_or_default())
}

fn text_of_length<V: FieldVisitor + ?Sized>(
    machine: &mut Machine<'_>,
    length: u64,
    encoding: Encoding,
    visitor: &mut V,
) -> Result<(), Damage> {
    let raw = take_bytes(machine, length)?;
    let end = terminator(raw, encoding).unwrap_or(raw.len());
    tell_text(&raw[..end], encoding, visitor);
    Ok(())
}

fn text_to_terminator<V: FieldVisitor + ?Sized>(
    machine: &mut Machine<'_>,
    encoding: Encoding,
    visitor: &mut V,
) -> Result<(), Damage> {
    let content = machine.content((machine.at / 8) as usize);
    let end = terminator(content, encoding).ok_or(Damage::EndlessText)?;
    tell_text(&content[..end], encoding, visitor);
    machine.at += (end + unit_bytes(encoding)) as u64 * 8;
    Ok(())
}

fn unit_bytes(encoding: Encoding) -> usize {
    match encoding {
        Encoding::Utf8 => 1,
        Encoding::Utf16Le | Encoding::Utf16Be => 2,
        Encoding::Utf32Le | Encoding::Utf32Be => 4,
    }
}

/// Where the first code unit of zero begins.
fn terminator(raw: &[u8], encoding: Encoding) -> Option<usize> {
    let size = unit_bytes(encoding);
    if size == 1 {
        return memchr::memchr(0, raw);
    }
    let is_zero = |unit: &[u8]| unit.iter().all(|&byte| byte == 0);
    let position = raw.chunks_exact(size).position(is_zero)?;
    Some(position * size)
}

fn tell_text<V: FieldVisitor + ?Sized>(raw: &[u8], encoding: Encoding, visitor: &mut V) {
    let pairs = |order: fn([u8; 2]) -> u16| {
        let units = raw.chunks_exact(2).map(|unit| order([unit[0], unit[1]]));
        char::decode_utf16(units)
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect::<String>()
    };
    let quads = |order: fn([u8; 4]) -> u32| {
        raw.chunks_exact(4)
            .map(|unit| order([unit[0], unit[1], unit[2], unit[3]]))
            .map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect::<String>()
    };
    match encoding {
        Encoding::Utf8 => visitor.text(raw),
        Encoding::Utf16Le => visitor.text(pairs(u16::from_le_bytes).as_bytes()),
        Encoding::Utf16Be => visitor.text(pairs(u16::from_be_bytes).as_bytes()),
        Encoding::Utf32Le => visitor.text(quads(u32::from_le_bytes).as_bytes()),
        Encoding::Utf32Be => visitor.text(quads(u32::from_be_bytes).as_bytes()),
    }
}

/// Decodes every value and tells nobody.
pub(crate) struct Decoding;

impl FieldVisitor for Decoding {
    fn unsigned(&mut self, value: u64, _: u32, _: DisplayBase) {
        std::hint::black_box(value);
    }
    fn signed(&mut self, value: i64, _: u32, _: DisplayBase) {
        std::hint::black_box(value);
    }
    fn float(&mut self, value: f64, _: bool) {
        std::hint::black_box(value);
    }
}
