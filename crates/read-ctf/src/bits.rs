//! Integers of any width at any bit, in either byte order.
//!
//! The slow and always right way; decode plans use it only where their fast one does not apply.
//! Bits past the end of the bytes read as zero: callers have checked the limit before.

use crate::layout::ByteOrder;

/// Reads the `bits` (1 to 64) bits that begin at bit `at`.
///
/// Bits are numbered as CTF 1.8 §4.1.5 does: from the least significant bit of each byte in little
/// endian, from the most significant in big endian. `reversed` turns the order of the value's bits
/// around (CTF 2 `bit-order` other than the byte order implies).
pub(crate) fn read(bytes: &[u8], at: u64, bits: u32, order: ByteOrder, reversed: bool) -> u64 {
    let first = usize::try_from(at / 8).unwrap_or(usize::MAX);
    let shift = (at % 8) as u32;
    let span = (shift + bits).div_ceil(8) as usize;
    let mut window = [0; 16];
    if let Some(rest) = bytes.get(first..) {
        let present = span.min(rest.len());
        window[..present].copy_from_slice(&rest[..present]);
    }
    let word = match order {
        ByteOrder::Little => u128::from_le_bytes(window) >> shift,
        ByteOrder::Big => u128::from_be_bytes(window) >> (128 - shift - bits),
    };
    let value = word as u64 & mask(bits);
    if reversed {
        value.reverse_bits() >> (64 - bits)
    } else {
        value
    }
}

/// The lowest `bits` (1 to 64) bits.
pub(crate) fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits.clamp(1, 64))
}

/// Extends the sign of a two's complement number of `bits` bits.
pub(crate) fn sign_extend(value: u64, bits: u32) -> u64 {
    let unused = 64 - bits.clamp(1, 64);
    ((value << unused) as i64 >> unused) as u64
}

/// The IEEE 754 number of `bits` bits whose bits are `word`, as the bits of a 64-bit one.
pub(crate) fn widen_float(word: u64, bits: u32) -> u64 {
    match bits {
        16 => half_to_double(word as u16).to_bits(),
        32 => f64::from(f32::from_bits(word as u32)).to_bits(),
        _ => word,
    }
}

fn half_to_double(half: u16) -> f64 {
    let sign = if half & 0x8000 != 0 { -1.0 } else { 1.0 };
    let exponent = i32::from(half >> 10 & 0x1f);
    let fraction = f64::from(half & 0x3ff);
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    }
}

/// A LEB128 integer that begins at byte `at`: its value (the lowest 64 bits) and its size in bytes.
/// `None` when it runs past `end`.
pub(crate) fn read_leb128(
    bytes: &[u8],
    at: usize,
    end: usize,
    signed: bool,
) -> Option<(u64, usize)> {
    let available = bytes.get(at..end.min(bytes.len()))?;
    let size = available.iter().position(|byte| byte & 0x80 == 0)? + 1;
    let groups = available[..size].iter().zip((0..64).step_by(7));
    let value = groups.fold(0u64, |value, (byte, shift)| {
        value | u64::from(byte & 0x7f) << shift
    });
    let width = 7 * size as u32;
    if signed && width < 64 {
        return Some((sign_extend(value, width), size));
    }
    Some((value, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_at_any_bit() {
        let bytes = [
            0b1010_0101,
            0xff,
            0x12,
            0x34,
            0x56,
            0x78,
            0x9a,
            0xbc,
            0xde,
            0xf0,
        ];
        let check = |at, bits, order, expected| {
            assert_eq!(
                read(&bytes, at, bits, order, false),
                expected,
                "{at} {bits}"
            );
        };
        check(0, 4, ByteOrder::Little, 0b0101);
        check(4, 4, ByteOrder::Little, 0b1010);
        check(0, 4, ByteOrder::Big, 0b1010);
        check(4, 8, ByteOrder::Big, 0b0101_1111);
        check(4, 8, ByteOrder::Little, 0b1111_1010);
        check(16, 32, ByteOrder::Big, 0x1234_5678);
        check(16, 32, ByteOrder::Little, 0x7856_3412);
        check(12, 64, ByteOrder::Big, 0xf123_4567_89ab_cdef);
        check(76, 64, ByteOrder::Little, 0xf); // past the end: zeros
        assert_eq!(read(&bytes, 0, 4, ByteOrder::Big, true), 0b0101);
    }

    #[test]
    fn variable_length_integers() {
        let check = |bytes: &[u8], signed, expected| {
            assert_eq!(read_leb128(bytes, 0, bytes.len(), signed), expected);
        };
        check(&[0x7f], false, Some((127, 1)));
        check(&[0x7f], true, Some((u64::MAX, 1)));
        check(&[0xe5, 0x8e, 0x26], false, Some((624_485, 3)));
        check(&[0xc0, 0xbb, 0x78], true, Some((-123_456i64 as u64, 3)));
        check(&[0x80], false, None);
        check(&[], false, None);
    }

    #[test]
    fn half_precision() {
        let check = |half, expected: f64| {
            assert_eq!(f64::from_bits(widen_float(half, 16)), expected);
        };
        check(0x3c00, 1.0);
        check(0xc000, -2.0);
        check(0x7c00, f64::INFINITY);
        check(0x0001, 2f64.powi(-24));
    }
}
