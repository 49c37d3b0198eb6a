//! A recording as a folder: raw pages per processor with the tracer's own texts beside them.
//!
//! This is what `slowpath record` writes: each text as tracefs gave it, each `cpuN.raw` a plain run
//! of pages of the size that `header_page` states. Whoever opens the folder hands over the contents.

use slowpath_model::{CpuId, Diagnostic, DiagnosticCode, Place, ProcessId, TimeRange};
use slowpath_source::NamedBytes;

use crate::byte_order::ByteOrder;
use crate::clock::{Clock, clock_in_use};
use crate::cpu_data::{CpuData, Storage};
use crate::error::ReadError;
use crate::recording::{RecordedStream, Recording};
use crate::saved::{Losses, parse_stats};
use crate::trace::{FtraceTrace, ReadOptions};

/// The contents of a folder of raw ring-buffer pages. Texts that were not kept are empty.
#[derive(Clone, Debug, Default)]
pub struct FolderFiles {
    /// Where they lie, for messages; may be empty.
    pub folder: String,
    /// Byte order of the recorded machine.
    pub byte_order: ByteOrder,
    /// Text of `events/header_page`.
    pub header_page: String,
    /// Text of `events/header_event`.
    pub header_event: String,
    /// `events/<system>/<event>/format` of every event that may occur.
    pub formats: Vec<EventFormatFile>,
    /// The pages of every processor, in their order.
    pub cpus: Vec<(CpuId, NamedBytes)>,
    /// The processors of which pages are missing, or all.
    pub short: Vec<CpuId>,
    /// The recorder did not end in order: of each processor the last pages may be missing.
    pub is_unfinished: bool,
    /// Text of `saved_cmdlines`.
    pub saved_cmdlines: String,
    /// Text of `saved_tgids`.
    pub saved_tgids: String,
    /// Processes of 32-bit programs on a 64-bit kernel, as far as they are known: their system calls have other numbers.
    pub processes_of_32_bit: Vec<ProcessId>,
    /// Text of `trace_clock`, or the name of the clock alone.
    pub trace_clock: String,
    /// Text of `per_cpu/cpuN/stats` by processor.
    pub stats: Vec<(CpuId, String)>,
    /// The buffer was meant to overwrite old events until it was read: what is missing before the
    /// first page of a processor is then no loss.
    pub is_snapshot: bool,
    /// When it was recorded, with the clock offset applied, where that is known: pages outside are damaged.
    /// Where all of them are, it is this time that is wrong.
    pub recorded: Option<TimeRange>,
    /// The host that was traced.
    pub host: String,
    /// Release of its kernel.
    pub kernel_release: String,
    /// Its kind of processor, as `uname -m` calls it: what the numbers of system calls mean.
    pub machine: String,
}

/// One `format` file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFormatFile {
    /// The subsystem: the folder above the event's.
    pub system: String,
    /// Its content.
    pub text: String,
}

impl FtraceTrace {
    /// Reads a folder of raw pages.
    ///
    /// # Errors
    /// When `header_page` cannot be understood; all other damage is reported by
    /// `Source::diagnostics`.
    pub fn from_folder(files: FolderFiles, options: ReadOptions) -> Result<Self, ReadError> {
        let mut diagnostics = Vec::new();
        let clock_name = clock_in_use(&files.trace_clock).unwrap_or_else(|| {
            let place = Place {
                file: "trace_clock".into(),
                ..Place::default()
            };
            let message = match files.trace_clock.as_str() {
                "" => {
                    "it is not there, so the clock is not known; nanoseconds are assumed".to_owned()
                }
                text => format!("no clock in use in {text:?}; nanoseconds are assumed"),
            };
            diagnostics.push(Diagnostic::new(DiagnosticCode::InvalidFile, place, message));
            "local"
        });
        let is_told = !files.trace_clock.is_empty();
        if options.clock_offset_ns != 0 && is_told && clock_name != "mono" {
            let place = Place {
                file: "trace_clock".into(),
                ..Place::default()
            };
            let message = format!(
                "times are by the clock {clock_name}, but the offset to wall time is that of mono"
            );
            diagnostics.push(Diagnostic::new(DiagnosticCode::InvalidFile, place, message));
        }
        let clock = Clock::new(clock_name, None, options.clock_offset_ns);
        let mut environment = vec![("clock".to_owned(), clock_name.to_owned())];
        if !files.machine.is_empty() {
            environment.push(("machine".to_owned(), files.machine));
        }
        let mut losses = Vec::new();
        for (cpu, stats) in &files.stats {
            let (of_cpu, misread) = parse_stats(stats);
            let missing = "what was lost may not be known";
            diagnostics.extend(misread.diagnostic(&format!("stats/cpu{cpu}"), missing));
            losses.push((*cpu, of_cpu));
        }
        let losses_of = |cpu: CpuId| losses.iter().find(|(of, _)| *of == cpu);
        let streams = files.cpus.into_iter().map(|(cpu, file)| RecordedStream {
            name: file.name.clone(),
            cpu,
            buffer: 0,
            page_size: None,
            is_short: files.short.contains(&cpu),
            clock: clock.clone(),
            losses: losses_of(cpu).map_or(Losses::default(), |(_, losses)| *losses),
            data: CpuData {
                storage: Storage::Plain(0..file.get().len()),
                file,
            },
        });
        let streams = streams.collect();
        let texts_in = match files.folder.as_str() {
            "" => String::new(),
            folder => format!("{folder}/"),
        };
        let mut trace = Self::assemble(Recording {
            texts_in,
            order: files.byte_order,
            header_page: files.header_page,
            header_event: files.header_event,
            formats: files.formats,
            saved_cmdlines: files.saved_cmdlines,
            saved_tgids: files.saved_tgids,
            processes_of_32_bit: files.processes_of_32_bit,
            streams,
            is_snapshot: files.is_snapshot,
            recorded: files.recorded.unwrap_or(TimeRange::ALL),
            host: files.host,
            tracer_version: files.kernel_release,
            environment,
            diagnostics,
        })?;
        if files.is_unfinished {
            trace.mark_all_cut_off();
        }
        Ok(trace)
    }
}
