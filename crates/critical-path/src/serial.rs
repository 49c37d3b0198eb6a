//! The path in the output contract's form: JSON keys and integers of nanoseconds.
//!
//! `{"tid","begin_ns","end_ns","segments":[{"begin_ns","end_ns","tid","comm","state"}],`
//! `"links":[{"ns","from_tid","to_tid"}],"summary":{"RUNNING":ns}}`, with more keys behind,
//! and hosts where a path lies on several.

use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::{Correction, CriticalPath, Link, Links, Segment, Segments};

impl Serialize for CriticalPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let summary: BTreeMap<&str, u64> = (self.summary().into_iter())
            .map(|(state, length)| (state.name(), length.get()))
            .collect();
        let mut path = serializer.serialize_struct("CriticalPath", 7)?;
        path.serialize_field("tid", &self.thread)?;
        path.serialize_field("begin_ns", &self.window.begin)?;
        path.serialize_field("end_ns", &self.window.end)?;
        path.serialize_field("segments", &self.segments)?;
        path.serialize_field("links", &self.links)?;
        path.serialize_field("summary", &summary)?;
        if !self.corrections.is_empty() {
            path.serialize_field("corrections", &self.corrections)?;
        }
        path.end()
    }
}

impl Serialize for Segments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl Serialize for Links {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl Serialize for Segment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut segment = serializer.serialize_struct("Segment", 10)?;
        segment.serialize_field("begin_ns", &self.range.begin)?;
        segment.serialize_field("end_ns", &self.range.end)?;
        segment.serialize_field("tid", &self.thread)?;
        segment.serialize_field("comm", &*self.comm)?;
        segment.serialize_field("state", self.state.name())?;
        segment.serialize_field("depth", &self.depth)?;
        segment.serialize_field("detail", &*self.detail)?;
        if let Some(host) = &self.host_name {
            segment.serialize_field("host", &**host)?;
            segment.serialize_field("recorded_begin_ns", &self.recorded.begin)?;
            segment.serialize_field("recorded_end_ns", &self.recorded.end)?;
        }
        segment.end()
    }
}

impl Serialize for Link {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut link = serializer.serialize_struct("Link", 7)?;
        link.serialize_field("ns", &self.at)?;
        link.serialize_field("from_tid", &self.from)?;
        link.serialize_field("to_tid", &self.to)?;
        link.serialize_field("kind", self.kind.name())?;
        link.serialize_field("call", &self.call.as_deref())?;
        if let Some([from, to]) = &self.host_names {
            link.serialize_field("from_host", &**from)?;
            link.serialize_field("to_host", &**to)?;
        }
        link.end()
    }
}

impl Serialize for Correction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut correction = serializer.serialize_struct("Correction", 3)?;
        correction.serialize_field("host", &*self.host)?;
        correction.serialize_field("ahead_ns", &self.ahead_ns)?;
        correction.serialize_field("uncertainty_ns", &self.uncertainty)?;
        correction.end()
    }
}
