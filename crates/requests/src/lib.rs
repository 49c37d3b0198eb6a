//! Requests: which thread served which span when, and where each request's time went.
//!
//! A span of a distributed trace is a request. Its own events, told by the application's tracing
//! library, say which threads served it; the kernel's time lines say what these did and waited for
//! (Gelle, Ezzati-Jivan & Dagenais, *Combining distributed and kernel tracing for performance
//! analysis of cloud applications*, 2021). Files and readers are not known here.

#![forbid(unsafe_code)]

mod absent;
mod assign;
mod bands;
mod callees;
mod clocks;
mod compare;
mod copies;
mod events;
mod hand_overs;
mod hosts;
mod join;
mod late;
mod path;
mod request;
mod requests;
mod summary;
mod tellers;
mod threads;
mod trees;
mod unheard;
mod unseen;

pub use bands::{Band, Operation, Operations};
pub use clocks::{ClockOffset, ToldBy, clock_offsets};
pub use compare::{Breakdown, Category, Difference};
pub use events::{SpanEvent, SpanEventKind, has_span_events, span_events};
pub use hosts::{AllHosts, RequestOfHost, ThreadOfHost};
pub use join::{HostEvents, join};
pub use path::RequestPath;
pub use request::{Bound, PlacedBy, Request, RequestId, Serving, Shown, SpanKey, Told};
pub use requests::Requests;
pub use summary::{States, Summary, Wait, WaitFor};
