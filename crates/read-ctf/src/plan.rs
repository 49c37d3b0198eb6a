//! The decode plan: a layout compiled into a few straight-line operations.
//!
//! Fields whose place is fixed relative to one another become one [`Op::Block`]: a bounds check,
//! then direct loads; what nobody asked for costs nothing. Values go into numbered *targets*:
//! slots of the event first, then the registers and roles of this reader. Compilation and
//! [`fields`](crate::fields) go through a layout in the same order and so number fields alike.

use crate::layout::{
    ByteOrder, FieldLayout, IntegerLayout, Register, Role, StructureLayout, VariantLayout,
};
use crate::walk;
use slowpath_model::Projection;

/// A position in the decoder's array of values.
pub(crate) type Target = u16;

/// First target after the slots: the values of roles, by [`role_target`].
const ROLES: Target = Projection::MAX_SLOTS as Target;
/// Where values go that are decoded but kept nowhere: elements of arrays.
const UNKEPT: Target = ROLES + 12;
/// First target after those: the layout's registers.
const REGISTERS: Target = UNKEPT + 1;

/// Where the value of a field with this role goes.
pub(crate) const fn role_target(role: Role) -> Target {
    ROLES + role as Target
}

/// Where a register lies.
pub(crate) const fn register_target(register: Register) -> Target {
    REGISTERS + register.0
}

/// How many targets a layout with `register_count` registers needs; no fewer than [`Load`]s reach.
pub(crate) fn target_count(register_count: u16) -> usize {
    (usize::from(REGISTERS) + usize::from(register_count)).max(LOAD_TARGETS)
}

/// Operations in their order.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) ops: Vec<Op>,
}

impl Plan {
    /// Bit n is set when the plan itself fills slot n: choices inside it are left out.
    fn direct_slots(&self) -> u128 {
        let bit = |target: Target| 1u128.checked_shl(u32::from(target)).unwrap_or(0);
        let bits = |targets: &[Target]| targets.iter().fold(0, |mask, &target| mask | bit(target));
        self.ops.iter().fold(0, |mask, op| {
            mask | match op {
                Op::Block(block) => {
                    let loads = block.loads.iter().chain(&block.swapped_loads);
                    let loads = loads.map(|load| bit(load.target.into()));
                    let numbers = block.numbers.iter().map(|number| bit(number.target));
                    let ranges = block.ranges.iter().map(|range| bit(range.target));
                    loads
                        .chain(numbers)
                        .chain(ranges)
                        .fold(0, |all, one| all | one)
                }
                Op::Text { target }
                | Op::Run { target, .. }
                | Op::Repeat { target, .. }
                | Op::Walk { target, .. } => target.map_or(0, bit),
                Op::Variable { targets, .. } => bits(targets),
                Op::Copy { target, .. } => bit(*target),
                Op::Align(_) | Op::Skip(_) | Op::Clock { .. } | Op::Choice(_) => 0,
            }
        })
    }

    /// Its size in bits and the block in which it reads, where it goes over fields of fixed size and reads in
    /// no more than the first block of them.
    pub(crate) fn fixed(&self) -> Option<(u64, Option<&Block>)> {
        match &self.ops[..] {
            [] => Some((0, None)),
            [Op::Skip(bits)] => Some((*bits, None)),
            [Op::Block(block)] => Some((block.bits, Some(block))),
            [Op::Block(block), Op::Skip(bits)] => Some((block.bits + bits, Some(block))),
            _ => None,
        }
    }

    /// Bit n is set when slot n is filled only if some choice falls that way.
    pub(crate) fn conditional_slots(&self) -> u128 {
        let choices = self.ops.iter().filter_map(|op| match op {
            Op::Choice(choice) => Some(&choice.options),
            _ => None,
        });
        choices.flatten().fold(0, |mask, option| {
            mask | option.slots | option.plan.conditional_slots()
        })
    }
}

