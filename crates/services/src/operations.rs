//! Which services and operations are told apart. Programs that put ids into names have as many of them as spans; the
//! rarest of these many count as one.
//!
//! How many spans each has in all traces is known before the first trace is looked at, so which ones are rare depends
//! on nothing but the spans: neither on the order of files, nor on who looks at which trace. No more than twice as many
//! as are told apart are held at a time.

use std::cmp::Reverse;
use std::io;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::names::{NameId, Names};
use crate::sort::Store;
use crate::tally::{Counted, Tallies};

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
pub(crate) type Operation = (NameId, NameId);

/// The services and operations that are told apart, and what the others are called.
#[derive(Debug)]
pub(crate) struct Operations {
    services: FxHashSet<NameId>,
    operations: FxHashSet<Operation>,
    other: NameId,
    /// How many services are not told apart.
    pub(crate) other_services: u64,
    /// How many operations are not told apart.
    pub(crate) other_operations: u64,
    /// What those told apart are called.
    pub(crate) names: Names,
}

impl Operations {
    /// Chooses among those counted; some of the counts are on `stores`.
    ///
    /// # Errors
    /// Where a store cannot be read.
    pub(crate) fn choose<S: Store>(
        services: Tallies<1>,
        operations: Tallies<2>,
        stores: &mut [S],
        limits: Limits,
    ) -> io::Result<Self> {
        let text: Arc<str> = Arc::from(OTHER);
        let other = NameId::of(&text);
        let mut told = Told::new(limits.services, usize::MAX);
        services.added_up(stores, |service| told.add(service))?;
        let (services, other_services) = told.chosen();
        let mut names = Names::default();
        names.add(other, &text);
        let services = services.iter().map(|service| {
            names.add(service.ids[0], &service.texts[0]);
            service.ids[0]
        });
        let services: FxHashSet<NameId> = services.collect();

        let mut told = Told::new(limits.operations, limits.operations_of_service);
        // An operation of that name of all services that are not told apart.
        let mut of_others: Option<Counted<2>> = None;
        operations.added_up(stores, |mut counted| {
            let [service, _] = counted.ids;
            if service != other && services.contains(&service) {
                return told.add(counted);
            }
            counted.ids[0] = other;
            counted.texts[0] = text.clone();
            match &mut of_others {
                Some(sum) if sum.ids == counted.ids => sum.spans += counted.spans,
                sum => sum
                    .replace(counted)
                    .into_iter()
                    .for_each(|sum| told.add(sum)),
            }
        })?;
        of_others.into_iter().for_each(|sum| told.add(sum));
        let (operations, other_operations) = told.chosen();
        let operations = operations.iter().map(|operation| {
            let [service, name] = operation.ids;
            names.add(name, &operation.texts[1]);
            (service, name)
        });
        Ok(Self {
            operations: operations.collect(),
            services,
            other,
            other_services,
            other_operations,
            names,
        })
    }

    /// The service and the operation as which a span counts.
    pub(crate) fn counted_as(&self, (service, name): Operation) -> Operation {
        let service = match self.services.contains(&service) {
            true => service,
            false => self.other,
        };
        match self.operations.contains(&(service, name)) {
            true => (service, name),
            false => (service, self.other),
        }
    }
}

/// Those of a kind that are told apart, of the ones seen so far.
struct Told<const N: usize> {
    most: usize,
    /// Of those with the same first name.
    most_of_first: usize,
    held: Vec<Counted<N>>,
    seen: u64,
}

impl<const N: usize> Told<N> {
    fn new(most: usize, most_of_first: usize) -> Self {
        Self {
            most,
            most_of_first,
            held: Vec::new(),
            seen: 0,
        }
    }

    fn add(&mut self, counted: Counted<N>) {
        self.held.push(counted);
        self.seen += 1;
        // Who does not fit among some does not fit among all: it is seldom enough to look now and then.
        if self.held.len() / 2 > self.most {
            self.leave_out();
        }
    }

    /// Those of the most spans stay; of as many spans, those first by name.
    fn leave_out(&mut self) {
        self.held.sort_unstable_by(|one, other| {
            let rank = (Reverse(one.spans), &one.texts);
            rank.cmp(&(Reverse(other.spans), &other.texts))
        });
        let mut of_first = FxHashMap::<NameId, usize>::default();
        self.held.retain(|counted| {
            let of_first = of_first.entry(counted.ids[0]).or_default();
            *of_first += 1;
            *of_first <= self.most_of_first
        });
        self.held.truncate(self.most);
    }

    /// Those told apart, and how many are not.
    fn chosen(mut self) -> (Vec<Counted<N>>, u64) {
        self.leave_out();
        let others = self.seen - self.held.len() as u64;
        (self.held, others)
    }
}
