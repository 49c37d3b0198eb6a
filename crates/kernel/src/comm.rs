//! Names of threads as the kernel keeps them: 15 bytes and a zero.
//!
//! A name is stated by many events; the latest statement in a switch wins over any other
//! (docs/reference/definitions.md).

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_model::{ThreadId, Timestamp};

/// The name of a thread; longer ones are cut as the kernel does.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub(crate) struct Comm([u8; 15]);

impl Comm {
    #[inline]
    pub(crate) fn new(name: &[u8]) -> Self {
        let mut bytes = [0; 15];
        let length = name.len().min(bytes.len());
        bytes[..length].copy_from_slice(&name[..length]);
        Self(bytes)
    }
}

impl std::fmt::Display for Comm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let length = self.0.iter().position(|&byte| byte == 0);
        let name = &self.0[..length.unwrap_or(self.0.len())];
        f.pad(&String::from_utf8_lossy(name))
    }
}

/// A name, and what it was read from; the better statement is the greater one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Named {
    from_switch: bool,
    at: Timestamp,
    pub(crate) comm: Comm,
}

impl Named {
    /// Keeps the better of two statements. Of one time, the name decides: streams have no order.
    #[inline]
    pub(crate) fn update(&mut self, other: Self) {
        *self = (*self).max(other);
    }

    /// When it was said.
    #[inline]
    pub(crate) fn at(&self) -> Timestamp {
        self.at
    }

    #[inline]
    pub(crate) fn by_switch(at: Timestamp, comm: &[u8]) -> Self {
        Self {
            from_switch: true,
            at,
            comm: Comm::new(comm),
        }
    }

    #[inline]
    pub(crate) fn otherwise(at: Timestamp, comm: &[u8]) -> Self {
        Self {
            from_switch: false,
            ..Self::by_switch(at, comm)
        }
    }
}

/// The names of threads.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Names(FxHashMap<ThreadId, Named>);

impl Names {
    /// A switch names a thread.
    #[inline]
    pub(crate) fn switch(&mut self, thread: ThreadId, at: Timestamp, comm: &[u8]) {
        self.state(thread, Named::by_switch(at, comm));
    }

    /// Anything else (a fork, a state dump) names a thread.
    pub(crate) fn other(&mut self, thread: ThreadId, at: Timestamp, comm: &[u8]) {
        self.state(thread, Named::otherwise(at, comm));
    }

    #[inline]
    fn state(&mut self, thread: ThreadId, named: Named) {
        self.0.entry(thread).or_insert(named).update(named);
    }

    pub(crate) fn merge(&mut self, later: Self) {
        for (thread, named) in later.0 {
            self.state(thread, named);
        }
    }

    pub(crate) fn get(&self, thread: ThreadId) -> Option<Comm> {
        Some(self.0.get(&thread)?.comm)
    }
}
