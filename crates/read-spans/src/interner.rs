//! Texts that many spans share (services, operations, keys, short values), kept once.
//!
//! Bounded: input with ever new names costs time, not memory.

use std::sync::Arc;

use rustc_hash::FxHashSet;

/// More different texts than a healthy system has names.
const MOST_TEXTS: usize = 1 << 16;
/// Longer texts are hardly ever repeated.
const LONGEST: usize = 128;

#[derive(Default)]
pub(crate) struct Interner {
    known: FxHashSet<Arc<str>>,
}

impl Interner {
    pub(crate) fn text(&mut self, text: &str) -> Arc<str> {
        if text.len() > LONGEST {
            return Arc::from(text);
        }
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        if self.known.len() >= MOST_TEXTS {
            self.known.clear();
        }
        let new: Arc<str> = Arc::from(text);
        self.known.insert(new.clone());
        new
    }
}
