//! Cuts a trace into chunks: runs of whole packets of one stream and processor with about equal bytes, none of
//! which begins before the one before it ends.
//!
//! Hybrid packet-based partitioning (Reumont-Locke et al. 2019, §4.1.3). Chunks come in the order
//! of their begin, which is the order in which their states are merged.

use std::ops::Range;

use slowpath_model::{CpuId, PacketId, StreamId, TimeRange, Timestamp};
use slowpath_source::{Source, Stream};

/// A run of whole packets of one stream and processor, in which time does not go back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The stream.
    pub stream: StreamId,
    /// The processor whose events the stream holds, where known.
    pub cpu: Option<CpuId>,
    /// Positions of its packets in `Source::packets`.
    pub packets: Range<u32>,
    /// From the begin of its first packet to the end of its last.
    pub range: TimeRange,
    /// Bytes of its packets.
    pub bytes: u64,
    /// From when on what follows it in its stream is missing, be it only up to the next packet. It has no
    /// packets where none is left, or none that was asked for.
    pub cut_off_at: Option<Timestamp>,
}

impl Chunk {
    /// The processor; a number of its stream's own where it is not known.
    pub fn processor(&self) -> CpuId {
        self.cpu.unwrap_or(CpuId(self.stream.0))
    }

    /// Ids of its packets, in order.
    pub fn packet_ids(&self) -> impl Iterator<Item = PacketId> + use<> {
        self.packets.clone().map(PacketId)
    }
}

/// Cuts the packets of `source` that touch `range` into chunks of at least `target_bytes` (one
/// packet at least), in the order of their begin, then of their stream.
pub fn chunks(source: &dyn Source, target_bytes: u64, range: TimeRange) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::new();
    for (stream, position) in source.streams().iter().zip(0..) {
        let mut open: Option<Chunk> = None;
        for packet in &source.packets()[stream.packets.start as usize..stream.packets.end as usize]
        {
            let latest = packet.range.end + packet.beyond;
            let touches = packet.range.begin < range.end && latest >= range.begin;
            if !touches {
                continue;
            }
            let cpu = packet.cpu.or(stream.cpu);
            let goes_on = |chunk: &Chunk| {
                let follows = chunk.packets.end == packet.id.0 && chunk.cpu == cpu;
                follows && chunk.range.end <= packet.range.begin
            };
            match &mut open {
                Some(chunk) if chunk.bytes < target_bytes && goes_on(chunk) => {
                    chunk.packets.end += 1;
                    chunk.range = chunk.range.hull(packet.range);
                    chunk.bytes += packet.size;
                }
                _ => {
                    chunks.extend(open.take());
                    open = Some(Chunk {
                        stream: StreamId(position),
                        cpu,
                        packets: packet.id.0..packet.id.0 + 1,
                        range: packet.range,
                        bytes: packet.size,
                        cut_off_at: None,
                    });
                }
            }
        }
        if let Some(at) = stream.cut_off_at.filter(|at| *at < range.end) {
            let chunk = open.get_or_insert(Chunk {
                stream: StreamId(position),
                cpu: stream.cpu,
                packets: stream.packets.end..stream.packets.end,
                range: TimeRange::new(at, at),
                bytes: 0,
                cut_off_at: None,
            });
            chunk.cut_off_at = Some(at).filter(|_| chunk.packets.end == stream.packets.end);
        } else if lost_behind(source, stream, open.as_ref(), range) {
            let chunk = open.get_or_insert(Chunk {
                stream: StreamId(position),
                cpu: stream.cpu,
                packets: stream.packets.start..stream.packets.start,
                range: TimeRange::new(range.end, range.end),
                bytes: 0,
                cut_off_at: None,
            });
            chunk.cut_off_at = Some(range.end);
        }
        chunks.extend(open);
    }
    chunks.sort_by_key(|chunk| (chunk.range.begin, chunk.stream));
    chunks
}

/// Whether events are missing between the end of `range` and the last packet of a stream that is read, or
/// before all of them: the packet that says so begins behind the range.
fn lost_behind(
    source: &dyn Source,
    stream: &Stream,
    read: Option<&Chunk>,
    range: TimeRange,
) -> bool {
    let next = read.map_or(stream.packets.start, |chunk| chunk.packets.end);
    let next = stream.packets.contains(&next).then_some(next as usize);
    let next = next.and_then(|next| source.packets().get(next));
    next.is_some_and(|packet| packet.range.begin >= range.end && packet.lacks_events_before())
}
