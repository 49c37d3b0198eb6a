//! A readable ftrace recording: the implementation of `Source`.
//!
//! Everything about events is resolved here once: formats to event classes, record types to layouts.
//! Pages are decoded by `decoder`, printed by `visit`; how the recording was stored is forgotten.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use slowpath_model::{
    Diagnostic, DiagnosticCode, EventClass, FieldKind, FieldVisitor, PacketId, Place, ProcessId,
    Projection, Schema, Scope, StreamId, ThreadId, TimeRange, TracerDomain,
};
use slowpath_source::{Decoder, Packet, Source, Stream};

use crate::decoder::FtraceDecoder;
use crate::error::ReadError;
use crate::format::parse_event_format;
use crate::layout::{Content, Field, Place as FieldPlace};
use crate::packets::{Findings, Listing, PageStream};
use crate::page::PageLayout;
use crate::recording::{RecordedStream, Recording};
use crate::{saved, visit};

/// No more characters of a text that cannot be understood are shown.
const MOST_SHOWN: usize = 80;
/// Arrays of at most so many numbers can be asked for number by number.
const MOST_ELEMENTS: usize = 16;

/// What a recording cannot know about itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions {
    /// What to add to the tracer's clock to get to the Unix epoch, in nanoseconds.
    pub clock_offset_ns: i64,
}

/// An ftrace recording that can be read packet by packet.
pub struct FtraceTrace {
    schema: Schema,
    pub(crate) layouts: Vec<EventLayout>,
    /// Record type to position in `layouts`.
    pub(crate) types: FxHashMap<u16, usize>,
    /// Where every record states its type, in bytes from its begin.
    pub(crate) type_offset: usize,
    pub(crate) recorded: Vec<PageStream>,
    streams: Vec<Stream>,
    packets: Vec<Packet>,
    /// By packet: where it begins in its stream's pages.
    positions: Vec<usize>,
    /// By packet: the clock reading that no record of it can be after.
    until: Vec<u64>,
    diagnostics: Vec<Diagnostic>,
    saved_cmdlines: Vec<(ThreadId, String)>,
    saved_tgids: Vec<(ThreadId, ProcessId)>,
    /// Packets of compressed files that were expanded lately, the last one in front.
    expanded: Mutex<VecDeque<(PacketId, Arc<[u8]>)>>,
}

/// Where the fields of an event class lie; its class id is its position.
pub(crate) struct EventLayout {
    pub(crate) fields: Vec<Field>,
    /// By field id: which of `fields`, and which of its numbers.
    pub(crate) columns: Vec<Column>,
}

/// What a field id stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) field: usize,
    pub(crate) element: Option<usize>,
}

/// The bytes of one packet: whole pages one after the other.
pub(crate) enum PacketBytes<'trace> {
    InFile(&'trace [u8]),
    Expanded(Arc<[u8]>),
}

impl PacketBytes<'_> {
    pub(crate) fn get(&self) -> &[u8] {
        match self {
            Self::InFile(bytes) => bytes,
            Self::Expanded(bytes) => bytes,
        }
    }
}

impl FtraceTrace {
    /// Names of threads as the tracer knew them when the recording ended.
    pub fn saved_cmdlines(&self) -> &[(ThreadId, String)] {
        &self.saved_cmdlines
    }

    /// Processes of threads as the tracer knew them; empty where they were not kept.
    pub fn saved_tgids(&self) -> &[(ThreadId, ProcessId)] {
        &self.saved_tgids
    }

