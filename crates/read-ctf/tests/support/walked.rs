//! The values of one event as the walker tells them, and what a decoder must put into its slots.
//!
//! The walker goes through the layout bit by bit and is simple; decode plans are fast. Here they
//! are held against each other.

use std::collections::BTreeMap;

use slowpath_model::{
    DisplayBase, EnumerationValue, Event, Field, FieldKind, FieldVisitor, Scope, Slot,
};

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number as it lies in a slot.
    Number(u64),
    /// A boolean: any number but 0 is true.
    Truth(bool),
    /// Text up to its terminator.
    Text(Vec<u8>),
    /// Bytes.
    Blob(Vec<u8>),
    /// Elements of an array of numbers: value and width in bits.
    Elements(Vec<(u64, u32)>),
    /// Anything else.
    Compound,
}

/// Values by scope (as its name) and field name, as [`Field`] has both.
#[derive(Default)]
pub struct Walked {
    pub values: BTreeMap<(String, String), Value>,
    scope: String,
    prefixes: Vec<String>,
    name: String,
    /// Arrays, and whatever stands inside them, that are open.
    depth: u32,
    elements: Vec<(u64, u32)>,
    only_numbers: bool,
}

impl Walked {
    /// The value of `field`, where the event has one.
    pub fn value(&self, field: &Field) -> Option<&Value> {
        let key = (format!("{:?}", field.scope), field.name.clone());
        self.values.get(&key)
    }

    fn join(&self, name: &str) -> String {
        match self.prefixes.last() {
            Some(prefix) => format!("{prefix}.{name}"),
            None => name.to_owned(),
        }
    }

    fn put(&mut self, value: Value, bits: u32) {
        match value {
            value if self.depth == 0 => {
                let key = (self.scope.clone(), self.name.clone());
                assert_eq!(self.values.insert(key, value), None, "{} twice", self.name);
            }
            Value::Number(number) if self.depth == 1 => self.elements.push((number, bits)),
            Value::Truth(truth) if self.depth == 1 => self.elements.push((truth.into(), bits)),
            _ => self.only_numbers = false,
        }
    }

    fn open(&mut self) {
        self.depth += 1;
        self.only_numbers = false;
    }
}

impl FieldVisitor for Walked {
    fn scope(&mut self, scope: Scope) {
        self.scope = format!("{scope:?}");
    }
    fn end_scope(&mut self) {}
    fn name(&mut self, name: &str) {
        if self.depth == 0 {
            self.name = self.join(name);
        }
    }
    fn unsigned(&mut self, value: u64, bits: u32, _: DisplayBase) {
        self.put(Value::Number(value), bits);
    }
    fn signed(&mut self, value: i64, bits: u32, _: DisplayBase) {
        self.put(Value::Number(value as u64), bits);
    }
    fn boolean(&mut self, value: bool) {
        self.put(Value::Truth(value), 8);
    }
    fn enumeration(
        &mut self,
        value: EnumerationValue,
        bits: u32,
        _: DisplayBase,
        _: &mut dyn Iterator<Item = &str>,
    ) {
        let value = match value {
            EnumerationValue::Unsigned(value) => value,
            EnumerationValue::Signed(value) => value as u64,
        };
        self.put(Value::Number(value), bits);
    }
    fn bit_array(&mut self, value: u64, bits: u32, _: &mut dyn Iterator<Item = &str>) {
        self.put(Value::Number(value), bits);
    }
    fn float(&mut self, value: f64, single: bool) {
        if single && self.depth > 0 {
            self.put(Value::Number((value as f32).to_bits().into()), 32);
        } else {
            self.put(Value::Number(value.to_bits()), 64);
        }
    }
    fn text(&mut self, value: &[u8]) {
        self.put(Value::Text(value.to_vec()), 0);
    }
    fn blob(&mut self, value: &[u8]) {
        self.put(Value::Blob(value.to_vec()), 0);
    }
    fn begin_structure(&mut self) {
        if self.depth > 0 {
            return self.open();
        }
        self.prefixes.push(self.name.clone());
    }
    fn end_structure(&mut self) {
        if self.depth > 0 {
            self.depth -= 1;
        } else {
            self.prefixes.pop();
        }
    }
    fn begin_array(&mut self, _: u64, _: bool) {
        self.open();
        if self.depth == 1 {
            (self.elements, self.only_numbers) = (Vec::new(), true);
        }
    }
    fn end_array(&mut self) {
        self.depth -= 1;
        if self.depth == 0 {
            let elements = std::mem::take(&mut self.elements);
            let value = match self.only_numbers {
                true => Value::Elements(elements),
                false => Value::Compound,
            };
            self.put(value, 0);
        }
    }
    fn begin_variant(&mut self, option: &str) {
        if self.depth > 0 {
            return self.open();
        }
        self.name = format!("{}.{option}", self.name);
    }
    fn end_variant(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }
    fn nothing(&mut self) {}
}

/// Fails unless `slot` of `event` holds what the walker told of `field`.
pub fn assert_same(event: &Event<'_>, slot: Slot, field: &Field, walked: Option<&Value>) {
    let Some(walked) = walked else {
        assert!(!event.has(slot), "{field:?} should be absent");
        assert_eq!(event.unsigned(slot), 0, "{field:?} is absent");
        return;
    };
    assert!(event.has(slot), "{field:?} should be {walked:?}");
    let number = event.unsigned(slot);
    match (field.kind, walked) {
        (FieldKind::Compound, _) => assert!(number >= event.position, "{field:?}"),
        (_, Value::Number(walked)) => assert_eq!(number, *walked, "{field:?}"),
        (_, Value::Truth(walked)) => assert_eq!(number != 0, *walked, "{field:?}"),
        (FieldKind::Text, Value::Text(walked)) => assert_eq!(event.text(slot), walked, "{field:?}"),
        (_, Value::Blob(walked)) => assert_eq!(event.raw_bytes(slot), walked, "{field:?}"),
        (FieldKind::Bytes, Value::Elements(walked)) => {
            let raw = event.raw_bytes(slot);
            let in_order = |little: bool| {
                let mut rest = raw;
                for &(value, bits) in walked {
                    let (element, after) = rest.split_at((bits / 8) as usize);
                    let number = |all: u64, &byte: &u8| all << 8 | u64::from(byte);
                    let decoded = match little {
                        true => element.iter().rev().fold(0, number),
                        false => element.iter().fold(0, number),
                    };
                    if decoded != value & (u64::MAX >> (64 - bits)) {
                        return false;
                    }
                    rest = after;
                }
                rest.is_empty()
            };
            let same = in_order(true) || in_order(false);
            assert!(same, "{field:?}: {raw:x?} is not {walked:x?}");
        }
        (kind, walked) => panic!("{field:?} is {kind:?} but was told as {walked:?}"),
    }
}
