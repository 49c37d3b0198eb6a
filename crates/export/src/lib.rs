//! Results in the forms of the user's other tools: Perfetto, OTLP, folded stacks, Arrow, Parquet.
//!
//! Nothing is analysed here: what was found is written down as those tools read it. Where it goes, a
//! file or a collector, is the caller's matter.

#![forbid(unsafe_code)]

mod columns;
mod folded;
mod otlp;
mod perfetto;
mod request;

pub use columns::{write_arrow, write_parquet};
pub use folded::write_folded;
pub use otlp::{OtlpCounts, OtlpSpans, otlp_documents, write_otlp};
pub use perfetto::{Counts, KernelTracks, PerfettoWriter, Slice, Track, write_requests};
pub use request::HostRequests;
