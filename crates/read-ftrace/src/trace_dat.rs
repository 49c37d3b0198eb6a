//! Reads `trace.dat`, the file of trace-cmd, into a recording.
//!
//! Version 6 is one run of parts in a fixed order; version 7 is sections that a list of options points
//! to, some of them compressed. Both share the parts themselves. Sources: trace-cmd.dat.v6(5) and
//! trace-cmd.dat.v7(5), and files made by trace-cmd 3.1.6; see docs/formats/ftrace.md.

mod options;
mod parts;
mod sections;
mod sequence;

use slowpath_model::{CpuId, Diagnostic, DiagnosticCode, Place, TimeRange};
use slowpath_source::NamedBytes;

use crate::byte_order::{ByteOrder, Cursor};
use crate::clock::Clock;
use crate::cpu_data::{Compression, CpuData, Storage};
use crate::error::ReadError;
use crate::instances::recorded_twice;
use crate::recording::{RecordedStream, Recording};
use crate::trace::{FtraceTrace, ReadOptions};
use options::Options;
use parts::Parts;

const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// A file under way: what its beginning says and what was found so far.
struct Reading<'file> {
    file: &'file NamedBytes,
    bytes: &'file [u8],
    order: ByteOrder,
    /// How sections and pages are compressed, where they are.
    compression: Option<Compression>,
    parts: Parts,
    options: Options,
    buffers: Vec<Buffer>,
    /// Bytes of the file that no processor's pages have taken yet.
    unclaimed: usize,
    diagnostics: Vec<Diagnostic>,
}

/// One tracing buffer: the top one or an instance.
#[derive(Default)]
struct Buffer {
    /// Empty for the top buffer.
    name: String,
    clock: String,
    page_size: Option<usize>,
    cpus: Vec<(CpuId, Storage)>,
}

impl Buffer {
    fn has_pages(&self) -> bool {
        self.cpus.iter().any(|(_, storage)| match storage {
            Storage::Plain(range) => !range.is_empty(),
            Storage::Chunks(_, chunks) => !chunks.is_empty(),
        })
    }
}

impl FtraceTrace {
    /// Reads a `trace.dat` file of version 6 or 7. Of several buffers with the same events one is read.
    ///
    /// # Errors
    /// When nothing could be read from it: not such a file, an unknown version or compression, or
    /// cut off before its pages. All other damage is reported by `Source::diagnostics`.
    pub fn from_trace_dat(file: NamedBytes, options: ReadOptions) -> Result<Self, ReadError> {
        let trace = Self::assemble(read(&file, options)?)?;
        let left_out = recorded_twice(&trace);
        if left_out.is_empty() {
            return Ok(trace);
        }
        let mut recording = read(&file, options)?;
        for (buffer, told) in left_out {
            recording.streams.retain(|stream| stream.buffer != buffer);
            recording.diagnostics.push(told);
        }
        Self::assemble(recording)
    }
}

fn read(file: &NamedBytes, read_options: ReadOptions) -> Result<Recording, ReadError> {
    let bytes = file.get();
    if !bytes.starts_with(MAGIC) {
        return Err(ReadError::NotTraceDat {
            file: file.name.clone(),
        });
    }
    let mut cursor = Cursor::new(bytes, MAGIC.len(), ByteOrder::Little);
    let damaged = ReadError::damaged(&file.name, "the file header");
    let version = cursor.text().map_err(&damaged)?;
    let order = match cursor.u8().map_err(&damaged)? {
        0 => ByteOrder::Little,
        _ => ByteOrder::Big,
    };
    let mut cursor = Cursor::new(bytes, cursor.position(), order);
    cursor.u8().map_err(&damaged)?; // bytes of a `long` in user space
    let page_size = cursor.u32().map_err(&damaged)? as usize;
    let mut reading = Reading {
        file,
        bytes,
        order,
        compression: None,
        parts: Parts::default(),
        options: Options::default(),
        buffers: Vec::new(),
        unclaimed: bytes.len(),
        diagnostics: Vec::new(),
    };
    match version.as_str() {
        "6" => reading.read_sequence(&mut cursor)?,
        "7" => reading.read_sections(&mut cursor)?,
        _ => {
            return Err(ReadError::UnknownVersion {
                file: file.name.clone(),
                version,
            });
        }
    }
    Ok(reading.finish(&version, page_size, read_options))
}

