//! `trace.dat` version 7: sections, and options that say where they are.
//!
//! Lists of options are chained by offsets that may point anywhere, so each place is followed once.

use std::borrow::Cow;

use slowpath_model::{CpuId, DiagnosticCode};

use super::options::{BUFFER, DONE};
use super::parts::Parts;
use super::{Buffer, Reading};
use crate::byte_order::{Cursor, Ended};
use crate::cpu_data::{Chunk, Compression, Storage};
use crate::error::ReadError;

/// Flag of a section: its content is compressed.
const COMPRESSED: u16 = 1;

const OPTIONS: u16 = 0;
const HEADER_INFO: u16 = 16;
const FTRACE_EVENTS: u16 = 17;
const EVENT_FORMATS: u16 = 18;
const CMDLINES: u16 = 21;

impl<'file> Reading<'file> {
    /// Reads the rest of a version 7 file.
    pub(super) fn read_sections(&mut self, cursor: &mut Cursor<'_>) -> Result<(), ReadError> {
        let name = self.file.name.clone();
        let damaged = |what| ReadError::damaged(&name, what);
        let method = cursor.text().map_err(damaged("the compression's name"))?;
        cursor
            .text()
            .map_err(damaged("the compression's version"))?;
        self.compression = Compression::by_name(&method);
        if self.compression.is_none() && !matches!(method.as_str(), "" | "none") {
            return Err(ReadError::UnknownCompression { file: name, method });
        }
        let first = cursor.u64().map_err(damaged("the place of the options"))?;
        let mut sections = Vec::new();
        let mut next = first;
        let mut followed = Vec::new();
        while next != 0 && !followed.contains(&next) {
            followed.push(next);
            match self.read_options_section(next, &mut sections) {
                Ok(following) => next = following,
                Err(ended) if next == first && sections.is_empty() && self.buffers.is_empty() => {
                    return Err(damaged("the list of options")(ended));
                }
                Err(_) => {
                    self.note(
                        DiagnosticCode::InvalidFile,
                        (next as usize).min(self.bytes.len()),
                        "the rest of the options is missing or damaged",
                    );
                    break;
                }
            }
        }
        for (id, at) in sections {
            let read = match id {
                HEADER_INFO => Parts::read_headers,
                FTRACE_EVENTS => Parts::read_ftrace_formats,
                EVENT_FORMATS => Parts::read_event_formats,
                CMDLINES => Parts::read_cmdlines,
                _ => continue,
            };
            let content = self.section(at, id).map_err(damaged("a section"));
            let whole = content.and_then(|content| {
                let mut cursor = Cursor::new(&content, 0, self.order);
                read(&mut self.parts, &mut cursor).map_err(damaged("the end of a section"))
            });
            match whole {
                Err(error) if id == HEADER_INFO => return Err(error),
                Err(_) => {
                    let message = format!("section {id} is missing or damaged");
                    self.note(
                        DiagnosticCode::InvalidFile,
                        at.min(self.bytes.len() as u64) as usize,
                        message,
                    );
                }
                Ok(()) => {}
            }
        }
        Ok(())
    }

