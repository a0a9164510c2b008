//! The MCP transports: Streamable HTTP, standard input and output, and the local socket that `codeyard stdio` attaches to.
//!
//! A transport frames messages, bounds them, identifies the caller and calls [`Service`](codeyard_gateway::service::Service). It
//! knows no tool. Invariants: every request is answered at most once; a client that leaves drops its calls' futures; every queue
//! and buffer is bounded by a constant of [`limits`](crate::limits) or of the configuration.

pub mod attach;
pub mod dispatch;
pub mod http;
pub mod inflight;
pub mod lines;
pub mod pending;
pub mod running;
mod session_timer;
pub mod stateless;
pub mod stdio;
