//! Field classes, one by one.

use std::collections::HashMap;

use super::{Frame, Lowering};
use crate::layout::{Encoding, EnvironmentValue};
use crate::layout::{
    EnumerationLabel, FieldLayout, FloatLayout, IntegerLayout, IntegerMeaning, MemberLayout,
    OptionalLayout, Register, StructureLayout, TextLayout, VariableIntegerLayout, VariantLayout,
    VariantOption,
};
use crate::metadata::Fault;
use crate::metadata::draft::{
    Draft, DraftClass, DraftInteger, DraftMember, DraftOption, Language, Length, Origin, Reference,
};

/// A length with its reference resolved.
enum Known {
    Static(u64),
    Dynamic(Register),
}

impl<'draft> Lowering<'draft, '_> {
    pub(super) fn structure(
        &mut self,
        members: &'draft [DraftMember],
        alignment: u64,
    ) -> Result<StructureLayout, Fault> {
        let via = std::mem::take(&mut self.via);
        self.frames.push(Frame {
            members,
            lowered: Vec::with_capacity(members.len()),
            via,
        });
        for member in members {
            let name = self.shown(&member.name);
            self.spend(member.class.at, 1, member.name.len())?;
            let class = self.class(&member.class, name)?;
            let name = name.to_owned();
            if let Some(frame) = self.frames.last_mut() {
                frame.lowered.push(MemberLayout { name, class });
            }
        }
        let mut lowered = Vec::new();
        if let Some(frame) = self.frames.pop() {
            lowered = frame.lowered;
            self.via = frame.via;
        }
        Ok(StructureLayout::new(lowered, alignment))
    }

    /// A name as shown to people: TSDL escapes names with one underscore.
    fn shown<'name>(&self, name: &'name str) -> &'name str {
        match self.trace.language {
            Language::Tsdl => name.strip_prefix('_').unwrap_or(name),
            Language::Json => name,
        }
    }

    /// The class of a field called `name`; elements and options have no name of their own.
    fn class(&mut self, draft: &'draft Draft, name: &str) -> Result<FieldLayout, Fault> {
        let at = draft.at;
        self.spend(at, 1, 0)?;
        Ok(match &draft.class {
            DraftClass::Integer(integer) => self.integer(at, integer, name)?,
            DraftClass::VariableInteger {
                signed,
                base,
                labels,
                roles,
            } => {
                self.spend_labels(at, labels.as_deref().unwrap_or_default())?;
                FieldLayout::VariableInteger(VariableIntegerLayout {
                    signed: *signed,
                    base: *base,
                    labels: labels.clone(),
                    keep: None,
                    role: self.stated_role(roles, name),
                })
            }
            DraftClass::Float { layout, byte_order } => FieldLayout::Float(FloatLayout {
                byte_order: byte_order.unwrap_or(self.trace.byte_order),
                ..layout.clone()
            }),
            DraftClass::Text {
                length: None,
                encoding,
            } => FieldLayout::Text(TextLayout {
                encoding: *encoding,
            }),
            DraftClass::Text {
                length: Some(length),
                encoding,
            } => {
                let length = self.length(length)?;
                text(length, *encoding, 8)
            }
            DraftClass::Blob { length, roles } => match self.length(length)? {
                Known::Static(length) => FieldLayout::StaticBlob {
                    length,
                    role: self.stated_role(roles, ""),
                },
                Known::Dynamic(length) => FieldLayout::DynamicBlob { length },
            },
            DraftClass::Array {
                length,
                element,
                alignment,
            } => self.array(length, element, *alignment, name)?,
            DraftClass::Structure { members, alignment } => {
                FieldLayout::Structure(self.structure(members, *alignment)?)
            }
            DraftClass::Variant { selector, options } => {
                self.variant(at, selector.as_ref(), options)?
            }
            DraftClass::Optional {
                selector,
                ranges,
                class,
            } => {
                let target = self.resolve(selector, "the selector of an optional field")?;
                let ranges = match (ranges, target.boolean) {
                    (Some(ranges), false) => ranges.clone(),
                    (_, true) => vec![(1, i128::from(u64::MAX))],
                    (None, false) => {
                        return Err(Fault::new(
                            at,
                            "expected `selector-field-ranges`, as the selector is no boolean",
                        ));
                    }
                };
                self.spend(at, ranges.len(), 0)?;
                FieldLayout::Optional(OptionalLayout {
                    selector: target.register,
                    selector_signed: target.signed,
                    ranges,
                    class: Box::new(self.class(class, "")?),
                })
            }
        })
    }

    fn integer(
        &mut self,
        at: usize,
        integer: &DraftInteger,
        name: &str,
    ) -> Result<FieldLayout, Fault> {
        if let IntegerMeaning::Enumeration(labels) | IntegerMeaning::BitArray(labels) =
            &integer.meaning
        {
            self.spend_labels(at, labels)?;
        }
        Ok(FieldLayout::Integer(IntegerLayout {
            bits: integer.bits,
            signed: integer.signed,
            byte_order: integer.byte_order.unwrap_or(self.trace.byte_order),
            reversed_bits: integer.reversed_bits,
            alignment: integer.alignment,
            base: integer.base,
            meaning: integer.meaning.clone(),
            keep: None,
            role: self.integer_role(at, integer, name)?,
        }))
    }

    fn spend_labels(&mut self, at: usize, labels: &[EnumerationLabel]) -> Result<(), Fault> {
        let text = labels.iter().map(|label| label.label.len()).sum();
        let ranges: usize = labels.iter().map(|label| label.ranges.len()).sum();
        self.spend(at, labels.len() + ranges, text)
    }

    fn array(
        &mut self,
        length: &Length,
        element: &'draft Draft,
        alignment: u64,
        name: &str,
    ) -> Result<FieldLayout, Fault> {
        let length = self.length(length)?;
        if let DraftClass::Integer(DraftInteger {
            bits: 8,
            alignment: 8,
            character: true,
            ..
        }) = &element.class
        {
            return Ok(text(length, Encoding::Utf8, alignment.max(8)));
        }
        let element = Box::new(self.class(element, "")?);
        let alignment = alignment.max(element.alignment());
        Ok(match length {
            Known::Static(length) => FieldLayout::StaticArray {
                length,
                element,
                alignment,
                role: self.array_role(name),
            },
            Known::Dynamic(length) => FieldLayout::DynamicArray {
                length,
                element,
                alignment,
            },
        })
    }

    fn length(&mut self, length: &Length) -> Result<Known, Fault> {
        match length {
            Length::Static(length) => Ok(Known::Static(*length)),
            Length::Dynamic(reference) if reference.origin == Origin::Environment => {
                self.length_in_environment(reference).map(Known::Static)
            }
            Length::Dynamic(reference) => {
                let target = self.resolve(reference, "a length")?;
                if target.signed || target.boolean {
                    let shown = reference.shown();
                    return Err(Fault::new(
                        reference.at,
                        format!("expected an unsigned integer as a length, {shown} is none"),
                    ));
                }
                Ok(Known::Dynamic(target.register))
            }
        }
    }

    fn length_in_environment(&mut self, reference: &Reference) -> Result<u64, Fault> {
        let environment = &self.trace.environment;
        self.work += environment.len() as u64;
        let wanted = reference.steps.join(".");
        let entry = environment.iter().find(|(name, _)| *name == wanted);
        let number = entry.and_then(|(_, value)| match value {
            EnvironmentValue::Integer(number) => u64::try_from(*number).ok(),
            EnvironmentValue::Text(_) => None,
        });
        number.ok_or_else(|| {
            Fault::new(
                reference.at,
                format!("expected a whole number in the environment, `env.{wanted}` is none"),
            )
        })
    }

    fn variant(
        &mut self,
        at: usize,
        selector: Option<&Reference>,
        options: &'draft [DraftOption],
    ) -> Result<FieldLayout, Fault> {
        let selector = selector
            .ok_or_else(|| Fault::new(at, "the variant has no selector (`variant <field>`)"))?;
        let target = self.resolve(selector, "the selector of a variant")?;
        let labels = match (self.trace.language, target.labels) {
            (Language::Json, _) if target.boolean => None,
            (Language::Json, _) => Some(HashMap::new()),
            (Language::Tsdl, labels) => labels.map(ranges_by_label),
        };
        let labels = labels.ok_or_else(|| {
            let (expected, shown) = match self.trace.language {
                Language::Tsdl => ("an enumeration", selector.shown()),
                Language::Json => ("an integer", selector.shown()),
            };
            Fault::new(
                selector.at,
                format!("expected {expected} as the selector of a variant, {shown} is none"),
            )
        })?;
        self.spend(at, target.labels.map_or(0, <[_]>::len), 0)?;
        let mut lowered = Vec::with_capacity(options.len());
        for option in options {
            let ranges = match &option.ranges {
                Some(ranges) => ranges.clone(),
                None => ranges_of_option(&labels, &option.name),
            };
            if ranges.is_empty() {
                self.notes.add(option.class.at, || {
                    format!(
                        "the option `{}` is never chosen: the selector has no such label",
                        option.name
                    )
                });
            }
            let name = self.shown(&option.name);
            self.spend(option.class.at, 1 + ranges.len(), option.name.len())?;
            self.via.push(&option.name);
            let class = self.class(&option.class, name)?;
            self.via.pop();
            lowered.push(VariantOption {
                name: name.to_owned(),
                ranges,
                class,
            });
        }
        Ok(FieldLayout::Variant(VariantLayout {
            selector: target.register,
            selector_signed: target.signed,
            options: lowered,
            alignment: 1,
        }))
    }
}

fn text(length: Known, encoding: Encoding, alignment: u64) -> FieldLayout {
    match length {
        Known::Static(length) => FieldLayout::StaticText {
            length,
            encoding,
            alignment,
        },
        Known::Dynamic(length) => FieldLayout::DynamicText {
            length,
            encoding,
            alignment,
        },
    }
}

type RangesByLabel<'label> = HashMap<&'label str, Vec<(i128, i128)>>;

fn ranges_by_label(labels: &[EnumerationLabel]) -> RangesByLabel<'_> {
    let mut ranges: RangesByLabel<'_> = HashMap::new();
    for label in labels {
        ranges
            .entry(&label.label)
            .or_default()
            .extend(&label.ranges);
    }
    ranges
}

/// The values that choose an option: those of the label with its name. Some tracers escape only
/// one of the two with an underscore.
fn ranges_of_option(labels: &RangesByLabel<'_>, option: &str) -> Vec<(i128, i128)> {
    let escaped = format!("_{option}");
    let plain = option.strip_prefix('_').unwrap_or(option);
    let candidates = [option, plain, &escaped];
    let ranges = candidates.into_iter().find_map(|name| labels.get(name));
    ranges.cloned().unwrap_or_default()
}
