//! Which events and which of their fields an analysis wants.
//!
//! A reader compiles a projection into its decode plans once; what is not asked for is stepped
//! over, not decoded. Slots are numbered by the asker: the n-th field asked for arrives in slot n.

use crate::{EventClass, EventClassId, FieldId, Schema};

/// The place of a wanted value in [`Event`](crate::Event), as numbered by the asker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot(pub u16);

/// Which event classes, and which fields of each, are wanted.
#[derive(Clone, Debug, Default)]
pub struct Projection {
    wanted: Vec<Option<Vec<Option<FieldId>>>>,
}

impl Projection {
    /// The most slots that one event class can ask for.
    pub const MAX_SLOTS: usize = 128;

    /// Wants nothing of a schema with `class_count` event classes.
    pub fn nothing(class_count: usize) -> Self {
        Self {
            wanted: vec![None; class_count],
        }
    }

    /// Wants every event of `class_count` classes but none of its fields.
    pub fn every_event(class_count: usize) -> Self {
        Self {
            wanted: vec![Some(Vec::new()); class_count],
        }
    }

    /// Wants every event of `schema` with every field (the first [`Self::MAX_SLOTS`] of a class),
    /// field n in slot n.
    pub fn everything(schema: &Schema) -> Self {
        let fields = |class: &EventClass| {
            let count = class.fields.len().min(Self::MAX_SLOTS) as u16;
            Some((0..count).map(|n| Some(FieldId(n))).collect())
        };
        Self {
            wanted: schema.event_classes.iter().map(fields).collect(),
        }
    }

    /// Wants events of `class`; `fields[n]` arrives in slot n, `None` leaves the slot absent.
    ///
    /// Fields past [`Self::MAX_SLOTS`] are not delivered.
    pub fn want(&mut self, class: EventClassId, mut fields: Vec<Option<FieldId>>) {
        fields.truncate(Self::MAX_SLOTS);
        if self.wanted.len() <= class.index() {
            self.wanted.resize(class.index() + 1, None);
        }
        self.wanted[class.index()] = Some(fields);
    }

    /// Wants no event of `class`.
    pub fn exclude(&mut self, class: EventClassId) {
        if let Some(wanted) = self.wanted.get_mut(class.index()) {
            *wanted = None;
        }
    }

    /// The fields wanted of `class` by slot, or `None` when its events are not wanted at all.
    pub fn fields(&self, class: EventClassId) -> Option<&[Option<FieldId>]> {
        self.wanted.get(class.index())?.as_deref()
    }
}
