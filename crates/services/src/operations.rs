//! Which operations are told apart. Programs that put ids into the names of their spans have as many operations as
//! spans, and as many contexts; the rarest of these many count as one.
//!
//! How many spans each has in all traces is known before the first trace is looked at, so which ones are rare depends
//! on nothing but the spans: neither on the order of files, nor on who looks at which trace.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::names::{NameId, Names};

/// So many names of operations are told apart in all, those of the most spans.
pub const MOST_OPERATIONS: usize = 10_000;

/// What all others are called.
pub const OTHER_OPERATIONS: &str = "(other)";

/// The operations that are told apart, and what the others are called.
#[derive(Clone, Debug, Default)]
pub struct Operations {
    /// By [`NameId`]; names beyond its end are told apart.
    is_rare: Vec<bool>,
    other: NameId,
    /// How many are not told apart.
    pub(crate) rare: u64,
}

impl Operations {
    /// `spans` of each name, by [`NameId`]: the `most` with the most spans are told apart, of as many spans those
    /// that come first in the order of their texts.
    pub fn of(spans: &[u64], names: &Names, most: usize) -> Self {
        let mut ranked: Vec<(Reverse<u64>, Arc<str>, NameId)> = (spans.iter().zip(0..))
            .filter(|(spans, _)| **spans > 0)
            .map(|(spans, id)| (Reverse(*spans), names.text(NameId(id)), NameId(id)))
            .collect();
        if ranked.len() <= most {
            return Self::default();
        }
        let (_, _, rare) = ranked.select_nth_unstable(most.saturating_sub(1));
        let mut is_rare = vec![false; spans.len()];
        for (.., id) in rare.iter() {
            is_rare[id.0 as usize] = true;
        }
        Self {
            is_rare,
            other: names.id(&Arc::from(OTHER_OPERATIONS)),
            rare: rare.len() as u64,
        }
    }

    /// The operation as which `operation` counts.
    pub(crate) fn counted_as(&self, operation: NameId) -> NameId {
        match self.is_rare.get(operation.0 as usize) {
            Some(true) => self.other,
            _ => operation,
        }
    }
}
