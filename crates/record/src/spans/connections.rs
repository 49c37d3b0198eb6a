//! Room for so many connections, and who gives way when it is full.
//!
//! Exporters keep their connections open between batches, so that idle ones are normal and old ones
//! may be dead. When there is no room for a new one, the one that has been idle longest is closed; its
//! exporter connects again. Connections whose request is being answered are never closed here. What is
//! said on them is `server.rs`'s matter.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How long a connection that is asked to leave may take to answer what has come meanwhile.
pub(crate) const PATIENCE_WITH_LEAVING: Duration = Duration::from_secs(1);
/// How often idle connections are looked for while there are none.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// All connections.
#[derive(Debug)]
pub(crate) struct Connections {
    room: Arc<Semaphore>,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    /// Counts what happens, so that what was longer ago has a smaller number.
    now: u64,
    /// By the number at which they came.
    all: BTreeMap<u64, OpenConnection>,
}

#[derive(Debug)]
struct OpenConnection {
    /// Requests that are being answered.
    answering: u32,
    idle_since: u64,
    is_asked_to_leave: bool,
    leave: Arc<Notify>,
}

impl Connections {
    /// Room for `most` at a time.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            room: Arc::new(Semaphore::new(most)),
            open: Mutex::default(),
        }
    }

    /// Waits for room, which is made where a connection is idle.
    pub(crate) async fn admit(self: &Arc<Self>) -> Connection {
        loop {
            if let Ok(room) = Arc::clone(&self.room).try_acquire_owned() {
                return self.enter(room);
            }
            let patience = match self.ask_to_leave() {
                true => PATIENCE_WITH_LEAVING * 2,
                false => LOOK_AGAIN,
            };
            let room = Arc::clone(&self.room).acquire_owned();
            if let Ok(Ok(room)) = timeout(patience, room).await {
                return self.enter(room);
            }
        }
    }

    fn enter(self: &Arc<Self>, room: OwnedSemaphorePermit) -> Connection {
        let leave = Arc::new(Notify::new());
        let number = {
            let mut open = self.open();
            let number = open.next();
            let of_this = OpenConnection {
                answering: 0,
                idle_since: number,
                is_asked_to_leave: false,
                leave: Arc::clone(&leave),
            };
            open.all.insert(number, of_this);
            number
        };
        Connection {
            all: Arc::clone(self),
            number,
            leave,
            _room: room,
        }
    }

    /// Asks the one that has been idle longest to leave; false where none is idle.
    fn ask_to_leave(&self) -> bool {
        let mut open = self.open();
        let idle = open.all.values_mut();
        let idle = idle.filter(|one| one.answering == 0 && !one.is_asked_to_leave);
        let oldest = idle.min_by_key(|one| one.idle_since);
        if let Some(oldest) = oldest {
            oldest.is_asked_to_leave = true;
            oldest.leave.notify_one();
            return true;
        }
        false
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        // Every change is a single assignment: there is nothing half done.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn next(&mut self) -> u64 {
        self.now += 1;
        self.now
    }
}

/// A connection that has room, until it is dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    all: Arc<Connections>,
    number: u64,
    leave: Arc<Notify>,
    _room: OwnedSemaphorePermit,
}

impl Connection {
    /// Waits until its room is needed.
    pub(crate) async fn is_asked_to_leave(&self) {
        self.leave.notified().await;
    }

    /// Whether a request is being answered.
    pub(crate) fn is_answering(&self) -> bool {
        let open = self.all.open();
        let own = open.all.get(&self.number);
        own.is_some_and(|open| open.answering > 0)
    }

    /// Says that a request is being answered, until that is dropped.
    pub(crate) fn answering(&self) -> Answering<'_> {
        if let Some(open) = self.all.open().all.get_mut(&self.number) {
            open.answering += 1;
        }
        Answering { of: self }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.all.open().all.remove(&self.number);
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(crate) struct Answering<'connection> {
    of: &'connection Connection,
}

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        let mut open = self.of.all.open();
        let now = open.next();
        if let Some(open) = open.all.get_mut(&self.of.number) {
            open.answering -= 1;
            open.idle_since = now;
        }
    }
}