    /// Makes a recording readable.
    pub(crate) fn assemble(recording: Recording) -> Result<Self, ReadError> {
        let mut diagnostics = recording.diagnostics;
        let page_layout = PageLayout::parse(&recording.header_page, recording.order)?;
        check_record_header(&recording.header_event, &mut diagnostics);

        let mut schema = Schema {
            domain: TracerDomain::Kernel,
            tracer: "ftrace".into(),
            tracer_version: recording.tracer_version,
            host: recording.host,
            boot: String::new(),
            session: String::new(),
            environment: recording.environment,
            threads_of_32_bit: Vec::new(),
            event_classes: Vec::new(),
        };
        schema
            .environment
            .push(("page_size".into(), page_layout.page_size.to_string()));
        let mut layouts = Vec::new();
        let mut types = FxHashMap::default();
        let mut names = FxHashSet::default();
        let mut bad_formats = Findings::default();
        for file in &recording.formats {
            let format = match parse_event_format(&file.text, page_layout.long_size()) {
                Ok(format) => format,
                Err(reason) => {
                    let describe = || (format_place(&file.system), reason);
                    bad_formats.add(DiagnosticCode::InvalidFormat, describe);
                    continue;
                }
            };
            if types.contains_key(&format.id) {
                continue;
            }
            let name = match names.insert(format.name.clone()) {
                true => format.name,
                false => format!("{}:{}", file.system, format.name),
            };
            let columns = columns_of(&format.fields);
            types.insert(format.id, layouts.len());
            schema
                .event_classes
                .push(event_class(name, &format.fields, &columns));
            layouts.push(EventLayout {
                fields: format.fields,
                columns,
            });
        }
        let type_offset = type_offset(&layouts);
        diagnostics.extend(bad_formats.0);

        let (saved_cmdlines, misread) = saved::parse_cmdlines(&recording.saved_cmdlines);
        let missing = "names of threads may be missing";
        diagnostics.extend(misread.diagnostic("saved_cmdlines", missing));
        let (saved_tgids, misread) = saved::parse_tgids(&recording.saved_tgids);
        let missing = "processes of threads may be missing";
        diagnostics.extend(misread.diagnostic("saved_tgids", missing));
        let of_32_bit = &recording.processes_of_32_bit;
        let threads = saved_tgids
            .iter()
            .filter(|(_, process)| of_32_bit.contains(process));
        let threads = threads.map(|(thread, _)| *thread);
        // When they began to be, events may tell.
        schema.threads_of_32_bit = (of_32_bit.iter().map(|process| ThreadId(process.0)))
            .chain(threads)
            .map(|thread| (thread, TimeRange::ALL))
            .collect();

        for about_text in &mut diagnostics {
            about_text.place.file.insert_str(0, &recording.texts_in);
        }
        let mut listing = Listing {
            diagnostics,
            ..Listing::default()
        };
        let (mut streams, mut recorded, mut cut_off) = (Vec::new(), Vec::new(), Vec::new());
        let time = recording.recorded;
        let mut all = recording.streams.iter();
        let was_in_time = all.any(|stream| has_page_in(stream, time, page_layout));
        for (stream, id) in recording.streams.into_iter().zip((0..).map(StreamId)) {
            let pages = PageStream {
                name: stream.name,
                cpu: stream.cpu,
                data: stream.data,
                layout: stream
                    .page_size
                    .map_or(page_layout, |size| page_layout.with_page_size(size)),
                readings: (stream.clock.readings(time))
                    .filter(|_| was_in_time)
                    .unwrap_or((0, u64::MAX)),
                clock: stream.clock,
                is_short: stream.is_short,
                losses: stream.losses,
                is_snapshot: recording.is_snapshot,
            };
            if id == StreamId(0) && !pages.clock.has_unit() {
                let message =
                    "the tracer's clock counts in an unknown unit; times are its bare numbers";
                listing.diagnostics.push(Diagnostic::new(
                    DiagnosticCode::UnknownClockUnit,
                    pages.all(),
                    message,
                ));
            }
            let first = listing.packets.len() as u32;
            let known = listing.diagnostics.len();
            pages.list_packets(id, &mut listing);
            let mut found = listing.diagnostics[known..].iter();
            let is_cut_off = listing.lacks_end
                || found.any(|found| found.code == DiagnosticCode::TruncatedPacket);
            cut_off.push(is_cut_off);
            streams.push(Stream {
                name: pages.name.clone(),
                cpu: Some(pages.cpu),
                packets: first..listing.packets.len() as u32,
                buffer: stream.buffer,
                cut_off_at: None,
            });
            recorded.push(pages);
        }
        mark_cut_off(&mut streams, &cut_off, &listing.packets);
        forget_before_all(&mut listing.packets);
        Ok(Self {
            schema,
            layouts,
            types,
            type_offset,
            recorded,
            streams,
            packets: listing.packets,
            positions: listing.positions,
            until: listing.until,
            diagnostics: listing.diagnostics,
            saved_cmdlines,
            saved_tgids,
            expanded: Mutex::default(),
        })
    }

