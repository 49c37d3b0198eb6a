//! Writing a history's tables: the sorted intervals and all levels of summaries, in one pass.
//!
//! Two threads share the work; what each writes does not depend on how fast the other is.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};

use crate::pyramid::Level;
use crate::runs::{Merged, Row};
use crate::store;
use crate::table::TableWriter;
use crate::{Attribute, Part};

/// Intervals that are handed from one thread to the other at once.
const HANDED_ON: usize = 4096;

/// Writes the intervals and a level for each of `widths`: their tables in this order, and how many intervals
/// were cut. One thread merges and writes the intervals, another one makes the levels of them.
pub(crate) fn write_tables(
    folder: &Path,
    merged: Merged,
    widths: &[i64],
    attributes: &[Attribute],
) -> io::Result<(Vec<TableWriter>, u64)> {
    let parts: Vec<Option<Part>> = attributes.iter().map(|one| one.part).collect();
    let mut intervals = TableWriter::create(&folder.join(store::INTERVALS), false)?;
    let levels: Vec<Level> = (widths.iter().enumerate())
        .map(|(number, &width)| {
            let table = TableWriter::create(&folder.join(store::level_file(number)), true)?;
            Ok(Level::new(width, table))
        })
        .collect::<io::Result<_>>()?;
    let (sender, receiver) = sync_channel::<Vec<Row>>(4);
    let (overlaps, levels) = std::thread::scope(|scope| {
        let levels = scope.spawn(move || write_levels(levels, receiver, &parts));
        let mut rows = Vec::with_capacity(HANDED_ON);
        let overlaps = write_intervals(merged, attributes.len(), |row| {
            intervals.push(row, row.end - row.begin)?;
            rows.push(row);
            if rows.len() == HANDED_ON {
                // The other thread may have failed, and says so when it is joined.
                let _ = sender.send(std::mem::replace(&mut rows, Vec::with_capacity(HANDED_ON)));
            }
            Ok(())
        })?;
        let _ = sender.send(rows);
        drop(sender);
        let levels = levels.join();
        let levels = levels.map_err(|_| io::Error::other("the thread that summarises broke"))??;
        Ok::<_, io::Error>((overlaps, levels))
    })?;
    let mut tables = vec![intervals];
    tables.extend(levels);
    Ok((tables, overlaps))
}

/// `parts`: of each attribute's values what is summarised.
fn write_levels(
    mut levels: Vec<Level>,
    rows: Receiver<Vec<Row>>,
    parts: &[Option<Part>],
) -> io::Result<Vec<TableWriter>> {
    for mut rows in rows {
        rows.retain_mut(|row| {
            let Some(part) = parts[row.attribute as usize] else {
                return true;
            };
            let value = part.of_packed(row.value);
            row.value = value.unwrap_or_default();
            value.is_some()
        });
        for level in &mut levels {
            for &row in &rows {
                level.add(row)?;
            }
        }
    }
    levels.into_iter().map(Level::finish).collect()
}

/// Gives each interval to `write`, cut where the next of its attribute begins; how many were cut.
fn write_intervals(
    mut merged: Merged,
    attributes: usize,
    mut write: impl FnMut(Row) -> io::Result<()>,
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
                write(complete)?;
            }
        }
    }
    if let Some(complete) = before {
        write(complete)?;
    }
    Ok(overlaps)
}
