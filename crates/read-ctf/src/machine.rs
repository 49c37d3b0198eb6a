//! Runs decode plans over a packet.
//!
//! The position is in bits from the packet's first, as CTF's alignment counts. Nothing is read
//! past the packet's content; what would be is [`Damage`], and the position stays where it was.

use memchr::memchr;

use crate::bits;
use crate::layout::Role;
use crate::plan::{
    Block, ByteRange, Choice, LOAD_TARGETS, Length, Load, NumberKind, Op, Plan, Target, Window,
    role_target,
};
use crate::walk::{self, Decoding};

/// Why a packet cannot be read further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    /// A field of so many bits runs past the packet's content.
    PastEnd { bits: u64 },
    /// A variant's selector fits none of its options.
    NoOption { selector: i64 },
    /// An integer of variable length that does not end in the packet.
    EndlessInteger,
    /// Text without a terminator in the packet.
    EndlessText,
    /// More array elements without a bit than make sense.
    EmptyElements,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::PastEnd { bits } => {
                write!(
                    f,
                    "a field of {bits} bits runs past the end of the packet's content"
                )
            }
            Self::NoOption { selector } => {
                write!(
                    f,
                    "the variant's selector {selector} is none of its options"
                )
            }
            Self::EndlessInteger => f.write_str("a variable-length integer does not end"),
            Self::EmptyElements => f.write_str("an array has too many elements without content"),
            Self::EndlessText => f.write_str("a string does not end within the packet"),
        }
    }
}

/// The state of decoding one packet.
pub(crate) struct Machine<'packet> {
    /// The packet's bytes and whatever follows them in the file (so that loads of eight bytes need
    /// no special end).
    pub(crate) bytes: &'packet [u8],
    /// Where the next field begins, in bits.
    pub(crate) at: u64,
    /// Where the packet's content ends, in bits; not past `bytes`.
    pub(crate) end: u64,
    /// Text and byte slots count from this byte.
    pub(crate) origin: usize,
    /// Values by target.
    pub(crate) values: Vec<u64>,
    /// The default clock, in cycles.
    pub(crate) clock: u64,
    /// Slots that choices have filled.
    pub(crate) chosen: u128,
    /// Array elements without a bit that may still be visited.
    pub(crate) empty_elements_left: u32,
}

/// A packet has no use for more array elements that take no room than this; a damaged one may claim
/// any number.
const MOST_EMPTY_ELEMENTS: u32 = 1 << 20;

impl<'packet> Machine<'packet> {
    /// At the first bit of a packet that has `end` bits of content.
    pub(crate) fn new(bytes: &'packet [u8], end: u64, targets: usize) -> Self {
        Self {
            bytes,
            at: 0,
            end: end.min(bytes.len() as u64 * 8),
            origin: 0,
            values: vec![0; targets],
            clock: 0,
            chosen: 0,
            empty_elements_left: MOST_EMPTY_ELEMENTS,
        }
    }

    /// The value of a role read before.
    pub(crate) fn role(&self, role: Role) -> u64 {
        self.values[usize::from(role_target(role))]
    }

