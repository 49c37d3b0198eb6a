//! Writing a history's tables: the sorted intervals and all levels of summaries, in one pass.
//!
//! Two threads share the work; what each writes does not depend on how fast the other is.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::pyramid::{Level, Summary};
use crate::runs::{Merged, Row};
use crate::store;
use crate::table::TableWriter;

/// Tables by the names of their files.
pub(crate) type NamedTables = Vec<(String, TableWriter)>;

/// Summaries that are handed from one thread to the next at once.
const HANDED_ON: usize = 4096;

/// Writes the intervals and all levels in one pass; also how many intervals were cut.
///
/// One thread merges the intervals and makes the lowest level of them, which is as much work as all
/// levels above it together: another thread makes those.
pub(crate) fn write_tables(
    folder: &Path,
    merged: Merged,
    widths: &[i64],
    attributes: usize,
) -> io::Result<(NamedTables, u64)> {
    let mut intervals = TableWriter::create(&folder.join(store::INTERVALS), false)?;
    let mut pyramid = Pyramid::default();
    for (number, &width) in widths.iter().enumerate() {
        let name = store::level_file(number);
        let table = TableWriter::create(&folder.join(&name), true)?;
        pyramid.levels.push((name, table, Level::new(width)));
    }
    let upper = Pyramid {
        levels: pyramid.levels.split_off(1.min(widths.len())),
        ..Pyramid::default()
    };
    let (sender, receiver) = sync_channel::<Vec<Summary>>(4);
    let (lowest, upper, overlaps) = std::thread::scope(|scope| {
        let upper = scope.spawn(move || upper.rise_all(receiver));
        let mut lowest = Lowest {
            pyramid,
            risen: Vec::with_capacity(HANDED_ON),
            sender,
        };
        let overlaps = write_intervals(merged, attributes, |summary| {
            intervals.push(&summary)?;
            lowest.add(summary)
        })?;
        let lowest = lowest.finish()?;
        let upper = upper.join();
        let upper = upper.map_err(|_| io::Error::other("a thread that summarises broke"))??;
        Ok::<_, io::Error>((lowest, upper, overlaps))
    })?;
    let mut tables = vec![(store::INTERVALS.to_owned(), intervals)];
    let levels = lowest.levels.into_iter().chain(upper.levels);
    tables.extend(levels.map(|(name, table, _)| (name, table)));
    Ok((tables, overlaps))
}

/// Gives each interval to `write`, cut where the next of its attribute begins; how many were cut.
fn write_intervals(
    mut merged: Merged,
    attributes: usize,
    mut write: impl FnMut(Summary) -> io::Result<()>,
) -> io::Result<u64> {
    let mut overlaps = 0;
    let mut before: Option<Row> = None;
    while let Some(row) = merged.next()? {
        if row.attribute as usize >= attributes {
            return Err(io::Error::other(format!(
                "an interval of attribute {}, but there are {attributes}",
                row.attribute
            )));
        }
        if let Some(mut complete) = before.replace(row) {
            if complete.attribute == row.attribute && complete.end > row.begin {
                complete.end = row.begin;
                overlaps += 1;
            }
            if complete.begin < complete.end {
                write(Summary::of(complete))?;
            }
        }
    }
    if let Some(complete) = before {
        write(Summary::of(complete))?;
    }
    Ok(overlaps)
}

/// Levels with their tables, the lowest first, and lists that are used again and again.
#[derive(Default)]
struct Pyramid {
    levels: Vec<(String, TableWriter, Level)>,
    free: Vec<Vec<Summary>>,
}

impl Pyramid {
    /// Adds a summary to a level, writes what that completes and adds all of it to the level above;
    /// what rises above the highest goes to `risen`.
    fn rise(&mut self, level: usize, summary: Summary, risen: &mut Vec<Summary>) -> io::Result<()> {
        let Some((.., adds)) = self.levels.get_mut(level) else {
            risen.push(summary);
            return Ok(());
        };
        let mut complete = self.free.pop().unwrap_or_default();
        adds.add(summary, &mut complete);
        self.hand_on(level, complete, risen)
    }

    /// Of each bucket the value that was held longest is written.
    fn hand_on(
        &mut self,
        level: usize,
        mut complete: Vec<Summary>,
        risen: &mut Vec<Summary>,
    ) -> io::Result<()> {
        let mut written = None;
        for summary in complete.drain(..) {
            let bucket = (summary.row.attribute, summary.row.begin);
            if written.replace(bucket) != Some(bucket) {
                self.levels[level].1.push(&summary)?;
            }
            self.rise(level + 1, summary, risen)?;
        }
        self.free.push(complete);
        Ok(())
    }

    /// Nothing more comes.
    fn flush(&mut self, risen: &mut Vec<Summary>) -> io::Result<()> {
        for level in 0..self.levels.len() {
            let mut complete = self.free.pop().unwrap_or_default();
            self.levels[level].2.flush(&mut complete);
            self.hand_on(level, complete, risen)?;
        }
        Ok(())
    }

    fn rise_all(mut self, summaries: Receiver<Vec<Summary>>) -> io::Result<Self> {
        // Above the highest level nobody listens.
        let mut risen = Vec::new();
        for summary in summaries.into_iter().flatten() {
            self.rise(0, summary, &mut risen)?;
            risen.clear();
        }
        self.flush(&mut risen)?;
        Ok(self)
    }
}

/// The lowest level, and what it hands on to the thread that makes those above.
struct Lowest {
    pyramid: Pyramid,
    risen: Vec<Summary>,
    sender: SyncSender<Vec<Summary>>,
}

impl Lowest {
    fn add(&mut self, summary: Summary) -> io::Result<()> {
        self.pyramid.rise(0, summary, &mut self.risen)?;
        if self.risen.len() >= HANDED_ON {
            self.send();
        }
        Ok(())
    }

    fn send(&mut self) {
        let risen = std::mem::replace(&mut self.risen, Vec::with_capacity(HANDED_ON));
        // The other thread has failed, and says so when it is joined.
        let _ = self.sender.send(risen);
    }

    fn finish(mut self) -> io::Result<Pyramid> {
        self.pyramid.flush(&mut self.risen)?;
        self.send();
        Ok(self.pyramid)
    }
}
