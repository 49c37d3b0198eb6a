//! Unnecessary transfers: which fields of remote objects nothing reads, what they cost, and what to ask for instead.
//!
//! Takes what the agent for Java counted in one or several processes; ranks its allocation contexts by bytes that
//! arrive in vain, those first that lie on the most expensive paths of services where spans tell of these. After "MicroProf: Code-level Attribution of Unnecessary Data Transfer in Microservice Applications"
//! (Tariq et al., 2023; §5.2, equations 2 and 3). Reads no files.

#![forbid(unsafe_code)]

mod advice;
mod calls;
mod departure;
mod endpoint;
mod report;
mod services;
#[cfg(test)]
mod services_tests;
mod share;
#[cfg(test)]
mod tests;

pub use advice::Advice;
pub use calls::Calls;
pub use report::{FieldRow, LeftOut, Report, TransferRow, Use};
pub use services::{MarkedPath, NoPath, OnServices, RowsWithout, ServicePath, ServicePaths};
pub use share::Share;
