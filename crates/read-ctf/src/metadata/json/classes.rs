//! CTF 2's field classes (specification 2.0, §5.3).

use std::rc::Rc;

use slowpath_model::DisplayBase;

use super::Fragments;
use super::node::{Node, Object};
use crate::layout::{ByteOrder, Encoding, EnumerationLabel, FloatLayout, IntegerMeaning, Role};
use crate::metadata::Fault;
use crate::metadata::draft::{
    DEEPEST, Draft, DraftClass, DraftInteger, DraftMember, DraftOption, Length, Origin, Part,
    Reference, alignment,
};

type Ranges = Vec<(i128, i128)>;

impl Fragments<'_> {
    /// A class, or the name of one that an alias gave before.
    pub(super) fn class(&mut self, node: Node<'_>) -> Result<Rc<Draft>, Fault> {
        if node.is_text() {
            let name = node.text("the name of a field class")?;
            let class = self.aliases.get(&name);
            return class
                .cloned()
                .ok_or_else(|| node.expected("a field class that has this name"));
        }
        if self.depth > DEEPEST {
            return Err(Fault::new(
                node.at,
                format!("classes are nested more than {DEEPEST} deep"),
            ));
        }
        self.depth += 1;
        let class = self.class_object(node);
        self.depth -= 1;
        Draft::new(node.at, class?)
    }

    fn class_object(&mut self, node: Node<'_>) -> Result<DraftClass, Fault> {
        let object = node.object("a field class or the name of one")?;
        self.note_extensions(&object);
        let kind_node = object.need("type")?;
        let kind = kind_node.text("the type of a field class")?;
        Ok(match kind.as_str() {
            "fixed-length-bit-array" => {
                DraftClass::Integer(self.fixed(&object, IntegerMeaning::BitArray(Vec::new()))?)
            }
            "fixed-length-bit-map" => {
                let flags = labels(object.need("flags")?)?;
                DraftClass::Integer(self.fixed(&object, IntegerMeaning::BitArray(flags))?)
            }
            "fixed-length-boolean" => {
                DraftClass::Integer(self.fixed(&object, IntegerMeaning::Boolean)?)
            }
            "fixed-length-unsigned-integer"
            | "fixed-length-signed-integer"
            | "fixed-length-unsigned-enumeration"
            | "fixed-length-signed-enumeration" => {
                let meaning =
                    mappings(&object)?.map_or(IntegerMeaning::Number, IntegerMeaning::Enumeration);
                let signed = kind.contains("-signed-");
                DraftClass::Integer(DraftInteger {
                    signed,
                    ..self.fixed(&object, meaning)?
                })
            }
            "variable-length-unsigned-integer"
            | "variable-length-signed-integer"
            | "variable-length-unsigned-enumeration"
            | "variable-length-signed-enumeration" => DraftClass::VariableInteger {
                signed: kind.contains("-signed-"),
                base: display_base(&object)?,
                labels: mappings(&object)?,
                roles: self.roles(&object)?,
            },
            "fixed-length-floating-point-number" => {
                let length = object.need("length")?;
                let bits = match length.unsigned("a length in bits")? {
                    bits @ (16 | 32 | 64 | 128) => bits as u32,
                    _ => return Err(length.expected("16, 32, 64 or 128 bits")),
                };
                let byte_order = byte_order(&object)?;
                let layout = FloatLayout {
                    bits,
                    byte_order,
                    reversed_bits: reversed_bits(&object, byte_order)?,
                    alignment: alignment_of(&object, "alignment")?,
                };
                DraftClass::Float {
                    layout,
                    byte_order: Some(byte_order),
                }
            }
            "null-terminated-string" => DraftClass::Text {
                length: None,
                encoding: encoding(&object)?,
            },
            "static-length-string" | "dynamic-length-string" => DraftClass::Text {
                length: Some(length(&object, &kind)?),
                encoding: encoding(&object)?,
            },
            "static-length-blob" | "dynamic-length-blob" => DraftClass::Blob {
                length: length(&object, &kind)?,
                roles: self.roles(&object)?,
            },
            "static-length-array" | "dynamic-length-array" => DraftClass::Array {
                length: length(&object, &kind)?,
                element: self.class(object.need("element-field-class")?)?,
                alignment: alignment_of(&object, "minimum-alignment")?,
            },
            "structure" => DraftClass::Structure {
                members: self.members(&object)?.into(),
                alignment: alignment_of(&object, "minimum-alignment")?,
            },
            "optional" => DraftClass::Optional {
                selector: location(object.need("selector-field-location")?)?,
                ranges: object
                    .get("selector-field-ranges")
                    .map(ranges)
                    .transpose()?,
                class: self.class(object.need("field-class")?)?,
            },
            "variant" => DraftClass::Variant {
                selector: Some(location(object.need("selector-field-location")?)?),
                options: self.options(&object)?.into(),
            },
            _ => return Err(kind_node.expected("the type of a field class of CTF 2")),
        })
    }

    fn fixed(
        &mut self,
        object: &Object<'_>,
        meaning: IntegerMeaning,
    ) -> Result<DraftInteger, Fault> {
        let length = object.need("length")?;
        let bits = match length.unsigned("a length in bits")? {
            bits @ 1..=64 => bits as u32,
            _ => return Err(length.expected("1 to 64 bits")),
        };
        let byte_order = byte_order(object)?;
        Ok(DraftInteger {
            bits,
            signed: false,
            byte_order: Some(byte_order),
            reversed_bits: reversed_bits(object, byte_order)?,
            alignment: alignment_of(object, "alignment")?,
            base: display_base(object)?,
            meaning,
            clock: None,
            character: false,
            roles: self.roles(object)?,
        })
    }

    fn members(&mut self, object: &Object<'_>) -> Result<Vec<DraftMember>, Fault> {
        let Some(members) = object.get("member-classes") else {
            return Ok(Vec::new());
        };
        let members = members.array("the classes of members")?;
        let member = |member: Node<'_>| {
            let member = member.object("the class of a member")?;
            Ok(DraftMember {
                name: member.need("name")?.text("the name of a member")?,
                class: self.class(member.need("field-class")?)?,
            })
        };
        members.into_iter().map(member).collect()
    }

    fn options(&mut self, object: &Object<'_>) -> Result<Vec<DraftOption>, Fault> {
        let options = object.need("options")?.array("the options of a variant")?;
        let option = |option: Node<'_>| {
            let option = option.object("an option of a variant")?;
            Ok(DraftOption {
                name: option.text("name")?.unwrap_or_default(),
                ranges: Some(ranges(option.need("selector-field-ranges")?)?),
                class: self.class(option.need("field-class")?)?,
            })
        };
        options.into_iter().map(option).collect()
    }

    fn roles(&mut self, object: &Object<'_>) -> Result<Vec<Role>, Fault> {
        let Some(list) = object.get("roles") else {
            return Ok(Vec::new());
        };
        let mut roles = Vec::new();
        for node in list.array("a list of roles")? {
            match node.text("the name of a role")?.as_str() {
                "packet-magic-number" => roles.push(Role::PacketMagic),
                "metadata-stream-uuid" => roles.push(Role::MetadataStreamUuid),
                "data-stream-class-id" => roles.push(Role::StreamClassId),
                "data-stream-id" => roles.push(Role::StreamId),
                "packet-total-length" => roles.push(Role::PacketTotalLength),
                "packet-content-length" => roles.push(Role::PacketContentLength),
                "default-clock-timestamp" => roles.push(Role::ClockTimestamp),
                "packet-end-default-clock-timestamp" => roles.push(Role::PacketEndTimestamp),
                "discarded-event-record-counter-snapshot" => {
                    roles.push(Role::DiscardedEventCounter)
                }
                "packet-sequence-number" => roles.push(Role::PacketSequenceNumber),
                "event-record-class-id" => roles.push(Role::EventClassId),
                unknown => self.notes.add(node.at, || {
                    format!("the role `{unknown}` is not known; it is left out")
                }),
            }
        }
        Ok(roles)
    }
}

