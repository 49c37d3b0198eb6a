//! A trace of which events of some classes are not read.

use std::ops::Range;

use slowpath_model::{Diagnostic, EventClassId, FieldVisitor, PacketId, Projection, Schema};

use crate::{Decoder, Packet, Source, Stream};

/// Reads all of a source but events of some classes. These still stand in its schema.
pub struct Without {
    source: Box<dyn Source>,
    left_out: Vec<EventClassId>,
}

impl Without {
    /// Leaves events of `left_out` out of `source`.
    pub fn new(source: Box<dyn Source>, left_out: Vec<EventClassId>) -> Self {
        Self { source, left_out }
    }
}

impl Source for Without {
    fn schema(&self) -> &Schema {
        self.source.schema()
    }

    fn streams(&self) -> &[Stream] {
        self.source.streams()
    }

    fn packets(&self) -> &[Packet] {
        self.source.packets()
    }

    fn diagnostics(&self) -> &[Diagnostic] {
        self.source.diagnostics()
    }

    fn decoder<'source>(&'source self, projection: &Projection) -> Box<dyn Decoder + 'source> {
        let mut projection = projection.clone();
        for class in &self.left_out {
            projection.exclude(*class);
        }
        self.source.decoder(&projection)
    }

    fn visit(&self, packet: PacketId, position: u64, visitor: &mut dyn FieldVisitor) {
        self.source.visit(packet, position, visitor);
    }

    fn has_clock(&self, packet: PacketId) -> bool {
        self.source.has_clock(packet)
    }

    fn release(&self, packets: Range<PacketId>) {
        self.source.release(packets);
    }
}
