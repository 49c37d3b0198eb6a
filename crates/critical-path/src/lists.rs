//! The lists of a path as rows of numbers, so that one over all of a long trace takes little memory.
//!
//! What rows refer to (names, what a state is about) is kept once. Rows of long lists lie in temporary
//! files (`LongList`).

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use slowpath_model::{HostId, ThreadId, TimeRange, Timestamp};
use slowpath_platform::LongList;

use crate::bare::{BareLink, Cause, Detail, Piece};
use crate::{Link, LinkKind, Segment, State};

/// The segments of a path, in the order of time.
#[derive(Default)]
pub struct Segments {
    rows: LongList<8>,
    texts: Known<Arc<str>>,
    reasons: Known<(Option<Arc<str>>, Cause)>,
}

/// The links of a path, in the order of time.
#[derive(Default)]
pub struct Links {
    rows: LongList<5>,
    texts: Known<Arc<str>>,
}

/// The pieces of a path, the last one first.
#[derive(Debug, Default)]
pub(crate) struct Pieces<'lines> {
    rows: LongList<7>,
    details: Known<Detail<'lines>>,
}

/// The links of a path before it has names, the last one first.
#[derive(Debug, Default)]
pub(crate) struct BareLinks<'lines> {
    rows: LongList<4>,
    calls: Known<&'lines str>,
}

/// Values that rows refer to by number.
#[derive(Debug)]
struct Known<T> {
    all: Vec<T>,
    numbers: FxHashMap<T, u32>,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            numbers: FxHashMap::default(),
        }
    }
}

impl<T: Clone + Eq + Hash> Known<T> {
    fn number(&mut self, value: &T) -> u32 {
        if let Some(number) = self.numbers.get(value) {
            return *number;
        }
        let number = self.all.len() as u32;
        self.all.push(value.clone());
        self.numbers.insert(value.clone(), number);
        number
    }

    /// 0 stands for `None`.
    fn optional(&mut self, value: Option<&T>) -> u32 {
        value.map_or(0, |value| self.number(value) + 1)
    }

    fn get(&self, number: u32) -> &T {
        &self.all[number as usize]
    }

    fn get_optional(&self, number: u32) -> Option<&T> {
        Some(self.get(number.checked_sub(1)?))
    }
}

impl Segments {
    /// Adds the segment that follows.
    pub fn push(&mut self, segment: &Segment) {
        let [begin, end] = of_range(segment.range);
        let [recorded_begin, recorded_end] = of_range(segment.recorded);
        self.rows.push([
            begin,
            end,
            recorded_begin,
            recorded_end,
            pair(segment.host.0, of_thread(segment.thread)),
            pair(segment.depth, segment.state as u32),
            pair(
                self.texts.number(&segment.comm),
                self.texts.number(&segment.detail),
            ),
            pair(
                self.texts.optional(segment.host_name.as_ref()),
                self.reasons.number(&(segment.call.clone(), segment.cause)),
            ),
        ]);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none: the window is empty.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The segment at a position.
    pub fn get(&self, position: usize) -> Option<Segment> {
        self.rows.get(position).map(|row| self.segment(row))
    }

    /// All, from either end.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Segment> {
        self.rows.iter().map(|row| self.segment(row))
    }

    fn segment(&self, row: &[u64; 8]) -> Segment {
        let (host, thread) = halves(row[4]);
        let (depth, state) = halves(row[5]);
        let (comm, detail) = halves(row[6]);
        let (host_name, reason) = halves(row[7]);
        let (call, cause) = self.reasons.get(reason).clone();
        Segment {
            range: range(row[0], row[1]),
            recorded: range(row[2], row[3]),
            host: HostId(host),
            host_name: self.texts.get_optional(host_name).cloned(),
            thread: thread_of(thread),
            comm: self.texts.get(comm).clone(),
            state: State::ALL[state as usize],
            depth,
            call,
            cause,
            detail: self.texts.get(detail).clone(),
        }
    }
}

impl Links {
    /// Adds the link that follows.
    pub fn push(&mut self, link: &Link) {
        let names = link.host_names.as_ref();
        let names = [0, 1].map(|side| self.texts.optional(names.map(|names| &names[side])));
        self.rows.push([
            number(link.at),
            pair(link.hosts[0].0, link.hosts[1].0),
            pair(of_thread(link.from), of_thread(link.to)),
            pair(link.kind as u32, self.texts.optional(link.call.as_ref())),
            pair(names[0], names[1]),
        ]);
    }

