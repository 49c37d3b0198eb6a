//! Trials on another machine, or in another network of this one: an agent runs them there, an explorer asks for them here.
//!
//! What both say is in `message.rs`. Policies, results and the store stay with the explorer; programs, probes and measurements
//! with the agent.

mod agent;
mod explorer;
mod message;
mod place;

pub use agent::{Agent, AgentError};
pub(crate) use explorer::Remote;
pub(crate) use place::{Place, Whose};
