//! The parts that both versions of `trace.dat` share: texts of the tracer, each with its length.
//!
//! A part that is cut keeps what came before the cut.

use crate::byte_order::{Cursor, Ended, lossy};
use crate::folder::EventFormatFile;

/// No subsystem has a longer name. It is kept once per event, so damage here would multiply.
const MOST_NAME_BYTES: usize = 255;

/// The texts that describe the pages and their events.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) header_page: String,
    pub(super) header_event: String,
    pub(super) formats: Vec<EventFormatFile>,
    pub(super) saved_cmdlines: String,
}

impl Parts {
    /// `header_page` and `header_event`, each behind its own name.
    pub(super) fn read_headers(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Ended> {
        for text in [&mut self.header_page, &mut self.header_event] {
            cursor.text()?;
            *text = sized_text(cursor)?;
        }
        Ok(())
    }

    /// Formats of the events that ftrace itself has.
    pub(super) fn read_ftrace_formats(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Ended> {
        let count = cursor.u32()?;
        self.read_formats(cursor, "ftrace", count)
    }

    /// Formats of the events of every subsystem.
    pub(super) fn read_event_formats(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Ended> {
        for _ in 0..cursor.u32()? {
            let at = cursor.position();
            let system = cursor.text()?;
            if system.len() > MOST_NAME_BYTES {
                return Err(Ended { at });
            }
            let count = cursor.u32()?;
            self.read_formats(cursor, &system, count)?;
        }
        Ok(())
    }

    fn read_formats(
        &mut self,
        cursor: &mut Cursor<'_>,
        system: &str,
        count: u32,
    ) -> Result<(), Ended> {
        for _ in 0..count {
            let text = sized_text(cursor)?;
            self.formats.push(EventFormatFile {
                system: system.to_owned(),
                text,
            });
        }
        Ok(())
    }

    /// Names of threads.
    pub(super) fn read_cmdlines(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Ended> {
        self.saved_cmdlines = sized_text(cursor)?;
        Ok(())
    }
}

/// A text behind its length in eight bytes.
pub(super) fn sized_text(cursor: &mut Cursor<'_>) -> Result<String, Ended> {
    let length = cursor.u64()?;
    Ok(lossy(cursor.take(length)?))
}
