//! Maps (tracer, schema) to facts of the kernel: the one place where tracers' event and field
//! names are known.
//!
//! A schema is resolved once; for each event the recipe of its class is a table look-up and the
//! values lie in slots that the recipe numbered. Analyses see [`Fact`]s, whatever the tracer. A
//! concept asked for but absent from the schema simply never occurs.

#![forbid(unsafe_code)]

mod fact;
mod rules;

pub use fact::{Fact, FactKind, Packet, Softirq, SwitchOut};

use slowpath_model::{Event, EventClass, Projection, Schema, Slot};

/// A schema, resolved: which of its events are facts, and where their values lie.
#[derive(Clone, Debug)]
pub struct Concepts {
    recipes: Vec<Option<FactKind>>,
    projection: Projection,
}

impl Concepts {
    /// Resolves `kinds` of fact in `schema`; events of other kinds are not decoded.
    pub fn resolve(schema: &Schema, kinds: &[FactKind]) -> Self {
        let mut recipes = vec![None; schema.event_classes.len()];
        let mut projection = Projection::nothing(schema.event_classes.len());
        for (id, class) in schema.classes() {
            let Some(rule) = rules::rule_for(class) else {
                continue;
            };
            if kinds.contains(&rule.kind) {
                recipes[id.index()] = Some(rule.kind);
                projection.want(id, slots_of(class, rule));
            }
        }
        Self {
            recipes,
            projection,
        }
    }

    /// What a reader has to decode for these facts.
    pub fn projection(&self) -> &Projection {
        &self.projection
    }

    /// Whether any event class of the schema is a fact of this kind.
    pub fn has(&self, kind: FactKind) -> bool {
        self.recipes.contains(&Some(kind))
    }

    /// The fact that an event states, if it is one that was asked for.
    #[inline]
    pub fn fact<'packet>(&self, event: &Event<'packet>) -> Option<Fact<'packet>> {
        let kind = (*self.recipes.get(event.class.index())?)?;
        Some(Fact::from_event(kind, event))
    }
}

/// The fields of `class` by the slots of `rule`: for each the first name that the class has.
fn slots_of(class: &EventClass, rule: &rules::Rule) -> Vec<Option<slowpath_model::FieldId>> {
    rule.slots
        .iter()
        .map(|names| names.iter().find_map(|name| class.field(name)))
        .collect()
}

/// Slot `n`, as the rules number them.
const fn slot(n: u16) -> Slot {
    Slot(n)
}
