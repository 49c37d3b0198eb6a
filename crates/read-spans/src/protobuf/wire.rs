//! Protobuf's wire format: the fields of a message, borrowed from its bytes.
//!
//! Lenient at the end only: a field that runs past the message is given as far as it is there, and the
//! message is known to be cut, so that whoever reads it can keep what is whole.

/// A field's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'message> {
    /// A number of variable length.
    Varint(u64),
    /// Eight bytes.
    Fixed64(u64),
    /// Four bytes.
    Fixed32(u32),
    /// Text, bytes or a message.
    Bytes(&'message [u8]),
}

/// Goes through the fields of a message.
pub(crate) struct Fields<'message> {
    rest: &'message [u8],
    /// The message ends within a field, or something in it is no field.
    pub(crate) damaged: bool,
}

impl<'message> Fields<'message> {
    pub(crate) fn of(message: &'message [u8]) -> Self {
        Self {
            rest: message,
            damaged: false,
        }
    }

    fn field(&mut self) -> Option<(u32, Value<'message>)> {
        let tag = u32::try_from(self.varint()?).ok()?;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => {
                let (bytes, rest) = self.rest.split_first_chunk()?;
                self.rest = rest;
                Value::Fixed64(u64::from_le_bytes(*bytes))
            }
            2 => {
                let length = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
                self.damaged = length > self.rest.len();
                let (bytes, rest) = self.rest.split_at(length.min(self.rest.len()));
                self.rest = rest;
                Value::Bytes(bytes)
            }
            5 => {
                let (bytes, rest) = self.rest.split_first_chunk()?;
                self.rest = rest;
                Value::Fixed32(u32::from_le_bytes(*bytes))
            }
            _ => return None,
        };
        (tag >> 3 != 0).then_some((tag >> 3, value))
    }

    fn varint(&mut self) -> Option<u64> {
        let (number, length) = varint(self.rest)?;
        self.rest = &self.rest[length..];
        Some(number)
    }
}

impl<'message> Iterator for Fields<'message> {
    type Item = (u32, Value<'message>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.damaged = true;
            self.rest = &[];
        }
        field
    }
}

/// The number that `bytes` begin with, and its length.
pub(crate) fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut number = 0u64;
    for (position, &byte) in bytes.iter().take(10).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * position);
        if byte & 0x80 == 0 {
            return Some((number, position + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_message() {
        let check = |message: &[u8], expected: &[(u32, Value<'_>)], damaged| {
            let mut fields = Fields::of(message);
            let found: Vec<_> = fields.by_ref().collect();
            assert_eq!(
                (&found[..], fields.damaged),
                (expected, damaged),
                "{message:?}"
            );
        };
        check(b"", &[], false);
        check(b"\x08\x96\x01", &[(1, Value::Varint(150))], false);
        check(b"\x12\x02hi", &[(2, Value::Bytes(b"hi"))], false);
        check(b"\x12\x05hi", &[(2, Value::Bytes(b"hi"))], true);
        check(b"\x09\x01\0\0\0\0\0\0\0", &[(1, Value::Fixed64(1))], false);
        check(
            b"\x0d\x01\0\0\0\x08\x01",
            &[(1, Value::Fixed32(1)), (1, Value::Varint(1))],
            false,
        );
        check(b"\x08\x01\x0b", &[(1, Value::Varint(1))], true);
        check(
            b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            &[],
            true,
        );
    }
}
