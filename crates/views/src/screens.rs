//! What rows of a time line show over a time: pixel by pixel, or exactly.

use slowpath_history::{AttributeId, History};
use slowpath_model::TimeRange;

use crate::Origin;

/// Where a row's values are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowPlace {
    /// What the history calls it.
    pub attribute: AttributeId,
    /// How times of its host become offsets.
    pub origin: Origin,
}

/// What rows show over a time, pixel by pixel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Screen {
    /// Row after row, pixel after pixel; without meaning where the share is 0.
    pub values: Vec<u32>,
    /// How much of the pixel's time the value filled, in 255ths; 0 where nothing is known.
    pub shares: Vec<u8>,
}

/// What rows show between two offsets, in so many pixels. Those that are nowhere show nothing.
pub fn screen(
    history: &History,
    rows: &[Option<RowPlace>],
    (begin, end): (i64, i64),
    pixels: usize,
) -> Screen {
    let size = rows.len().saturating_mul(pixels);
    let mut screen = Screen {
        values: vec![0; size],
        shares: vec![0; size],
    };
    // By host, as the same offsets are other times there.
    let mut by_origin: Vec<(Origin, Vec<(usize, AttributeId)>)> = Vec::new();
    for (number, place) in rows.iter().enumerate() {
        let Some(RowPlace { attribute, origin }) = *place else {
            continue;
        };
        match by_origin.iter_mut().find(|(known, _)| *known == origin) {
            Some((_, known)) => known.push((number, attribute)),
            None => by_origin.push((origin, vec![(number, attribute)])),
        }
    }
    for (origin, known) in by_origin {
        let attributes: Vec<AttributeId> = known.iter().map(|(_, attribute)| *attribute).collect();
        let cells = history.screen(&attributes, origin.range(begin, end), pixels);
        for (row, (number, _)) in cells.chunks(pixels.max(1)).zip(&known) {
            let begin = number * pixels;
            for (cell, at) in row.iter().zip(begin..) {
                // Less than 0 stands for what is not known.
                if let Ok(value) = u32::try_from(cell.value.0) {
                    (screen.values[at], screen.shares[at]) = (value, cell.share);
                }
            }
        }
    }
    screen
}

/// The exact intervals of a row that touch the time between two offsets, with begin, end and value, at most
/// `limit`; and whether that is all. What is known to be unknown is left out.
pub fn intervals(
    history: &History,
    row: Option<RowPlace>,
    (begin, end): (i64, i64),
    limit: usize,
) -> (Vec<(i64, i64, i64)>, bool) {
    let Some(RowPlace { attribute, origin }) = row else {
        return (Vec::new(), true);
    };
    let offsets = |range: TimeRange| (origin.offset(range.begin), origin.offset(range.end));
    let mut found: Vec<(i64, i64, i64)> = history
        .intervals(attribute, origin.range(begin, end))
        .filter(|interval| interval.value.0 >= 0)
        .take(limit.saturating_add(1))
        .map(|interval| (offsets(interval.range), interval.value.0))
        .map(|((begin, end), value)| (begin, end, value))
        .collect();
    let complete = found.len() <= limit;
    found.truncate(limit);
    (found, complete)
}
