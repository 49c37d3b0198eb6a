//! The headers of events: an id and a time, in the shapes that tracers write.
//!
//! Every event has one, so that its shape is settled once, before the loop that goes from event to event
//! (`decode`). LTTng's two shapes are constants that the compiler folds into that loop; any other id with a
//! time behind it is read by direct loads, and what is left by a plan.

use std::collections::HashSet;

use crate::bits;
use crate::layout::{ByteOrder, FieldLayout, IntegerLayout, Register, Role, StructureLayout};
use crate::machine::{Damage, Machine, advance_clock, window};
use crate::plan::{Load, Plan, Window, role_target};

/// How the headers of one stream class are read.
pub(crate) enum HeaderPlan {
    /// LTTng's `compact` headers.
    Compact(TwoForms<5, 27>),
    /// LTTng's `large` headers.
    Large(TwoForms<16, 32>),
    Direct(DirectHeader),
    General(Plan),
}

impl HeaderPlan {
    /// The plan for `header`, where the fields behind it refer to `registers`; `general` is what to run where there
    /// is no shorter way.
    pub(crate) fn of(
        header: &StructureLayout,
        registers: &HashSet<Register>,
        general: Plan,
    ) -> Self {
        match (direct_header(header, registers), header.alignment) {
            (Some(TwoForms::<5, 27>::HEADER), 8) => Self::Compact(TwoForms),
            (Some(TwoForms::<16, 32>::HEADER), 8) => Self::Large(TwoForms),
            (Some(direct), _) => Self::Direct(direct),
            (None, _) => Self::General(general),
        }
    }
}

/// What an event's header says.
pub(crate) struct HeaderRead {
    pub(crate) id: u64,
    /// Its size; it may be larger than the packet.
    pub(crate) bits: u64,
    /// The clock behind it, in cycles.
    pub(crate) clock: u64,
}

/// Reads headers.
pub(crate) trait Header {
    /// The alignment of headers in bits, where the shape tells it.
    const ALIGNMENT: Option<u64> = None;
    /// Headers may have no bits.
    const MAY_BE_EMPTY: bool = false;

    /// Reads the header at the begin of `window`, where time has gone on since the clock was at `clock` and
    /// the clock's lower bits, which are all that most headers have, have not wrapped: as for nearly all events.
    #[inline(always)]
    fn read_plain(&self, _window: &Window, _clock: u64) -> Option<HeaderRead> {
        None
    }

    /// Reads the header at bit `begin`, before which the clock was at `clock`, and says whether all of it is
    /// zero in a shape that makes the whole event doubtful. Where it cannot be read, the machine stands there.
    fn read(
        &self,
        machine: &mut Machine<'_>,
        begin: u64,
        clock: u64,
    ) -> Result<(HeaderRead, bool), Damage>;
}

impl Header for Plan {
    const MAY_BE_EMPTY: bool = true;

    fn read(
        &self,
        machine: &mut Machine<'_>,
        begin: u64,
        clock: u64,
    ) -> Result<(HeaderRead, bool), Damage> {
        (machine.at, machine.clock) = (begin, clock);
        machine.values[usize::from(role_target(Role::EventClassId))] = 0;
        machine.run(self)?;
        let read = HeaderRead {
            id: machine.role(Role::EventClassId),
            bits: machine.at - begin,
            clock: machine.clock,
        };
        Ok((read, false))
    }
}

/// An id, and behind it a time; LTTng's `compact` and `large` headers have a longer form for ids
/// and times that do not fit, which the largest id value announces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct DirectHeader {
    id: Load,
    short: TimeField,
    /// Ids from this one on announce the long form.
    escape: u64,
    long_id: Load,
    long: TimeField,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct TimeField {
    load: Load,
    /// The bits of the clock that it has.
    mask: u64,
    /// The size of the whole header.
    header_bits: u64,
}

impl TimeField {
    #[inline(always)]
    fn read_plain(self, id: u64, window: &Window, clock: u64) -> Option<HeaderRead> {
        let value = self.load.unsigned(self.load.word(window));
        let before = clock & self.mask;
        (value > before).then(|| HeaderRead {
            id,
            bits: self.header_bits,
            clock: clock - before + value,
        })
    }
}

impl DirectHeader {
    /// Whether there are two forms. Other tracers' clocks may begin at 0, and events without a value be right.
    fn is_of_lttng(&self) -> bool {
        self.escape != u64::MAX
    }
}

impl Header for DirectHeader {
    #[inline(always)]
    fn read_plain(&self, window: &Window, clock: u64) -> Option<HeaderRead> {
        let id = self.id.unsigned(self.id.word(window));
        // Each form for itself: of the usual ones the compiler knows all numbers.
        if id < self.escape {
            self.short.read_plain(id, window, clock)
        } else {
            let id = self.long_id.unsigned(self.long_id.word(window));
            self.long.read_plain(id, window, clock)
        }
    }

    fn read(
        &self,
        machine: &mut Machine<'_>,
        begin: u64,
        clock: u64,
    ) -> Result<(HeaderRead, bool), Damage> {
        let mut copy = None;
        let window = window(machine.bytes, (begin / 8) as usize, &mut copy);
        let id = self.id.unsigned(self.id.word(window));
        let (id, time) = match id < self.escape {
            true => (id, self.short),
            false => (self.long_id.unsigned(self.long_id.word(window)), self.long),
        };
        let value = time.load.unsigned(time.load.word(window));
        let read = HeaderRead {
            id,
            bits: time.header_bits,
            clock: advance_clock(clock, value, time.mask),
        };
        Ok((read, id | value == 0 && self.is_of_lttng()))
    }
}

