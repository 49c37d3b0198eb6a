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

/// How many levels there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Levels {
    /// Half of the intervals cross a bound of the finest level's buckets, or fewer, and of each other's at least a
    /// quarter fewer than of those below: what another one would save its readers is less than it costs to write.
    /// They take twice the room of the intervals, or more.
    #[default]
    Many,
    /// A sixteenth of the intervals, and of those below: a screen reads up to sixteen times as much as it shows, and
    /// levels take less room than the intervals.
    Few,
}

/// The widths of the levels over these intervals, up to a screen of 64 pixels.
pub(crate) fn widths(crossings: &Crossings, levels: Levels, span: i64) -> Vec<i64> {
    let mut widths = Vec::new();
    let (mut wanted, numerator, denominator) = match levels {
        Levels::Many => (crossings.count / 2, 3, 4),
        Levels::Few => (crossings.count / 16, 1, 16),
    };
    let mut left = crossings.count;
    for (power, crossed) in crossings.by_power.iter().enumerate() {
        let width = 1_i64 << power;
        if left == 0 || width > span / 64 {
            break;
        }
        left -= crossed;
        if left <= wanted {
            widths.push(width);
            wanted = left * numerator / denominator;
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
    use std::cmp::Reverse;
    use std::collections::BTreeMap;

    use slowpath_model::{TimeRange, Timestamp};

    use super::*;
    use crate::store::Key;
    use crate::{Attribute, AttributeId, Builder, History, Interval, Value};

    const MILLISECOND: i64 = 1_000_000;
    const SECOND: i64 = 1_000 * MILLISECOND;

    /// Levels over intervals of these lengths, one after another and from the first again, for a second.
    fn levels_over(lengths: &[i64], levels: Levels) -> Vec<i64> {
        let mut crossings = Crossings::NONE;
        let mut begin = 0;
        for length in lengths.iter().cycle() {
            crossings.add(begin, begin + length);
            begin += length;
            if begin >= SECOND {
                break;
            }
        }
        widths(&crossings, levels, begin)
    }

    #[test]
    fn each_level_has_less_to_tell_than_the_one_below() {
        let powers = |from: u32, to: u32| (from..=to).map(|power| 1 << power).collect::<Vec<i64>>();
        assert_eq!(levels_over(&[100], Levels::Many), powers(8, 23));
        assert_eq!(levels_over(&[10_000], Levels::Many), powers(15, 23));
        assert!(levels_over(&[100 * MILLISECOND], Levels::Many).is_empty());
        let every_fourth: Vec<i64> = powers(11, 23).into_iter().step_by(4).collect();
        assert_eq!(levels_over(&[100], Levels::Few), every_fourth);
        assert!(widths(&Crossings::NONE, Levels::Many, SECOND).is_empty());
    }

    #[test]
    fn there_is_no_level_that_saves_little() {
        // Bursts of 8 µs, each followed by a pause of 4 ms: one bucket holds a burst, and then none more for long.
        let mut burst = vec![1_000; 8];
        burst.push(4 * MILLISECOND);
        assert_eq!(
            levels_over(&burst, Levels::Many),
            [4_096, 8_192, 32_768, 8_388_608]
        );
    }

    /// An attribute, the begin of a bucket and how long each value was held in it.
    type Buckets = BTreeMap<(u32, i64), BTreeMap<i64, i64>>;

    #[test]
    fn levels_tell_of_each_bucket_what_was_held_longest() {
        const ATTRIBUTES: u32 = 3;
        let mut intervals = Vec::new();
        let mut seed = 1_u64;
        for attribute in 0..ATTRIBUTES {
            let mut at = 0;
            for _ in 0..20_000 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let number = (seed >> 33) as i64;
                // Mostly short ones, some over many buckets, some apart; of the last attribute many values.
                let length = if number % 50 == 0 {
                    20_000
                } else {
                    1 + number % 200
                };
                at += if number % 11 == 0 { 300 } else { 0 };
                let values = if attribute == 2 { 40 } else { 3 };
                intervals.push((attribute, at, at + length, number / 7 % values));
                at += length;
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let history = history_of(&intervals, ATTRIBUTES, folder.path());
        assert!(history.levels.len() > 3);
        for (width, table) in &history.levels {
            let mut expected = Buckets::new();
            for &(attribute, begin, end, value) in &intervals {
                for bucket in begin / width..=(end - 1) / width {
                    let held = end.min((bucket + 1) * width) - begin.max(bucket * width);
                    let values = expected.entry((attribute, bucket)).or_default();
                    *values.entry(value).or_default() += held;
                }
            }
            let mut found = BTreeMap::new();
            for attribute in 0..ATTRIBUTES {
                for row in table.rows_of(attribute as usize) {
                    let (begin, end, value, held) = table.get(row);
                    let buckets = (end - begin) / width;
                    for bucket in begin / width..end / width {
                        found.insert((attribute, bucket), (value, held / buckets));
                    }
                }
            }
            let expected: BTreeMap<_, _> = (expected.into_iter())
                .map(|(bucket, values)| {
                    let most = values
                        .into_iter()
                        .max_by_key(|&(value, held)| (held, Reverse(value)));
                    (bucket, most.unwrap())
                })
                .collect();
            assert!(found == expected, "buckets of {width} ns");
        }
    }

    fn history_of(
        intervals: &[(u32, i64, i64, i64)],
        attributes: u32,
        folder: &std::path::Path,
    ) -> History {
        let (target, key) = (folder.join("history"), Key("test".into()));
        let builder = Builder::create(&target).unwrap();
        let mut writer = builder.writer();
        for &(attribute, begin, end, value) in intervals {
            let range = TimeRange::new(Timestamp::from_ns(begin), Timestamp::from_ns(end));
            let interval = Interval {
                attribute: AttributeId(attribute),
                range,
                value: Value(value),
            };
            writer.push(interval).unwrap();
        }
        writer.close();
        let attributes: Vec<Attribute> = (0..attributes)
            .map(|number| Attribute {
                path: number.to_string(),
                vocabulary: None,
                part: None,
            })
            .collect();
        builder.finish(&key, &attributes, &[], Vec::new()).unwrap();
        History::open(&target, &key).unwrap()
    }
}
