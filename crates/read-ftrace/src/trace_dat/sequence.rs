//! `trace.dat` version 6: one part behind the other.
//!
//! The order is fixed: headers, formats, symbols, thread names, number of processors, options, and a
//! table of where each processor's pages lie. Instances have a table of their own that an option
//! points to.

use slowpath_model::{CpuId, DiagnosticCode};

use super::parts::sized_text;
use super::{Buffer, Reading};
use crate::byte_order::{Cursor, Ended};
use crate::clock::clock_in_use;
use crate::cpu_data::Storage;
use crate::error::ReadError;

/// No machine has more processors; a larger number is damage.
const MOST_CPUS: u32 = 1 << 16;

impl Reading<'_> {
    /// Reads the rest of a version 6 file.
    pub(super) fn read_sequence(&mut self, cursor: &mut Cursor<'_>) -> Result<(), ReadError> {
        let name = self.file.name.clone();
        let damaged = |what| ReadError::damaged(&name, what);
        self.parts
            .read_headers(cursor)
            .map_err(damaged("the description of pages"))?;
        self.parts
            .read_ftrace_formats(cursor)
            .map_err(damaged("ftrace's event formats"))?;
        self.parts
            .read_event_formats(cursor)
            .map_err(damaged("the event formats"))?;
        for what in ["the kernel's symbols", "the formats of trace_printk"] {
            let length = cursor.u32().map_err(damaged(what))?;
            cursor.take(length.into()).map_err(damaged(what))?;
        }
        self.parts
            .read_cmdlines(cursor)
            .map_err(damaged("the names of threads"))?;
        let cpus = cursor
            .u32()
            .map_err(damaged("the number of processors"))?
            .min(MOST_CPUS);
        let mut kind = cursor.take(10).map_err(damaged("the options"))?;
        if kind.starts_with(b"options") {
            self.read_options(cursor).map_err(damaged("the options"))?;
            kind = cursor.take(10).map_err(damaged("the table of pages"))?;
        }
        if kind.starts_with(b"flyrecord") {
            let mut top = Buffer::default();
            self.read_table(cursor, cpus, &mut top)
                .map_err(damaged("the table of pages"))?;
            self.buffers.push(top);
        } else {
            self.note(
                DiagnosticCode::InvalidFile,
                cursor.position() - 10,
                "the file holds no pages (a latency report?)",
            );
        }
        for (at, name) in std::mem::take(&mut self.options.instances) {
            let at = usize::try_from(at).unwrap_or(usize::MAX);
            let mut cursor = Cursor::new(self.bytes, at, self.order);
            let mut buffer = Buffer {
                name,
                ..Buffer::default()
            };
            let is_table = cursor
                .take(10)
                .is_ok_and(|kind| kind.starts_with(b"flyrecord"));
            if !is_table || self.read_table(&mut cursor, cpus, &mut buffer).is_err() {
                let message = format!(
                    "the table of pages of instance {:?} is missing or cut",
                    buffer.name
                );
                self.note(
                    DiagnosticCode::InvalidFile,
                    at.min(self.bytes.len()),
                    message,
                );
            }
            self.buffers.push(buffer);
        }
        Ok(())
    }

    fn read_options(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Ended> {
        loop {
            let id = cursor.u16()?;
            if id == 0 {
                return Ok(());
            }
            let size = cursor.u32()?;
            let data = cursor.take(size.into())?;
            self.options.read(id, data, self.order);
        }
    }

    /// Where each processor's pages lie, then the clock.
    fn read_table(
        &mut self,
        cursor: &mut Cursor<'_>,
        cpus: u32,
        buffer: &mut Buffer,
    ) -> Result<(), Ended> {
        for cpu in 0..cpus {
            let (offset, size) = (cursor.u64()?, cursor.u64()?);
            let mut range = self.available(offset, size);
            if !self.claim(range.len(), range.start) {
                range.end = range.start;
            }
            buffer.cpus.push((CpuId(cpu), Storage::Plain(range)));
        }
        // Early files have no clock here; it does not matter if that fails.
        if let Ok(text) = sized_text(cursor) {
            buffer.clock = clock_in_use(&text).unwrap_or_default().to_owned();
        }
        Ok(())
    }
}
