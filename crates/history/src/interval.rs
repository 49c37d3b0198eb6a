//! The vocabulary of a state history.

use slowpath_model::TimeRange;

/// An attribute of a history: its position in the list that the history was finished with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttributeId(pub u32);

/// What an attribute is in an interval: a number, or the position of a name in a vocabulary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(pub i64);

/// An attribute had a value for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Which attribute.
    pub attribute: AttributeId,
    /// When; never empty.
    pub range: TimeRange,
    /// What it was.
    pub value: Value,
}

/// What a history keeps over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name, parts apart by `/`, for instance `threads/315/state`.
    pub path: String,
    /// The vocabulary that names its values; `None` where they are numbers.
    pub vocabulary: Option<String>,
    /// Where its values are; `None`: intervals of its own have them.
    pub part: Option<Part>,
}

/// Some bits of the values of intervals, so that attributes which change together share these.
///
/// The bits as a number are the value and one more; 0 where it has none. Of the attribute whose intervals they are,
/// they are what summaries tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Whose intervals they are: another attribute's, or its own.
    pub of: AttributeId,
    /// The lowest of the bits.
    pub first_bit: u32,
    /// How many: at least 1, and with those below 63 at most.
    pub bits: u32,
}

/// Names of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vocabulary {
    /// What attributes call it, for instance `thread state`.
    pub name: String,
    /// By value, from 0.
    pub names: Vec<String>,
}

impl Part {
    /// How many bits take values from 0 to `most`.
    pub fn bits_for(most: i64) -> u32 {
        i64::BITS - most.max(0).saturating_add(1).leading_zeros()
    }

    /// What a value that fits adds to the intervals' values.
    pub fn packed(self, value: i64) -> i64 {
        value.saturating_add(1) << self.first_bit
    }

    /// The value, of that of an interval.
    #[inline]
    pub(crate) fn of_packed(self, packed: i64) -> Option<i64> {
        let mask = i64::MAX >> (63 - self.bits);
        let bits = (packed >> self.first_bit) & mask;
        (bits > 0).then(|| bits - 1)
    }

    /// Whether there are such bits.
    pub fn is_sound(self) -> bool {
        let last = self.first_bit.checked_add(self.bits);
        self.bits > 0 && last.is_some_and(|last| last < i64::BITS)
    }
}

impl AttributeId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}
