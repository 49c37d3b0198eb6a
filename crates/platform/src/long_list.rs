//! A list of rows of which nobody knows beforehand how long it becomes.
//!
//! While it is short it lies in memory; of a long one all but the end goes to a shelf.

use std::fmt;

use crate::{Kept, Shelf};

/// Rows of a block, which goes to the shelf as one.
const BLOCK_ROWS: usize = 1 << 15;
/// Bytes of complete blocks that stay in memory.
const MEMORY: usize = 2 << 20;

/// A growing list of rows of `N` numbers; see [`Shelf`] for where they lie. Where no temporary file can
/// be had, they stay in memory.
#[derive(Default)]
pub struct LongList<const N: usize> {
    shelf: Option<Shelf>,
    /// All of [`BLOCK_ROWS`].
    blocks: Vec<Kept<N>>,
    /// At most as many.
    end: Vec<[u64; N]>,
}

impl<const N: usize> LongList<N> {
    /// Adds a row.
    pub fn push(&mut self, row: [u64; N]) {
        if self.end.len() == BLOCK_ROWS {
            let new_shelf = || Shelf::new(&Shelf::usual_folder(), MEMORY);
            let shelf = self.shelf.get_or_insert_with(new_shelf);
            self.blocks.push(shelf.keep(std::mem::take(&mut self.end)));
        }
        self.end.push(row);
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.blocks.len() * BLOCK_ROWS + self.end.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.end.is_empty()
    }

    /// A row by its position.
    pub fn get(&self, position: usize) -> Option<&[u64; N]> {
        match self.blocks.get(position / BLOCK_ROWS) {
            Some(block) => block.get(position % BLOCK_ROWS),
            None => self.end.get(position - self.blocks.len() * BLOCK_ROWS),
        }
    }

    /// The last row, to be changed.
    pub fn last_mut(&mut self) -> Option<&mut [u64; N]> {
        self.end.last_mut()
    }

    /// All rows, from either end.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &[u64; N]> {
        let blocks = self.blocks.iter().flat_map(|block| block.iter());
        blocks.chain(&self.end)
    }
}

impl<const N: usize> fmt::Debug for LongList<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_from_everywhere() {
        let row = |n: u64| [n, !n];
        let mut list = LongList::default();
        assert!(list.is_empty());
        let count = 40 * BLOCK_ROWS as u64;
        for n in 0..count {
            list.push(row(n));
            list.last_mut().expect("there is one")[1] = !n;
        }
        assert_eq!(list.len() as u64, count);
        assert!(list.iter().copied().eq((0..count).map(row)));
        assert!(list.iter().rev().copied().eq((0..count).rev().map(row)));
        for n in [0, 1, BLOCK_ROWS as u64 - 1, BLOCK_ROWS as u64, count - 1] {
            assert_eq!(list.get(n as usize), Some(&row(n)));
        }
        assert_eq!(list.get(count as usize), None);
    }
}
