//! What both forms of recording come down to, before anything is decoded.
//!
//! `trace_dat` and `folder` fill this in; `trace` makes a readable trace out of it.

use slowpath_model::{CpuId, Diagnostic, ProcessId, TimeRange};

use crate::byte_order::ByteOrder;
use crate::clock::Clock;
use crate::cpu_data::CpuData;
use crate::folder::EventFormatFile;
use crate::saved::Losses;

/// A recording, taken apart but not yet understood.
pub(crate) struct Recording {
    /// What messages put before the names of its texts.
    pub(crate) texts_in: String,
    pub(crate) order: ByteOrder,
    /// Text of `events/header_page`.
    pub(crate) header_page: String,
    /// Text of `events/header_event`, empty where it was not kept.
    pub(crate) header_event: String,
    pub(crate) formats: Vec<EventFormatFile>,
    /// Text of `saved_cmdlines`.
    pub(crate) saved_cmdlines: String,
    /// Text of `saved_tgids`.
    pub(crate) saved_tgids: String,
    /// Processes of 32-bit programs on a 64-bit kernel, as far as they are known.
    pub(crate) processes_of_32_bit: Vec<ProcessId>,
    pub(crate) streams: Vec<RecordedStream>,
    /// What was overwritten before the first pages was meant to be.
    pub(crate) is_snapshot: bool,
    /// When it was recorded, with the clock offset applied: what lies outside is damaged.
    pub(crate) recorded: TimeRange,
    pub(crate) host: String,
    pub(crate) tracer_version: String,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// The pages of one processor in one buffer.
pub(crate) struct RecordedStream {
    pub(crate) name: String,
    pub(crate) cpu: CpuId,
    /// Which buffer, of those that were filled side by side.
    pub(crate) buffer: u32,
    pub(crate) data: CpuData,
    /// Where it differs from what `header_page` says.
    pub(crate) page_size: Option<usize>,
    /// It had more pages when it was recorded; none may be left.
    pub(crate) is_short: bool,
    pub(crate) clock: Clock,
    /// What the tracer says about losses.
    pub(crate) losses: Losses,
}