fn byte_order(object: &Object<'_>) -> Result<ByteOrder, Fault> {
    let node = object.need("byte-order")?;
    match node.text("a byte order")?.as_str() {
        "little-endian" => Ok(ByteOrder::Little),
        "big-endian" => Ok(ByteOrder::Big),
        _ => Err(node.expected("`little-endian` or `big-endian`")),
    }
}

/// Whether bits come in the other order than the byte order implies (§5.3.4).
fn reversed_bits(object: &Object<'_>, byte_order: ByteOrder) -> Result<bool, Fault> {
    let Some(node) = object.get("bit-order") else {
        return Ok(false);
    };
    match node.text("a bit order")?.as_str() {
        "first-to-last" => Ok(byte_order == ByteOrder::Big),
        "last-to-first" => Ok(byte_order == ByteOrder::Little),
        _ => Err(node.expected("`first-to-last` or `last-to-first`")),
    }
}

fn alignment_of(object: &Object<'_>, name: &str) -> Result<u64, Fault> {
    match object.get(name) {
        Some(node) => alignment(node.at, node.integer("an alignment")?),
        None => Ok(1),
    }
}

fn display_base(object: &Object<'_>) -> Result<DisplayBase, Fault> {
    let Some(node) = object.get("preferred-display-base") else {
        return Ok(DisplayBase::Decimal);
    };
    match node.unsigned("a base")? {
        2 => Ok(DisplayBase::Binary),
        8 => Ok(DisplayBase::Octal),
        10 => Ok(DisplayBase::Decimal),
        16 => Ok(DisplayBase::Hexadecimal),
        _ => Err(node.expected("the base 2, 8, 10 or 16")),
    }
}

