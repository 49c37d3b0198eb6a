//! Why a recording could not be read at all. Damage that leaves something to read is a diagnostic
//! instead.

use crate::byte_order::Ended;

/// Why nothing could be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The file does not begin as `trace.dat` files do.
    #[error(
        "{file}: not a trace.dat file\n  hint: trace.dat files are written by `trace-cmd record`"
    )]
    NotTraceDat {
        /// The file.
        file: String,
    },
    /// A version that is not known here.
    #[error(
        "{file}: trace.dat version {version:?} is not known\n  hint: versions 6 and 7 are read; record with `trace-cmd record --file-version 7`"
    )]
    UnknownVersion {
        /// The file.
        file: String,
        /// The version it states.
        version: String,
    },
    /// A compression method that is not known here.
    #[error(
        "{file}: compressed with {method:?}, which is not known\n  hint: record with `trace-cmd record --compression zstd`"
    )]
    UnknownCompression {
        /// The file.
        file: String,
        /// The method it names.
        method: String,
    },
    /// The file is cut off before any event, or what it says about itself makes no sense.
    #[error(
        "{file} at byte {at}: {what} is missing or damaged\n  hint: check that the file is whole; copy it again"
    )]
    Damaged {
        /// The file.
        file: String,
        /// What was to be read there.
        what: &'static str,
        /// Byte offset.
        at: u64,
    },
    /// The text that describes the ring buffer's pages cannot be understood.
    #[error("header_page: {reason}")]
    PageLayout {
        /// What is wrong with it.
        reason: String,
    },
}

impl ReadError {
    pub(crate) fn damaged(file: &str, what: &'static str) -> impl Fn(Ended) -> Self {
        let file = file.to_owned();
        move |ended| Self::Damaged {
            file: file.clone(),
            what,
            at: ended.at as u64,
        }
    }
}
