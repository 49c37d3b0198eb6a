//! Joins the pages of one processor into packets.
//!
//! A page is too small to be a unit of work, so a packet is a run of pages: 64 of the usual size.
//! A run ends where events were lost or time goes back, so that both stand between packets, where
//! the contract of `Source` has a place for them. Pages whose times cannot be true are left out.

use rustc_hash::FxHashSet;
use slowpath_model::{
    CpuId, Diagnostic, DiagnosticCode, Nanoseconds, PacketId, Place, StreamId, TimeRange, counted,
};
use slowpath_source::{Packet, contradicting};

use crate::clock::Clock;
use crate::cpu_data::CpuData;
use crate::page::{Lost, PageHeader, PageLayout};
use crate::saved::Losses;

/// A packet is ended at the first page after so many bytes.
const PACKET_BYTES: usize = 256 << 10;
/// The kernel goes on to the next page where an event does not fit; hardly any takes so many bytes.
const ROOM_LEFT_BYTES: usize = 512;

/// One processor's pages with what is needed to read them.
#[derive(Debug)]
pub(crate) struct PageStream {
    pub(crate) name: String,
    pub(crate) cpu: CpuId,
    pub(crate) data: CpuData,
    pub(crate) layout: PageLayout,
    pub(crate) clock: Clock,
    /// It had more pages when it was recorded.
    pub(crate) is_short: bool,
    /// What the tracer says about losses.
    pub(crate) losses: Losses,
    /// What was overwritten before the first page was meant to be.
    pub(crate) is_snapshot: bool,
    /// The first and last clock reading that a page may have.
    pub(crate) readings: (u64, u64),
}

/// A run of pages that will be a packet.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Where it begins in the run of all pages, and how long it is.
    position: usize,
    length: usize,
    /// Clock reading at its first record.
    begin: u64,
    /// Where its last page with records begins, and the clock reading there.
    last_page: usize,
    last_page_begin: u64,
    lost: Lost,
    /// Pages before it were left out as damaged.
    is_after_damage: bool,
}

/// Time in which no record was written, between two pages.
#[derive(Clone, Copy, Debug)]
struct Silence {
    /// The position of the page behind it.
    before: usize,
    /// The page before it, and the clock reading there.
    last_page: usize,
    last_page_begin: u64,
    /// Clock readings of the last record before it and the first one behind.
    begin: u64,
    end: u64,
}

impl Silence {
    fn length(&self) -> u64 {
        self.end.saturating_sub(self.begin)
    }
}

