//! Maps (tracer, schema) to facts of the kernel, of applications' spans, of services and of data stores: the one
//! place where tracers' event and field names are known.
//!
//! A schema is resolved once; for each event the recipe of its class is a table look-up and the
//! values lie in slots that the recipe numbered. Analyses see [`Fact`]s, whatever the tracer. A
//! concept asked for but absent from the schema simply never occurs.

#![forbid(unsafe_code)]

mod fact;
mod kind;
mod rules;
mod service;
mod store;
mod switch_out;
mod syscall;
mod syscall_table;

pub use fact::{
    BlockDevice, BlockRequest, DescriptorOwner, Direction, Fact, NumbersInside, Packet, Segment,
    Softirq, SpanMark, UringRequest,
};
pub use kind::FactKind;
pub use service::{
    ConnectionId, MessageMoment, ServiceCommand, ServiceMark, ServiceMessage, WorkId,
};
pub use store::{
    BatchCommand, BatchEnd, BusKind, BusMessage, BusMoment, StoreAddress, StoreBatch, StoreBatches,
    StoreClientId, StoreFunction, StoreMark, StoreOperation, StoreProbe,
};
pub use switch_out::SwitchOut;
pub use syscall::{SyscallEntry, SyscallExit, SyscallId, context_thread};

use slowpath_model::{Event, EventClass, Projection, Schema, Slot};

/// A schema, resolved: which of its events are facts, and where their values lie.
#[derive(Clone, Debug)]
pub struct Concepts {
    recipes: Vec<Option<Recipe>>,
    projection: Projection,
    calls: syscall::Calls,
}

/// What an event class becomes.
#[derive(Clone, Copy, Debug)]
enum Recipe {
    Plain(FactKind),
    SyscallEntry(syscall::Naming),
    SyscallExit(syscall::Naming),
}

impl Recipe {
    fn kind(self) -> FactKind {
        match self {
            Self::Plain(kind) => kind,
            Self::SyscallEntry(_) => FactKind::SyscallEntry,
            Self::SyscallExit(_) => FactKind::SyscallExit,
        }
    }
}

impl Concepts {
    /// Resolves `kinds` of fact in `schema`; events of other kinds are not decoded.
    pub fn resolve(schema: &Schema, kinds: &[FactKind]) -> Self {
        Self::resolve_calls(schema, kinds, |_| true)
    }

    /// Like [`Self::resolve`], but of the system calls only those whose name (`read`,
    /// `compat_read`) is `wanted`, as far as the tracer tells calls apart by event name.
    pub fn resolve_calls(
        schema: &Schema,
        kinds: &[FactKind],
        wanted: impl Fn(&str) -> bool,
    ) -> Self {
        let mut calls = syscall::Calls::default();
        let asks_for_calls =
            kinds.contains(&FactKind::SyscallEntry) || kinds.contains(&FactKind::SyscallExit);
        let mut recipes = vec![None; schema.event_classes.len()];
        let mut projection = Projection::nothing(schema.event_classes.len());
        for (id, class) in schema.classes() {
            let (recipe, slots) = if let Some(rule) = rules::rule_for(class, kinds) {
                (Recipe::Plain(rule.kind), slots_of(class, rule))
            } else if asks_for_calls && let Some(resolved) = calls.resolve(schema, class, &wanted) {
                let recipe = match resolved.is_entry {
                    true => Recipe::SyscallEntry(resolved.naming),
                    false => Recipe::SyscallExit(resolved.naming),
                };
                (recipe, resolved.slots)
            } else {
                continue;
            };
            if kinds.contains(&recipe.kind()) {
                recipes[id.index()] = Some(recipe);
                projection.want(id, slots);
            }
        }
        Self {
            recipes,
            projection,
            calls,
        }
    }

    /// What a reader has to decode for these facts.
    pub fn projection(&self) -> &Projection {
        &self.projection
    }

    /// Whether any event class of the schema is a fact of this kind.
    pub fn has(&self, kind: FactKind) -> bool {
        self.recipes
            .iter()
            .flatten()
            .any(|recipe| recipe.kind() == kind)
    }

    /// Names of the system calls; [`SyscallId`] is the position.
    pub fn syscall_names(&self) -> &[String] {
        self.calls.names()
    }

    /// The fact that an event states, if it is one that was asked for.
    #[inline]
    pub fn fact<'packet>(&self, event: &Event<'packet>) -> Option<Fact<'packet>> {
        match (*self.recipes.get(event.class.index())?)? {
            Recipe::Plain(kind) => Fact::from_event(kind, event),
            Recipe::SyscallEntry(naming) => {
                Some(Fact::SyscallEntry(self.calls.entry(naming, event)?))
            }
            Recipe::SyscallExit(naming) => Some(Fact::SyscallExit(self.calls.exit(naming, event)?)),
        }
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
