//! The path in the output contract's form: JSON keys and integers of nanoseconds.
//!
//! `{"tid","begin_ns","end_ns","segments":[{"begin_ns","end_ns","tid","comm","state"}],`
//! `"links":[{"ns","from_tid","to_tid"}],"summary":{"RUNNING":ns}}`, with more keys behind.

use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::{CriticalPath, Link, Segment};

impl Serialize for CriticalPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let summary: BTreeMap<&str, u64> = (self.summary().into_iter())
            .map(|(state, length)| (state.name(), length.get()))
            .collect();
        let mut path = serializer.serialize_struct("CriticalPath", 6)?;
        path.serialize_field("tid", &self.thread)?;
        path.serialize_field("begin_ns", &self.window.begin)?;
        path.serialize_field("end_ns", &self.window.end)?;
        path.serialize_field("segments", &self.segments)?;
        path.serialize_field("links", &self.links)?;
        path.serialize_field("summary", &summary)?;
        path.end()
    }
}

impl Serialize for Segment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut segment = serializer.serialize_struct("Segment", 7)?;
        segment.serialize_field("begin_ns", &self.range.begin)?;
        segment.serialize_field("end_ns", &self.range.end)?;
        segment.serialize_field("tid", &self.thread)?;
        segment.serialize_field("comm", &*self.comm)?;
        segment.serialize_field("state", self.state.name())?;
        segment.serialize_field("depth", &self.depth)?;
        segment.serialize_field("detail", &*self.detail)?;
        segment.end()
    }
}

impl Serialize for Link {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut link = serializer.serialize_struct("Link", 5)?;
        link.serialize_field("ns", &self.at)?;
        link.serialize_field("from_tid", &self.from)?;
        link.serialize_field("to_tid", &self.to)?;
        link.serialize_field("kind", self.kind.name())?;
        link.serialize_field("call", &self.call.as_deref())?;
        link.end()
    }
}
