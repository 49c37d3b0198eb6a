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
}

/// Names of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vocabulary {
    /// What attributes call it, for instance `thread state`.
    pub name: String,
    /// By value, from 0.
    pub names: Vec<String>,
}

impl AttributeId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}