    /// All, in the order of time.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Link> {
        self.rows.iter().map(|row| {
            let bare = bare_link(row);
            let (_, call) = halves(row[3]);
            let (from, to) = halves(row[4]);
            let names = [from, to].map(|name| self.texts.get_optional(name).cloned());
            let [from, to] = names;
            Link {
                at: bare.at,
                hosts: bare.hosts,
                host_names: from.zip(to).map(|(from, to)| [from, to]),
                from: bare.from,
                to: bare.to,
                kind: bare.kind,
                call: self.texts.get_optional(call).cloned(),
            }
        })
    }
}

impl<'lines> Pieces<'lines> {
    /// Adds the piece before all others in time; the last one grows where the two are one.
    pub(crate) fn push(&mut self, piece: &Piece<'lines>) {
        let [begin, end] = of_range(piece.range);
        let [recorded_begin, recorded_end] = of_range(piece.recorded);
        let row = [
            begin,
            end,
            recorded_begin,
            recorded_end,
            pair(piece.host.0, of_thread(piece.thread)),
            pair(piece.depth, piece.state as u32),
            self.details.number(&piece.detail).into(),
        ];
        if let Some(later) = self.rows.last_mut()
            && [later[0], later[2]] == [end, recorded_end]
            && later[4..] == row[4..]
        {
            (later[0], later[2]) = (begin, recorded_begin);
            return;
        }
        self.rows.push(row);
    }

    /// All, in the order of time.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Piece<'lines>> {
        self.rows.iter().rev().map(|row| {
            let (host, thread) = halves(row[4]);
            let (depth, state) = halves(row[5]);
            Piece {
                range: range(row[0], row[1]),
                recorded: range(row[2], row[3]),
                host: HostId(host),
                thread: thread_of(thread),
                state: State::ALL[state as usize],
                depth,
                detail: *self.details.get(row[6] as u32),
            }
        })
    }
}

impl<'lines> BareLinks<'lines> {
    /// Adds the link before all others in time.
    pub(crate) fn push(&mut self, link: &BareLink<'lines>) {
        self.rows.push([
            number(link.at),
            pair(link.hosts[0].0, link.hosts[1].0),
            pair(of_thread(link.from), of_thread(link.to)),
            pair(link.kind as u32, self.calls.optional(link.call.as_ref())),
        ]);
    }

    /// All, in the order of time.
    pub(crate) fn iter(&self) -> impl Iterator<Item = BareLink<'lines>> {
        self.rows.iter().rev().map(|row| {
            let (_, call) = halves(row[3]);
            BareLink {
                call: self.calls.get_optional(call).copied(),
                ..bare_link(row)
            }
        })
    }
}

/// The link without the call.
fn bare_link(row: &[u64]) -> BareLink<'static> {
    let (from_host, to_host) = halves(row[1]);
    let (from, to) = halves(row[2]);
    let (kind, _) = halves(row[3]);
    BareLink {
        at: timestamp(row[0]),
        hosts: [HostId(from_host), HostId(to_host)],
        from: thread_of(from),
        to: thread_of(to),
        kind: LinkKind::ALL[kind as usize],
        call: None,
    }
}

fn pair(one: u32, other: u32) -> u64 {
    u64::from(one) << 32 | u64::from(other)
}

fn halves(pair: u64) -> (u32, u32) {
    ((pair >> 32) as u32, pair as u32)
}

fn of_thread(thread: ThreadId) -> u32 {
    thread.0.cast_unsigned()
}

fn thread_of(number: u32) -> ThreadId {
    ThreadId(number.cast_signed())
}

fn number(at: Timestamp) -> u64 {
    at.ns().cast_unsigned()
}

fn timestamp(number: u64) -> Timestamp {
    Timestamp::from_ns(number.cast_signed())
}

fn of_range(range: TimeRange) -> [u64; 2] {
    [number(range.begin), number(range.end)]
}

fn range(begin: u64, end: u64) -> TimeRange {
    TimeRange::new(timestamp(begin), timestamp(end))
}

impl FromIterator<Segment> for Segments {
    fn from_iter<All: IntoIterator<Item = Segment>>(all: All) -> Self {
        let mut segments = Self::default();
        all.into_iter().for_each(|segment| segments.push(&segment));
        segments
    }
}

impl FromIterator<Link> for Links {
    fn from_iter<All: IntoIterator<Item = Link>>(all: All) -> Self {
        let mut links = Self::default();
        all.into_iter().for_each(|link| links.push(&link));
        links
    }
}

impl PartialEq for Segments {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl PartialEq for Links {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl fmt::Debug for Segments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl fmt::Debug for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