/// One step of a plan.
#[derive(Debug)]
pub(crate) enum Op {
    /// Go on to a multiple of so many bits (a power of two).
    Align(u64),
    /// Go on by so many bits.
    Skip(u64),
    /// A run of fields at fixed places from here, some of which are read.
    Block(Box<Block>),
    /// Text of one-byte units up to its terminator.
    Text { target: Option<Target> },
    /// As many elements of `element_bytes` bytes as a register says.
    Run {
        length: Target,
        element_bytes: u64,
        target: Option<Target>,
    },
    /// Continues with one of several plans.
    Choice(Box<Choice>),
    /// The target gets what another one holds: a field that is asked for more than once.
    Copy { from: Target, target: Target },
    /// LEB128.
    Variable {
        signed: bool,
        targets: Box<[Target]>,
    },
    /// The value just read by a block updates the clock.
    Clock { bits: u32 },
    /// The same plan for every element of an array; the target gets the bit at which it begins.
    Repeat {
        length: Length,
        element: Box<Plan>,
        target: Option<Target>,
    },
    /// Anything else, walked element by element; the target gets the bit at which it begins.
    Walk {
        class: Box<FieldLayout>,
        target: Option<Target>,
    },
}

/// How many elements an array has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length {
    Fixed(u64),
    /// What a target holds.
    Stated(Target),
}

/// Which plan follows.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) selector: Target,
    pub(crate) signed: bool,
    /// An optional field is just not there when no option fits; a variant is damaged then.
    pub(crate) may_be_none: bool,
    options: Vec<ChoiceOption>,
    /// By selector, as most are small: the position of the option that fits, or one past the last.
    by_small_selector: Vec<usize>,
}

/// An option of [`Choice`].
#[derive(Debug)]
pub(crate) struct ChoiceOption {
    ranges: Vec<(i128, i128)>,
    /// Bit n is set when the plan fills slot n (choices inside it left out).
    pub(crate) slots: u128,
    pub(crate) plan: Plan,
}

impl Choice {
    const SMALL_SELECTORS: i128 = 32;

    fn new(
        selector: Target,
        signed: bool,
        may_be_none: bool,
        options: Vec<ChoiceOption>,
    ) -> Box<Self> {
        let position = |selector| {
            let found = options.iter().position(|option| option.fits(selector));
            found.unwrap_or(options.len())
        };
        Box::new(Self {
            selector,
            signed,
            may_be_none,
            by_small_selector: (0..Self::SMALL_SELECTORS).map(position).collect(),
            options,
        })
    }

    /// The first option that fits what the selector's register holds.
    #[inline]
    pub(crate) fn find(&self, word: u64) -> Option<&ChoiceOption> {
        let small = usize::try_from(word).ok();
        match small.and_then(|word| self.by_small_selector.get(word)) {
            Some(&position) => self.options.get(position),
            None => {
                let selector = walk::selector(word, self.signed);
                self.options.iter().find(|option| option.fits(selector))
            }
        }
    }
}

impl ChoiceOption {
    fn new(ranges: &[(i128, i128)], plan: Plan) -> Self {
        Self {
            ranges: ranges.to_vec(),
            slots: plan.direct_slots(),
            plan,
        }
    }

    fn fits(&self, selector: i128) -> bool {
        let mut ranges = self.ranges.iter();
        ranges.any(|&(first, last)| (first..=last).contains(&selector))
    }
}

/// Fields at fixed places relative to the first bit.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// Size of all of it, in bits.
    pub(crate) bits: u64,
    /// Little-endian integers of which all bits lie in eight bytes, of a block that begins at a
    /// byte: read without a branch.
    pub(crate) loads: Vec<Load>,
    /// The same in big endian: the eight bytes are swapped first.
    pub(crate) swapped_loads: Vec<Load>,
    /// Other numbers.
    pub(crate) numbers: Vec<Number>,
    /// Whether there are `swapped_loads` or `numbers`.
    pub(crate) has_numbers: bool,
    /// Text and bytes.
    pub(crate) ranges: Vec<ByteRange>,
}

