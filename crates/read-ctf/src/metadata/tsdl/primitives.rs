//! TSDL's scalar types: `integer`, `floating_point` and `string` with their attributes.

use std::rc::Rc;

use super::values::{Said, Value};
use super::{Fault, Parser};
use crate::layout::{ByteOrder, Encoding, FloatLayout, IntegerMeaning};
use crate::metadata::draft::{Draft, DraftClass, DraftInteger, alignment};
use slowpath_model::DisplayBase;

impl Parser<'_, '_> {
    /// What follows `integer`.
    pub(super) fn integer(&mut self, at: usize) -> Result<Rc<Draft>, Fault> {
        let mut bits = None;
        let mut align = None;
        let mut integer = DraftInteger {
            bits: 0,
            signed: false,
            byte_order: None,
            reversed_bits: false,
            alignment: 1,
            base: DisplayBase::Decimal,
            meaning: IntegerMeaning::Number,
            clock: None,
            character: false,
            roles: Vec::new(),
        };
        self.attributes(|parser, name_at, name, value| {
            match name {
                "size" => {
                    let size = value.unsigned(name)?;
                    if !(1..=64).contains(&size) {
                        return Err(value.expected(name, "1 to 64 bits"));
                    }
                    bits = Some(size as u32);
                }
                "align" => align = Some(alignment(value.at, value.unsigned(name)?.into())?),
                "signed" => integer.signed = value.boolean(name)?,
                "byte_order" => integer.byte_order = value.byte_order()?,
                "base" => integer.base = display_base(&value)?,
                "encoding" => integer.character = is_text(&value)?,
                "map" => {
                    let path = value.text(name)?;
                    let clock = path
                        .strip_prefix("clock.")
                        .and_then(|rest| rest.strip_suffix(".value"));
                    let clock = clock.ok_or_else(|| value.expected(name, "`clock.NAME.value`"))?;
                    integer.clock = Some(clock.to_owned());
                }
                _ => parser.ignore(name_at, name, "an integer"),
            }
            Ok(())
        })?;
        let bits = bits.ok_or_else(|| Fault::new(at, "the integer has no `size`"))?;
        let usual = if bits.is_multiple_of(8) { 8 } else { 1 };
        integer.bits = bits;
        integer.alignment = align.unwrap_or(usual);
        Draft::new(at, DraftClass::Integer(integer))
    }

    /// What follows `floating_point`.
    pub(super) fn floating_point(&mut self, at: usize) -> Result<Rc<Draft>, Fault> {
        let (mut exponent, mut mantissa) = (None, None);
        let mut align = None;
        let mut byte_order = None;
        self.attributes(|parser, name_at, name, value| {
            match name {
                "exp_dig" => exponent = Some(value.unsigned(name)?),
                "mant_dig" => mantissa = Some(value.unsigned(name)?),
                "align" => align = Some(alignment(value.at, value.unsigned(name)?.into())?),
                "byte_order" => byte_order = value.byte_order()?,
                _ => parser.ignore(name_at, name, "a floating-point number"),
            }
            Ok(())
        })?;
        let bits = match (exponent, mantissa) {
            (Some(5), Some(11)) => 16,
            (Some(8), Some(24)) => 32,
            (Some(11), Some(53)) => 64,
            (Some(15), Some(113)) => 128,
            _ => {
                let shown = |digits: Option<u64>| {
                    digits.map_or("none".to_owned(), |digits| digits.to_string())
                };
                let (exponent, mantissa) = (shown(exponent), shown(mantissa));
                return Err(Fault::new(
                    at,
                    format!(
                        "expected an IEEE 754 number (`exp_dig` and `mant_dig` 5 and 11, 8 and 24, 11 and 53 or 15 and 113), found {exponent} and {mantissa}"
                    ),
                ));
            }
        };
        let layout = FloatLayout {
            bits,
            byte_order: ByteOrder::Little,
            reversed_bits: false,
            alignment: align.unwrap_or(8),
        };
        Draft::new(at, DraftClass::Float { layout, byte_order })
    }

    /// What follows `string`.
    pub(super) fn string(&mut self, at: usize) -> Result<Rc<Draft>, Fault> {
        if self.sees("{") {
            self.attributes(|parser, name_at, name, value| {
                match name {
                    "encoding" => {
                        is_text(&value)?;
                    }
                    _ => parser.ignore(name_at, name, "a string"),
                }
                Ok(())
            })?;
        }
        let encoding = Encoding::Utf8;
        Draft::new(
            at,
            DraftClass::Text {
                length: None,
                encoding,
            },
        )
    }

    /// Notes an attribute that has no meaning here.
    pub(super) fn ignore(&mut self, at: usize, name: &str, of: &str) {
        self.notes.add(at, || {
            format!("the attribute `{name}` of {of} is not known; it is left out")
        });
    }
}

fn is_text(value: &Value<'_>) -> Result<bool, Fault> {
    match value.text("encoding")?.to_ascii_lowercase().as_str() {
        "utf8" | "utf-8" | "ascii" => Ok(true),
        "none" => Ok(false),
        _ => Err(value.expected("encoding", "`UTF8`, `ASCII` or `none`")),
    }
}

fn display_base(value: &Value<'_>) -> Result<DisplayBase, Fault> {
    let base = match &value.said {
        Said::Number(2) => Some(DisplayBase::Binary),
        Said::Number(8) => Some(DisplayBase::Octal),
        Said::Number(10) => Some(DisplayBase::Decimal),
        Said::Number(16) => Some(DisplayBase::Hexadecimal),
        Said::Number(_) => None,
        Said::Text(name) => match &**name {
            "binary" | "b" => Some(DisplayBase::Binary),
            "octal" | "oct" | "o" => Some(DisplayBase::Octal),
            "decimal" | "dec" | "d" | "i" | "u" => Some(DisplayBase::Decimal),
            "hexadecimal" | "hex" | "x" | "X" | "p" => Some(DisplayBase::Hexadecimal),
            _ => None,
        },
    };
    base.ok_or_else(|| value.expected("base", "2, 8, 10, 16 or the name of such a base"))
}