    /// Runs a plan from the present position.
    #[inline(always)]
    pub(crate) fn run(&mut self, plan: &Plan) -> Result<(), Damage> {
        let mut ops = plan.ops.iter();
        while let Some(op) = ops.next() {
            match op {
                Op::Skip(bits) => self.step_over(*bits)?,
                Op::Block(block) => self.block(block)?,
                Op::Text { target } => self.text(*target)?,
                // What was chosen takes the place of what is over.
                Op::Choice(choice) if ops.len() == 0 => {
                    if let Some(chosen) = self.choose(choice)? {
                        ops = chosen.ops.iter();
                    }
                }
                other => self.rare(other)?,
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn block(&mut self, block: &Block) -> Result<(), Damage> {
        let base = (self.at / 8) as usize;
        self.step_over(block.bits)?;
        let mut copy = None;
        let window = window(self.bytes, base, &mut copy);
        load_all(&block.loads, window, &mut self.values);
        let begin = base - self.origin;
        note_ranges(&block.ranges, begin, &mut self.values);
        if block.has_numbers {
            self.numbers(block, self.at - block.bits, window);
        }
        Ok(())
    }

    #[inline(never)]
    fn numbers(&mut self, block: &Block, begin: u64, window: &Window) {
        for load in &block.swapped_loads {
            let word = load.word(window).swap_bytes();
            self.values[usize::from(load.target)] = load.value(word);
        }
        for number in &block.numbers {
            let at = begin + number.bit;
            let word = bits::read(self.bytes, at, number.bits, number.order, number.reversed);
            self.values[usize::from(number.target)] = match number.kind {
                NumberKind::Unsigned => word,
                NumberKind::Signed => bits::sign_extend(word, number.bits),
                NumberKind::Float => bits::widen_float(word, number.bits),
            };
        }
    }

    /// The plan that a choice falls on.
    #[inline]
    fn choose<'plan>(&mut self, choice: &'plan Choice) -> Result<Option<&'plan Plan>, Damage> {
        let word = self.values[usize::from(choice.selector)];
        match choice.find(word) {
            Some(option) => {
                self.chosen |= option.slots;
                Ok(Some(&option.plan))
            }
            None if choice.may_be_none => Ok(None),
            None => Err(no_option(walk::selector(word, choice.signed))),
        }
    }

    #[inline]
    fn text(&mut self, target: Option<Target>) -> Result<(), Damage> {
        let begin = (self.at / 8) as usize;
        let length = match short_text(self.bytes, begin) {
            Some(length) => length,
            None => memchr(0, self.content(begin)).ok_or(Damage::EndlessText)?,
        };
        let after = self.at + (length as u64 + 1) * 8;
        if after > self.end {
            return Err(Damage::EndlessText);
        }
        if let Some(target) = target {
            self.values[usize::from(target)] = pack(begin - self.origin, length);
        }
        self.at = after;
        Ok(())
    }

    /// Everything but what is most frequent.
    #[inline(never)]
    fn rare(&mut self, op: &Op) -> Result<(), Damage> {
        match op {
            Op::Skip(bits) => self.step_over(*bits)?,
            Op::Block(block) => self.block(block)?,
            Op::Text { target } => self.text(*target)?,
            Op::Align(alignment) => self.align(*alignment)?,
            Op::Run {
                length,
                element_bytes,
                target,
            } => {
                let begin = (self.at / 8) as usize;
                let elements = self.values[usize::from(*length)];
                let bits = elements.saturating_mul(*element_bytes).saturating_mul(8);
                if bits > self.end - self.at {
                    return Err(Damage::PastEnd { bits });
                }
                if let Some(target) = target {
                    let packed = pack(begin - self.origin, (bits / 8) as usize);
                    self.values[usize::from(*target)] = packed;
                }
                self.at += bits;
            }
            Op::Choice(choice) => {
                if let Some(chosen) = self.choose(choice)? {
                    self.run(chosen)?;
                }
            }
            Op::Copy { from, target } => {
                self.values[usize::from(*target)] = self.values[usize::from(*from)];
            }
            Op::Variable { signed, targets } => {
                let begin = (self.at / 8) as usize;
                let end = (self.end / 8) as usize;
                let (value, size) = bits::read_leb128(self.bytes, begin, end, *signed)
                    .ok_or(Damage::EndlessInteger)?;
                for target in targets {
                    self.values[usize::from(*target)] = value;
                }
                self.at += size as u64 * 8;
            }
            Op::Clock { bits } => {
                let value = self.role(Role::ClockTimestamp);
                self.clock = advance_clock(self.clock, value, bits::mask(*bits));
            }
            Op::Repeat {
                length,
                element,
                target,
            } => {
                if let Some(target) = target {
                    self.values[usize::from(*target)] = self.at;
                }
                let elements = match *length {
                    Length::Fixed(length) => length,
                    Length::Stated(target) => self.values[usize::from(target)],
                };
                if let [Op::Skip(bits)] = element.ops[..]
                    && let Some(bits) = elements.checked_mul(bits)
                    && bits <= self.end - self.at
                {
                    self.at += bits;
                    return Ok(());
                }
                for _ in 0..elements {
                    let begin = self.at;
                    self.run(element)?;
                    if self.at == begin {
                        self.count_empty_element()?;
                    }
                }
            }
            Op::Walk { class, target } => {
                if let Some(target) = target {
                    self.values[usize::from(*target)] = self.at;
                }
                walk::field(self, class, &mut Decoding)?;
            }
        }
        Ok(())
    }

    /// Goes on by `bits` bits.
    #[inline]
    pub(crate) fn step_over(&mut self, bits: u64) -> Result<(), Damage> {
        let after = self.at + bits;
        if after > self.end {
            return Err(Damage::PastEnd { bits });
        }
        self.at = after;
        Ok(())
    }

    /// An array element has taken no room.
    pub(crate) fn count_empty_element(&mut self) -> Result<(), Damage> {
        let left = self.empty_elements_left.checked_sub(1);
        self.empty_elements_left = left.ok_or(Damage::EmptyElements)?;
        Ok(())
    }

    /// Goes on to a multiple of `alignment` bits.
    pub(crate) fn align(&mut self, alignment: u64) -> Result<(), Damage> {
        let aligned = align_up(self.at, alignment);
        if aligned > self.end {
            return Err(Damage::PastEnd {
                bits: aligned - self.at,
            });
        }
        self.at = aligned;
        Ok(())
    }

    /// The content from byte `begin` on.
    pub(crate) fn content(&self, begin: usize) -> &'packet [u8] {
        let end = (self.end / 8) as usize;
        self.bytes.get(begin..end).unwrap_or_default()
    }
}

