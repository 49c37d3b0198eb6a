//! The ring-buffer pages of one processor as one run of bytes, compressed in the file or not.
//!
//! Compressed pages come in chunks that are expanded when they are needed, never all at once. What
//! a chunk claims about its size is bounded by what its bytes can make plausible.

use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;

use slowpath_source::NamedBytes;

use crate::byte_order::Cursor;

/// No chunk or section is expanded further than this: trace-cmd writes chunks of ten pages, and the
/// formats of all events of a kernel take three megabytes.
const MOST_EXPANDED: usize = 16 << 20;
/// Nor further than this many times its size.
const MOST_RATIO: usize = 4096;

/// How parts of a file are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Zstd,
    Zlib,
}

impl Compression {
    /// The method that trace-cmd calls `name`; `None` when it is not known here.
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        match name {
            "zstd" => Some(Self::Zstd),
            "zlib" => Some(Self::Zlib),
            _ => None,
        }
    }

    /// Expands `compressed`, which claims to become `expanded` bytes; what could be expanded is
    /// returned, and whether it was all.
    pub(crate) fn expand(self, compressed: &[u8], expanded: usize) -> (Vec<u8>, bool) {
        let limit = expanded.min(plausible(compressed.len()));
        let mut bytes = Vec::new();
        let read = match self {
            Self::Zstd => zstd::stream::read::Decoder::with_buffer(compressed)
                .and_then(|decoder| decoder.take(limit as u64).read_to_end(&mut bytes)),
            Self::Zlib => flate2::bufread::ZlibDecoder::new(compressed)
                .take(limit as u64)
                .read_to_end(&mut bytes),
        };
        let whole = read.is_ok() && bytes.len() == expanded;
        (bytes, whole)
    }
}

/// The pages of one processor.
#[derive(Clone, Debug)]
pub(crate) struct CpuData {
    pub(crate) file: NamedBytes,
    pub(crate) storage: Storage,
}

/// How the pages lie in the file.
#[derive(Clone, Debug)]
pub(crate) enum Storage {
    /// As they are, in this range of the file.
    Plain(Range<usize>),
    /// In compressed chunks, in their order.
    Chunks(Compression, Vec<Chunk>),
}

/// One compressed run of pages.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chunk {
    /// Where its compressed bytes are in the file.
    pub(crate) compressed: Range<usize>,
    /// Where its bytes are in the run of all pages, by the sizes that chunks state.
    pub(crate) expanded: Range<usize>,
}

impl CpuData {
    /// Bytes of all pages together.
    pub(crate) fn length(&self) -> usize {
        match &self.storage {
            Storage::Plain(range) => range.len(),
            Storage::Chunks(_, chunks) => chunks.last().map_or(0, |chunk| chunk.expanded.end),
        }
    }

    pub(crate) fn is_compressed(&self) -> bool {
        matches!(self.storage, Storage::Chunks(..))
    }

    /// Whether the pages before and from `position` can be read without expanding a chunk twice.
    pub(crate) fn can_cut_at(&self, position: usize) -> bool {
        match &self.storage {
            Storage::Plain(_) => true,
            Storage::Chunks(_, chunks) => chunks
                .binary_search_by_key(&position, |chunk| chunk.expanded.start)
                .is_ok(),
        }
    }

    /// Where in the file the byte at `position` of the pages comes from, for messages.
    pub(crate) fn file_offset(&self, position: usize) -> u64 {
        let offset = match &self.storage {
            Storage::Plain(range) => range.start + position,
            Storage::Chunks(_, chunks) => {
                let after = chunks.partition_point(|chunk| chunk.expanded.start <= position);
                after
                    .checked_sub(1)
                    .map_or(0, |at| chunks[at].compressed.start)
            }
        };
        offset as u64
    }

    /// The bytes in `range`, which lies inside [`Self::length`]; zeros where a chunk is damaged.
    pub(crate) fn bytes(&self, range: Range<usize>) -> Cow<'_, [u8]> {
        let file = self.file.get();
        match &self.storage {
            Storage::Plain(all) => {
                Cow::Borrowed(&file[all.start + range.start..all.start + range.end])
            }
            Storage::Chunks(method, chunks) => {
                let mut bytes = Vec::with_capacity(range.len());
                let first = chunks.partition_point(|chunk| chunk.expanded.end <= range.start);
                for chunk in chunks[first..]
                    .iter()
                    .take_while(|chunk| chunk.expanded.start < range.end)
                {
                    let expanded = chunk.expand(*method, file).0;
                    let begin = range.start.saturating_sub(chunk.expanded.start);
                    let end = range.end.min(chunk.expanded.end) - chunk.expanded.start;
                    bytes.extend_from_slice(&expanded[begin..end]);
                }
                Cow::Owned(bytes)
            }
        }
    }

    /// Calls `visit` with every page of `page_size` bytes and its position, the last one possibly
    /// shorter; `damaged` with the place in the file of every chunk that could not be expanded.
    pub(crate) fn for_each_page(
        &self,
        page_size: usize,
        mut visit: impl FnMut(usize, &[u8]),
        mut damaged: impl FnMut(u64),
    ) {
        let file = self.file.get();
        match &self.storage {
            Storage::Plain(range) => {
                for (page, position) in file[range.clone()]
                    .chunks(page_size)
                    .zip((0..).step_by(page_size))
                {
                    visit(position, page);
                }
            }
            Storage::Chunks(method, chunks) => {
                let mut position = 0;
                let mut bytes = Vec::new();
                for chunk in chunks {
                    let (expanded, whole) = chunk.expand(*method, file);
                    if !whole {
                        damaged(chunk.compressed.start as u64);
                    }
                    bytes.extend_from_slice(&expanded);
                    let mut pages = bytes.chunks_exact(page_size);
                    for page in &mut pages {
                        visit(position, page);
                        position += page_size;
                    }
                    bytes = pages.remainder().to_vec();
                }
                if !bytes.is_empty() {
                    visit(position, &bytes);
                }
            }
        }
    }
}

impl Chunk {
    /// Lists the chunks at `cursor`: their number, then each with its two sizes. Stops before the
    /// first one that makes no sense; says whether there was none such.
    pub(crate) fn list(cursor: &mut Cursor<'_>) -> (Vec<Self>, bool) {
        let mut chunks = Vec::new();
        let Ok(count) = cursor.u32() else {
            return (chunks, false);
        };
        let mut begin = 0;
        for _ in 0..count {
            let (Ok(compressed), Ok(expanded)) = (cursor.u32(), cursor.u32()) else {
                return (chunks, false);
            };
            let (at, expanded) = (cursor.position(), expanded as usize);
            if cursor.take(compressed.into()).is_err() || expanded > plausible(compressed as usize)
            {
                return (chunks, false);
            }
            chunks.push(Self {
                compressed: at..at + compressed as usize,
                expanded: begin..begin + expanded,
            });
            begin += expanded;
        }
        (chunks, true)
    }

    /// As many bytes as the chunk states, zeros where it is damaged, and whether it is not.
    fn expand(&self, method: Compression, file: &[u8]) -> (Vec<u8>, bool) {
        let compressed = &file[self.compressed.clone()];
        let (mut bytes, whole) = method.expand(compressed, self.expanded.len());
        bytes.resize(self.expanded.len(), 0);
        (bytes, whole)
    }
}

/// The most bytes that so many compressed ones are believed to become.
fn plausible(compressed: usize) -> usize {
    compressed.saturating_mul(MOST_RATIO).min(MOST_EXPANDED)
}
