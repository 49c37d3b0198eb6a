//! Finds the packets of a stream file: from packet to packet, held against the index.
//!
//! The stream itself is what counts: every packet's beginning is read. An index (see `index_file`)
//! only says what a stream cannot say of itself: that packets are missing at its end, and where to
//! go on behind a damaged one. Without it, the next magic number shows where.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use slowpath_model::{Diagnostic, DiagnosticCode, Place};
use slowpath_source::NamedBytes;

use crate::index_file::{self, IndexEntry};
use crate::layout::TraceLayout;
use crate::packets::{PacketPlans, RawPacket};
use crate::resume::{Search, agrees};
use crate::trace::StreamFile;

/// The packets of one file.
#[derive(Default)]
pub(crate) struct Listed {
    pub(crate) packets: Vec<RawPacket>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// It had packets, of which none is left.
    pub(crate) has_nothing_left: bool,
    /// It has more packets than its size allows: so many, or more.
    spare_packets: u64,
}

/// Lists the packets of each of `files`. Every packet's page has to be fetched, so it takes several `workers`.
pub(crate) fn list(
    plans: &PacketPlans,
    layout: &TraceLayout,
    files: &[StreamFile],
    workers: NonZeroUsize,
) -> Vec<Listed> {
    let scan = |position: usize, spare_packets: u64| {
        let mut scanner = Scanner {
            plans,
            layout,
            spare_packets,
            listed: Listed::default(),
        };
        scanner.take(position, &files[position]);
        scanner.listed
    };
    let mut listed = in_parallel(workers, files, |position, _| scan(position, 0));
    let mut spare_packets = SPARE_PACKETS;
    for (file, position) in listed.iter_mut().zip(0..) {
        if file.spare_packets > 0 {
            *file = scan(position, spare_packets);
            spare_packets -= file.spare_packets.min(spare_packets);
        }
    }
    listed
}

/// `of` of each of `things` and its position, in their order.
pub(crate) fn in_parallel<Thing: Send, Made: Send>(
    workers: NonZeroUsize,
    things: impl IntoIterator<Item = Thing, IntoIter: ExactSizeIterator + Send>,
    of: impl Fn(usize, Thing) -> Made + Sync,
) -> Vec<Made> {
    let things = things.into_iter();
    let helpers = workers.get().min(things.len()).saturating_sub(1);
    let waiting = Mutex::new(things.enumerate());
    let next = || {
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.next()
    };
    let work = || {
        let things = std::iter::from_fn(next);
        let made = things.map(|(position, thing)| (position, of(position, thing)));
        made.collect()
    };
    let mut done: Vec<(usize, Made)> = std::thread::scope(|scope| {
        let helpers: Vec<_> = (0..helpers).map(|_| scope.spawn(work)).collect();
        let mut done: Vec<(usize, Made)> = work();
        for helper in helpers {
            match helper.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(position, _)| *position);
    done.into_iter().map(|(_, made)| made).collect()
}

/// Lists the packets of a file.
struct Scanner<'trace> {
    plans: &'trace PacketPlans,
    layout: &'trace TraceLayout,
    /// Packets that the file may have beyond those that its size allows.
    spare_packets: u64,
    listed: Listed,
}

/// A listed packet takes some 300 bytes of memory, so a file may have one for each this many bytes.
const BYTES_PER_PACKET: u64 = 64;
/// Small traces, mostly made by hand for tests, may have smaller packets.
const SPARE_PACKETS: u64 = 10_000;
/// Room is made at once for no more packets than these.
const EXPECTED_PACKETS: u64 = 65_536;
/// Whether a file is text is decided by its beginning.
const TEXT_SAMPLE: usize = 4096;

impl Scanner<'_> {
    /// All packets of the file at `position` of the trace's list.
    fn take(&mut self, position: usize, file: &StreamFile) {
        let mut scanned = self.scan_against_index(position, file);
        let is_cut_off = (scanned.is_cut_off || file.is_cut_off) && !scanned.is_foreign;
        match scanned.packets.last_mut() {
            Some(last) => last.is_cut_off = is_cut_off,
            None => self.listed.has_nothing_left = is_cut_off,
        }
        self.listed.packets = scanned.packets;
    }

    fn scan_against_index(&mut self, position: usize, file: &StreamFile) -> Scanned {
        let (stream, content) = (&file.stream, file.stream.get());
        let Some(index) = &file.index else {
            if self.plans.lacks_magic(content) && is_text(content) {
                let what = "it is text and does not begin with a packet's magic number";
                self.report(DiagnosticCode::IgnoredFile, stream, None, what.to_owned());
                return Scanned::default();
            }
            return self.scan(position, stream, &[]);
        };
        let size = content.len() as u64;
        let listed = index_file::parse(index.get()).and_then(|entries| {
            check_sizes(&entries)?;
            Ok(entries)
        });
        let entries = listed.as_deref().unwrap_or_default();
        let mut scanned = self.scan(position, stream, entries);
        if scanned.is_foreign {
            return scanned;
        }
        let fits = listed.as_deref().map_err(String::clone);
        if let Err(what) = fits.and_then(|entries| compare(entries, &scanned, size)) {
            // What a damaged stream has of its index is no fault of that.
            if !scanned.is_damaged || listed.is_err() {
                self.report(DiagnosticCode::InvalidIndex, index, None, what);
            }
            return scanned;
        }
        let missing = entries.iter().filter(|entry| entry.offset >= size).count();
        if missing > 0 {
            let bytes = entries.last().map_or(size, IndexEntry::end) - size;
            let what = format!(
                "the stream ends here; its index lists {missing} more packets, and {bytes} more bytes"
            );
            self.report(DiagnosticCode::MissingPackets, stream, Some(size), what);
            if let Some(diagnostic) = self.listed.diagnostics.last_mut() {
                diagnostic.count = Some(missing as u64);
            }
            scanned.is_cut_off = true;
        }
        scanned
    }

    /// Goes from packet to packet, and behind a damaged one on to the next.
    fn scan(&mut self, file: usize, stream: &NamedBytes, entries: &[IndexEntry]) -> Scanned {
        let content = stream.get();
        let search = Search {
            plans: self.plans,
            layout: self.layout,
            file,
            content,
            entries,
        };
        let size = content.len() as u64;
        let mut scanned = Scanned::default();
        let mut left = size / BYTES_PER_PACKET;
        let mut offset = 0;
        while offset < size {
            match self.plans.read(self.layout, file, content, offset) {
                Ok(mut read) => {
                    if left > 0 {
                        left -= 1;
                    } else if self.listed.spare_packets < self.spare_packets {
                        self.listed.spare_packets += 1;
                    } else {
                        self.listed.spare_packets += 1;
                        let what = format!(
                            "the {} packets before this place have {} bytes each on average",
                            scanned.packets.len(),
                            offset / (scanned.packets.len() as u64).max(1)
                        );
                        let code = DiagnosticCode::TooManyPackets;
                        self.report(code, stream, Some(offset), what);
                        scanned.is_cut_off = true;
                        break;
                    }
                    if let Some(what) = search.set_right(&mut read) {
                        let code = DiagnosticCode::InvalidPacket;
                        self.report(code, stream, Some(offset), what);
                        scanned.is_damaged = true;
                    }
                    if let Some(what) = read.cut {
                        let code = DiagnosticCode::TruncatedPacket;
                        self.report(code, stream, Some(offset), what);
                        scanned.is_damaged = true;
                        scanned.is_cut_off = true;
                    }
                    if scanned.packets.is_empty() {
                        // Growing would have pages fetched again and again.
                        let expected = size / read.packet.size.max(1);
                        scanned
                            .packets
                            .reserve(expected.min(EXPECTED_PACKETS) as usize);
                    }
                    offset += read.packet.size.max(1);
                    scanned.packets.push(read.packet);
                }
                Err((code, what)) => {
                    scanned.is_damaged = true;
                    let before = scanned.packets.last_mut();
                    let before = before.filter(|packet| packet.offset + packet.size == offset);
                    if let Some(before) = before
                        && let Some(what) = search.shorten(before)
                    {
                        let code = DiagnosticCode::TruncatedPacket;
                        self.report(code, stream, Some(before.offset), what);
                        offset = before.offset + before.size;
                        continue;
                    }
                    self.report(code, stream, Some(offset), what);
                    // Behind a packet of this trace, another's name is damage.
                    scanned.is_foreign =
                        code == DiagnosticCode::ForeignStream && scanned.packets.is_empty();
                    let next = match scanned.is_foreign {
                        true => None,
                        false => search.next(offset),
                    };
                    let Some(next) = next else {
                        scanned.is_cut_off = true;
                        break;
                    };
                    offset = next;
                }
            }
        }
        scanned
    }

    fn report(&mut self, code: DiagnosticCode, file: &NamedBytes, byte: Option<u64>, what: String) {
        let place = Place {
            file: file.name.clone(),
            byte,
            ..Place::default()
        };
        self.listed
            .diagnostics
            .push(Diagnostic::new(code, place, what));
    }
}

