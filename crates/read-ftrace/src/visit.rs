//! Walks every field of one event, for printing.
//!
//! The record's type and time are its header and not repeated; the processor stands for the packet's
//! context and the other fields that all events share for the common context, as LTTng has them.

use slowpath_model::{DisplayBase, FieldVisitor, PacketId, Scope};

use crate::byte_order::{ByteOrder, sign_extend};
use crate::layout::{Content, Element, Field, until_zero};
use crate::page::{Records, Walk};
use crate::trace::FtraceTrace;

pub(crate) fn visit_event(
    trace: &FtraceTrace,
    packet: PacketId,
    position: u64,
    visitor: &mut dyn FieldVisitor,
) {
    let (Some((stream, _)), Some(bytes)) = (trace.locate(packet), trace.packet_bytes(packet))
    else {
        return;
    };
    let (bytes, order) = (bytes.get(), stream.layout.order);
    let position = usize::try_from(position).unwrap_or(usize::MAX);
    let walk = match order {
        ByteOrder::Little => Records::<false>::at(bytes, position).step(),
        ByteOrder::Big => Records::<true>::at(bytes, position).step(),
    };
    let Walk::Record(record) = walk else {
        return;
    };
    let record = &bytes[record.begin..record.end];
    let type_place = trace.type_offset..trace.type_offset + 2;
    let record_type = record
        .get(type_place)
        .map_or(0, |bytes| order.number(bytes) as u16);
    let Some(layout) = trace.types.get(&record_type).map(|at| &trace.layouts[*at]) else {
        return;
    };

    visitor.scope(Scope::PacketContext);
    visitor.name("cpu_id");
    visitor.unsigned(stream.cpu.0.into(), 32, DisplayBase::Decimal);
    visitor.end_scope();
    for (scope, common) in [(Scope::CommonContext, true), (Scope::Payload, false)] {
        visitor.scope(scope);
        for field in layout.fields.iter().filter(|field| field.common == common) {
            if !(common && field.name == "common_type") {
                visitor.name(&field.name);
                visit_field(field, record, order, visitor);
            }
        }
        visitor.end_scope();
    }
}

fn visit_field(field: &Field, record: &[u8], order: ByteOrder, visitor: &mut dyn FieldVisitor) {
    let Some(range) = field.place.range(record, order) else {
        visitor.nothing();
        return;
    };
    let bytes = &record[range];
    match field.content {
        Content::Text => visitor.text(until_zero(bytes)),
        Content::Opaque => visitor.blob(bytes),
        Content::Integer {
            size,
            signed,
            pointer,
        } => {
            let base = if pointer {
                DisplayBase::Hexadecimal
            } else {
                DisplayBase::Decimal
            };
            visit_number(bytes, Element { size, signed }, base, order, visitor);
        }
        Content::Numbers(element) => {
            let numbers = bytes.chunks_exact(element.size);
            visitor.begin_array(numbers.len() as u64, field.place.is_dynamic());
            for number in numbers {
                visit_number(number, element, DisplayBase::Decimal, order, visitor);
            }
            visitor.end_array();
        }
    }
}

fn visit_number(
    bytes: &[u8],
    element: Element,
    base: DisplayBase,
    order: ByteOrder,
    visitor: &mut dyn FieldVisitor,
) {
    let value = order.number(bytes);
    let bits = element.size as u32 * 8;
    if element.signed {
        visitor.signed(sign_extend(value, element.size), bits, base);
    } else {
        visitor.unsigned(value, bits, base);
    }
}
