//! One decoded event, as a reader hands it to an analysis.
//!
//! It borrows the packet it came from and the decoder's slots, so it costs no allocation and is
//! gone after the call. Numbers lie in slots as 64-bit words; text and bytes as places in the packet.

use crate::{EventClassId, Slot, Timestamp};

/// One event with the values that were asked for.
#[derive(Clone, Copy, Debug)]
pub struct Event<'packet> {
    /// Its class.
    pub class: EventClassId,
    /// When it happened.
    pub at: Timestamp,
    /// Where its header begins: an opaque place in the packet for `Source::visit`.
    pub position: u64,
    /// The bytes that text slots point into.
    pub bytes: &'packet [u8],
    /// The values by slot; see [`Self::pack_range`] for text.
    pub values: &'packet [u64],
    /// Bit n is set when slot n has no value in this event.
    pub absent: u128,
}

impl<'packet> Event<'packet> {
    /// Whether the slot has a value.
    pub fn has(&self, slot: Slot) -> bool {
        (slot.0 as usize) < self.values.len() && self.absent & (1 << slot.0) == 0
    }

    /// The value as an unsigned number; 0 where absent.
    #[inline]
    pub fn unsigned(&self, slot: Slot) -> u64 {
        self.values.get(slot.0 as usize).copied().unwrap_or(0)
    }

    /// The value as a signed number; 0 where absent.
    #[inline]
    pub fn signed(&self, slot: Slot) -> i64 {
        self.unsigned(slot) as i64
    }

    /// The value of a floating-point field; 0 where absent.
    #[inline]
    pub fn float(&self, slot: Slot) -> f64 {
        f64::from_bits(self.unsigned(slot))
    }

    /// The value of a text field up to its terminator; empty where absent.
    #[inline]
    pub fn text(&self, slot: Slot) -> &'packet [u8] {
        let field = self.raw_bytes(slot);
        let length = field.iter().position(|&byte| byte == 0);
        &field[..length.unwrap_or(field.len())]
    }

    /// All bytes of a text or bytes field, padding included; empty where absent.
    #[inline]
    pub fn raw_bytes(&self, slot: Slot) -> &'packet [u8] {
        let packed = self.unsigned(slot);
        let begin = (packed >> 32) as usize;
        let length = packed as u32 as usize;
        self.bytes.get(begin..begin + length).unwrap_or_default()
    }

    /// How a text or bytes value lies in its slot: byte offset into `bytes`, and length in bytes.
    #[inline]
    pub fn pack_range(begin: usize, length: usize) -> u64 {
        ((begin as u64) << 32) | (length as u64 & 0xffff_ffff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_as_they_were_packed() {
        let values = [(-3i64) as u64, Event::pack_range(2, 6), 1.5f64.to_bits(), 0];
        let event = Event {
            class: EventClassId(0),
            at: Timestamp::from_ns(1),
            position: 0,
            bytes: b"..comm\0.",
            values: &values,
            absent: 0b1000,
        };
        assert_eq!(event.signed(Slot(0)), -3);
        assert_eq!(event.text(Slot(1)), b"comm");
        assert_eq!(event.raw_bytes(Slot(1)), b"comm\0.");
        assert_eq!(event.float(Slot(2)), 1.5);
        assert!(!event.has(Slot(3)) && !event.has(Slot(9)) && event.has(Slot(0)));
        assert_eq!(event.unsigned(Slot(9)), 0);
    }
}
