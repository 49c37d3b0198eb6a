//! JSON values that know their place in the text, so that a fault can name line and column.
//!
//! Values are taken apart lazily, level by level; entries keep their order, which labels need.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::metadata::{Fault, excerpt};

/// A JSON value that has not been taken apart.
#[derive(Clone, Copy)]
pub(super) struct Node<'text> {
    raw: &'text str,
    pub(super) at: usize,
}

/// The entries of a JSON object.
pub(super) struct Object<'text> {
    pub(super) at: usize,
    pub(super) entries: Vec<(Cow<'text, str>, Node<'text>)>,
}

impl<'text> Node<'text> {
    /// The one JSON value of a record that begins at byte `at` of the text.
    pub(super) fn parse(record: &'text str, at: usize) -> Result<Self, Fault> {
        let raw: &RawValue = serde_json::from_str(record).map_err(|error| {
            let before = record
                .split_inclusive('\n')
                .take(error.line().saturating_sub(1));
            let line: usize = before.map(str::len).sum();
            let place = at + line + error.column().saturating_sub(1);
            Fault::new(place, format!("not JSON: {error}"))
        })?;
        Ok(Self::within(record, at, raw))
    }

    fn within(outer: &'text str, at: usize, raw: &'text RawValue) -> Self {
        let offset = raw.get().as_ptr() as usize - outer.as_ptr() as usize;
        Self {
            raw: raw.get(),
            at: at + offset,
        }
    }

    fn read<T: Deserialize<'text>>(self, expected: &str) -> Result<T, Fault> {
        serde_json::from_str(self.raw).map_err(|_| self.expected(expected))
    }

    pub(super) fn expected(self, expected: &str) -> Fault {
        let found = excerpt(self.raw.as_bytes());
        Fault::new(self.at, format!("expected {expected}, found {found}"))
    }

    pub(super) fn is_text(self) -> bool {
        self.raw.starts_with('"')
    }

    pub(super) fn is_array(self) -> bool {
        self.raw.starts_with('[')
    }

    pub(super) fn is_null(self) -> bool {
        self.raw == "null"
    }

    pub(super) fn object(self, expected: &str) -> Result<Object<'text>, Fault> {
        let Entries(entries) = self.read(expected)?;
        let place = |(name, raw)| (name, Self::within(self.raw, self.at, raw));
        Ok(Object {
            at: self.at,
            entries: entries.into_iter().map(place).collect(),
        })
    }

    pub(super) fn array(self, expected: &str) -> Result<Vec<Self>, Fault> {
        let elements: Vec<&'text RawValue> = self.read(expected)?;
        let place = |raw| Self::within(self.raw, self.at, raw);
        Ok(elements.into_iter().map(place).collect())
    }

    pub(super) fn text(self, expected: &str) -> Result<String, Fault> {
        self.read(expected)
    }

    pub(super) fn integer(self, expected: &str) -> Result<i128, Fault> {
        self.read(expected)
    }

    pub(super) fn unsigned(self, expected: &str) -> Result<u64, Fault> {
        self.read(expected)
    }

    pub(super) fn signed(self, expected: &str) -> Result<i64, Fault> {
        self.read(expected)
    }
}

impl<'text> Object<'text> {
    pub(super) fn get(&self, name: &str) -> Option<Node<'text>> {
        let entry = self.entries.iter().find(|(entry, _)| entry == name)?;
        Some(entry.1)
    }

    pub(super) fn need(&self, name: &str) -> Result<Node<'text>, Fault> {
        self.get(name).ok_or_else(|| {
            Fault::new(
                self.at,
                format!("expected the property `{name}`, there is none"),
            )
        })
    }

    /// The text of an optional property.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, Fault> {
        self.get(name).map(|node| node.text("text")).transpose()
    }

    /// The number of an optional property.
    pub(super) fn unsigned(&self, name: &str) -> Result<Option<u64>, Fault> {
        let number = |node: Node<'_>| node.unsigned("a whole number from 0");
        self.get(name).map(number).transpose()
    }
}

struct Entries<'text>(Vec<(Cow<'text, str>, &'text RawValue)>);

impl<'text> Deserialize<'text> for Entries<'text> {
    fn deserialize<D: Deserializer<'text>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'text> Visitor<'text> for EntriesVisitor {
    type Value = Entries<'text>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'text>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((Name(name), value)) = map.next_entry()? {
            entries.push((name, value));
        }
        Ok(Entries(entries))
    }
}

#[derive(Deserialize)]
struct Name<'text>(#[serde(borrow)] Cow<'text, str>);
