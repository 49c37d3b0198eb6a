//! Names of services and operations, each kept once and told apart by a number.
//!
//! Millions of spans share a few names; numbers make spans small and contexts cheap to find. The
//! numbers depend on who asked first, so no result may depend on them.

use std::sync::{Arc, PoisonError, RwLock};

use rustc_hash::FxHashMap;

/// A name: its position in the [`Names`] that gave it out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub u32);

/// All names met so far; shared by all workers.
#[derive(Debug, Default)]
pub struct Names {
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    texts: Vec<Arc<str>>,
    ids: FxHashMap<Arc<str>, NameId>,
}

impl Names {
    /// The number of `name`, given out at the first call.
    ///
    /// After 2³² different names all further ones share the last number.
    pub fn id(&self, name: &Arc<str>) -> NameId {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(&id) = known.ids.get(name) {
            return id;
        }
        drop(known);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let next = NameId(u32::try_from(known.texts.len()).unwrap_or(u32::MAX));
        let id = *known.ids.entry(name.clone()).or_insert(next);
        if id == next {
            known.texts.push(name.clone());
        }
        id
    }

    /// The name that `id` stands for; empty for a number that was never given out.
    pub fn text(&self, id: NameId) -> Arc<str> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        (known.texts.get(id.0 as usize)).map_or_else(|| Arc::from(""), Arc::clone)
    }
}
