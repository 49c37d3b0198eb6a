//! Reads ftrace: `trace.dat` files of trace-cmd and folders of raw ring-buffer pages.
//!
//! Both come down to one thing: pages of the kernel's ring buffer per processor, and a text for each
//! kind of event that says where its fields lie. The reader gets bytes and never opens a file. It
//! does not evaluate `print fmt`; the format facts are written down in docs/formats/ftrace.md.

#![forbid(unsafe_code)]

mod byte_order;
mod clock;
mod cpu_data;
mod decoder;
mod error;
mod folder;
mod format;
mod instances;
mod layout;
mod packets;
mod page;
mod recording;
mod saved;
mod trace;
mod trace_dat;
mod visit;

pub use byte_order::ByteOrder;
pub use error::ReadError;
pub use folder::{EventFormatFile, FolderFiles};
pub use trace::{FtraceTrace, ReadOptions};