    /// Notes that no stream tells anything after its last packet.
    pub(crate) fn mark_all_cut_off(&mut self) {
        let all = vec![true; self.streams.len()];
        mark_cut_off(&mut self.streams, &all, &self.packets);
    }

    /// The stream that `packet` belongs to, and where it begins there.
    pub(crate) fn locate(&self, packet: PacketId) -> Option<(&PageStream, usize)> {
        let listed = self.packets.get(packet.index())?;
        let stream = self.recorded.get(listed.stream.index())?;
        Some((stream, *self.positions.get(packet.index())?))
    }

    /// The clock reading that no record of `packet` can be after.
    pub(crate) fn until(&self, packet: PacketId) -> u64 {
        self.until.get(packet.index()).copied().unwrap_or(u64::MAX)
    }

    /// The pages of `packet`.
    pub(crate) fn packet_bytes(&self, packet: PacketId) -> Option<PacketBytes<'_>> {
        let (stream, position) = self.locate(packet)?;
        let length = self.packets[packet.index()].size as usize;
        if stream.data.is_compressed()
            && let Some(bytes) = self.recently_expanded(packet)
        {
            return Some(PacketBytes::Expanded(bytes));
        }
        Some(match stream.data.bytes(position..position + length) {
            Cow::Borrowed(bytes) => PacketBytes::InFile(bytes),
            Cow::Owned(bytes) => {
                let bytes: Arc<[u8]> = bytes.into();
                let mut expanded = self.expanded.lock().unwrap_or_else(PoisonError::into_inner);
                // One per stream, since events of all streams are printed in turn.
                expanded.truncate(self.streams.len() + 3);
                expanded.push_front((packet, bytes.clone()));
                PacketBytes::Expanded(bytes)
            }
        })
    }

    fn recently_expanded(&self, packet: PacketId) -> Option<Arc<[u8]>> {
        let mut expanded = self.expanded.lock().unwrap_or_else(PoisonError::into_inner);
        let at = expanded.iter().position(|(id, _)| *id == packet)?;
        let found = expanded.remove(at)?;
        let bytes = found.1.clone();
        expanded.push_front(found);
        Some(bytes)
    }
}

impl Source for FtraceTrace {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn streams(&self) -> &[Stream] {
        &self.streams
    }

    fn packets(&self) -> &[Packet] {
        &self.packets
    }

    fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    fn decoder<'source>(&'source self, projection: &Projection) -> Box<dyn Decoder + 'source> {
        Box::new(FtraceDecoder::new(self, projection))
    }

    fn visit(&self, packet: PacketId, position: u64, visitor: &mut dyn FieldVisitor) {
        visit::visit_event(self, packet, position, visitor);
    }
}

/// Whether any page of a stream lies in the time `recorded`.
fn has_page_in(stream: &RecordedStream, recorded: TimeRange, layout: PageLayout) -> bool {
    let Some((from, to)) = stream.clock.readings(recorded) else {
        return false;
    };
    let length = stream.data.length();
    let mut pages = (0..length).step_by(layout.page_size).map(|begin| {
        let end = (begin + layout.page_size).min(length);
        layout.header(&stream.data.bytes(begin..end))
    });
    pages.any(|header| {
        let header = header.filter(|header| !layout.is_empty(header));
        header.is_some_and(|header| (from..=to).contains(&header.timestamp))
    })
}

