//! Levels of summaries: what was held longest in each of ever wider buckets of time.
//!
//! Each level is computed exactly from the intervals. Of each bucket only the value that was held longest is
//! kept, and neighbouring buckets that one value fills become one row. So a level is never much larger than
//! what it summarises, and a screen needs one level whatever its zoom.

use std::io;

use crate::held::Held;
use crate::runs::Row;
use crate::table::TableWriter;

/// One level, being written from the intervals in order.
pub(crate) struct Level {
    /// Width of its buckets in nanoseconds: a power of two.
    width: i64,
    table: TableWriter,
    attribute: u32,
    /// Begin of the open bucket, and what was held in it.
    bucket: i64,
    held: Held,
    /// Full buckets of one value so far.
    filled: Option<Row>,
}

impl Level {
    pub(crate) fn new(width: i64, table: TableWriter) -> Self {
        Self {
            width,
            table,
            attribute: 0,
            bucket: i64::MIN,
            held: Held::default(),
            filled: None,
        }
    }

    /// Takes the next interval.
    pub(crate) fn add(&mut self, row: Row) -> io::Result<()> {
        if row.attribute != self.attribute {
            self.flush()?;
            self.attribute = row.attribute;
        }
        let mut begin = row.begin;
        let first = self.bucket_of(begin);
        let next = first.saturating_add(self.width);
        if row.end <= next {
            return self.hold(first, row.value, row.end - begin);
        }
        if begin > first {
            self.hold(first, row.value, next - begin)?;
            begin = next;
        }
        let last = self.bucket_of(row.end);
        if last > begin {
            self.close()?;
            self.fill(begin, last, row.value)?;
        }
        if row.end > last {
            self.hold(last, row.value, row.end - last)?;
        }
        Ok(())
    }

    /// Nothing more comes.
    pub(crate) fn finish(mut self) -> io::Result<TableWriter> {
        self.flush()?;
        Ok(self.table)
    }

    /// Nothing more comes of the attribute.
    fn flush(&mut self) -> io::Result<()> {
        self.close()?;
        self.write_filled()?;
        self.bucket = i64::MIN;
        Ok(())
    }

    fn bucket_of(&self, at: i64) -> i64 {
        at & !(self.width - 1)
    }

    fn hold(&mut self, bucket: i64, value: i64, time: i64) -> io::Result<()> {
        if bucket != self.bucket {
            self.close()?;
            self.bucket = bucket;
        }
        self.held.add(value, time);
        Ok(())
    }

    /// Ends the open bucket.
    fn close(&mut self) -> io::Result<()> {
        let Some((value, held)) = self.held.longest() else {
            return Ok(());
        };
        self.held.clear();
        let (begin, end) = (self.bucket, self.bucket.saturating_add(self.width));
        if held == self.width {
            return self.fill(begin, end, value);
        }
        self.write_filled()?;
        let row = Row {
            attribute: self.attribute,
            begin,
            end,
            value,
        };
        self.table.push(row, held)
    }

    fn fill(&mut self, begin: i64, end: i64, value: i64) -> io::Result<()> {
        match &mut self.filled {
            Some(filled) if filled.end == begin && filled.value == value => filled.end = end,
            _ => {
                self.write_filled()?;
                self.filled = Some(Row {
                    attribute: self.attribute,
                    begin,
                    end,
                    value,
                });
            }
        }
        Ok(())
    }

    fn write_filled(&mut self) -> io::Result<()> {
        match self.filled.take() {
            Some(row) => self.table.push(row, row.end - row.begin),
            None => Ok(()),
        }
    }
}

/// The widths of the levels over these intervals, up to a screen of 64 pixels. The finest has half as many
/// rows as there are intervals, about; each other a quarter less than the one below. What another one would
/// save its readers is less than it costs to write.
pub(crate) fn widths(crossings: &Crossings, span: i64) -> Vec<i64> {
    let mut widths = Vec::new();
    let mut wanted = crossings.count / 2;
    let mut left = crossings.count;
    for (power, crossed) in crossings.by_power.iter().enumerate() {
        left -= crossed;
        let width = 1_i64 << power;
        if width > span / 64 {
            break;
        }
        if left <= wanted {
            widths.push(width);
            wanted = left - left / 4;
        }
    }
    widths
}

/// How many intervals there are, by the narrowest buckets, of a power of two, of which they stay in one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossings {
    by_power: [u64; 64],
    pub(crate) count: u64,
}

impl Crossings {
    pub(crate) const NONE: Self = Self {
        by_power: [0; 64],
        count: 0,
    };

    pub(crate) fn add(&mut self, begin: i64, end: i64) {
        let power = 64 - (begin ^ end).leading_zeros() as usize;
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

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: i64 = 1_000_000;
    const SECOND: i64 = 1_000 * MILLISECOND;

    /// Levels over intervals of these lengths, one after another and from the first again, for a second.
    fn levels_over(lengths: &[i64]) -> Vec<i64> {
        let mut crossings = Crossings::NONE;
        let mut begin = 0;
        for length in lengths.iter().cycle() {
            crossings.add(begin, begin + length);
            begin += length;
            if begin >= SECOND {
                break;
            }
        }
        widths(&crossings, begin)
    }

    #[test]
    fn each_level_has_less_to_tell_than_the_one_below() {
        let powers = |from: u32, to: u32| (from..=to).map(|power| 1 << power).collect::<Vec<i64>>();
        assert_eq!(levels_over(&[100]), powers(8, 23));
        assert_eq!(levels_over(&[10_000]), powers(15, 23));
        assert!(levels_over(&[100 * MILLISECOND]).is_empty());
    }

    #[test]
    fn there_is_no_level_that_saves_little() {
        // Bursts of 8 µs, each followed by a pause of 4 ms: one bucket holds a burst, and then none more for long.
        let mut burst = vec![1_000; 8];
        burst.push(4 * MILLISECOND);
        assert_eq!(levels_over(&burst), [4_096, 8_192, 32_768, 8_388_608]);
    }
}