/// What going through a stream has found.
#[derive(Default)]
struct Scanned {
    packets: Vec<RawPacket>,
    /// Some packet is damaged or cut short, and has been reported.
    is_damaged: bool,
    /// The stream is of another trace.
    is_foreign: bool,
    /// The end of the stream is missing.
    is_cut_off: bool,
}

/// Whether the entries of an index make sense on their own: one packet after the other.
fn check_sizes(entries: &[IndexEntry]) -> Result<(), String> {
    let mut expected = 0;
    for entry in entries {
        let offset = entry.offset;
        if offset != expected {
            return Err(format!(
                "its packet at byte {offset} should begin at byte {expected}"
            ));
        }
        if entry.packet_bits < 8
            || entry.packet_bits % 8 != 0
            || entry.content_bits > entry.packet_bits
        {
            return Err(format!("its packet at byte {offset} has impossible sizes"));
        }
        expected = entry.end();
    }
    Ok(())
}

/// Holds an index against the packets of a stream of `size` bytes; the error is what does not fit.
fn compare(entries: &[IndexEntry], scanned: &Scanned, size: u64) -> Result<(), String> {
    for packet in &scanned.packets {
        let position = entries.partition_point(|entry| entry.offset < packet.offset);
        let listed = entries.get(position);
        if !listed.is_some_and(|entry| agrees(entry, packet, size)) {
            let offset = packet.offset;
            return Err(format!(
                "it does not list the stream's packet at byte {offset}"
            ));
        }
    }
    let end = entries.last().map_or(0, IndexEntry::end);
    let ends_within_packet = entries
        .last()
        .is_some_and(|last| last.offset < size && size < end);
    if end < size || (ends_within_packet && !scanned.is_damaged) {
        return Err(format!("it covers {end} bytes, the stream has {size}"));
    }
    Ok(())
}

/// Whether a file begins as text for people: no stream of packets does.
fn is_text(content: &[u8]) -> bool {
    let sample = &content[..content.len().min(TEXT_SAMPLE)];
    let text = match std::str::from_utf8(sample) {
        Ok(text) => text,
        // The sample may end within a character.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&sample[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    let is_plain = |character: char| !character.is_control() || character.is_ascii_whitespace();
    !text.is_empty() && text.chars().all(is_plain)
}
