//! Where the fields of an event's record lie, and what they hold.
//!
//! Invariant: nothing here trusts an offset; whoever reads a field asks for its range inside the
//! record and gets `None` where it does not fit.

use std::ops::Range;

use crate::byte_order::ByteOrder;

/// One field of an event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// One of the fields that every event begins with.
    pub(crate) common: bool,
    pub(crate) place: Place,
    pub(crate) content: Content,
}

/// Where a field's bytes are, in bytes from the record's begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    /// Always in the same place.
    Fixed { offset: usize, size: usize },
    /// Where a word at `offset` says: low half the offset from the record's begin, high half the size.
    DataLocation { offset: usize },
    /// Where a word at `offset` says, counted from the end of that word.
    RelativeLocation { offset: usize },
    /// From `offset` to the end of the record.
    Rest { offset: usize },
}

/// What a field's bytes are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Content {
    /// One number of 1, 2, 4 or 8 bytes.
    Integer {
        size: usize,
        signed: bool,
        pointer: bool,
    },
    /// Text up to a zero byte or the end.
    Text,
    /// Numbers one after the other.
    Numbers(Element),
    /// Bytes of a type that is not known here.
    Opaque,
}

/// One number of an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Element {
    /// 1, 2, 4 or 8 bytes.
    pub(crate) size: usize,
    pub(crate) signed: bool,
}

impl Place {
    /// Where the field's bytes are in `record`; `None` where they do not fit in.
    pub(crate) fn range(self, record: &[u8], order: ByteOrder) -> Option<Range<usize>> {
        let word = |offset: usize| {
            let bytes = record.get(offset..offset.checked_add(4)?)?;
            let word = order.number(bytes) as usize;
            Some((word & 0xffff, word >> 16))
        };
        let (begin, size) = match self {
            Self::Fixed { offset, size } => (offset, size),
            Self::DataLocation { offset } => word(offset)?,
            Self::RelativeLocation { offset } => {
                let (begin, size) = word(offset)?;
                (begin + offset + 4, size)
            }
            Self::Rest { offset } => (offset, record.len().checked_sub(offset)?),
        };
        let end = begin.checked_add(size)?;
        (end <= record.len()).then_some(begin..end)
    }

    /// Whether the number of bytes differs between events.
    pub(crate) fn is_dynamic(self) -> bool {
        !matches!(self, Self::Fixed { .. })
    }
}

/// `text` up to its first zero byte.
pub(crate) fn until_zero(text: &[u8]) -> &[u8] {
    &text[..memchr::memchr(0, text).unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_never_leave_the_record() {
        let check = |place: Place, record: &[u8], expected: Option<Range<usize>>| {
            assert_eq!(
                place.range(record, ByteOrder::Little),
                expected,
                "{place:?} in {record:?}"
            );
        };
        check(Place::Fixed { offset: 2, size: 3 }, &[0; 5], Some(2..5));
        check(Place::Fixed { offset: 2, size: 4 }, &[0; 5], None);
        check(
            Place::Fixed {
                offset: usize::MAX,
                size: 4,
            },
            &[0; 5],
            None,
        );
        check(
            Place::DataLocation { offset: 0 },
            &[4, 0, 2, 0, 9, 9],
            Some(4..6),
        );
        check(Place::DataLocation { offset: 0 }, &[4, 0, 3, 0, 9, 9], None);
        check(
            Place::RelativeLocation { offset: 0 },
            &[1, 0, 1, 0, 9, 9],
            Some(5..6),
        );
        check(Place::Rest { offset: 4 }, &[0; 6], Some(4..6));
        check(Place::Rest { offset: 7 }, &[0; 6], None);
        let big = Place::DataLocation { offset: 0 }.range(&[0, 4, 0, 0], ByteOrder::Big);
        assert_eq!(big, Some(0..4));
    }
}
