//! Fields that other fields refer to: found among the classes decoded before, and told to keep
//! their value in a register.
//!
//! Finding goes over drafts (which know names as written); telling goes over the layouts made from
//! them, along the same positions.

use super::draft::{Draft, DraftClass, DraftInteger, DraftMember, Language};
use crate::layout::{EnumerationLabel, FieldLayout, IntegerMeaning, Register};

/// What a field found costs, in comparisons: nested variants may hold very many.
const WORK_PER_FOUND: u64 = 512;

/// A field that was found: the positions of members and options that lead to it from the members
/// searched, and its class as written.
pub(super) struct Found<'draft> {
    pub(super) positions: Vec<usize>,
    pub(super) draft: &'draft Draft,
}

/// What a referring field must know of the one referred to.
#[derive(Clone, Copy)]
pub(super) struct Target<'draft> {
    pub(super) register: Register,
    pub(super) signed: bool,
    pub(super) boolean: bool,
    /// Of an enumeration.
    pub(super) labels: Option<&'draft [EnumerationLabel]>,
}

/// Searches drafts by names; every comparison is counted against `work`.
pub(super) struct Search<'draft, 'work> {
    pub(super) language: Language,
    pub(super) work: &'work mut u64,
    pub(super) found: Vec<Found<'draft>>,
    positions: Vec<usize>,
}

impl<'draft, 'work> Search<'draft, 'work> {
    pub(super) fn new(language: Language, work: &'work mut u64) -> Self {
        Self {
            language,
            work,
            found: Vec::new(),
            positions: Vec::new(),
        }
    }

    /// The member called `name` among the first `available`.
    pub(super) fn position(
        &mut self,
        members: &[DraftMember],
        available: usize,
        name: &str,
    ) -> Option<usize> {
        let members = &members[..available];
        let position = members.iter().rposition(|member| member.name == name);
        let compared = members.len() - position.unwrap_or(0);
        *self.work = self.work.saturating_add(compared as u64);
        position
    }

    /// Follows names from a member on.
    pub(super) fn member(
        &mut self,
        members: &'draft [DraftMember],
        position: usize,
        steps: &[String],
    ) {
        self.positions.push(position);
        self.follow(&members[position].class, steps);
        self.positions.pop();
    }

    fn follow(&mut self, draft: &'draft Draft, steps: &[String]) {
        *self.work = self.work.saturating_add(1);
        match (&draft.class, steps) {
            (DraftClass::Structure { members, .. }, [step, rest @ ..]) => {
                if let Some(position) = self.position(members, members.len(), step) {
                    self.member(members, position, rest);
                }
            }
            (DraftClass::Array { element, .. }, [_, ..]) => self.follow(element, steps),
            (DraftClass::Optional { class, .. }, _) => self.follow(class, steps),
            // CTF 2 names no options: whichever is chosen when decoding is gone through.
            (DraftClass::Variant { options, .. }, _) if self.language == Language::Json => {
                for (position, option) in options.iter().enumerate() {
                    self.positions.push(position);
                    self.follow(&option.class, steps);
                    self.positions.pop();
                }
            }
            (DraftClass::Variant { options, .. }, [step, rest @ ..]) => {
                *self.work = self.work.saturating_add(options.len() as u64);
                if let Some(position) = options.iter().position(|option| option.name == *step) {
                    self.positions.push(position);
                    self.follow(&options[position].class, rest);
                    self.positions.pop();
                }
            }
            (_, []) => {
                *self.work = self.work.saturating_add(WORK_PER_FOUND);
                self.found.push(Found {
                    positions: self.positions.clone(),
                    draft,
                });
            }
            _ => {}
        }
    }
}

/// The layout at the end of `positions`.
pub(super) fn at_positions<'layout>(
    layout: &'layout mut FieldLayout,
    positions: &[usize],
) -> Option<&'layout mut FieldLayout> {
    match (layout, positions) {
        (FieldLayout::Optional(optional), _) => at_positions(&mut optional.class, positions),
        (layout, []) => Some(layout),
        (FieldLayout::Structure(structure), [position, rest @ ..]) => {
            at_positions(&mut structure.members.get_mut(*position)?.class, rest)
        }
        (FieldLayout::Variant(variant), [position, rest @ ..]) => {
            at_positions(&mut variant.options.get_mut(*position)?.class, rest)
        }
        (
            FieldLayout::StaticArray { element, .. } | FieldLayout::DynamicArray { element, .. },
            _,
        ) => at_positions(element, positions),
        _ => None,
    }
}

/// The place for a register in an integer's layout.
pub(super) fn register_of(layout: &mut FieldLayout) -> Option<&mut Option<Register>> {
    match layout {
        FieldLayout::Integer(integer) => Some(&mut integer.keep),
        FieldLayout::VariableInteger(integer) => Some(&mut integer.keep),
        _ => None,
    }
}

impl<'draft> Target<'draft> {
    /// What the class of a field referred to says; None when it is no integer.
    pub(super) fn of(draft: &'draft Draft, register: Register) -> Option<Self> {
        let (signed, boolean, labels) = match &draft.class {
            DraftClass::Integer(DraftInteger {
                signed, meaning, ..
            }) => match meaning {
                IntegerMeaning::Number => (*signed, false, None),
                IntegerMeaning::Enumeration(labels) => (*signed, false, Some(labels.as_slice())),
                IntegerMeaning::Boolean => (false, true, None),
                IntegerMeaning::BitArray(_) => return None,
            },
            DraftClass::VariableInteger { signed, labels, .. } => {
                (*signed, false, labels.as_deref())
            }
            _ => return None,
        };
        Some(Self {
            register,
            signed,
            boolean,
            labels,
        })
    }
}