impl Reading<'_> {
    fn note(&mut self, code: DiagnosticCode, at: usize, message: impl Into<String>) {
        let place = Place {
            file: self.file.name.clone(),
            byte: Some(at as u64),
            ..Place::default()
        };
        self.diagnostics.push(Diagnostic::new(code, place, message));
    }

    /// The part of `at .. at + size` that the file has; says so when that is not all.
    fn available(&mut self, at: u64, size: u64) -> std::ops::Range<usize> {
        let length = self.bytes.len() as u64;
        let (begin, end) = (at.min(length), at.saturating_add(size).min(length));
        if end - begin < size {
            let message = format!(
                "{size} bytes of pages are stated here, {} are there",
                end - begin
            );
            self.note(DiagnosticCode::TruncatedPacket, begin as usize, message);
        }
        begin as usize..end as usize
    }

    /// Whether so many bytes can be pages of one more processor. Pages of two never overlap; if
    /// they did, a small damaged file could stand for any amount of work.
    fn claim(&mut self, length: usize, at: usize) -> bool {
        let Some(rest) = self.unclaimed.checked_sub(length) else {
            let message = "pages are stated to be here that belong to another processor";
            self.note(DiagnosticCode::InvalidFile, at, message);
            return false;
        };
        self.unclaimed = rest;
        true
    }

    fn finish(self, version: &str, page_size: usize, read_options: ReadOptions) -> Recording {
        let options = self.options;
        let offset_ns = options.offset_ns.wrapping_add(read_options.clock_offset_ns);
        // Buffers state a clock of their own, but trace-cmd asks for it when it has been reset.
        let clock_of = |buffer: &Buffer| match options.clock.as_str() {
            "" if buffer.clock.is_empty() => "local".to_owned(),
            "" => buffer.clock.clone(),
            clock => clock.to_owned(),
        };
        let mut environment = Vec::new();
        let mut environ = |key: &str, value: &str| {
            if !value.is_empty() {
                environment.push((key.to_owned(), value.to_owned()));
            }
        };
        environ("trace_dat_version", version);
        environ("trace_cmd_version", &options.trace_cmd_version);
        environ("uname", &options.uname);
        let mut buffers = self.buffers;
        buffers.retain(Buffer::has_pages);
        if let Some(buffer) = buffers.first() {
            environ("clock", &clock_of(buffer));
        }
        let mut streams = Vec::new();
        for (buffer, number) in buffers.into_iter().zip(0..) {
            let clock = Clock::new(&clock_of(&buffer), options.scale, offset_ns);
            let page_size = buffer.page_size.unwrap_or(page_size);
            let prefix = if buffer.name.is_empty() {
                String::new()
            } else {
                format!("{}/", buffer.name)
            };
            for (cpu, storage) in buffer.cpus {
                let corrections = options
                    .corrections
                    .get(cpu.index())
                    .cloned()
                    .unwrap_or_default();
                streams.push(RecordedStream {
                    name: format!("{}:{prefix}cpu{cpu}", self.file.name),
                    cpu,
                    buffer: number,
                    data: CpuData {
                        file: self.file.clone(),
                        storage,
                    },
                    page_size: Some(page_size),
                    is_short: false,
                    clock: clock.clone().corrected(corrections, options.interpolate),
                    losses: options.losses(&buffer.name, cpu),
                });
            }
        }
        let mut words = options.uname.split_whitespace().skip(1).map(str::to_owned);
        Recording {
            texts_in: String::new(),
            order: self.order,
            header_page: self.parts.header_page,
            header_event: self.parts.header_event,
            formats: self.parts.formats,
            saved_cmdlines: self.parts.saved_cmdlines,
            saved_tgids: String::new(),
            processes_of_32_bit: Vec::new(),
            streams,
            is_snapshot: false,
            recorded: TimeRange::ALL,
            host: words.next().unwrap_or_default(),
            tracer_version: words.next().unwrap_or_default(),
            environment,
            diagnostics: self.diagnostics,
        }
    }
}