impl Block {
    /// Whether nothing in it is read.
    pub(crate) fn is_empty(&self) -> bool {
        self.loads.is_empty()
            && self.swapped_loads.is_empty()
            && self.numbers.is_empty()
            && self.ranges.is_empty()
    }
}

/// An integer: eight bytes from `byte`, shifted left, shifted right, sign-extended.
///
/// Byte and target are of one byte each and so always lie within [`Window`] and the first
/// [`LOAD_TARGETS`] targets: the compiler leaves out every check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) byte: u8,
    pub(crate) target: u8,
    pub(crate) left: u8,
    pub(crate) right: u8,
    /// The sign bit of a signed number, 0 of an unsigned one.
    pub(crate) sign: u64,
}

/// The bytes that loads can reach from the begin of their block.
pub(crate) type Window = [u8; 256 + 7];

/// How many targets loads can reach.
pub(crate) const LOAD_TARGETS: usize = 256;

impl Load {
    /// Of an unsigned little-endian integer at bit `bit` that ends within eight bytes of its first one; the
    /// target is 0.
    pub(crate) const fn unsigned_at(bit: u32, bits: u32) -> Self {
        Self {
            byte: (bit / 8) as u8,
            target: 0,
            left: (64 - bits - bit % 8) as u8,
            right: (64 - bits) as u8,
            sign: 0,
        }
    }

    /// The eight bytes, the first one lowest.
    #[inline(always)]
    pub(crate) fn word(self, window: &Window) -> u64 {
        let begin = usize::from(self.byte);
        u64::from_le_bytes(window[begin..begin + 8].try_into().unwrap_or_default())
    }

    /// The integer in the eight bytes that were loaded.
    #[inline(always)]
    pub(crate) fn value(self, word: u64) -> u64 {
        (self.unsigned(word) ^ self.sign).wrapping_sub(self.sign)
    }

    /// The same where it is known to be unsigned.
    #[inline(always)]
    pub(crate) fn unsigned(self, word: u64) -> u64 {
        (word << (self.left & 63)) >> (self.right & 63)
    }
}

/// Any other number of fixed width.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number {
    pub(crate) bit: u64,
    pub(crate) bits: u32,
    pub(crate) target: Target,
    pub(crate) order: ByteOrder,
    pub(crate) reversed: bool,
    pub(crate) kind: NumberKind,
}

/// What a [`Number`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberKind {
    Unsigned,
    Signed,
    Float,
}

/// Text or bytes at a fixed place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteRange {
    pub(crate) byte: u32,
    pub(crate) length: u32,
    pub(crate) target: Target,
}

/// Compiles the scopes of one kind of event (or packet) one after the other.
pub(crate) struct Compiler<'wanted> {
    plan: Plan,
    block: Block,
    /// What is known of the position, in bits: it is `offset` past a multiple of `alignment`.
    alignment: u64,
    offset: u64,
    /// By field number: the slots that want it.
    wanted: &'wanted [Vec<Target>],
    next_field: usize,
    /// Whether values go to role targets (headers and contexts of packets and events).
    roles: bool,
    /// Whether numbers are decoded that nobody keeps: elements of an array that is asked for.
    unkept: bool,
}

impl<'wanted> Compiler<'wanted> {
    /// Begins where the position is a multiple of `alignment` bits; `wanted[n]` are the slots of
    /// the n-th field.
    pub(crate) fn new(alignment: u64, wanted: &'wanted [Vec<Target>]) -> Self {
        Self {
            plan: Plan::default(),
            block: Block::default(),
            alignment: alignment.max(1),
            offset: 0,
            wanted,
            next_field: 0,
            roles: false,
            unkept: false,
        }
    }