/// Notes from when on streams tell nothing that are `cut_off`, by position.
fn mark_cut_off(streams: &mut [Stream], cut_off: &[bool], packets: &[Packet]) {
    let begin = packets.iter().map(|packet| packet.range.begin).min();
    for (stream, _) in streams
        .iter_mut()
        .zip(cut_off)
        .filter(|(_, cut_off)| **cut_off)
    {
        let own = &packets[stream.packets.start as usize..stream.packets.end as usize];
        stream.cut_off_at = own.last().map(|last| last.range.end).or(begin);
    }
}

/// What is missing before the trace's first packet is missing before the trace, not in it.
fn forget_before_all(packets: &mut [Packet]) {
    let begin = packets.iter().map(|packet| packet.range.begin).min();
    let first = packets
        .iter_mut()
        .filter(|packet| Some(packet.range.begin) == begin);
    first.for_each(|packet| packet.lost_packets = 0);
}

fn format_place(system: &str) -> Place {
    Place {
        file: format!("events/{system}"),
        ..Place::default()
    }
}

/// Before Linux 2.6.30 records began otherwise; such recordings would be misread.
fn check_record_header(header_event: &str, diagnostics: &mut Vec<Diagnostic>) {
    if !header_event.is_empty() && !header_event.contains("5 bits") {
        let place = Place {
            file: "events/header_event".into(),
            ..Place::default()
        };
        let beginning: String = header_event.chars().take(MOST_SHOWN).collect();
        let more = if beginning.len() < header_event.len() {
            " …"
        } else {
            ""
        };
        let message = format!("records begin in an unknown way: {beginning:?}{more}");
        diagnostics.push(Diagnostic::new(
            DiagnosticCode::InvalidMetadata,
            place,
            message,
        ));
    }
}

/// Where every record states its type: the same for all events of a kernel.
fn type_offset(layouts: &[EventLayout]) -> usize {
    let mut fields = layouts.iter().flat_map(|layout| &layout.fields);
    let place = fields.find_map(|field| match field.place {
        FieldPlace::Fixed { offset, size: 2 } if field.name == "common_type" => Some(offset),
        _ => None,
    });
    place.unwrap_or(0)
}

fn columns_of(fields: &[Field]) -> Vec<Column> {
    let mut columns = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        columns.push(Column {
            field: index,
            element: None,
        });
        if let Some((count, _)) = askable_elements(field) {
            columns.extend((0..count).map(|element| Column {
                field: index,
                element: Some(element),
            }));
        }
    }
    columns
}

/// Number and size of the elements of an array whose numbers can be asked for one by one.
fn askable_elements(field: &Field) -> Option<(usize, usize)> {
    match (field.place, field.content) {
        (FieldPlace::Fixed { size, .. }, Content::Numbers(element)) if element.size > 1 => {
            let count = size / element.size;
            (count <= MOST_ELEMENTS).then_some((count, element.size))
        }
        _ => None,
    }
}

fn event_class(name: String, fields: &[Field], columns: &[Column]) -> EventClass {
    let fields = columns.iter().map(|column| {
        let field = &fields[column.field];
        let number = |signed: bool| {
            if signed {
                FieldKind::Signed
            } else {
                FieldKind::Unsigned
            }
        };
        slowpath_model::Field {
            name: match column.element {
                Some(element) => format!("{}.{element}", field.name),
                None => field.name.clone(),
            },
            scope: match field.common {
                true if field.name == "common_type" => Scope::EventHeader,
                true => Scope::CommonContext,
                false => Scope::Payload,
            },
            kind: match (field.content, column.element) {
                (Content::Integer { signed, .. }, _) => number(signed),
                (Content::Numbers(element), Some(_)) => number(element.signed),
                (Content::Numbers(element), None) if element.size > 1 => FieldKind::Compound,
                (Content::Numbers(_) | Content::Opaque, _) => FieldKind::Bytes,
                (Content::Text, _) => FieldKind::Text,
            },
        }
    });
    EventClass {
        name,
        fields: fields.collect(),
    }
}
