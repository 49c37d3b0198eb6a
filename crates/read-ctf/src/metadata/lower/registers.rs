//! Registers as they are given out, and joined when a later reference shows that fields in
//! different options of a variant are one to those who refer to them.

use crate::layout::{FieldLayout, Register, StructureLayout, TraceLayout};

/// By register: itself, or a smaller one that it was joined with.
#[derive(Default)]
pub(super) struct Registers(Vec<u16>);

impl Registers {
    /// A new register, while there are numbers.
    pub(super) fn add(&mut self) -> Option<Register> {
        let number = u16::try_from(self.0.len())
            .ok()
            .filter(|number| *number < u16::MAX)?;
        self.0.push(number);
        Some(Register(number))
    }

    /// Makes two registers one.
    pub(super) fn join(&mut self, one: Register, other: Register) -> Register {
        let (one, other) = (self.root(one.0), self.root(other.0));
        let (low, high) = (one.min(other), one.max(other));
        self.0[usize::from(high)] = low;
        Register(low)
    }

    /// The register that this one has become; shortens the way for the next time.
    fn root(&mut self, mut number: u16) -> u16 {
        while self.0[usize::from(number)] != number {
            let next = self.0[usize::from(number)];
            self.0[usize::from(number)] = self.0[usize::from(next)];
            number = next;
        }
        number
    }

    /// Writes the final registers, numbered without gaps, into the layout.
    pub(super) fn settle(self, layout: &mut TraceLayout) {
        let mut count = 0;
        let mut numbers = Vec::with_capacity(self.0.len());
        for (position, &joined) in self.0.iter().enumerate() {
            // Registers are joined with smaller ones, whose number is known by now.
            numbers.push(match usize::from(joined) == position {
                true => {
                    count += 1;
                    count - 1
                }
                false => numbers[usize::from(joined)],
            });
        }
        layout.register_count = count;
        if usize::from(count) == self.0.len() {
            return;
        }
        let structures = layout
            .packet_header
            .iter_mut()
            .chain(layout.streams.iter_mut().flat_map(|stream| {
                let events = stream.events.iter_mut();
                let events = events
                    .flat_map(|event| event.specific_context.iter_mut().chain(&mut event.payload));
                let parts = stream
                    .packet_context
                    .iter_mut()
                    .chain(&mut stream.event_header);
                parts.chain(&mut stream.common_context).chain(events)
            }));
        for structure in structures {
            rename_in(structure, &numbers);
        }
    }
}

fn rename_in(structure: &mut StructureLayout, numbers: &[u16]) {
    for member in &mut structure.members {
        rename(&mut member.class, numbers);
    }
}

fn rename(class: &mut FieldLayout, numbers: &[u16]) {
    let settle = |register: &mut Register| register.0 = numbers[usize::from(register.0)];
    match class {
        FieldLayout::Integer(integer) => integer.keep.iter_mut().for_each(settle),
        FieldLayout::VariableInteger(integer) => integer.keep.iter_mut().for_each(settle),
        FieldLayout::DynamicText { length, .. } | FieldLayout::DynamicBlob { length } => {
            settle(length)
        }
        FieldLayout::StaticArray { element, .. } => rename(element, numbers),
        FieldLayout::DynamicArray {
            length, element, ..
        } => {
            settle(length);
            rename(element, numbers);
        }
        FieldLayout::Structure(structure) => rename_in(structure, numbers),
        FieldLayout::Variant(variant) => {
            settle(&mut variant.selector);
            for option in &mut variant.options {
                rename(&mut option.class, numbers);
            }
        }
        FieldLayout::Optional(optional) => {
            settle(&mut optional.selector);
            rename(&mut optional.class, numbers);
        }
        FieldLayout::Float(_)
        | FieldLayout::Text(_)
        | FieldLayout::StaticText { .. }
        | FieldLayout::StaticBlob { .. } => {}
    }
}
