//! Metadata: the description of a trace's layout, in TSDL (CTF 1.8) or JSON (CTF 2).
//!
//! Both languages become drafts, which keep references by name; lowering them resolves every
//! reference and gives the layout. Nothing here reads a stream. Work and memory are bounded by the
//! size of the text: depth, nodes and comparisons all have limits.

mod draft;
mod json;
mod lower;
mod packets;
mod reference;
mod tsdl;

use std::borrow::Cow;

use slowpath_model::{Diagnostic, DiagnosticCode, Place};
use slowpath_source::NamedBytes;

use crate::layout::TraceLayout;

/// What a metadata file says.
#[derive(Clone, Debug)]
pub struct Metadata {
    /// The trace's layout, every reference resolved.
    pub layout: TraceLayout,
    /// What was left out or looked odd.
    pub diagnostics: Vec<Diagnostic>,
}

/// Understands a metadata file: TSDL or CTF 2 JSON, plain text or in packets of either byte order.
///
/// # Errors
///
/// [`DiagnosticCode::InvalidMetadata`] with the line and column in the text (for metadata in
/// packets: in the text that the packets make up), or the byte where a packet is damaged.
pub fn parse(file: &NamedBytes) -> Result<Metadata, Diagnostic> {
    let text = text(file)?;
    let text = &*text;
    let mut notes = Notes::default();
    let read = match json::is_in(text) {
        true => json::read(text, &mut notes),
        false => tsdl::read(text, &mut notes),
    };
    let layout = read.and_then(|trace| lower::lower(trace, &mut notes));
    let place = |at| Place {
        file: file.name.clone(),
        line: Some(line_and_column(text, at)),
        ..Place::default()
    };
    match layout {
        Ok(layout) => Ok(Metadata {
            layout,
            diagnostics: notes
                .kept
                .into_iter()
                .map(|Fault { at, message }| {
                    Diagnostic::new(DiagnosticCode::IgnoredMetadata, place(at), message)
                })
                .collect(),
        }),
        Err(fault) => {
            let mut diagnostic = invalid(file, fault.message);
            diagnostic.place = place(fault.at);
            Err(diagnostic)
        }
    }
}

/// The text of a metadata file, which may be in packets.
///
/// # Errors
///
/// [`DiagnosticCode::InvalidMetadata`] with the byte where a packet is damaged.
pub fn text(file: &NamedBytes) -> Result<Cow<'_, [u8]>, Diagnostic> {
    let bytes = file.get();
    if !packets::are_in(bytes) {
        return Ok(Cow::Borrowed(bytes));
    }
    let joined = packets::join(bytes).map_err(|fault| {
        let mut diagnostic = invalid(file, fault.message);
        diagnostic.place.byte = Some(fault.at as u64);
        diagnostic
    })?;
    Ok(Cow::Owned(joined))
}

fn invalid(file: &NamedBytes, message: String) -> Diagnostic {
    let place = Place {
        file: file.name.clone(),
        ..Place::default()
    };
    Diagnostic::new(DiagnosticCode::InvalidMetadata, place, message)
}

/// Something wrong at a byte of the text.
#[derive(Debug)]
struct Fault {
    at: usize,
    message: String,
}

impl Fault {
    fn new(at: usize, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
        }
    }
}

/// What was left out, with its place; a damaged text cannot make it long.
#[derive(Debug, Default)]
struct Notes {
    kept: Vec<Fault>,
}

impl Notes {
    const MOST: usize = 50;

    fn add(&mut self, at: usize, message: impl FnOnce() -> String) {
        if self.kept.len() < Self::MOST {
            self.kept.push(Fault::new(at, message()));
        }
    }
}

/// Line and column, both from 1, of a byte of the text.
fn line_and_column(text: &[u8], at: usize) -> (u32, u32) {
    let before = &text[..at.min(text.len())];
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    let begin = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let clamp = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    (clamp(line), clamp(before.len() - begin + 1))
}

/// Text of the trace as it may be shown in a message: short, one line.
fn excerpt(text: &[u8]) -> String {
    const MOST: usize = 40;
    let begin = String::from_utf8_lossy(&text[..text.len().min(MOST)]);
    let mut shown = String::with_capacity(begin.len());
    for character in begin.chars() {
        match character.is_control() {
            true => shown.extend(character.escape_debug()),
            false => shown.push(character),
        }
    }
    let dots = if text.len() > MOST { "…" } else { "" };
    format!("`{shown}{dots}`")
}
