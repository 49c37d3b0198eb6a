//! A CTF trace as a [`Source`].

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::OnceLock;

use slowpath_model::{
    CpuId, Diagnostic, DiagnosticCode, Event, EventClass, FieldVisitor, Nanoseconds, PacketId,
    Place, Projection, Schema, Scope, StreamId, TimeRange, Timestamp, TracerDomain,
};
use slowpath_source::{Decoder, NamedBytes, Packet, ROTATION, Source, Stream};

use crate::copies::{folder, leave_out_copies};
use crate::decode::{ClockScale, CtfDecoder};
use crate::fields::{fields, scopes};
use crate::layout::{EnvironmentValue, TraceLayout};
use crate::losses::{Loss, LossReport, losses};
use crate::order::{leave_out_of_order, was_recorded};
use crate::packets::{PacketPlans, RawPacket, is_bookkeeping};
use crate::processor;
use crate::scan;
use crate::walk::{self, Decoding};

/// A stream file and, where there is one, its packet index.
#[derive(Clone, Debug)]
pub struct StreamFile {
    /// The stream's bytes.
    pub stream: NamedBytes,
    /// The index's bytes.
    pub index: Option<NamedBytes>,
    /// The stream had more bytes when it was recorded; it may have none any more.
    pub is_cut_off: bool,
}

/// A CTF 1.8 or CTF 2 trace.
pub struct CtfTrace {
    pub(crate) layout: TraceLayout,
    pub(crate) plans: PacketPlans,
    clocks: Vec<ClockScale>,
    schema: Schema,
    files: Vec<NamedBytes>,
    raw_packets: Vec<RawPacket>,
    /// By packet: the clock at the first event behind it in its stream.
    next_events: Vec<Option<u64>>,
    packets: Vec<Packet>,
    streams: Vec<Stream>,
    diagnostics: Vec<Diagnostic>,
}

/// A stream that has not got its place among the others yet.
#[derive(Default)]
struct CheckedStream {
    /// That of the first packet, be it one that is not read.
    file: Option<usize>,
    raw_packets: Vec<RawPacket>,
    next_events: Vec<Option<u64>>,
    /// Their ids and their stream are still to be given.
    packets: Vec<Packet>,
    losses: Vec<Loss>,
    /// What is said of packets that are there twice.
    copies: Vec<Diagnostic>,
    /// What else was wrong.
    diagnostics: Vec<Diagnostic>,
}

/// What LTTng rounds the sizes of packets up to.
pub(crate) const PAGE_BYTES: u64 = 4096;
/// In a packet that is full there is no room for one event more, hardly any of which is as large as this.
const ROOM_LEFT_BYTES: u64 = 512;

impl CtfTrace {
    /// Lists the packets of `files`, whose layout the metadata has given.
    pub fn new(layout: TraceLayout, files: Vec<StreamFile>) -> Self {
        Self::recorded_in(TimeRange::ALL, layout, files, NonZeroUsize::MIN)
    }

