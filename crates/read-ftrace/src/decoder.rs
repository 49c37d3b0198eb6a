//! Decodes packets by a compiled projection: the hot path.
//!
//! A projection becomes, per record type, a list of reads at known offsets. A record of an unwanted
//! type costs its header and one table look-up. No allocation and no name is involved per event.

use slowpath_model::{
    Diagnostic, DiagnosticCode, Event, EventClassId, FieldId, PacketId, Projection, Timestamp,
};
use slowpath_source::{Decoder, EventSink};

use crate::byte_order::{ByteOrder, sign_extend};
use crate::layout::{Content, Place};
use crate::packets::{Findings, PageStream};
use crate::page::Walk;
use crate::trace::{EventLayout, FtraceTrace};

/// In the table of types: no event has this type.
const UNKNOWN: u16 = u16::MAX;
/// In the table of types: not asked for.
const UNWANTED: u16 = u16::MAX - 1;

/// Decodes the packets of one trace.
pub(crate) struct FtraceDecoder<'trace> {
    trace: &'trace FtraceTrace,
    /// By record type: position in `plans`, or one of the two words above.
    by_type: Vec<u16>,
    plans: Vec<Plan>,
}

/// What to do with the events of one class.
struct Plan {
    class: EventClassId,
    /// By slot.
    reads: Vec<Read>,
}

/// How the value of one slot is read.
#[derive(Clone, Copy)]
enum Read {
    Unsigned8(usize),
    Unsigned16(usize),
    Unsigned32(usize),
    Signed32(usize),
    Word64(usize),
    Number {
        offset: usize,
        size: usize,
        signed: bool,
    },
    /// Text or bytes that always lie in the same place; `Event` finds a text's end.
    FixedRange {
        offset: usize,
        size: usize,
    },
    /// Text or bytes that lie where the record says.
    Range(Place),
    /// Never has a value.
    Nothing,
}

impl<'trace> FtraceDecoder<'trace> {
    pub(crate) fn new(trace: &'trace FtraceTrace, projection: &Projection) -> Self {
        let table_length = trace
            .types
            .keys()
            .max()
            .map_or(0, |highest| usize::from(*highest) + 1);
        let mut by_type = vec![UNKNOWN; table_length];
        let mut plans = Vec::new();
        for (record_type, layout) in &trace.types {
            let class = EventClassId(*layout as u32);
            by_type[usize::from(*record_type)] = match projection.fields(class) {
                Some(wanted) => {
                    let layout = &trace.layouts[*layout];
                    let reads = wanted
                        .iter()
                        .map(|field| Read::compile(layout, *field))
                        .collect();
                    plans.push(Plan { class, reads });
                    (plans.len() - 1) as u16
                }
                None => UNWANTED,
            };
        }
        Self {
            trace,
            by_type,
            plans,
        }
    }

    fn decode_pages<const BIG: bool>(
        &self,
        stream: &PageStream,
        position: usize,
        bytes: &[u8],
        until: u64,
        sink: &mut dyn EventSink,
    ) -> Vec<Diagnostic> {
        let mut findings = Findings::default();
        let mut values = [0; Projection::MAX_SLOTS];
        for begin in (0..bytes.len()).step_by(stream.layout.page_size) {
            let Some(header) = stream.layout.header(&bytes[begin..]) else {
                break;
            };
            let mut records = stream.layout.records::<BIG>(bytes, begin, &header);
            let until = stream
                .layout
                .next_page_begin(&bytes[begin..])
                .unwrap_or(until);
            // The last page of a stream may end with the trace only.
            let end_of_page = |until| match until {
                u64::MAX => Timestamp::MAX,
                until => stream.clock.time(until),
            };
            let mut last = header.timestamp;
            loop {
                let record = match records.step() {
                    Walk::Record(record) => record,
                    Walk::End => break,
                    Walk::Broken(at) => {
                        findings.add(DiagnosticCode::InvalidEvent, || {
                            let message =
                                "a record runs past its page; the rest of the page is skipped";
                            (stream.place(position + at), message.into())
                        });
                        sink.gap(end_of_page(until));
                        break;
                    }
                };
                if !(last..=until).contains(&record.time) {
                    findings.add(DiagnosticCode::InvalidEvent, || {
                        let message = "a record's time lies outside of its page's; the rest of the page is skipped";
                        (stream.place(position + record.position), message.into())
                    });
                    sink.gap(end_of_page(until));
                    break;
                }
                last = record.time;
                let data = &bytes[record.begin..record.end];
                match self.plan::<BIG>(data) {
                    Ok(Some(plan)) => {
                        let mut absent = 0;
                        for (slot, read) in plan.reads.iter().enumerate() {
                            match read.value::<BIG>(data, record.begin) {
                                Some(value) => values[slot] = value,
                                None => {
                                    values[slot] = 0;
                                    absent |= 1 << slot;
                                }
                            }
                        }
                        sink.event(&Event {
                            class: plan.class,
                            at: stream.clock.time(record.time),
                            position: record.position as u64,
                            bytes,
                            values: &values[..plan.reads.len()],
                            absent,
                        });
                    }
                    Ok(None) => {}
                    Err(unknown) => findings.add(DiagnosticCode::UnknownEventClass, || {
                        let message =
                            format!("an event of type {unknown}, which has no format, is skipped");
                        (stream.place(position + record.position), message)
                    }),
                }
            }
        }
        findings.0
    }

