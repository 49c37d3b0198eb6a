//! Where reading goes on in a damaged stream: at which place behind a damaged packet, or inside one that claims more
//! than it has, the next packet begins.
//!
//! Packets show themselves by their magic number and by what their headers say. A payload may look alike; who is
//! believed is one at whose end another packet begins, or the file ends.

use std::ops::Range;

use crate::index_file::IndexEntry;
use crate::layout::TraceLayout;
use crate::packets::{PacketPlans, RawPacket, ReadPacket};
use crate::trace::PAGE_BYTES;

/// A stream file in which packets are looked for.
pub(crate) struct Search<'trace> {
    pub(crate) plans: &'trace PacketPlans,
    pub(crate) layout: &'trace TraceLayout,
    /// Position of the file.
    pub(crate) file: usize,
    pub(crate) content: &'trace [u8],
    /// Of its index, one behind the other; empty where it has none that makes sense.
    pub(crate) entries: &'trace [IndexEntry],
}

impl Search<'_> {
    fn size(&self) -> u64 {
        self.content.len() as u64
    }

    fn read(&self, at: u64) -> Option<ReadPacket> {
        (self.plans)
            .read(self.layout, self.file, self.content, at)
            .ok()
    }

    /// Whether a packet begins at `at`, or the file ends there.
    fn is_boundary(&self, at: u64) -> bool {
        at == self.size() || (at < self.size() && self.read(at).is_some())
    }

    /// What the index says of the packet at `offset`.
    fn entry(&self, offset: u64) -> Option<&IndexEntry> {
        let found = self
            .entries
            .binary_search_by_key(&offset, |entry| entry.offset);
        Some(&self.entries[found.ok()?])
    }

    /// The next packet behind `offset`, which is damaged: one that the index lists and the stream has, else one that
    /// shows itself.
    pub(crate) fn next(&self, offset: u64) -> Option<u64> {
        let listed = self.next_listed(offset);
        listed.or_else(|| self.next_shown(offset + 1))
    }

    fn next_listed(&self, offset: u64) -> Option<u64> {
        let first = self.entries.partition_point(|entry| entry.offset <= offset);
        let inside = self.entries[first..].iter();
        let mut inside = inside.take_while(|entry| entry.offset < self.size());
        let is_there = |entry: &&IndexEntry| {
            let read = self.read(entry.offset);
            read.is_some_and(|read| agrees(entry, &read.packet, self.size()))
        };
        Some(inside.find(is_there)?.offset)
    }

    /// The first packet from `from` on. One at whose end nothing begins may be a payload that looks like one, or have
    /// a damaged packet behind it: it is believed where it leaves out none that is sure.
    fn next_shown(&self, from: u64) -> Option<u64> {
        let mut possible: Option<Range<u64>> = None;
        // The last of its file, perhaps: or its size is none.
        let mut cut = None;
        for at in self.magic_numbers(from) {
            if possible.as_ref().is_some_and(|possible| possible.end <= at) {
                break;
            }
            let Some(read) = self.read(at) else { continue };
            let end = at + read.packet.size;
            if read.cut.is_some() {
                cut = cut.or(Some(at));
            } else if self.is_boundary(end) {
                return Some(at);
            } else if possible.is_none() && goes_forward(&read.packet) {
                possible = Some(at..end);
            }
        }
        possible.map(|possible| possible.start).or(cut)
    }

    /// The first packet that begins within these bytes, and at whose end another one does.
    fn first_sure(&self, within: Range<u64>) -> Option<u64> {
        let mut inside = (self.magic_numbers(within.start)).take_while(|at| *at < within.end);
        inside.find(|at| self.is_sure(*at))
    }

    fn is_sure(&self, at: u64) -> bool {
        let read = self.read(at).filter(|read| read.cut.is_none());
        read.is_some_and(|read| self.is_boundary(at + read.packet.size))
    }

    /// The same in what `packet` says to be its padding. LTTng's packets begin at pages, where it is enough to look.
    fn first_in_padding(&self, packet: &RawPacket) -> Option<u64> {
        let end = packet.offset + packet.size;
        let padding = packet.offset + packet.content_bits.div_ceil(8)..end;
        let is_of_pages =
            packet.offset.is_multiple_of(PAGE_BYTES) && packet.size.is_multiple_of(PAGE_BYTES);
        if !is_of_pages || !self.layout.is_by_lttng() {
            return self.first_sure(padding);
        }
        let mut pages =
            (padding.start.next_multiple_of(PAGE_BYTES)..end).step_by(PAGE_BYTES as usize);
        pages.find(|at| self.is_sure(*at))
    }

    fn magic_numbers(&self, from: u64) -> impl Iterator<Item = u64> {
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        let found = self.plans.magic_numbers(self.content, from);
        found.map(|at| at as u64)
    }

    /// Behind `packet` no other one begins. Where one begins inside of it, bytes of `packet` are missing: it is made
    /// shorter, and what is returned says so.
    pub(crate) fn shorten(&self, packet: &mut RawPacket) -> Option<String> {
        let end = packet.offset + packet.size;
        let is_listed = (self.entry(packet.offset)).is_some_and(|entry| entry.end() == end);
        if is_listed && self.is_boundary(end) {
            return None;
        }
        let at = self.first_sure(packet.offset + 1..end)?;
        let size = at - packet.offset;
        let what = format!(
            "the packet has {} bytes but another one begins after {size} of them",
            packet.size
        );
        self.resize(packet, size, packet.content_bits)
            .then_some(what)
    }

    /// Sets right what a packet that could be read states of its sizes, where its index says otherwise and is right,
    /// and where another packet begins in what should be padding. What is returned says what was wrong.
    pub(crate) fn set_right(&self, read: &mut ReadPacket) -> Option<String> {
        let packet = &mut read.packet;
        let (offset, end) = (packet.offset, packet.offset + packet.size);
        let listed = self.entry(offset);
        if let Some(entry) = listed.filter(|entry| entry.end() <= self.size()) {
            let states_more = entry.end() < end || read.cut.is_some();
            let is_size_wrong = match states_more {
                true => self.is_boundary(entry.end()),
                false => {
                    entry.end() > end && !self.is_boundary(end) && self.is_boundary(entry.end())
                }
            };
            let is_content_wrong = entry.end() == end && entry.content_bits != packet.content_bits;
            if is_size_wrong || is_content_wrong {
                let what = format!(
                    "the packet states a content of {} bits in {} bytes, its index {} in {}: that is read",
                    packet.content_bits,
                    packet.size,
                    entry.content_bits,
                    entry.packet_bits / 8
                );
                if self.resize(packet, entry.packet_bits / 8, entry.content_bits) {
                    read.cut = None;
                    return Some(what);
                }
            }
        }
        let at = self.first_in_padding(packet)?;
        let size = at - offset;
        let what = format!(
            "the packet states {} bytes, but another one begins after {size} of them, in its padding",
            packet.size
        );
        self.resize(packet, size, packet.content_bits).then(|| {
            read.cut = None;
            what
        })
    }

    /// Gives the packet these sizes, if its header and context have room in them.
    fn resize(&self, packet: &mut RawPacket, size: u64, content_bits: u64) -> bool {
        let resized = RawPacket {
            size,
            content_bits: content_bits.min(size.saturating_mul(8)),
            ..packet.clone()
        };
        let has_room = self.plans.enter(&resized, self.content).is_some();
        if has_room {
            *packet = resized;
        }
        has_room
    }
}

/// Whether a packet does not end before it begins.
fn goes_forward(packet: &RawPacket) -> bool {
    packet.stated().is_none_or(|(begin, end)| begin <= end)
}

/// Whether an entry is of this packet of a stream of `size` bytes.
pub(crate) fn agrees(entry: &IndexEntry, packet: &RawPacket, size: u64) -> bool {
    entry.offset == packet.offset
        && entry.end().min(size) == packet.offset + packet.size
        && packet.begin.is_none_or(|begin| begin == entry.begin)
}