    /// The same for a trace that was recorded in this time: packets outside are damaged. Where all of them
    /// are, it is the time that is wrong. The files, and then the streams,
    /// are shared out among `workers`.
    pub fn recorded_in(
        recorded: TimeRange,
        layout: TraceLayout,
        files: Vec<StreamFile>,
        workers: NonZeroUsize,
    ) -> Self {
        let plans = PacketPlans::new(&layout);
        let clocks = clock_scales(&layout);
        let mut found: Vec<Vec<RawPacket>> = Vec::with_capacity(files.len());
        let mut diagnostics = Vec::new();
        let mut nothing_left: Vec<usize> = Vec::new();
        let listed = scan::list(&plans, &layout, &files, workers);
        for (listed, position) in listed.into_iter().zip(0..) {
            found.push(listed.packets);
            diagnostics.extend(listed.diagnostics);
            nothing_left.extend(listed.has_nothing_left.then_some(position));
        }
        let mut all = found.iter().flatten();
        let is_inside = all.any(|raw| was_recorded(raw, clocks[raw.stream_class], recorded));
        let recorded = if is_inside { recorded } else { TimeRange::ALL };
        let mut trace = Self {
            schema: schema_of(&layout),
            layout,
            plans,
            clocks,
            files: files.into_iter().map(|file| file.stream).collect(),
            raw_packets: Vec::new(),
            next_events: Vec::new(),
            packets: Vec::new(),
            streams: Vec::new(),
            diagnostics,
        };
        let is_by_lttng = trace.layout.is_by_lttng();
        let mut streams = join_rotated_files(found, &trace.files, is_by_lttng);
        // Events of one time come in this order, whatever part of a session a stream is first seen in.
        streams.sort_by_cached_key(|packets| {
            let first = packets.first()?;
            let name = trace.files[first.file].name.rsplit('/').next();
            let name = name.filter(|_| first.stream_instance.is_none());
            let class = trace.layout.streams[first.stream_class].id;
            Some((class, first.stream_instance, name.map(str::to_owned)))
        });
        let decoder = OnceLock::new();
        let mut checked = scan::in_parallel(workers, streams, |_, packets| {
            trace.check_stream(packets, recorded, &decoder)
        });
        drop(decoder);
        let copies = checked
            .iter_mut()
            .flat_map(|stream| stream.copies.drain(..));
        trace.diagnostics.extend(copies);
        let mut lost = LossReport::default();
        for stream in &mut checked {
            if stream.packets.is_empty() {
                nothing_left.extend(stream.file);
            }
            trace.add_stream(stream, &mut lost);
        }
        trace.place_packets(checked, workers);
        trace.diagnostics.extend(lost.diagnostics());
        trace.mark_cut_off();
        trace.mark_missing_ends();
        trace.mark_missing_begins();
        trace.find_late_events();
        trace.add_empty_streams(&nothing_left);
        trace
    }

    /// The layout, as the metadata gave it.
    pub fn layout(&self) -> &TraceLayout {
        &self.layout
    }

    pub(crate) fn class_count(&self) -> usize {
        self.schema.event_classes.len()
    }

    pub(crate) fn clock_of(&self, stream_class: usize) -> ClockScale {
        self.clocks[stream_class]
    }

    pub(crate) fn raw_packet(&self, packet: PacketId) -> Option<(&RawPacket, &NamedBytes)> {
        let raw = self.raw_packets.get(packet.index())?;
        Some((raw, self.files.get(raw.file)?))
    }

    /// The clock at the first event behind a packet in its stream.
    pub(crate) fn next_event(&self, packet: PacketId) -> Option<u64> {
        *self.next_events.get(packet.index())?
    }

    /// When a packet ends.
    pub(crate) fn end_of(&self, packet: PacketId) -> Timestamp {
        let packet = self.packets.get(packet.index());
        packet.map_or(Timestamp::MAX, |packet| packet.range.end)
    }

