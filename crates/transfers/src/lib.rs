//! Unnecessary transfers: which fields of remote objects nothing reads, what they cost, and what to ask for instead.
//!
//! Takes what the agent for Java counted in one or several processes; ranks its allocation contexts by bytes that
//! arrive in vain. After "MicroProf: Code-level Attribution of Unnecessary Data Transfer in Microservice Applications"
//! (Tariq et al., 2023; §5.2, equations 2 and 3). Reads no files.

#![forbid(unsafe_code)]

mod advice;
mod report;
mod share;
#[cfg(test)]
mod tests;

pub use advice::Advice;
pub use report::{FieldRow, LeftOut, Report, TransferRow, Use};
pub use share::Share;