/// The packets of one stream, and the position of each in the run of all pages.
#[derive(Default)]
pub(crate) struct Listing {
    pub(crate) packets: Vec<Packet>,
    pub(crate) positions: Vec<usize>,
    /// The clock reading that no record of the packet can be after.
    pub(crate) until: Vec<u64>,
    /// The last pages of the stream that was listed last are missing or were left out.
    pub(crate) lacks_end: bool,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl PageStream {
    /// Where in the file something at `position` of the pages was found.
    pub(crate) fn place(&self, position: usize) -> Place {
        Place {
            file: self.name.clone(),
            byte: Some(self.data.file_offset(position)),
            ..Place::default()
        }
    }

    /// What is not about a place in particular.
    pub(crate) fn all(&self) -> Place {
        Place {
            file: self.name.clone(),
            ..Place::default()
        }
    }

    /// Appends this stream's packets, as those of `stream`, to `listing`.
    pub(crate) fn list_packets(&self, stream: StreamId, listing: &mut Listing) {
        let (mut runs, lacks_end) = self.runs_in_order(&mut listing.diagnostics);
        let missing_inside = self.missing_inside(&mut runs);
        listing.lacks_end = lacks_end || self.is_short && missing_inside.is_none();
        listing.diagnostics.extend(missing_inside);
        let lost = self.lost_before(&runs);
        for (index, run) in runs.iter().enumerate() {
            // No loss to be counted, and yet nothing is known of the time before.
            let is_overwritten = self.is_snapshot && run.lost != Lost::Nothing;
            let missing_before = run.is_after_damage || is_overwritten;
            let begin = self.clock.time(run.begin);
            let next = runs.get(index + 1).map(|next| next.begin);
            let next = next.filter(|next| *next >= run.last_page_begin);
            let end = match next {
                Some(next) => self.clock.time(next),
                None => self.time_of_last_record(run),
            };
            listing.packets.push(Packet {
                id: PacketId(listing.packets.len() as u32),
                stream,
                offset: self.data.file_offset(run.position),
                size: run.length as u64,
                range: TimeRange::new(begin, end),
                cpu: Some(self.cpu),
                lost_events: lost[index],
                lost_packets: missing_before.into(),
                behind_loss: false,
                beyond: Nanoseconds::ZERO,
                number: None,
            });
            listing.positions.push(run.position);
            listing.until.push(next.unwrap_or(self.readings.1));
        }
        let dropped = if runs.is_empty() {
            self.losses.dropped
        } else {
            0
        };
        let lost = lost.into_iter().fold(dropped, u64::saturating_add);
        if lost > 0 {
            let message = counted(lost, "event was lost", "events were lost");
            let diagnostic = Diagnostic::new(DiagnosticCode::LostEvents, self.all(), message);
            listing.diagnostics.push(Diagnostic {
                count: Some(lost),
                ..diagnostic
            });
        }
    }

    /// Events lost before or, where nobody knows when, in each run.
    ///
    /// Where a page has no room for the number, what the tracer counted in all tells it: exactly
    /// when there is one such page, else the first one gets what the others leave. What the ring of a
    /// snapshot overwrote is no loss.
    fn lost_before(&self, runs: &[Run]) -> Vec<u64> {
        let known = runs.iter().map(|run| match run.lost {
            _ if self.is_snapshot => 0,
            Lost::Nothing => 0,
            Lost::Events(count) => count,
            Lost::Unknown => 1,
        });
        let mut lost: Vec<u64> = known.collect();
        let sum = lost.iter().copied().fold(0, u64::saturating_add);
        let unknown = runs.iter().position(|run| run.lost == Lost::Unknown);
        if let Some(first) = unknown.filter(|_| !self.is_snapshot) {
            lost[first] += self.losses.overwritten.saturating_sub(sum);
        }
        if let Some(last) = lost.last_mut() {
            *last = last.saturating_add(self.losses.dropped);
        }
        lost
    }

    /// The runs without the pages whose times contradict those of the others, and whether the last pages
    /// were left out.
    fn runs_in_order(&self, diagnostics: &mut Vec<Diagnostic>) -> (Vec<Run>, bool) {
        let mut found = Vec::new();
        let runs = self.runs(&FxHashSet::default(), &mut found);
        let goes_back = |found: &Diagnostic| found.code == DiagnosticCode::TimeGoesBack;
        let (mut runs, lacks_end) = if found.iter().any(goes_back) {
            self.runs(&self.contradicted_pages(), diagnostics)
        } else {
            diagnostics.extend(found);
            runs
        };
        if let [first, second, ..] = &runs[..]
            && self.is_left_over(first, second)
        {
            runs.remove(0);
        }
        (runs, lacks_end)
    }

    /// Whether a snapshot's first page was being filled when the one before was taken, and the ring went on
    /// to overwrite what followed it: the snapshot begins behind.
    fn is_left_over(&self, first: &Run, second: &Run) -> bool {
        let is_one_page = first.length <= self.layout.page_size;
        self.is_snapshot
            && is_one_page
            && first.lost == Lost::Nothing
            && second.lost != Lost::Nothing
    }

    /// The positions of the pages whose times contradict those of the others.
    fn contradicted_pages(&self) -> FxHashSet<usize> {
        let mut pages = Vec::new();
        let visit = |position: usize, page: &[u8]| {
            if let Some(header) = self.layout.header(page)
                && !self.layout.is_empty(&header)
                && self.may_be(header.timestamp)
            {
                pages.push((position, header.timestamp));
            }
        };
        self.data
            .for_each_page(self.layout.page_size, visit, |_| ());
        let times: Vec<(u64, u64)> = pages.iter().map(|(_, at)| (*at, *at)).collect();
        let wrong = contradicting(&times).into_iter();
        wrong.map(|page| pages[page].0).collect()
    }

    /// Where pages are missing before the last one, which was the last that was written, marks the run that
    /// they are taken to be missing before. Which pages these are nothing tells: the longer nothing was
    /// written, the more can be missing there.
    fn missing_inside(&self, runs: &mut Vec<Run>) -> Option<Diagnostic> {
        if !self.is_short {
            return None;
        }
        let (silence, room_left) = self.longest_silence();
        let silence = silence.filter(|_| room_left >= ROOM_LEFT_BYTES)?;
        let index = runs
            .iter()
            .rposition(|run| run.position <= silence.before)?;
        let run = runs[index];
        let behind = (run.position + run.length).checked_sub(silence.before)?;
        if run.position < silence.before {
            runs[index] = Run {
                length: silence.before - run.position,
                last_page: silence.last_page,
                last_page_begin: silence.last_page_begin,
                ..run
            };
            let rest = Run {
                position: silence.before,
                length: behind,
                begin: silence.end,
                lost: Lost::Nothing,
                ..run
            };
            runs.insert(index + 1, rest);
        }
        let after = runs.iter_mut().find(|run| run.position == silence.before)?;
        after.is_after_damage = true;
        let [begin, end] = [silence.begin, silence.end].map(|at| self.clock.time(at));
        let what = format!(
            "pages are missing between others: the last one is not full, and so the last that was written. They are \
             taken to be missing where nothing was written for longest, {} before this page",
            end.since(begin)
        );
        let code = DiagnosticCode::MissingPackets;
        Some(Diagnostic::new(code, self.place(silence.before), what))
    }

    /// The longest time between two pages, and the room left in the last page.
    fn longest_silence(&self) -> (Option<Silence>, usize) {
        let mut longest: Option<Silence> = None;
        // Recording began before the first page.
        let mut last = (self.readings.0 > 0).then_some((0, self.readings.0, self.readings.0));
        let mut room_left = 0;
        let visit = |position: usize, page: &[u8]| {
            let header = self.layout.header(page);
            let is_read = |header: &PageHeader| {
                !self.layout.is_empty(header) && self.may_be(header.timestamp)
            };
            let Some(header) = header.filter(is_read) else {
                return;
            };
            if let Some((last_page, last_page_begin, begin)) = last {
                let silence = Silence {
                    before: position,
                    last_page,
                    last_page_begin,
                    begin,
                    end: header.timestamp,
                };
                if longest.is_none_or(|known| known.length() < silence.length()) {
                    longest = Some(silence);
                }
            }
            let end = self.layout.last_time(page, self.readings.1);
            last = Some((position, header.timestamp, end.unwrap_or(header.timestamp)));
            room_left = self.layout.page_size.saturating_sub(header.end);
        };
        self.data
            .for_each_page(self.layout.page_size, visit, |_| ());
        (longest, room_left)
    }

    fn may_be(&self, reading: u64) -> bool {
        (self.readings.0..=self.readings.1).contains(&reading)
    }

    /// The runs of all pages but those at the positions `left_out`, whose times are wrong; and whether the
    /// last pages were left out.
    fn runs(
        &self,
        left_out: &FxHashSet<usize>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> (Vec<Run>, bool) {
        let mut runs: Vec<Run> = Vec::new();
        let mut bad_pages = Findings::default();
        let mut bad_chunks = Findings::default();
        let mut backwards = 0;
        // Empty ones that have no time, or something in place of records, are no page of the kernel's.
        let mut blanks: Vec<usize> = Vec::new();
        let mut after_wrong = false;
        let visit = |position: usize, page: &[u8]| {
            let size = page.len();
            let Some(header) = self.layout.header(page) else {
                bad_pages.add(DiagnosticCode::TruncatedPacket, || {
                    let message =
                        format!("a page is cut off after {size} bytes, inside its header");
                    (self.place(position), message)
                });
                return;
            };
            if header.end > size {
                let code = match size == self.layout.page_size {
                    true => DiagnosticCode::InvalidPacket,
                    false => DiagnosticCode::TruncatedPacket,
                };
                bad_pages.add(code, || {
                    let end = header.end;
                    let message =
                        format!("a page of {size} bytes states that its records end at {end}");
                    (self.place(position), message)
                });
            }
            if self.layout.is_empty(&header) && header.lost == Lost::Nothing {
                let is_blank = header.timestamp == 0 || self.layout.has_content(page);
                blanks.extend(is_blank.then_some(position));
                return;
            }
            let at = header.timestamp;
            let why = match (self.may_be(at), left_out.contains(&position)) {
                (false, _) => Some("is not in the time of the recording"),
                (true, true) => Some("contradicts the pages around it"),
                (true, false) => None,
            };
            if let Some(why) = why {
                bad_pages.add(DiagnosticCode::InvalidPacket, || {
                    (self.place(position), format!("a page's time, {at}, {why}"))
                });
                after_wrong = true;
                return;
            }
            let is_after_damage = std::mem::take(&mut after_wrong) || !blanks.is_empty();
            let lost = header.lost;
            for blank in blanks.drain(..) {
                bad_pages.add(DiagnosticCode::InvalidPacket, || {
                    (
                        self.place(blank),
                        "a page without a time, or that states no records but has some, lies among others"
                            .into(),
                    )
                });
            }
            if let Some(run) = runs.last_mut() {
                let goes_back = header.timestamp < run.last_page_begin;
                backwards += u64::from(goes_back);
                let length = position - run.position;
                let full = length >= PACKET_BYTES
                    && (self.data.can_cut_at(position) || length >= 4 * PACKET_BYTES);
                if !goes_back && !full && !is_after_damage && lost == Lost::Nothing {
                    run.length = position + page.len() - run.position;
                    run.last_page = position;
                    run.last_page_begin = header.timestamp;
                    return;
                }
            }
            runs.push(Run {
                position,
                length: page.len(),
                begin: header.timestamp,
                last_page: position,
                last_page_begin: header.timestamp,
                lost,
                is_after_damage,
            });
        };
        let damaged = |at: u64| {
            bad_chunks.add(DiagnosticCode::InvalidPacket, || {
                let place = Place {
                    byte: Some(at),
                    ..self.all()
                };
                (place, "a compressed chunk cannot be expanded".into())
            });
        };
        self.data
            .for_each_page(self.layout.page_size, visit, damaged);
        // The last page that was read may have been used before.
        let last = blanks.last().copied();
        for blank in blanks {
            let has_no_time = self.has_no_time(blank);
            if has_no_time || Some(blank) != last {
                let (code, message) = match has_no_time {
                    true => (
                        DiagnosticCode::TruncatedPacket,
                        "no page with a time follows",
                    ),
                    false => (
                        DiagnosticCode::InvalidPacket,
                        "a page states no records but has some",
                    ),
                };
                bad_pages.add(code, || (self.place(blank), message.into()));
            }
        }
        diagnostics.extend(bad_pages.0);
        diagnostics.extend(bad_chunks.0);
        if backwards > 0 {
            let message = format!("{backwards} pages begin earlier than the page before them");
            let diagnostic = Diagnostic::new(DiagnosticCode::TimeGoesBack, self.all(), message);
            diagnostics.push(Diagnostic {
                count: Some(backwards),
                ..diagnostic
            });
        }
        (runs, after_wrong)
    }

    fn has_no_time(&self, position: usize) -> bool {
        let end = (position + self.layout.page_size).min(self.data.length());
        let header = self.layout.header(&self.data.bytes(position..end));
        header.is_none_or(|header| header.timestamp == 0)
    }

    fn time_of_last_record(&self, run: &Run) -> slowpath_model::Timestamp {
        let end = (run.last_page + self.layout.page_size).min(self.data.length());
        let page = self.data.bytes(run.last_page..end);
        let last = self.layout.last_time(&page, self.readings.1);
        self.clock.time(last.unwrap_or(run.last_page_begin))
    }
}

/// Diagnostics of which only the first of each kind is kept, with the number of all.
#[derive(Default)]
pub(crate) struct Findings(pub(crate) Vec<Diagnostic>);

impl Findings {
    /// One more of its kind; described only when it is the first.
    pub(crate) fn add(&mut self, code: DiagnosticCode, describe: impl FnOnce() -> (Place, String)) {
        match self.0.iter_mut().find(|known| known.code == code) {
            Some(known) => known.count = known.count.map(|count| count + 1),
            None => {
                let (place, message) = describe();
                let first = Diagnostic::new(code, place, message);
                self.0.push(Diagnostic {
                    count: Some(1),
                    ..first
                });
            }
        }
    }
}
