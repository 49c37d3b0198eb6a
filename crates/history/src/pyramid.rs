//! Levels of summaries: how long each value was held within ever wider buckets of time.
//!
//! Levels are computed exactly from one another, but of each bucket only the value that was held
//! longest is written, and neighbouring buckets that one value fills become one row. So a level is
//! never much larger than what it summarises, and a screen needs one level whatever its zoom.

use crate::runs::Row;

/// A value of an attribute was held for `held` ns in all between `row.begin` and `row.end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) row: Row,
    pub(crate) held: i64,
}

impl Summary {
    pub(crate) fn of(row: Row) -> Self {
        Self {
            row,
            held: row.end - row.begin,
        }
    }

    fn is_full(&self) -> bool {
        self.held == self.row.end - self.row.begin
    }
}

/// One level, being built from the summaries of the level below in order.
#[derive(Debug)]
pub(crate) struct Level {
    /// Width of its buckets in nanoseconds: a power of two.
    pub(crate) width: i64,
    attribute: u32,
    /// Begin of the open bucket, and what was held in it.
    bucket: i64,
    held: Vec<(i64, i64)>,
    /// Full buckets of one value so far.
    filled: Option<Row>,
}

impl Level {
    pub(crate) fn new(width: i64) -> Self {
        Self {
            width,
            attribute: 0,
            bucket: i64::MIN,
            held: Vec::new(),
            filled: None,
        }
    }

    /// Takes what comes next; rows that are complete go to `out`.
    pub(crate) fn add(&mut self, summary: Summary, out: &mut Vec<Summary>) {
        let row = summary.row;
        if row.attribute != self.attribute {
            self.flush(out);
            self.attribute = row.attribute;
        }
        let first = self.bucket_of(row.begin);
        if row.end <= first.saturating_add(self.width) || !summary.is_full() {
            self.hold(first, row.value, summary.held, out);
            return;
        }
        let mut begin = row.begin;
        if begin > first {
            let next = first + self.width;
            self.hold(first, row.value, next - begin, out);
            begin = next;
        }
        let last = self.bucket_of(row.end);
        if last > begin {
            self.close(out);
            self.fill(begin, last, row.value, out);
            begin = last;
        }
        if row.end > begin {
            self.hold(begin, row.value, row.end - begin, out);
        }
    }

    /// Nothing more comes of the attribute.
    pub(crate) fn flush(&mut self, out: &mut Vec<Summary>) {
        self.close(out);
        out.extend(self.filled.take().map(Summary::of));
        self.bucket = i64::MIN;
    }

    fn bucket_of(&self, at: i64) -> i64 {
        at & !(self.width - 1)
    }

    fn hold(&mut self, bucket: i64, value: i64, held: i64, out: &mut Vec<Summary>) {
        if bucket != self.bucket {
            self.close(out);
            self.bucket = bucket;
        }
        match self.held.iter_mut().find(|(other, _)| *other == value) {
            Some((_, sum)) => *sum += held,
            None => self.held.push((value, held)),
        }
    }

    /// Ends the open bucket.
    fn close(&mut self, out: &mut Vec<Summary>) {
        let (begin, end) = (self.bucket, self.bucket.saturating_add(self.width));
        match self.held[..] {
            [] => {}
            [(value, held)] if held == self.width => self.fill(begin, end, value, out),
            _ => {
                out.extend(self.filled.take().map(Summary::of));
                self.held.sort_by_key(|(value, held)| (-held, *value));
                out.extend(self.held.iter().map(|&(value, held)| Summary {
                    row: Row {
                        attribute: self.attribute,
                        begin,
                        end,
                        value,
                    },
                    held,
                }));
            }
        }
        self.held.clear();
    }

    fn fill(&mut self, begin: i64, end: i64, value: i64, out: &mut Vec<Summary>) {
        match &mut self.filled {
            Some(filled) if filled.end == begin && filled.value == value => filled.end = end,
            filled => {
                out.extend(filled.take().map(Summary::of));
                *filled = Some(Row {
                    attribute: self.attribute,
                    begin,
                    end,
                    value,
                });
            }
        }
    }
}

/// The widths of the levels over intervals of these lengths: from where half of the intervals are
/// shorter than half a bucket, up to a screen of 64 pixels.
pub(crate) fn widths(lengths: &Lengths, span: i64) -> Vec<i64> {
    let mut shorter = 0;
    let mut power = 0;
    while power < 62 && shorter * 2 < lengths.count {
        shorter += lengths.by_power[power];
        power += 1;
    }
    (power..62)
        .map(|power| 1_i64 << power)
        .take_while(|width| *width <= span / 64)
        .collect()
}

/// How many intervals of which length there are, by the power of two above it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    by_power: [u64; 64],
    pub(crate) count: u64,
}

impl Lengths {
    pub(crate) const NONE: Self = Self {
        by_power: [0; 64],
        count: 0,
    };

    pub(crate) fn add(&mut self, length: i64) {
        let power = 64 - (length.max(1) as u64).leading_zeros() as usize;
        self.by_power[power.min(63)] += 1;
        self.count += 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (sum, count) in self.by_power.iter_mut().zip(other.by_power) {
            *sum += count;
        }
        self.count += other.count;
    }
}