    /// The content of the section at `at`, expanded where it is compressed.
    fn section(&self, at: u64, expected_id: u16) -> Result<Cow<'file, [u8]>, Ended> {
        let (content, whole) = self.section_so_far(at, expected_id)?;
        let ended = Ended {
            at: usize::try_from(at).unwrap_or(usize::MAX),
        };
        if whole { Ok(content) } else { Err(ended) }
    }

    /// What the file has of the content of the section at `at`, and whether that is all.
    fn section_so_far(&self, at: u64, expected_id: u16) -> Result<(Cow<'file, [u8]>, bool), Ended> {
        let ended = Ended {
            at: usize::try_from(at).unwrap_or(usize::MAX),
        };
        let mut cursor = Cursor::new(self.bytes, ended.at, self.order);
        let (id, flags) = (cursor.u16()?, cursor.u16()?);
        cursor.u32()?; // where its description stands among the strings
        let size = cursor.u64()?;
        if id != expected_id {
            return Err(ended);
        }
        match self.compression {
            Some(method) if flags & COMPRESSED != 0 => {
                let (compressed, expanded) = (cursor.u32()?, cursor.u32()?);
                let (content, _) = cursor.take_up_to(compressed.into());
                let (content, whole) = method.expand(content, expanded as usize);
                Ok((Cow::Owned(content), whole))
            }
            _ => {
                let (content, whole) = cursor.take_up_to(size);
                Ok((Cow::Borrowed(content), whole))
            }
        }
    }

    /// Reads one list of options; collects where sections are, returns where the next list is.
    fn read_options_section(
        &mut self,
        at: u64,
        sections: &mut Vec<(u16, u64)>,
    ) -> Result<u64, Ended> {
        // A recording that lacks its last bytes lacks a part of the last list: each option counts.
        let (content, _) = self.section_so_far(at, OPTIONS)?;
        let mut cursor = Cursor::new(&content, 0, self.order);
        loop {
            let id = cursor.u16()?;
            let size = cursor.u32()?;
            let (data, whole) = cursor.take_up_to(size.into());
            let mut option = Cursor::new(data, 0, self.order);
            match id {
                _ if !whole && id != BUFFER => return Err(Ended { at: at as usize }),
                DONE => return option.u64(),
                HEADER_INFO | FTRACE_EVENTS | EVENT_FORMATS | CMDLINES => {
                    sections.push((id, option.u64()?));
                }
                BUFFER => {
                    if self.read_buffer(&mut option).is_err() {
                        self.note(
                            DiagnosticCode::InvalidFile,
                            at as usize,
                            "the description of a buffer is cut",
                        );
                    }
                }
                _ => self.options.read(id, data, self.order),
            }
        }
    }

    /// One buffer: its section, name, clock and page size, and where each processor's pages are.
    fn read_buffer(&mut self, option: &mut Cursor<'_>) -> Result<(), Ended> {
        let section = option.u64()?;
        let mut buffer = Buffer {
            name: option.text()?,
            clock: option.text()?,
            ..Buffer::default()
        };
        buffer.page_size = Some(option.u32()? as usize);
        let count = option.u32()?;
        let compressed = self.is_compressed(section);
        let mut read_cpus = || {
            for _ in 0..count {
                let (cpu, at, size) = (option.u32()?, option.u64()?, option.u64()?);
                let storage = self.storage(compressed, at, size);
                buffer.cpus.push((CpuId(cpu), storage));
            }
            Ok(())
        };
        let whole = read_cpus();
        self.buffers.push(buffer);
        whole
    }

    fn is_compressed(&self, section: u64) -> Option<Compression> {
        let at = usize::try_from(section).ok()?;
        let mut cursor = Cursor::new(self.bytes, at, self.order);
        let flags = cursor.u16().and_then(|_| cursor.u16()).ok()?;
        self.compression.filter(|_| flags & COMPRESSED != 0)
    }

    fn storage(&mut self, compressed: Option<Compression>, at: u64, size: u64) -> Storage {
        let mut range = self.available(at, size);
        if !self.claim(range.len(), range.start) {
            range.end = range.start;
        }
        match compressed {
            None => Storage::Plain(range),
            Some(method) if range.is_empty() => Storage::Chunks(method, Vec::new()),
            Some(method) => {
                // The stated size leaves out the word that counts the chunks.
                let end = (range.end + 4).min(self.bytes.len());
                let mut cursor = Cursor::new(&self.bytes[..end], range.start, self.order);
                let (chunks, whole) = Chunk::list(&mut cursor);
                if !whole {
                    let message = "the list of compressed chunks is cut or damaged from here on";
                    self.note(DiagnosticCode::TruncatedPacket, cursor.position(), message);
                }
                Storage::Chunks(method, chunks)
            }
        }
    }
}
