//! Numbers out of bytes, in either byte order, never past the end.
//!
//! [`Cursor`] walks the descriptive part of a file. The pages of the ring buffer are read by
//! `page.rs` instead, which has no time for checks one by one.

/// The byte order in which the traced machine wrote its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant byte first.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// The byte order of the machine that runs this program.
    pub const NATIVE: Self = if cfg!(target_endian = "big") {
        Self::Big
    } else {
        Self::Little
    };

    /// The unsigned number that `bytes` (at most eight) hold.
    #[inline]
    pub(crate) fn number(self, bytes: &[u8]) -> u64 {
        let join = |number: u64, byte: &u8| (number << 8) | u64::from(*byte);
        match self {
            Self::Little => bytes.iter().rev().fold(0, join),
            Self::Big => bytes.iter().fold(0, join),
        }
    }

    #[inline]
    pub(crate) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub(crate) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub(crate) fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }
}

/// The number in the `size` (at most eight) lowest bytes of `value`, widened with its sign.
#[inline]
pub(crate) fn sign_extend(value: u64, size: usize) -> i64 {
    let unused = 64 - 8 * size.clamp(1, 8) as u32;
    ((value << unused) as i64) >> unused
}

/// Bytes ended before what was to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Where the missing thing begins.
    pub(crate) at: usize,
}

/// Reads one thing after the other.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'bytes> {
    bytes: &'bytes [u8],
    position: usize,
    order: ByteOrder,
}

impl<'bytes> Cursor<'bytes> {
    /// Begins at `position` of `bytes`.
    pub(crate) fn new(bytes: &'bytes [u8], position: usize, order: ByteOrder) -> Self {
        Self {
            bytes,
            position,
            order,
        }
    }

    /// Where the next thing begins.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// The next `length` bytes.
    pub(crate) fn take(&mut self, length: u64) -> Result<&'bytes [u8], Ended> {
        let ended = Ended { at: self.position };
        let length = usize::try_from(length).map_err(|_| ended)?;
        let end = self.position.checked_add(length).ok_or(ended)?;
        let taken = self.bytes.get(self.position..end).ok_or(ended)?;
        self.position = end;
        Ok(taken)
    }

    /// The next `length` bytes or, where there are fewer, those; and whether that is all.
    pub(crate) fn take_up_to(&mut self, length: u64) -> (&'bytes [u8], bool) {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let whole = length <= rest.len() as u64;
        let taken = if whole {
            &rest[..length as usize]
        } else {
            rest
        };
        self.position += taken.len();
        (taken, whole)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Ended> {
        let taken = self.take(N as u64)?;
        taken.try_into().map_err(|_| Ended { at: self.position })
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Ended> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Ended> {
        Ok(self.order.u16(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Ended> {
        Ok(self.order.u32(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Ended> {
        Ok(self.order.u64(self.array()?))
    }

    /// Text up to a zero byte, which is stepped over.
    pub(crate) fn text(&mut self) -> Result<String, Ended> {
        let ended = Ended { at: self.position };
        let rest = self.bytes.get(self.position..).ok_or(ended)?;
        let length = memchr::memchr(0, rest).ok_or(ended)?;
        self.position += length + 1;
        Ok(lossy(&rest[..length]))
    }
}

/// Text as far as it goes: up to a zero byte, with unreadable characters replaced.
pub(crate) fn lossy(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or(&[]);
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_both_orders() {
        assert_eq!(ByteOrder::Little.number(&[1, 2, 0]), 0x201);
        assert_eq!(ByteOrder::Big.number(&[1, 2, 0]), 0x1_0200);
        assert_eq!(sign_extend(0xffff, 2), -1);
        assert_eq!(sign_extend(0x7fff, 2), 0x7fff);
        assert_eq!(sign_extend(u64::MAX, 8), -1);
    }

    #[test]
    fn a_cursor_stops_at_the_end() {
        let mut cursor = Cursor::new(b"\x01\x00ab\x00rest", 0, ByteOrder::Little);
        assert_eq!(cursor.u16(), Ok(1));
        assert_eq!(cursor.text().as_deref(), Ok("ab"));
        assert_eq!(cursor.take(u64::MAX), Err(Ended { at: 5 }));
        assert_eq!(cursor.u64(), Err(Ended { at: 5 }));
        assert_eq!(cursor.take(4), Ok(&b"rest"[..]));
        assert!(cursor.text().is_err());
    }
}