    /// Finds out which packets of a stream are read, when they are, and what is missing between them. No stream needs to
    /// know of another for that.
    fn check_stream<'trace>(
        &'trace self,
        mut packets: Vec<RawPacket>,
        recorded: TimeRange,
        decoder: &OnceLock<CtfDecoder<'trace>>,
    ) -> CheckedStream {
        let files = &self.files;
        let copies = leave_out_copies(&mut packets, files, |packet| {
            let file = files[packet.file].get();
            self.decoder_in(decoder).events_in(packet, file)
        });
        self.find_times(&mut packets, decoder);
        let mut stream = CheckedStream {
            file: packets.first().map(|packet| packet.file),
            copies,
            ..CheckedStream::default()
        };
        let Some(first) = packets.first() else {
            return stream;
        };
        let clock = self.clocks[first.stream_class];
        let name = |packet: &RawPacket| files[packet.file].name.clone();
        let diagnostics = &mut stream.diagnostics;
        let lacks_begin = leave_out_of_order(&mut packets, clock, recorded, name, diagnostics);
        if self.layout.is_by_lttng() {
            diagnostics.extend(processor::agree(&mut packets, name));
        }
        let (losses, damaged) = losses(&packets);
        let count = damaged.len() as u64;
        if let Some((position, what)) = damaged.into_iter().next() {
            let packet = &packets[position];
            let place = Place {
                file: name(packet),
                byte: Some(packet.offset),
                ..Place::default()
            };
            diagnostics.push(Diagnostic {
                count: Some(count),
                ..Diagnostic::new(DiagnosticCode::InvalidPacket, place, what)
            });
        }
        // What followed the one before it is missing, or was left out before the first one.
        let mut after_cut = lacks_begin;
        let mut behind_loss = false;
        let next_events = next_events(&packets);
        stream.packets.reserve_exact(packets.len());
        for (position, (raw, loss)) in packets.iter().zip(&losses).enumerate() {
            let next = next_events[position];
            let before = position.checked_sub(1).map(|before| &packets[before]);
            let is_apart = before.is_some_and(|before| self.lies_apart(before, raw, clock));
            let lost_packets = loss.packets.max((after_cut || is_apart).into());
            after_cut = raw.is_cut_off;
            let beyond = raw.stated().map_or(Nanoseconds::ZERO, |(_, end)| {
                let (_, latest) = self.plans.bounds(raw, next);
                clock.time(latest).since(clock.time(end))
            });
            // One without events that states no end is not later than what follows.
            let is_open = raw.end.is_none() && raw.first_event.is_none();
            let following = packets.get(position + 1).and_then(RawPacket::first_clock);
            let following = following.filter(|_| is_open).unwrap_or(u64::MAX);
            stream.packets.push(Packet {
                id: PacketId(0),
                stream: StreamId(0),
                offset: raw.offset,
                size: raw.size,
                range: TimeRange::new(
                    clock.time(raw.first_clock().unwrap_or(0).min(following)),
                    clock.time(raw.end.or(raw.begin).unwrap_or(0).min(following)),
                ),
                cpu: raw.cpu.map(|cpu| CpuId(cpu as u32)),
                lost_events: loss.events,
                lost_packets,
                behind_loss,
                beyond,
                number: raw.sequence,
            });
            behind_loss = loss.events > 0 || loss.earlier_events > 0;
        }
        CheckedStream {
            raw_packets: packets,
            next_events,
            losses,
            ..stream
        }
    }

    fn add_stream(&mut self, checked: &mut CheckedStream, lost: &mut LossReport) {
        self.diagnostics.append(&mut checked.diagnostics);
        let Some(first) = checked.raw_packets.first() else {
            return;
        };
        let name = self.files[first.file].name.clone();
        lost.add_stream(&name, &checked.losses);
        let begin = self.streams.last().map_or(0, |before| before.packets.end);
        self.streams.push(Stream {
            name,
            cpu: first.cpu.map(|cpu| CpuId(cpu as u32)),
            packets: begin..begin + checked.raw_packets.len() as u32,
            buffer: 0,
            cut_off_at: None,
        });
    }

    /// Puts the packets of all streams one behind the other, behind those of the first, which stay where they are: fetching
    /// pages takes longer than anything else here, and two of the `workers` share it.
    fn place_packets(&mut self, checked: Vec<CheckedStream>, workers: NonZeroUsize) {
        let count = checked.iter().map(|stream| stream.packets.len()).sum();
        let mut all_raw = Vec::with_capacity(checked.len());
        let mut all_told = Vec::with_capacity(checked.len());
        let mut all_next = Vec::with_capacity(checked.len());
        for mut stream in checked {
            if stream.packets.is_empty() {
                continue;
            }
            let id = StreamId(all_told.len() as u32);
            let begin = self.streams[id.index()].packets.start;
            for (packet, number) in stream.packets.iter_mut().zip(begin..) {
                (packet.id, packet.stream) = (PacketId(number), id);
            }
            all_raw.push(stream.raw_packets);
            all_told.push(stream.packets);
            all_next.push(stream.next_events);
        }
        let raw_packets = &mut self.raw_packets;
        let place_raw = move || *raw_packets = one_behind_the_other(all_raw, count);
        std::thread::scope(|scope| {
            match workers.get() {
                1 => place_raw(),
                _ => drop(scope.spawn(place_raw)),
            }
            self.packets = one_behind_the_other(all_told, count);
            self.next_events = one_behind_the_other(all_next, count);
        });
    }

    /// Whether packets without numbers are of different parts of a session (snapshots), with time between them that
    /// nothing tells of.
    fn lies_apart(&self, before: &RawPacket, packet: &RawPacket, clock: ClockScale) -> bool {
        if before.file == packet.file {
            return false;
        }
        let [of_before, own] = [before, packet].map(|packet| folder(&self.files[packet.file]));
        let times = before.end.zip(packet.first_clock());
        of_before != own
            && before.sequence.zip(packet.sequence).is_none()
            && times.is_some_and(|(end, begin)| clock.time(end) + ROTATION < clock.time(begin))
    }

    /// Notes from when on streams tell nothing whose ends are missing.
    fn mark_cut_off(&mut self) {
        for stream in &mut self.streams {
            let last = stream.packets.end.saturating_sub(1) as usize;
            let is_cut_off = self.raw_packets.get(last).is_some_and(|raw| raw.is_cut_off);
            stream.cut_off_at = self
                .packets
                .get(last)
                .filter(|_| is_cut_off)
                .map(|last| last.range.end);
        }
    }

    /// Notes which of LTTng's kernel streams end before the others with a full packet. LTTng closes the packets
    /// of all processors when a session stops, and a full one only for an event that goes into the next.
    fn mark_missing_ends(&mut self) {
        if self.schema.tracer != "lttng-modules" {
            return;
        }
        let mut largest = vec![0; self.layout.streams.len()];
        for raw in &self.raw_packets {
            let known = &mut largest[raw.stream_class];
            *known = raw.size.max(*known);
        }
        let last_of = |stream: &Stream| stream.packets.end.checked_sub(1).map(|last| last as usize);
        let lasts = self.streams.iter().filter_map(last_of);
        let Some(latest) = lasts.map(|last| self.packets[last].range.end).max() else {
            return;
        };
        let mut earliest: Option<(Timestamp, &str)> = None;
        let mut count = 0;
        for stream in &mut self.streams {
            let Some(last) = last_of(stream).filter(|_| stream.cut_off_at.is_none()) else {
                continue;
            };
            let (raw, end) = (&self.raw_packets[last], self.packets[last].range.end);
            // Sub-buffers have powers of two of bytes; what a stop or a timer closes is rounded up to whole pages,
            // and reaches into the last one.
            let room_left = (raw.size * 8).saturating_sub(raw.content_bits) / 8;
            let is_full = raw.size == largest[raw.stream_class]
                && raw.size.is_power_of_two()
                && raw.size > PAGE_BYTES
                && room_left < ROOM_LEFT_BYTES;
            if is_full && end + ROTATION < latest {
                stream.cut_off_at = Some(end);
                count += 1;
                if earliest.is_none_or(|(known, _)| end < known) {
                    earliest = Some((end, &stream.name));
                }
            }
        }
        let Some((end, name)) = earliest else {
            return;
        };
        let place = Place {
            file: name.to_owned(),
            at: Some(end),
            ..Place::default()
        };
        let mut what = format!(
            "its last packet is full and ends {:.3} s before the latest stream does; what followed is missing",
            latest.since(end).0 as f64 / 1e9
        );
        if count > 1 {
            what += &format!(", in {count} streams like this");
        }
        self.diagnostics.push(Diagnostic {
            count: Some(count),
            ..Diagnostic::new(DiagnosticCode::MissingEnd, place, what)
        });
    }

    /// Notes where the first packets of a stream are missing: its numbers do not begin with 0, and it
    /// begins later than others.
    fn mark_missing_begins(&mut self) {
        let begin = self.packets.iter().map(|packet| packet.range.begin).min();
        let together = begin.map(|begin| begin + ROTATION);
        for stream in &self.streams {
            let first = stream.packets.start as usize;
            let is_numbered = self.raw_packets[first].sequence.unwrap_or(0) > 0;
            let packet = &mut self.packets[first];
            if is_numbered && Some(packet.range.begin) > together {
                packet.lost_packets = packet.lost_packets.max(1);
            }
        }
    }

    /// Where the end that a packet states matters to others, it is that of its last event, if that is later (LTTng
    /// before 2.11 closed packets too early): at the end of a stream, and where what follows tells of losses, which lie
    /// behind that event.
    fn find_late_events(&mut self) {
        let has_event =
            |packet: &&Packet| self.raw_packets[packet.id.index()].first_event.is_some();
        let is_asked = |packet: &&Packet| {
            if packet.beyond == Nanoseconds::ZERO || !has_event(packet) {
                return false;
            }
            let behind =
                packet.id.index() + 1..self.streams[packet.stream.index()].packets.end as usize;
            let behind = &self.packets[behind];
            let next = behind.iter().position(|next| has_event(&next));
            let until = next.map_or(behind.len(), |next| next + 1);
            next.is_none() || behind[..until].iter().any(Packet::lacks_events_before)
        };
        let asked = self.packets.iter().filter(is_asked);
        let asked: Vec<PacketId> = asked.map(|packet| packet.id).collect();
        let decoder = CtfDecoder::new(self, &Projection::every_event(self.class_count()));
        let last_event = |id: &PacketId| {
            let mut last = Timestamp::MIN;
            decoder.decode(*id, &mut |event: &Event<'_>| last = last.max(event.at));
            last
        };
        let ends: Vec<Timestamp> = asked.iter().map(last_event).collect();
        drop(decoder);
        for (id, last) in asked.into_iter().zip(ends) {
            let packet = &mut self.packets[id.index()];
            if last <= packet.range.end {
                continue;
            }
            packet.range = TimeRange::new(packet.range.begin, last);
            let end = self.streams[packet.stream.index()].packets.end as usize;
            let behind = &mut self.packets[id.index() + 1..end];
            for next in behind.iter_mut().take_while(|next| next.range.begin < last) {
                next.range = TimeRange::new(last, next.range.end);
            }
        }
    }

    /// Adds the streams of which no packet is left, as far as their files' names tell the processor:
    /// `NAME_N` is of processor N where this holds for all other files, as it does for LTTng's.
    fn add_empty_streams(&mut self, files: &[usize]) {
        let number = |name: &str| name.rsplit_once('_')?.1.parse().ok().map(CpuId);
        let tells_processor =
            |stream: &Stream| stream.cpu.is_some() && number(&stream.name) == stream.cpu;
        let begin = self.packets.iter().map(|packet| packet.range.begin).min();
        if !self.streams.iter().all(tells_processor) {
            return;
        }
        let end = self.packets.len() as u32;
        let names = files.iter().map(|&file| &self.files[file].name);
        let empty = names.filter_map(|name| {
            Some(Stream {
                name: name.clone(),
                cpu: Some(number(name)?),
                packets: end..end,
                buffer: 0,
                cut_off_at: begin,
            })
        });
        self.streams.extend(empty);
    }

    /// Compiling every class is worth it only where a packet needs it, and only once.
    fn decoder_in<'trace, 'cell>(
        &'trace self,
        cell: &'cell OnceLock<CtfDecoder<'trace>>,
    ) -> &'cell CtfDecoder<'trace> {
        let every = || Projection::every_event(self.class_count());
        cell.get_or_init(|| CtfDecoder::new(self, &every()))
    }

    /// Finds the times that packets of a stream do not state: those of their events. A packet without a begin goes
    /// on with the clock where the one before it ended.
    fn find_times<'trace>(
        &'trace self,
        packets: &mut [RawPacket],
        decoder: &OnceLock<CtfDecoder<'trace>>,
    ) {
        let mut clock = 0;
        let next_events = next_events(packets);
        for position in 0..packets.len() {
            let next = next_events[position];
            let packet = &mut packets[position];
            let file = self.files[packet.file].get();
            if packet.begin.is_none() {
                packet.begin = Some(self.plans.begin_behind(clock, packet, file));
            }
            if !packet.states_end {
                packet.end = self.decoder_in(decoder).last_clock(packet, next, file);
            }
            clock = packet.end.or(packet.begin).unwrap_or(clock);
        }
    }
}

