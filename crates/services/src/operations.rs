//! Which services and operations are told apart. Programs that put ids into names have as many of them as spans; the
//! rarest of these many count as one.
//!
//! How many spans each has in all traces is known before the first trace is looked at, so which ones are rare depends
//! on nothing but the spans: neither on the order of files, nor on who looks at which trace.

use std::cmp::Reverse;
use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::names::{NameId, Names};

/// What services and operations that are not told apart are called.
pub const OTHER: &str = "(other)";

/// How much is told apart.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Services: those of the most spans; of as many spans, those first by name. All others count as [`OTHER`].
    pub services: usize,
    /// Operations of one service, chosen likewise; all others of a service count as its [`OTHER`].
    pub operations_of_service: usize,
    /// Operations of all services together.
    pub operations: usize,
    /// Contexts: all down to the depth at which there would be more. What lies deeper counts as its callers' own time.
    pub contexts: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            services: 1_000,
            operations_of_service: 500,
            operations: 10_000,
            contexts: 100_000,
        }
    }
}

/// A service and the name of a span.
pub type Operation = (NameId, NameId);

/// The services and operations that are told apart, and what the others are called.
#[derive(Clone, Debug, Default)]
pub struct Operations {
    services: Told<NameId>,
    operations: Told<Operation>,
    other: NameId,
}

/// Those of a kind that are told apart.
#[derive(Clone, Debug)]
struct Told<Key> {
    /// `None`: all.
    told: Option<FxHashSet<Key>>,
    others: u64,
}

impl Operations {
    /// Chooses among operations with so many `spans`.
    pub fn of(spans: &FxHashMap<Operation, u64>, names: &Names, limits: Limits) -> Self {
        let mut chosen = Self {
            other: names.id(&Arc::from(OTHER)),
            ..Self::default()
        };
        let of_services = (spans.iter()).map(|(&(service, _), &spans)| (service, spans));
        let text = |service: &NameId| names.text(*service);
        let mut services = 0;
        chosen.services = Told::chosen(added_up(of_services), text, |_| {
            services += 1;
            services <= limits.services
        });
        let of_operations = (spans.iter())
            .map(|(&(service, name), &spans)| ((chosen.service(service), name), spans));
        let texts = |(service, name): &Operation| (names.text(*service), names.text(*name));
        let (mut operations, mut by_service) = (0, FxHashMap::<NameId, usize>::default());
        chosen.operations = Told::chosen(added_up(of_operations), texts, |(service, _)| {
            let of_service = by_service.entry(*service).or_default();
            *of_service += 1;
            let fits = *of_service <= limits.operations_of_service;
            operations += usize::from(fits);
            fits && operations <= limits.operations
        });
        chosen
    }

    /// The service and the operation as which a span counts.
    pub(crate) fn counted_as(&self, (service, name): Operation) -> Operation {
        let service = self.service(service);
        match self.operations.is_told(&(service, name)) {
            true => (service, name),
            false => (service, self.other),
        }
    }

    fn service(&self, service: NameId) -> NameId {
        match self.services.is_told(&service) {
            true => service,
            false => self.other,
        }
    }

    /// How many services are not told apart.
    pub(crate) fn other_services(&self) -> u64 {
        self.services.others
    }

    /// How many operations are not told apart.
    pub(crate) fn other_operations(&self) -> u64 {
        self.operations.others
    }
}

fn added_up<Key: Hash + Eq>(spans: impl Iterator<Item = (Key, u64)>) -> FxHashMap<Key, u64> {
    let mut sums = FxHashMap::default();
    for (key, spans) in spans {
        *sums.entry(key).or_default() += spans;
    }
    sums
}

impl<Key> Default for Told<Key> {
    fn default() -> Self {
        Self {
            told: None,
            others: 0,
        }
    }
}

impl<Key: Hash + Eq> Told<Key> {
    /// Those that fit, when `fits` is asked of one after the other: those of the most spans first, of as many spans in
    /// the order of their texts.
    fn chosen<Text: Ord>(
        spans: FxHashMap<Key, u64>,
        text: impl Fn(&Key) -> Text,
        fits: impl FnMut(&Key) -> bool,
    ) -> Self {
        let all = spans.len();
        let mut ranked: Vec<_> = (spans.into_iter())
            .map(|(key, spans)| ((Reverse(spans), text(&key)), key))
            .collect();
        ranked.sort_unstable_by(|(rank, _), (other, _)| rank.cmp(other));
        let told: FxHashSet<Key> = ranked
            .into_iter()
            .map(|(_, key)| key)
            .filter(fits)
            .collect();
        let others = all - told.len();
        Self {
            told: (others > 0).then_some(told),
            others: others as u64,
        }
    }

    fn is_told(&self, key: &Key) -> bool {
        self.told.as_ref().is_none_or(|told| told.contains(key))
    }
}
