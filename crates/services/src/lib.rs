//! Services: what spans alone tell, aggregated over many distributed traces.
//!
//! Spans go into a [`TraceSorter`], which gives them back as whole traces; [`survey`] puts each trace
//! on a [`Timeline`], finds its critical path, and adds it to a calling-context tree; a [`Report`]
//! ranks the contexts. Reads no files, and knows nothing of threads or the kernel.

#![forbid(unsafe_code)]

mod contexts;
mod histogram;
mod links;
mod map;
mod mark;
mod names;
mod operations;
mod path;
mod record;
mod report;
mod sort;
mod survey;
mod tally;
mod timeline;
mod what_if;

pub use contexts::{Context, ContextId, ContextTree, DEEPEST, Totals};
pub use histogram::Histogram;
pub use links::Mended;
pub use map::{CallRow, Served, ServiceMap, ServiceRow};
pub use mark::{Mark, Marks};
pub use names::{NameId, Names};
pub use operations::{Limits, OTHER};
pub use path::{Stretch, critical_path};
pub use record::SpanRecord;
pub use report::{Order, PathRow, Report, SlowestSpan, distance, ranked};
pub use sort::{Store, TraceSorter, Traces};
pub use survey::{Summary, SurveyOptions, survey};
pub use timeline::{Node, Timeline};
