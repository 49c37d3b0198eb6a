//! Walking every field of one event, names and all.
//!
//! For printing and exporting, where an analysis's few slots are not enough. A reader calls the
//! visitor in the order of the trace: `scope`, then the fields of that scope, each `name` before
//! its value inside a structure.

use crate::Scope;

/// The base in which a trace asks for an integer to be shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DisplayBase {
    /// Base 2.
    Binary,
    /// Base 8.
    Octal,
    /// Base 10.
    #[default]
    Decimal,
    /// Base 16.
    Hexadecimal,
}

/// Receives the fields of one event in their order. What a visitor does not look at it leaves out.
pub trait FieldVisitor {
    /// The fields that follow stand in `scope`; called once for each scope the event has.
    fn scope(&mut self, _scope: Scope) {}
    /// The scope named last is over.
    fn end_scope(&mut self) {}
    /// The name of the structure member (or scope member) whose value comes next.
    fn name(&mut self, _name: &str) {}
    /// An unsigned integer of `bits` bits.
    fn unsigned(&mut self, _value: u64, _bits: u32, _base: DisplayBase) {}
    /// A signed integer of `bits` bits.
    fn signed(&mut self, _value: i64, _bits: u32, _base: DisplayBase) {}
    /// A boolean.
    fn boolean(&mut self, _value: bool) {}
    /// An enumeration: its integer (`bits` wide, to be shown in `base`) and the labels whose ranges
    /// hold it.
    fn enumeration(
        &mut self,
        _value: EnumerationValue,
        _bits: u32,
        _base: DisplayBase,
        _labels: &mut dyn Iterator<Item = &str>,
    ) {
    }
    /// A bit array: its value and the labels of its active flags.
    fn bit_array(&mut self, _value: u64, _bits: u32, _labels: &mut dyn Iterator<Item = &str>) {}
    /// A floating-point number; `single` when it has 32 bits.
    fn float(&mut self, _value: f64, _single: bool) {}
    /// Text without its terminator; not always UTF-8.
    fn text(&mut self, _value: &[u8]) {}
    /// A binary object.
    fn blob(&mut self, _value: &[u8]) {}
    /// A structure begins.
    fn begin_structure(&mut self) {}
    /// The innermost structure is over.
    fn end_structure(&mut self) {}
    /// An array of `length` elements begins; `dynamic` when its length stands in the trace.
    fn begin_array(&mut self, _length: u64, _dynamic: bool) {}
    /// The innermost array is over.
    fn end_array(&mut self) {}
    /// A variant begins: the chosen option's value follows.
    fn begin_variant(&mut self, _option: &str) {}
    /// The innermost variant is over.
    fn end_variant(&mut self) {}
    /// An optional field that has a value, which follows.
    fn begin_optional(&mut self) {}
    /// The value of the innermost optional field is over.
    fn end_optional(&mut self) {}
    /// An optional field without a value.
    fn nothing(&mut self) {}
}

/// The integer behind an enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnumerationValue {
    /// Of an unsigned enumeration.
    Unsigned(u64),
    /// Of a signed enumeration.
    Signed(i64),
}