    /// Adds a packet header, packet context or event header: its roles are read, and its fields
    /// are not numbered.
    pub(crate) fn header(&mut self, structure: &StructureLayout) {
        self.roles = true;
        self.structure(structure);
        self.roles = false;
    }

    /// Adds a scope whose fields can be asked for.
    pub(crate) fn scope(&mut self, structure: &StructureLayout) {
        self.structure(structure);
    }

    /// The plan, and the alignment in bits that is known at its end.
    pub(crate) fn finish(mut self) -> (Plan, u64) {
        self.flush();
        let known = self.known_alignment();
        (self.plan, known)
    }

    fn known_alignment(&self) -> u64 {
        match self.offset {
            0 => self.alignment,
            offset => self.alignment.min(1 << offset.trailing_zeros()),
        }
    }

    fn structure(&mut self, structure: &StructureLayout) {
        self.align(structure.alignment);
        for member in &structure.members {
            self.field(&member.class);
        }
    }

    fn field(&mut self, class: &FieldLayout) {
        match class {
            FieldLayout::Structure(structure) => return self.structure(structure),
            FieldLayout::Variant(variant) => return self.variant(variant),
            FieldLayout::Optional(optional) => {
                self.flush();
                let (plan, _) = self.nested(&optional.class);
                self.plan.ops.push(Op::Choice(Choice::new(
                    register_target(optional.selector),
                    optional.selector_signed,
                    true,
                    vec![ChoiceOption::new(&optional.ranges, plan)],
                )));
                self.restart(1);
                return;
            }
            _ => {}
        }
        let slots = self.take_slots();
        self.align(class.alignment());
        match class {
            FieldLayout::Integer(integer) => self.integer(integer, &slots),
            FieldLayout::Float(float) if float.bits <= 64 => {
                for &target in &slots {
                    self.block.numbers.push(Number {
                        bit: self.block.bits,
                        bits: float.bits,
                        target,
                        order: float.byte_order,
                        reversed: float.reversed_bits,
                        kind: NumberKind::Float,
                    });
                }
                self.advance(u64::from(float.bits));
            }
            FieldLayout::StaticText { length, .. } | FieldLayout::StaticBlob { length, .. }
                if self.known_alignment() >= 8 && *length <= u64::from(u32::MAX / 16) =>
            {
                self.byte_range(*length, &slots);
            }
            FieldLayout::StaticArray {
                length, element, ..
            } if self.known_alignment() >= 8
                && byte_elements(element).is_some()
                && *length <= u64::from(u32::MAX / 128) =>
            {
                let size = byte_elements(element).unwrap_or(1);
                self.byte_range(*length * size, &slots);
            }
            FieldLayout::Text(text) if text.encoding == crate::layout::Encoding::Utf8 => {
                self.dynamic(&slots, 8, |target| Op::Text { target });
            }
            FieldLayout::DynamicText { length, .. } | FieldLayout::DynamicBlob { length } => {
                self.dynamic(&slots, 8, |target| Op::Run {
                    length: register_target(*length),
                    element_bytes: 1,
                    target,
                });
            }
            FieldLayout::DynamicArray {
                length, element, ..
            } if byte_elements(element).is_some() => {
                self.dynamic(&slots, 8, |target| Op::Run {
                    length: register_target(*length),
                    element_bytes: byte_elements(element).unwrap_or(1),
                    target,
                });
            }
            FieldLayout::StaticArray {
                length, element, ..
            } => self.repeat(Length::Fixed(*length), element, &slots),
            FieldLayout::DynamicArray {
                length, element, ..
            } => self.repeat(Length::Stated(register_target(*length)), element, &slots),
            FieldLayout::VariableInteger(integer) => {
                let mut targets = slots;
                targets.extend(integer.keep.map(register_target));
                targets.extend(self.role_targets(integer.role));
                let clock = self.roles && integer.role == Some(Role::ClockTimestamp);
                self.dynamic(&[], 8, |_| Op::Variable {
                    signed: integer.signed,
                    targets: targets.into(),
                });
                if clock {
                    self.plan.ops.push(Op::Clock { bits: 64 });
                }
            }
            other => {
                let class = Box::new(other.clone());
                self.dynamic(&slots, 1, |target| Op::Walk { class, target });
            }
        }
    }

