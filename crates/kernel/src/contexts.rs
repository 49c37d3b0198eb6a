//! In whose context events happened, where the tracer says so with each event.
//!
//! ftrace always does (`common_pid`), LTTng where the context `tid` was added. It is evidence besides
//! the switches, some of which virtual machines keep away from the tracer.

use slowpath_concepts::{Concepts, FactKind, context_thread};
use slowpath_model::{Event, EventClass, EventClassId, Projection, Schema, Slot, ThreadId};

/// Where events tell the thread in whose context they happened.
#[derive(Debug)]
pub(crate) struct Contexts {
    /// By event class.
    slots: Vec<Option<Slot>>,
}

impl Contexts {
    /// Adds the context to all events that `projection` wants.
    pub(crate) fn of_wanted(schema: &Schema, projection: &mut Projection) -> Self {
        let wanted = projection.clone();
        Self::of(schema, projection, |class| wanted.fields(class).is_some())
    }

    /// The same, and the contexts of facts of these kinds, with nothing else of their events.
    pub(crate) fn of_wanted_and(
        schema: &Schema,
        projection: &mut Projection,
        others: &[FactKind],
    ) -> Self {
        let wanted = projection.clone();
        let others = Concepts::resolve(schema, others);
        let is_wanted = |projection: &Projection, class| projection.fields(class).is_some();
        Self::of(schema, projection, |class| {
            is_wanted(&wanted, class) || is_wanted(others.projection(), class)
        })
    }

    /// Adds to `projection` every event that has a context, with it.
    pub(crate) fn of_all(schema: &Schema, projection: &mut Projection) -> Self {
        Self::of(schema, projection, |_| true)
    }

    fn of(
        schema: &Schema,
        projection: &mut Projection,
        is_chosen: impl Fn(EventClassId) -> bool,
    ) -> Self {
        let mut slots = vec![None; schema.event_classes.len()];
        let with_context = |(class, definition): (EventClassId, &EventClass)| {
            Some((class, context_thread(definition)?))
        };
        for (class, field) in schema.classes().filter_map(with_context) {
            if is_chosen(class) {
                let mut fields = projection.fields(class).unwrap_or_default().to_vec();
                slots[class.index()] = Some(Slot(fields.len() as u16));
                fields.push(Some(field));
                projection.want(class, fields);
            }
        }
        Self { slots }
    }

    /// The thread in whose context the event happened, where that was recorded.
    #[inline]
    pub(crate) fn thread(&self, event: &Event<'_>) -> Option<ThreadId> {
        let slot = (*self.slots.get(event.class.index())?)?;
        let thread = i32::try_from(event.has(slot).then(|| event.signed(slot))?).ok()?;
        Some(ThreadId(thread))
    }
}
