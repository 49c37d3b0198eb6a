//! One page of the kernel's ring buffer: its header and the records in it.
//!
//! A page begins with the time of its first record and the number of bytes written; each record has
//! a word with its length and the time since the record before. Nothing here knows what a record
//! holds. Source: the comments of `include/linux/ring_buffer.h`, and see docs/formats/ftrace.md.

use crate::byte_order::ByteOrder;
use crate::error::ReadError;
use crate::format::Declaration;

/// Events were lost before this page.
const MISSED_EVENTS: u64 = 1 << 31;
/// Their number stands behind the page's data.
const MISSED_STORED: u64 = 1 << 30;
/// The bits of the commit word that count bytes.
const COMMITTED: u64 = (1 << 27) - 1;
/// No ring buffer has larger pages; a larger figure is damage.
const MOST_PAGE_BYTES: usize = 16 << 20;

const DATA_MOST_WORDS: u32 = 28;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Time differences have this many bits; extensions carry the bits above.
const DELTA_BITS: u32 = 27;
/// Absolute time stamps have this many bits; those above come from the page.
const ABSOLUTE_BITS: u32 = 59;

/// How the pages of a recording are laid out, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageLayout {
    pub(crate) order: ByteOrder,
    pub(crate) page_size: usize,
    timestamp_offset: usize,
    commit_offset: usize,
    /// As wide as the kernel's `long`.
    commit_size: usize,
    data_offset: usize,
}

/// The header of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageHeader {
    /// Reading of the tracer's clock at the first record.
    pub(crate) timestamp: u64,
    /// Where the records end, in bytes from the page's begin; may lie past a cut page.
    pub(crate) end: usize,
    /// Events lost before this page.
    pub(crate) lost: Lost,
}

/// Whether events were lost before a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    Nothing,
    Events(u64),
    /// There was no room for the number.
    Unknown,
}

impl PageLayout {
    /// Reads the text of `events/header_page`.
    pub(crate) fn parse(header_page: &str, order: ByteOrder) -> Result<Self, ReadError> {
        let error = |reason: String| ReadError::PageLayout { reason };
        let mut declarations = Vec::new();
        for line in header_page.lines() {
            declarations.extend(Declaration::parse(line).map_err(error)?);
        }
        let find = |name: &str| {
            let found = declarations.iter().find(|field| field.name == name);
            found.ok_or_else(|| error(format!("it has no field {name:?}")))
        };
        let (timestamp, commit, data) = (find("timestamp")?, find("commit")?, find("data")?);
        let header_end = timestamp
            .offset
            .saturating_add(8)
            .max(commit.offset.saturating_add(commit.size));
        let page_size = data.offset.saturating_add(data.size);
        let makes_sense = timestamp.size == 8
            && matches!(commit.size, 4 | 8)
            && header_end <= data.offset
            && data.size >= 8
            && page_size <= MOST_PAGE_BYTES;
        if !makes_sense {
            return Err(error(format!("the sizes make no sense in {header_page:?}")));
        }
        Ok(Self {
            order,
            page_size,
            timestamp_offset: timestamp.offset,
            commit_offset: commit.offset,
            commit_size: commit.size,
            data_offset: data.offset,
        })
    }

    /// Bytes of the traced kernel's `long`.
    pub(crate) fn long_size(&self) -> usize {
        self.commit_size
    }

    /// The same with pages of another size, where that makes sense.
    pub(crate) fn with_page_size(self, page_size: usize) -> Self {
        let makes_sense = (self.data_offset + 8..=MOST_PAGE_BYTES).contains(&page_size);
        Self {
            page_size: if makes_sense {
                page_size
            } else {
                self.page_size
            },
            ..self
        }
    }

    /// Reads a page's header; `None` where the page is cut off inside it.
    pub(crate) fn header(&self, page: &[u8]) -> Option<PageHeader> {
        let number =
            |offset: usize, size: usize| Some(self.order.number(page.get(offset..offset + size)?));
        let timestamp = number(self.timestamp_offset, 8)?;
        let commit = number(self.commit_offset, self.commit_size)?;
        page.get(..self.data_offset)?;
        let end = self.data_offset + (commit & COMMITTED) as usize;
        let lost = match (commit & MISSED_EVENTS != 0, commit & MISSED_STORED != 0) {
            (false, _) => Lost::Nothing,
            (true, true) => number(end, self.commit_size).map_or(Lost::Unknown, Lost::Events),
            (true, false) => Lost::Unknown,
        };
        Some(PageHeader {
            timestamp,
            end,
            lost,
        })
    }

    /// Whether something stands where a page's first record would.
    pub(crate) fn has_content(&self, page: &[u8]) -> bool {
        let first = page.get(self.data_offset..self.data_offset + 4);
        first.is_some_and(|first| first != [0; 4])
    }

    /// Whether a page holds no record.
    pub(crate) fn is_empty(&self, header: &PageHeader) -> bool {
        header.end == self.data_offset
    }