/// No option of a variant fits; selectors past 63 bits are shown as negative.
pub(crate) fn no_option(selector: i128) -> Damage {
    Damage::NoOption {
        selector: selector as i64,
    }
}

/// The first position from `at` on that is a multiple of `alignment`, a power of two.
#[inline]
pub(crate) fn align_up(at: u64, alignment: u64) -> u64 {
    debug_assert!(alignment.is_power_of_two());
    (at + (alignment - 1)) & !(alignment - 1)
}

/// The bytes from `begin` on for loads; where they are too few, a copy with zeros behind them.
#[inline(always)]
pub(crate) fn window<'bytes>(
    bytes: &'bytes [u8],
    begin: usize,
    copy: &'bytes mut Option<Window>,
) -> &'bytes Window {
    match whole_window(bytes, begin) {
        Some(window) => window,
        None => copy.insert(padded(bytes.get(begin..).unwrap_or_default())),
    }
}

/// The bytes from `begin` on, where they are enough.
#[inline(always)]
pub(crate) fn whole_window(bytes: &[u8], begin: usize) -> Option<&Window> {
    // One comparison.
    bytes.get(begin..begin + size_of::<Window>())?.first_chunk()
}

#[cold]
fn padded(bytes: &[u8]) -> Window {
    let mut window = [0; size_of::<Window>()];
    window[..bytes.len()].copy_from_slice(bytes);
    window
}

/// Fills the targets of `loads`.
#[inline(always)]
pub(crate) fn load_all(loads: &[Load], window: &Window, values: &mut [u64]) {
    let Some(values) = values.first_chunk_mut::<LOAD_TARGETS>() else {
        return;
    };
    for load in loads {
        values[usize::from(load.target)] = load.value(load.word(window));
    }
}

/// Fills the targets of `ranges`; `begin` is the block's first byte, counted from the origin.
#[inline(always)]
pub(crate) fn note_ranges(ranges: &[ByteRange], begin: usize, values: &mut [u64]) {
    for range in ranges {
        let begin = begin + range.byte as usize;
        values[usize::from(range.target)] = pack(begin, range.length as usize);
    }
}

/// How many bytes from `begin` on are not zero, where these are few: most text of traces is short, and not
/// worth a call of `memchr`.
#[inline]
fn short_text(bytes: &[u8], begin: usize) -> Option<usize> {
    const LOWEST: u64 = u64::from_le_bytes([1; 8]);
    const HIGHEST: u64 = LOWEST << 7;
    let bytes = bytes.get(begin..begin + 16)?;
    let (words, _) = bytes.as_chunks();
    for (word, before) in words.iter().zip([0, 8]) {
        let word = u64::from_le_bytes(*word);
        // The lowest bit that is left is in the first byte of zero (those above it may be wrong).
        let zeros = word.wrapping_sub(LOWEST) & !word & HIGHEST;
        if zeros != 0 {
            return Some(before + zeros.trailing_zeros() as usize / 8);
        }
    }
    None
}

fn pack(begin: usize, length: usize) -> u64 {
    slowpath_model::Event::pack_range(begin, length)
}

/// The clock after reading its lowest bits, those of `mask`: the first value from `clock` on that
/// has them (CTF 1.8 §8: a value below the last one has wrapped once; one of all bits just counts).
#[inline]
pub(crate) fn advance_clock(clock: u64, value: u64, mask: u64) -> u64 {
    let candidate = (clock & !mask) | value;
    if value < clock & mask {
        candidate.wrapping_add(mask.wrapping_add(1))
    } else {
        candidate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_wrap_once() {
        let check = |clock, value, bits, expected| {
            assert_eq!(advance_clock(clock, value, bits::mask(bits)), expected);
        };
        check(0x1_05, 0x07, 8, 0x1_07);
        check(0x1_05, 0x05, 8, 0x1_05);
        check(0x1_05, 0x03, 8, 0x2_03);
        check(77, 12, 64, 12);
        check(u64::MAX, 0, 27, 0);
    }
}
