//! Bytes that readers hold without knowing where they come from: a memory map, a vector, a slice.

use std::ops::Range;
use std::sync::Arc;

/// Bytes that never change while they are held.
pub trait FileBytes: AsRef<[u8]> + Send + Sync {
    /// A part is not needed for now: the memory that it takes may be given back. It can still be read.
    fn release(&self, _part: Range<usize>) {}
}

/// Bytes of files, shared.
pub type Bytes = Arc<dyn FileBytes>;

/// The bytes of one file with the name under which the user knows it.
#[derive(Clone)]
pub struct NamedBytes {
    /// The file's path relative to the trace.
    pub name: String,
    /// Its content.
    pub bytes: Bytes,
}

impl NamedBytes {
    /// Bytes that are at hand, for tests and small files.
    pub fn new(name: impl Into<String>, bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self {
            name: name.into(),
            bytes: Arc::new(AtHand(bytes)),
        }
    }

    /// The content.
    pub fn get(&self) -> &[u8] {
        (*self.bytes).as_ref()
    }
}

/// Bytes that take no memory but their own.
struct AtHand<T>(T);

impl<T: AsRef<[u8]>> AsRef<[u8]> for AtHand<T> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl<T: AsRef<[u8]> + Send + Sync> FileBytes for AtHand<T> {}

impl std::fmt::Debug for NamedBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.name, self.get().len())
    }
}