/// LTTng's headers: `ID` bits of id and `TIME` bits of the clock, or an id of 32 and a clock of 64 bits from
/// the next byte on.
#[derive(Clone, Copy)]
pub(crate) struct TwoForms<const ID: u32, const TIME: u32>;

impl<const ID: u32, const TIME: u32> TwoForms<ID, TIME> {
    const HEADER: DirectHeader = {
        let long = ID.div_ceil(8) * 8;
        DirectHeader {
            id: Load::unsigned_at(0, ID),
            short: TimeField {
                load: Load::unsigned_at(ID, TIME),
                mask: u64::MAX >> (64 - TIME),
                header_bits: (ID + TIME) as u64,
            },
            escape: u64::MAX >> (64 - ID),
            long_id: Load::unsigned_at(long, 32),
            long: TimeField {
                load: Load::unsigned_at(long + 32, 64),
                mask: u64::MAX,
                header_bits: (long + 96) as u64,
            },
        }
    };
}

impl<const ID: u32, const TIME: u32> Header for TwoForms<ID, TIME> {
    const ALIGNMENT: Option<u64> = Some(8);

    #[inline(always)]
    fn read_plain(&self, window: &Window, clock: u64) -> Option<HeaderRead> {
        const { Self::HEADER }.read_plain(window, clock)
    }

    fn read(
        &self,
        machine: &mut Machine<'_>,
        begin: u64,
        clock: u64,
    ) -> Result<(HeaderRead, bool), Damage> {
        const { Self::HEADER }.read(machine, begin, clock)
    }
}

/// The header as an id and a time at fixed places, where it has that shape, and no field behind it needs more of
/// it: a direct load fills no register.
fn direct_header(header: &StructureLayout, registers: &HashSet<Register>) -> Option<DirectHeader> {
    if header.alignment < 8 {
        return None;
    }
    let mut place = Placement { bit: 0, registers };
    let [first, second] = &header.members[..] else {
        return None;
    };
    let FieldLayout::Integer(id) = &first.class else {
        return None;
    };
    let id_load = place.load(id, Role::EventClassId)?;
    match &second.class {
        FieldLayout::Integer(time) => {
            let short = place.time(time)?;
            Some(DirectHeader {
                id: id_load,
                short,
                escape: u64::MAX,
                long_id: id_load,
                long: short,
            })
        }
        FieldLayout::Variant(variant) if variant.alignment <= 1 && !variant.selector_signed => {
            let [compact, extended] = &variant.options[..] else {
                return None;
            };
            let escape = match (&compact.ranges[..], &extended.ranges[..]) {
                (&[(0, last)], &[(first, end)]) if last + 1 == first => {
                    let all = i128::from(bits::mask(id.bits));
                    (end == all && id.keep == Some(variant.selector)).then_some(first as u64)?
                }
                _ => return None,
            };
            let (short_id, short) = place.option(&compact.class)?;
            let (long_id, long) = place.option(&extended.class)?;
            if short_id.is_some() {
                return None;
            }
            Some(DirectHeader {
                id: id_load,
                short,
                escape,
                long_id: long_id?,
                long,
            })
        }
        _ => None,
    }
}

/// A position in a header of fixed layout.
#[derive(Clone, Copy)]
struct Placement<'header> {
    bit: u64,
    /// Those that fields behind the header refer to.
    registers: &'header HashSet<Register>,
}

impl Placement<'_> {
    fn load(&mut self, integer: &IntegerLayout, role: Role) -> Option<Load> {
        self.bit = self.bit.next_multiple_of(integer.alignment);
        let shift = self.bit % 8;
        let straight = integer.role == Some(role)
            && integer.byte_order == ByteOrder::Little
            && !integer.reversed_bits
            && !integer.signed
            && (integer.keep).is_none_or(|kept| !self.registers.contains(&kept))
            && shift + u64::from(integer.bits) <= 64;
        let byte = u8::try_from(self.bit / 8).ok()?;
        let bit = u32::from(byte) * 8 + shift as u32;
        self.bit += u64::from(integer.bits);
        straight.then(|| Load::unsigned_at(bit, integer.bits))
    }

    /// A time that ends its header.
    fn time(&mut self, integer: &IntegerLayout) -> Option<TimeField> {
        let load = self.load(integer, Role::ClockTimestamp)?;
        self.bit.is_multiple_of(8).then_some(TimeField {
            load,
            mask: bits::mask(integer.bits),
            header_bits: self.bit,
        })
    }

    /// A structure of an optional id and a time.
    fn option(mut self, class: &FieldLayout) -> Option<(Option<Load>, TimeField)> {
        let FieldLayout::Structure(structure) = class else {
            return None;
        };
        self.bit = self.bit.next_multiple_of(structure.alignment);
        match &structure.members[..] {
            [time] => match &time.class {
                FieldLayout::Integer(time) => Some((None, self.time(time)?)),
                _ => None,
            },
            [id, time] => match (&id.class, &time.class) {
                (FieldLayout::Integer(id), FieldLayout::Integer(time)) => {
                    let id = self.load(id, Role::EventClassId)?;
                    Some((Some(id), self.time(time)?))
                }
                _ => None,
            },
            _ => None,
        }
    }
}
