//! The fields of an event class that can be asked for, in the order in which plans number them.

use slowpath_model::{Field, FieldKind, Scope};

use crate::layout::{Encoding, EventLayout, FieldLayout, StreamLayout, StructureLayout};
use crate::plan::byte_elements;

/// The fields of `event`, contexts first, as the event lays them out.
pub(crate) fn fields(stream: &StreamLayout, event: &EventLayout) -> Vec<Field> {
    let mut fields = Vec::new();
    for (scope, structure) in scopes(stream, event) {
        list_structure(&mut fields, scope, "", structure);
    }
    fields.truncate(usize::from(u16::MAX));
    fields
}

/// The scopes of an event whose fields can be asked for, in their order.
pub(crate) fn scopes<'layout>(
    stream: &'layout StreamLayout,
    event: &'layout EventLayout,
) -> impl Iterator<Item = (Scope, &'layout StructureLayout)> {
    [
        (Scope::CommonContext, stream.common_context.as_ref()),
        (Scope::SpecificContext, event.specific_context.as_ref()),
        (Scope::Payload, event.payload.as_ref()),
    ]
    .into_iter()
    .filter_map(|(scope, structure)| Some((scope, structure?)))
}

fn list_structure(
    fields: &mut Vec<Field>,
    scope: Scope,
    prefix: &str,
    structure: &StructureLayout,
) {
    for member in &structure.members {
        let name = join(prefix, &member.name);
        list(fields, scope, name, &member.class);
    }
}

fn list(fields: &mut Vec<Field>, scope: Scope, name: String, class: &FieldLayout) {
    let kind = match class {
        FieldLayout::Structure(structure) => {
            return list_structure(fields, scope, &name, structure);
        }
        FieldLayout::Variant(variant) => {
            for option in &variant.options {
                list(fields, scope, join(&name, &option.name), &option.class);
            }
            return;
        }
        FieldLayout::Optional(optional) => return list(fields, scope, name, &optional.class),
        FieldLayout::Integer(integer) if integer.signed => FieldKind::Signed,
        FieldLayout::Integer(_) => FieldKind::Unsigned,
        FieldLayout::VariableInteger(integer) if integer.signed => FieldKind::Signed,
        FieldLayout::VariableInteger(_) => FieldKind::Unsigned,
        FieldLayout::Float(float) if float.bits <= 64 => FieldKind::Float,
        FieldLayout::Text(text) if text.encoding == Encoding::Utf8 => FieldKind::Text,
        FieldLayout::StaticText { .. } | FieldLayout::DynamicText { .. } => FieldKind::Text,
        FieldLayout::StaticBlob { .. } | FieldLayout::DynamicBlob { .. } => FieldKind::Bytes,
        FieldLayout::StaticArray { element, .. } | FieldLayout::DynamicArray { element, .. }
            if byte_elements(element).is_some() =>
        {
            FieldKind::Bytes
        }
        _ => FieldKind::Compound,
    };
    fields.push(Field { name, scope, kind });
}

fn join(prefix: &str, name: &str) -> String {
    match prefix {
        "" => name.to_owned(),
        prefix => format!("{prefix}.{name}"),
    }
}