impl Source for CtfTrace {
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
        Box::new(CtfDecoder::new(self, projection))
    }

    fn has_clock(&self, packet: PacketId) -> bool {
        let raw = self.raw_packets.get(packet.index());
        raw.is_some_and(|raw| self.layout.streams[raw.stream_class].clock.is_some())
    }

    fn release(&self, packets: Range<PacketId>) {
        let packets = self
            .raw_packets
            .get(packets.start.index()..packets.end.index());
        for of_file in packets
            .unwrap_or_default()
            .chunk_by(|a, b| a.file == b.file)
        {
            let begins = of_file.iter().map(|packet| packet.offset);
            let ends = of_file.iter().map(|packet| packet.offset + packet.size);
            if let (Some(begin), Some(end)) = (begins.min(), ends.max()) {
                self.files[of_file[0].file]
                    .bytes
                    .release(begin as usize..end as usize);
            }
        }
    }

    fn visit(&self, packet: PacketId, position: u64, visitor: &mut dyn FieldVisitor) {
        // Damage cannot occur here: the decoder has gone through this event before.
        let _ = self.visit_event(packet, position, visitor);
    }
}

impl CtfTrace {
    fn visit_event(
        &self,
        packet: PacketId,
        position: u64,
        visitor: &mut dyn FieldVisitor,
    ) -> Option<()> {
        let (raw, file) = self.raw_packet(packet)?;
        let stream = &self.layout.streams[raw.stream_class];
        let mut machine = self.plans.enter(raw, file.get())?;
        machine.at = 0;
        if let Some(header) = &self.layout.packet_header {
            walk::members(&mut machine, header, &mut Decoding, |_| true).ok()?;
        }
        if let Some(context) = &stream.packet_context {
            visitor.scope(Scope::PacketContext);
            walk::members(&mut machine, context, visitor, is_bookkeeping).ok()?;
            visitor.end_scope();
        }
        machine.at = position;
        let id = self.plans.event_id(raw.stream_class, &mut machine)?;
        let event = stream.events.iter().find(|event| event.id == id)?;
        for (scope, structure) in scopes(stream, event) {
            visitor.scope(scope);
            walk::members(&mut machine, structure, visitor, |_| false).ok()?;
            visitor.end_scope();
        }
        Some(())
    }
}