    /// The plan for a record, `None` when it is not wanted; its type when that is unknown.
    #[inline(always)]
    fn plan<const BIG: bool>(&self, record: &[u8]) -> Result<Option<&Plan>, u16> {
        let bytes = bytes_at::<2>(record, self.trace.type_offset);
        let record_type = bytes.map_or(0, |bytes| order::<BIG>().u16(bytes));
        match self.by_type.get(usize::from(record_type)) {
            Some(&UNWANTED) => Ok(None),
            Some(plan) => {
                let plan = self.plans.get(usize::from(*plan));
                plan.map(Some).ok_or(record_type)
            }
            None => Err(record_type),
        }
    }
}

impl Decoder for FtraceDecoder<'_> {
    fn decode(&self, packet: PacketId, sink: &mut dyn EventSink) -> Vec<Diagnostic> {
        let (Some((stream, position)), Some(bytes)) =
            (self.trace.locate(packet), self.trace.packet_bytes(packet))
        else {
            return Vec::new();
        };
        let (bytes, until) = (bytes.get(), self.trace.until(packet));
        match stream.layout.order {
            ByteOrder::Little => self.decode_pages::<false>(stream, position, bytes, until, sink),
            ByteOrder::Big => self.decode_pages::<true>(stream, position, bytes, until, sink),
        }
    }
}

impl Read {
    fn compile(layout: &EventLayout, wanted: Option<FieldId>) -> Self {
        let Some(column) = wanted.and_then(|field| layout.columns.get(field.index())) else {
            return Self::Nothing;
        };
        let field = &layout.fields[column.field];
        match (field.place, field.content, column.element) {
            (Place::Fixed { offset, .. }, Content::Integer { size, signed, .. }, _) => {
                Self::number(offset, size, signed)
            }
            (Place::Fixed { offset, .. }, Content::Numbers(element), Some(index)) => {
                Self::number(offset + index * element.size, element.size, element.signed)
            }
            (_, Content::Numbers(element), None) if element.size > 1 => Self::Nothing,
            (Place::Fixed { offset, size }, _, _) => Self::FixedRange { offset, size },
            (place, _, _) => Self::Range(place),
        }
    }

    fn number(offset: usize, size: usize, signed: bool) -> Self {
        match (size, signed) {
            (1, false) => Self::Unsigned8(offset),
            (2, false) => Self::Unsigned16(offset),
            (4, false) => Self::Unsigned32(offset),
            (4, true) => Self::Signed32(offset),
            (8, _) => Self::Word64(offset),
            _ => Self::Number {
                offset,
                size,
                signed,
            },
        }
    }

    /// The value in `record`, which begins at `begin` of the packet.
    #[inline(always)]
    fn value<const BIG: bool>(&self, record: &[u8], begin: usize) -> Option<u64> {
        let order = order::<BIG>();
        Some(match *self {
            Self::Unsigned8(offset) => (*record.get(offset)?).into(),
            Self::Unsigned16(offset) => order.u16(bytes_at(record, offset)?).into(),
            Self::Unsigned32(offset) => order.u32(bytes_at(record, offset)?).into(),
            Self::Signed32(offset) => i64::from(order.u32(bytes_at(record, offset)?) as i32) as u64,
            Self::Word64(offset) => order.u64(bytes_at(record, offset)?),
            Self::Number {
                offset,
                size,
                signed,
            } => {
                let value = order.number(record.get(offset..offset + size)?);
                if signed {
                    sign_extend(value, size) as u64
                } else {
                    value
                }
            }
            Self::FixedRange { offset, size } => {
                record.get(offset..offset + size)?;
                Event::pack_range(begin + offset, size)
            }
            Self::Range(place) => {
                let range = place.range(record, order)?;
                Event::pack_range(begin + range.start, range.len())
            }
            Self::Nothing => return None,
        })
    }
}

const fn order<const BIG: bool>() -> ByteOrder {
    if BIG {
        ByteOrder::Big
    } else {
        ByteOrder::Little
    }
}

#[inline(always)]
fn bytes_at<const N: usize>(record: &[u8], offset: usize) -> Option<[u8; N]> {
    record.get(offset..offset + N)?.try_into().ok()
}