fn encoding(object: &Object<'_>) -> Result<Encoding, Fault> {
    let Some(node) = object.get("encoding") else {
        return Ok(Encoding::Utf8);
    };
    match node.text("an encoding")?.as_str() {
        "utf-8" => Ok(Encoding::Utf8),
        "utf-16le" => Ok(Encoding::Utf16Le),
        "utf-16be" => Ok(Encoding::Utf16Be),
        "utf-32le" => Ok(Encoding::Utf32Le),
        "utf-32be" => Ok(Encoding::Utf32Be),
        _ => Err(node.expected("`utf-8`, `utf-16le`, `utf-16be`, `utf-32le` or `utf-32be`")),
    }
}

fn length(object: &Object<'_>, kind: &str) -> Result<Length, Fault> {
    match kind.starts_with("static-") {
        true => object
            .need("length")?
            .unsigned("a length")
            .map(Length::Static),
        false => location(object.need("length-field-location")?).map(Length::Dynamic),
    }
}

fn mappings(object: &Object<'_>) -> Result<Option<Vec<EnumerationLabel>>, Fault> {
    let mappings = object.get("mappings").map(labels).transpose()?;
    Ok(mappings.filter(|labels| !labels.is_empty()))
}

fn labels(node: Node<'_>) -> Result<Vec<EnumerationLabel>, Fault> {
    let entries = node.object("names with their ranges")?.entries;
    let label = |(label, node): (_, Node<'_>)| {
        let ranges = ranges(node)?;
        Ok(EnumerationLabel {
            label: String::from(label),
            ranges,
        })
    };
    entries.into_iter().map(label).collect()
}

fn ranges(node: Node<'_>) -> Result<Ranges, Fault> {
    let range = |node: Node<'_>| {
        let ends = node.array("a range (`[first, last]`)")?;
        let [first, last] = ends[..] else {
            return Err(node.expected("a range (`[first, last]`)"));
        };
        let (first, last) = (
            first.integer("a whole number")?,
            last.integer("a whole number")?,
        );
        match first <= last {
            true => Ok((first, last)),
            false => Err(node.expected("a range that does not end before it begins")),
        }
    };
    node.array("a list of ranges")?
        .into_iter()
        .map(range)
        .collect()
}

/// A field location (§5.3.1), or the bare path of the drafts before CTF 2.0, whose first element
/// is the origin.
fn location(node: Node<'_>) -> Result<Reference, Fault> {
    let (mut origin, path) = match node.is_array() {
        true => (None, node.array("a field location")?),
        false => {
            let object = node.object("a field location")?;
            let origin = object.get("origin").map(part).transpose()?;
            (
                origin,
                object.need("path")?.array("the path of a field location")?,
            )
        }
    };
    let mut path = path.into_iter();
    if node.is_array() {
        origin = path.next().map(part).transpose()?;
    }
    let mut steps: Vec<String> = Vec::new();
    let mut out = 0;
    let mut ends_at_a_name = false;
    for element in path {
        ends_at_a_name = !element.is_null();
        if ends_at_a_name {
            steps.push(element.text("the name of a member or null")?);
        } else if steps.pop().is_none() {
            out += 1;
        }
    }
    if !ends_at_a_name {
        return Err(node.expected("a path that ends with the name of a member"));
    }
    let origin = match origin {
        None => Origin::Enclosing(out),
        Some(part) if out == 0 => Origin::Part(part),
        Some(_) => return Err(node.expected("a path that does not leave its origin")),
    };
    Ok(Reference {
        at: node.at,
        origin,
        steps,
    })
}

fn part(node: Node<'_>) -> Result<Part, Fault> {
    match node.text("the origin of a field location")?.as_str() {
        "packet-header" => Ok(Part::PacketHeader),
        "packet-context" => Ok(Part::PacketContext),
        "event-record-header" => Ok(Part::EventHeader),
        "event-record-common-context" => Ok(Part::CommonContext),
        "event-record-specific-context" => Ok(Part::SpecificContext),
        "event-record-payload" => Ok(Part::Payload),
        _ => Err(node.expected("a part of packets or event records")),
    }
}
