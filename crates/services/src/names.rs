//! Names of services and operations, told apart by numbers that are made of the names alone.
//!
//! Numbers make spans small and contexts cheap to find, and as it takes no table to give them out, spans may have any
//! number of different names. Which text a number stands for is kept of those names only that are told apart.

use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use rustc_hash::FxHashMap;

/// A name: 64 bits of a hash of it. That two of a million names share one is a chance of 1 in 30 million.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub(crate) u64);

impl NameId {
    /// The number of `name`; the same on every thread.
    pub fn of(name: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(name.as_bytes());
        Self(hasher.finish())
    }
}

/// Texts of the names that are told apart.
#[derive(Clone, Debug, Default)]
pub struct Names {
    texts: FxHashMap<NameId, Arc<str>>,
}

impl Names {
    /// Keeps the text of a name.
    pub(crate) fn add(&mut self, id: NameId, text: &Arc<str>) {
        self.texts.entry(id).or_insert_with(|| text.clone());
    }

    /// The name that `id` stands for; empty where it is not kept.
    pub fn text(&self, id: NameId) -> &str {
        self.texts.get(&id).map_or("", |text| text)
    }
}
