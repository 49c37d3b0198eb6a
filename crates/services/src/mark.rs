//! Marks of spans: what a caller found out about single spans, found again in the contexts to which these belong. What a
//! mark means, only the caller knows.

/// What a caller found out about a span, as a number of its own; most spans have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark(u32);

impl Mark {
    /// None.
    pub const NONE: Self = Self(0);

    /// The mark with this number; [`Self::NONE`] is that with 0.
    pub fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// The different marks of some spans, the least number first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks(Vec<Mark>);

impl Marks {
    /// Adds that of a span.
    pub(crate) fn add(&mut self, mark: Mark) {
        if mark != Mark::NONE
            && let Err(place) = self.0.binary_search(&mark)
        {
            self.0.insert(place, mark);
        }
    }

    /// Adds those of other spans.
    pub(crate) fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|&mark| self.add(mark));
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Mark> {
        self.0.iter().copied()
    }
}