    /// Walks the records of the page that lies at `begin` of `bytes`; stops at the page's end or
    /// the end of `bytes`.
    pub(crate) fn records<'bytes, const BIG: bool>(
        &self,
        bytes: &'bytes [u8],
        begin: usize,
        header: &PageHeader,
    ) -> Records<'bytes, BIG> {
        let end = begin + header.end.min(self.page_size);
        Records {
            bytes: &bytes[..end.min(bytes.len())],
            next: begin + self.data_offset,
            time: header.timestamp,
        }
    }

    /// The time of the next page with records, of the pages that `bytes` are: no record of the first one can
    /// be after it.
    pub(crate) fn next_page_begin(&self, bytes: &[u8]) -> Option<u64> {
        let mut pages = bytes.chunks(self.page_size).skip(1);
        pages.find_map(|page| {
            let header = self.header(page)?;
            (!self.is_empty(&header)).then_some(header.timestamp)
        })
    }

    /// The clock reading at the last record of a page, of those not after `until`.
    pub(crate) fn last_time(&self, page: &[u8], until: u64) -> Option<u64> {
        let header = self.header(page)?;
        Some(match self.order {
            ByteOrder::Little => self.records::<false>(page, 0, &header).last_time(until),
            ByteOrder::Big => self.records::<true>(page, 0, &header).last_time(until),
        })
    }
}

/// Walks the records of one page.
pub(crate) struct Records<'bytes, const BIG: bool> {
    bytes: &'bytes [u8],
    next: usize,
    time: u64,
}

/// What stands next in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    /// A record of an event.
    Record(Record),
    /// The page is over.
    End,
    /// The record at this place runs past the end of the page.
    Broken(usize),
}

/// One record; places are in bytes from the begin of what the pages lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Where its header begins.
    pub(crate) position: usize,
    /// Where what the event holds begins.
    pub(crate) begin: usize,
    /// Where it ends.
    pub(crate) end: usize,
    /// Reading of the tracer's clock.
    pub(crate) time: u64,
}

impl<'bytes, const BIG: bool> Records<'bytes, BIG> {
    /// A walk that begins at the record at `position`, with no knowledge of time.
    pub(crate) fn at(bytes: &'bytes [u8], position: usize) -> Self {
        Self {
            bytes,
            next: position,
            time: 0,
        }
    }

    #[inline(always)]
    fn word(&self, at: usize) -> Option<u32> {
        let bytes = *self.bytes.get(at..)?.first_chunk::<4>()?;
        Some(if BIG {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        })
    }

    /// The next record of an event; paddings and time extensions are stepped over.
    #[inline(always)]
    pub(crate) fn step(&mut self) -> Walk {
        loop {
            let position = self.next;
            let Some(word) = self.word(position) else {
                // A page's end is a multiple of four; what is left of a cut one is no record.
                return if position == self.bytes.len() {
                    Walk::End
                } else {
                    Walk::Broken(position)
                };
            };
            let (kind, delta) = if BIG {
                (word >> DELTA_BITS, word & ((1 << DELTA_BITS) - 1))
            } else {
                (word & 31, word >> 5)
            };
            let delta = u64::from(delta);
            let (begin, length) = match kind {
                1..=DATA_MOST_WORDS => (position + 4, kind as usize * 4),
                PADDING if delta == 0 => return Walk::End,
                _ => {
                    let Some(extra) = self.word(position + 4) else {
                        return Walk::Broken(position);
                    };
                    let high = u64::from(extra) << DELTA_BITS;
                    match kind {
                        // A discarded event: its time counts, unless it is the 1 that stands for none.
                        PADDING => {
                            self.time = self.time.wrapping_add(if delta == 1 { 0 } else { delta });
                            if extra < 4 {
                                return Walk::Broken(position);
                            }
                            self.next = position + 4 + extra as usize;
                            if self.next > self.bytes.len() {
                                return Walk::Broken(position);
                            }
                            continue;
                        }
                        TIME_EXTEND => {
                            self.time = self.time.wrapping_add(high | delta);
                            self.next = position + 8;
                            continue;
                        }
                        TIME_STAMP => {
                            self.time = absolute_time(high | delta, self.time);
                            self.next = position + 8;
                            continue;
                        }
                        // Length 0: the length stands in the word behind, which it includes.
                        _ if extra < 4 => return Walk::Broken(position),
                        _ => (position + 8, extra as usize - 4),
                    }
                }
            };
            let end = begin + length;
            if end > self.bytes.len() {
                return Walk::Broken(position);
            }
            self.time = self.time.wrapping_add(delta);
            // Records begin at multiples of four; lengths of large ones need not be.
            self.next = (end + 3) & !3;
            return Walk::Record(Record {
                position,
                begin,
                end,
                time: self.time,
            });
        }
    }

    fn last_time(mut self, until: u64) -> u64 {
        let mut last = self.time;
        while let Walk::Record(record) = self.step()
            && (last..=until).contains(&record.time)
        {
            last = record.time;
        }
        last
    }
}

/// An absolute time stamp lacks its highest five bits: they are those of the time before, or one
/// more where the rest would go back.
fn absolute_time(low: u64, before: u64) -> u64 {
    let high = before >> ABSOLUTE_BITS << ABSOLUTE_BITS;
    let time = high | low & ((1 << ABSOLUTE_BITS) - 1);
    if high != 0 && time < before {
        time.wrapping_add(1 << ABSOLUTE_BITS)
    } else {
        time
    }
}