fn one_behind_the_other<Thing>(lists: Vec<Vec<Thing>>, count: usize) -> Vec<Thing> {
    let mut lists = lists.into_iter();
    let mut all = lists.next().unwrap_or_default();
    all.reserve_exact(count - all.len());
    for mut list in lists {
        all.append(&mut list);
    }
    all
}

/// Of each packet of a stream: the clock at the first event behind it.
fn next_events(packets: &[RawPacket]) -> Vec<Option<u64>> {
    let mut next = None;
    let mut events: Vec<Option<u64>> = (packets.iter().rev())
        .map(|packet| {
            let own = packet.first_event.or(next);
            std::mem::replace(&mut next, own)
        })
        .collect();
    events.reverse();
    events
}

/// What packets of several files of one stream have in common, besides its class.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum StreamKey<'trace> {
    /// The stream's number.
    Instance(u64),
    /// The file's name without the number that LTTng appends where it rotates files, of a processor.
    Named(&'trace str, u64),
}

/// Which stream a file belongs to, by its first packet. Before LTTng 2.8 no packet names its stream, only its processor,
/// as the file's name does: `CHANNEL_PROCESSOR`, or `CHANNEL_PROCESSOR_NUMBER`.
fn stream_key<'trace>(
    first: &RawPacket,
    file: &'trace NamedBytes,
    is_by_lttng: bool,
) -> Option<StreamKey<'trace>> {
    if let Some(instance) = first.stream_instance {
        return Some(StreamKey::Instance(instance));
    }
    let cpu = first.cpu.filter(|_| is_by_lttng)?;
    let name = file.name.rsplit('/').next()?;
    let (stem, number) = name.rsplit_once('_')?;
    let ends_in_processor = |name: &str| {
        let number = name.rsplit_once('_').map(|(_, number)| number.parse());
        number == Some(Ok(cpu))
    };
    let is_rotated = number.parse::<u64>().is_ok() && ends_in_processor(stem);
    Some(StreamKey::Named(if is_rotated { stem } else { name }, cpu))
}

