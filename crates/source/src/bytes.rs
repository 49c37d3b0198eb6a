//! Bytes that readers hold without knowing where they come from: a memory map, a vector, a slice.

use std::sync::Arc;

/// Shared bytes that never change while they are held.
pub type Bytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

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
            bytes: Arc::new(bytes),
        }
    }

    /// The content.
    pub fn get(&self) -> &[u8] {
        (*self.bytes).as_ref()
    }
}

impl std::fmt::Debug for NamedBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.name, self.get().len())
    }
}
