//! A trace of which more is known than its reader told.
//!
//! Adds nothing to its events and packets: those that are read are the reader's.

use std::ops::Range;

use slowpath_model::{Diagnostic, FieldVisitor, PacketId, Projection, Schema, StreamId};
use slowpath_source::{Decoder, Packet, Source, Stream};

/// What is known better; the rest is as its source tells it.
pub(crate) struct Retold {
    pub(crate) source: Box<dyn Source>,
    pub(crate) schema: Option<Schema>,
    pub(crate) streams: Option<Vec<Stream>>,
    pub(crate) diagnostics: Option<Vec<Diagnostic>>,
}

impl Source for Retold {
    fn schema(&self) -> &Schema {
        (self.schema.as_ref()).unwrap_or_else(|| self.source.schema())
    }

    fn streams(&self) -> &[Stream] {
        (self.streams.as_deref()).unwrap_or_else(|| self.source.streams())
    }

    fn packets(&self) -> &[Packet] {
        self.source.packets()
    }

    fn diagnostics(&self) -> &[Diagnostic] {
        (self.diagnostics.as_deref()).unwrap_or_else(|| self.source.diagnostics())
    }

    fn decoder<'source>(&'source self, projection: &Projection) -> Box<dyn Decoder + 'source> {
        self.source.decoder(projection)
    }

    fn visit(&self, packet: PacketId, position: u64, visitor: &mut dyn FieldVisitor) {
        self.source.visit(packet, position, visitor);
    }

    fn traces(&self) -> Vec<StreamId> {
        self.source.traces()
    }

    fn has_clock(&self, packet: PacketId) -> bool {
        self.source.has_clock(packet)
    }

    fn release(&self, packets: Range<PacketId>) {
        self.source.release(packets);
    }
}