    fn integer(&mut self, integer: &IntegerLayout, slots: &[Target]) {
        let roles = self.role_targets(integer.role);
        let kept = integer.keep.map(register_target);
        let unkept = (self.unkept && slots.is_empty()).then_some(UNKEPT);
        let targets = slots.iter().copied().chain(kept).chain(roles).chain(unkept);
        let bit = self.block.bits;
        let fits_a_load = !integer.reversed_bits
            && self.known_alignment_of_block() >= 8
            && bit % 8 + u64::from(integer.bits) <= 64
            && bit / 8 <= u64::from(u8::MAX);
        for target in targets {
            if let Ok(target) = u8::try_from(target)
                && fits_a_load
            {
                let shift = (bit % 8) as u32;
                let (left, loads) = match integer.byte_order {
                    ByteOrder::Little => (64 - integer.bits - shift, &mut self.block.loads),
                    ByteOrder::Big => (shift, &mut self.block.swapped_loads),
                };
                loads.push(Load {
                    byte: (bit / 8) as u8,
                    target,
                    left: left as u8,
                    right: (64 - integer.bits) as u8,
                    sign: u64::from(integer.signed) << (integer.bits - 1),
                });
            } else {
                self.block.numbers.push(Number {
                    bit,
                    bits: integer.bits,
                    target,
                    order: integer.byte_order,
                    reversed: integer.reversed_bits,
                    kind: match integer.signed {
                        true => NumberKind::Signed,
                        false => NumberKind::Unsigned,
                    },
                });
            }
        }
        self.advance(u64::from(integer.bits));
        if self.roles && integer.role == Some(Role::ClockTimestamp) {
            self.flush();
            self.plan.ops.push(Op::Clock { bits: integer.bits });
        }
    }

    fn repeat(&mut self, length: Length, element: &FieldLayout, slots: &[Target]) {
        let compile = |alignment| {
            let mut inner = Compiler::new(alignment, &[]);
            inner.unkept = self.unkept || !slots.is_empty();
            inner.field(element);
            inner.finish()
        };
        // Where an element begins depends on those before it: they may leave nothing known of its alignment.
        let alignment = element.alignment().min(self.known_alignment());
        let (element, _) = match compile(alignment) {
            (plan, after) if after >= alignment => (plan, after),
            _ => compile(1),
        };
        self.dynamic(slots, 1, |target| Op::Repeat {
            length,
            element: Box::new(element),
            target,
        });
    }

    fn byte_range(&mut self, length: u64, slots: &[Target]) {
        // Ranges count in bytes from where their block begins, which must be at a byte then.
        if self.known_alignment_of_block() < 8 {
            self.flush();
        }
        for &target in slots {
            self.block.ranges.push(ByteRange {
                byte: (self.block.bits / 8) as u32,
                length: length as u32,
                target,
            });
        }
        self.advance(length * 8);
    }

    fn variant(&mut self, variant: &VariantLayout) {
        self.align(variant.alignment);
        self.flush();
        let mut known_after = u64::MAX;
        let mut options = Vec::with_capacity(variant.options.len());
        for option in &variant.options {
            let (plan, known) = self.nested(&option.class);
            known_after = known_after.min(known);
            options.push(ChoiceOption::new(&option.ranges, plan));
        }
        self.plan.ops.push(Op::Choice(Choice::new(
            register_target(variant.selector),
            variant.selector_signed,
            false,
            options,
        )));
        self.restart(if known_after == u64::MAX {
            1
        } else {
            known_after
        });
    }