/// The streams of a trace: packets that name the same stream of the same class belong together,
/// whatever the file; those of files that name no stream stay apart.
fn join_rotated_files(
    files: Vec<Vec<RawPacket>>,
    names: &[NamedBytes],
    is_by_lttng: bool,
) -> Vec<Vec<RawPacket>> {
    let mut streams: Vec<Vec<RawPacket>> = Vec::new();
    let mut named: BTreeMap<(usize, StreamKey<'_>), usize> = BTreeMap::new();
    for packets in files {
        let Some(first) = packets.first() else {
            continue;
        };
        let key = stream_key(first, &names[first.file], is_by_lttng);
        let place = key.map_or(streams.len(), |key| {
            let key = (first.stream_class, key);
            *named.entry(key).or_insert(streams.len())
        });
        match streams.get_mut(place) {
            Some(stream) => stream.extend(packets),
            None => streams.push(packets),
        }
    }
    for stream in &mut streams {
        let several = stream.iter().any(|packet| packet.file != stream[0].file);
        if several && stream.iter().all(|packet| packet.first_clock().is_some()) {
            stream.sort_by_key(|packet| (packet.first_clock(), packet.sequence));
        }
    }
    streams
}

fn clock_scales(layout: &TraceLayout) -> Vec<ClockScale> {
    let none = ClockScale {
        offset_ns: 0,
        frequency: 1_000_000_000,
    };
    let scale = |clock: usize| {
        let clock = layout.clocks.get(clock)?;
        let sub_second = ClockScale {
            offset_ns: 0,
            frequency: clock.frequency,
        };
        let offset = clock.offset_seconds.wrapping_mul(1_000_000_000);
        Some(ClockScale {
            offset_ns: offset.wrapping_add(sub_second.time(clock.offset_cycles).ns()),
            frequency: clock.frequency,
        })
    };
    let streams = layout.streams.iter();
    streams
        .map(|stream| stream.clock.and_then(scale).unwrap_or(none))
        .collect()
}

fn schema_of(layout: &TraceLayout) -> Schema {
    let text = |value: &EnvironmentValue| match value {
        EnvironmentValue::Integer(number) => number.to_string(),
        EnvironmentValue::Text(text) => text.clone(),
    };
    let environment: Vec<(String, String)> = layout
        .environment
        .iter()
        .map(|(key, value)| (key.clone(), text(value)))
        .collect();
    let get = |wanted: &str| {
        let entry = environment.iter().find(|(key, _)| key == wanted);
        entry.map_or_else(String::new, |(_, value)| value.clone())
    };
    let events = layout.streams.iter().flat_map(|stream| {
        stream.events.iter().map(|event| EventClass {
            name: event.name.clone(),
            fields: fields(stream, event),
        })
    });
    let tracer_version: Vec<String> = ["tracer_major", "tracer_minor", "tracer_patchlevel"]
        .map(get)
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    Schema {
        domain: match get("domain").as_str() {
            "kernel" => TracerDomain::Kernel,
            "ust" => TracerDomain::User,
            _ => TracerDomain::Unknown,
        },
        tracer: get("tracer_name"),
        tracer_version: tracer_version.join("."),
        host: get("hostname"),
        boot: hexadecimal(layout.clocks.iter().find_map(|clock| clock.uuid)),
        session: hexadecimal(layout.uuid),
        threads_of_32_bit: Vec::new(),
        event_classes: events.collect(),
        environment,
    }
}

/// Empty for no UUID.
fn hexadecimal(uuid: Option<[u8; 16]>) -> String {
    (uuid.iter().flatten())
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
