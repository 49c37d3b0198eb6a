//! What a screen shows: for each attribute and pixel, the value that was held longest in it.

use slowpath_model::TimeRange;

use crate::table::Table;
use crate::{AttributeId, History, Part, Value};

/// An attribute in the time of one pixel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// The value that was held longest; of equal ones the least.
    pub value: Value,
    /// The share of the pixel's time in which it was held, in 255ths, but at least 1 (the least it
    /// can be, where summaries are read); 0 where the attribute had no value at all.
    pub share: u8,
}

impl History {
    /// Each of `attributes` over `range` in `pixels` of equal time: a row of cells for each.
    ///
    /// Exact where pixels are narrower than the finest summary, and for attributes that are another part of an
    /// attribute's values than the summaries tell. Otherwise a bucket counts for the value that
    /// was held longest in it, by its part in the pixel.
    pub fn screen(&self, attributes: &[AttributeId], range: TimeRange, pixels: usize) -> Vec<Cell> {
        let mut cells = vec![Cell::default(); attributes.len().saturating_mul(pixels)];
        if pixels == 0 || range.begin >= range.end {
            return cells;
        }
        let bounds = bounds(range, pixels);
        let length = i128::from(bounds[pixels]) - i128::from(bounds[0]);
        let width = i64::try_from(length / pixels as i128).unwrap_or(i64::MAX);
        let level = self
            .levels
            .iter()
            .rev()
            .find(|(bucket, _)| *bucket <= width);
        for (row, &attribute) in cells.chunks_exact_mut(pixels).zip(attributes) {
            let part = self.part(attribute);
            let of = part.map_or(attribute, |part| part.of);
            match level.filter(|_| part == self.part(of)) {
                Some((_, table)) => draw(table, table.rows_of(of.index()), None, &bounds, row),
                None => {
                    let rows = self.intervals.rows_of(of.index());
                    draw(&self.intervals, rows, part, &bounds, row);
                }
            }
        }
        cells
    }
}

/// Where pixels begin, and the last one ends.
fn bounds(range: TimeRange, pixels: usize) -> Vec<i64> {
    let (begin, end) = (i128::from(range.begin.ns()), i128::from(range.end.ns()));
    (0..=pixels as i128)
        .map(|pixel| (begin + (end - begin) * pixel / pixels as i128) as i64)
        .collect()
}

/// What was held in the pixel that is being filled, and in the one after it.
struct Open {
    pixel: usize,
    held: Held,
    ahead: Held,
}

/// How long each value was held.
#[derive(Default)]
struct Held(Vec<(i64, i64)>);

impl Held {
    fn add(&mut self, value: i64, time: i64) {
        match self.0.iter_mut().find(|(other, _)| *other == value) {
            Some((_, sum)) => *sum += time,
            None => self.0.push((value, time)),
        }
    }
}

impl Open {
    /// Goes on to the pixel of `at`, which is not before the open one.
    fn advance(&mut self, at: i64, bounds: &[i64], cells: &mut [Cell]) {
        while bounds[self.pixel + 1] <= at {
            self.close(bounds, cells);
            std::mem::swap(&mut self.held, &mut self.ahead);
            self.pixel = match self.held.0.is_empty() {
                true => next_pixel(bounds, self.pixel, at),
                false => self.pixel + 1,
            };
        }
    }

    fn close(&mut self, bounds: &[i64], cells: &mut [Cell]) {
        let held = self.held.0.iter();
        let most = held.max_by_key(|(value, held)| (*held, std::cmp::Reverse(*value)));
        if let Some(&(value, held)) = most.filter(|(_, held)| *held > 0) {
            let width = bounds[self.pixel + 1].saturating_sub(bounds[self.pixel]);
            cells[self.pixel] = Cell {
                value: Value(value),
                share: share(held, width),
            };
        }
        self.held.0.clear();
    }
}

fn share(held: i64, width: i64) -> u8 {
    scaled(held, 255, width.max(1)).clamp(1, 255) as u8
}

/// `of` × `part` ÷ `whole`, none of which is less than 0 and the last at least one of the others.
fn scaled(of: i64, part: i64, whole: i64) -> i64 {
    match of.checked_mul(part) {
        Some(product) => product / whole,
        // Dividing 128 bits takes several times as long.
        None => (i128::from(of) * i128::from(part) / i128::from(whole)) as i64,
    }
}

/// The pixel that `at` is in, which is after `pixel`: mostly the next one.
fn next_pixel(bounds: &[i64], pixel: usize, at: i64) -> usize {
    match bounds.get(pixel + 2) {
        Some(after) if *after <= at => {
            let beyond = pixel + 2;
            beyond + bounds[beyond + 1..].partition_point(|bound| *bound <= at)
        }
        _ => pixel + 1,
    }
}

/// `part`: what of the rows' values is meant.
fn draw(
    table: &Table,
    rows: std::ops::Range<u64>,
    part: Option<Part>,
    bounds: &[i64],
    cells: &mut [Cell],
) {
    let (begin, end) = (bounds[0], bounds[cells.len()]);
    let mut open = Open {
        pixel: 0,
        held: Held::default(),
        ahead: Held::default(),
    };
    for row in table.first_ending_after(rows.clone(), begin)..rows.end {
        let (row_begin, row_end, value, held) = table.get(row);
        if row_begin >= end {
            break;
        }
        let value = match part {
            Some(part) => part.of_packed(value),
            None => Some(value),
        };
        let Some(value) = value else {
            continue;
        };
        let (at, until) = (row_begin.max(begin), row_end.min(end));
        open.advance(at, bounds, cells);
        let next = bounds[open.pixel + 1];
        if held < row_end - row_begin {
            // A bucket, which is not wider than a pixel: each pixel has its part of it.
            let whole = row_end - row_begin;
            open.held
                .add(value, scaled(held, until.min(next) - at, whole));
            if until > next {
                open.ahead.add(value, scaled(held, until - next, whole));
            }
            continue;
        }
        open.held.add(value, until.min(next) - at);
        if until > next {
            open.advance(next, bounds, cells);
            let last = match until < bounds[open.pixel + 1] {
                true => open.pixel,
                false => next_pixel(bounds, open.pixel - 1, until - 1),
            };
            cells[open.pixel..last].fill(Cell {
                value: Value(value),
                share: u8::MAX,
            });
            open.pixel = last;
            open.held.add(value, until - bounds[last]);
        }
    }
    while !open.held.0.is_empty() || !open.ahead.0.is_empty() {
        open.close(bounds, cells);
        std::mem::swap(&mut open.held, &mut open.ahead);
        open.pixel += 1;
    }
}