    /// Compiles a field on its own, from what is known here; numbering goes on through it.
    fn nested(&mut self, class: &FieldLayout) -> (Plan, u64) {
        let mut inner = Compiler {
            plan: Plan::default(),
            block: Block::default(),
            alignment: self.alignment,
            offset: self.offset,
            wanted: self.wanted,
            next_field: self.next_field,
            roles: self.roles,
            unkept: self.unkept,
        };
        inner.field(class);
        self.next_field = inner.next_field;
        inner.finish()
    }

    /// The slots of the next numbered field.
    fn take_slots(&mut self) -> Vec<Target> {
        if self.roles {
            return Vec::new();
        }
        let slots = self.wanted.get(self.next_field);
        self.next_field += 1;
        slots.cloned().unwrap_or_default()
    }

    fn role_targets(&self, role: Option<Role>) -> Option<Target> {
        role.filter(|_| self.roles).map(role_target)
    }

    /// What is known of the position at which the open block begins.
    fn known_alignment_of_block(&self) -> u64 {
        let begin = self.offset.wrapping_sub(self.block.bits);
        match begin {
            0 => self.alignment,
            begin => self.alignment.min(1 << begin.trailing_zeros()),
        }
    }

    fn align(&mut self, alignment: u64) {
        if alignment <= 1 {
            return;
        }
        if alignment <= self.alignment {
            let padding = self.offset.next_multiple_of(alignment) - self.offset;
            self.advance(padding);
        } else {
            self.flush();
            self.plan.ops.push(Op::Align(alignment));
            self.restart(alignment);
        }
    }

    fn advance(&mut self, bits: u64) {
        self.block.bits += bits;
        self.offset += bits;
        // A load reaches 255 bytes: what lies further begins a block of its own.
        if self.block.bits > 8 * u64::from(u8::MAX) {
            self.flush();
        }
    }

    /// Adds an operation of a size that only the data tells: a multiple of `alignment` bits. It fills
    /// one target; further slots that want the field get a copy.
    fn dynamic(&mut self, slots: &[Target], alignment: u64, op: impl FnOnce(Option<Target>) -> Op) {
        self.flush();
        let first = slots.first().copied();
        self.plan.ops.push(op(first));
        if let Some(from) = first {
            let copies = slots[1..].iter().map(|&target| Op::Copy { from, target });
            self.plan.ops.extend(copies);
        }
        self.restart(alignment);
    }

    fn restart(&mut self, alignment: u64) {
        self.alignment = alignment;
        self.offset = 0;
    }

    fn flush(&mut self) {
        let mut block = std::mem::take(&mut self.block);
        block.has_numbers = !block.swapped_loads.is_empty() || !block.numbers.is_empty();
        match (self.plan.ops.last_mut(), block.is_empty()) {
            (_, true) if block.bits == 0 => {}
            (Some(Op::Skip(bits)), true) => *bits += block.bits,
            (_, true) => self.plan.ops.push(Op::Skip(block.bits)),
            (_, false) => self.plan.ops.push(Op::Block(Box::new(block))),
        }
    }
}

/// The size in bytes of a fixed-size element without padding, where it is whole bytes at a byte's place.
pub(crate) fn byte_elements(element: &FieldLayout) -> Option<u64> {
    match element {
        FieldLayout::Integer(integer)
            if integer.bits.is_multiple_of(8)
                && integer.alignment.is_multiple_of(8)
                && u64::from(integer.bits).is_multiple_of(integer.alignment)
                && integer.keep.is_none() =>
        {
            Some(u64::from(integer.bits) / 8)
        }
        FieldLayout::Float(float)
            if float.bits.is_multiple_of(8)
                && float.alignment.is_multiple_of(8)
                && u64::from(float.bits).is_multiple_of(float.alignment) =>
        {
            Some(u64::from(float.bits) / 8)
        }
        _ => None,
    }
}
