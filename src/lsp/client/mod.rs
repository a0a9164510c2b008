//! One connection to a language server: frames, JSON-RPC messages, requests, events, capabilities, start and stop.
//!
//! The connection knows neither documents nor readiness nor processes. [`LspClient`] is its handle; [`lifecycle`] holds the
//! handshake and the stop sequence.

pub mod capabilities;
mod connection;
mod counters;
pub mod events;
pub mod frame;
mod frame_budget;
#[cfg(test)]
mod frame_tests;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod lifecycle;
mod message;
mod outgoing_queue;
pub mod pending_requests;
mod read_pace;
pub mod server_requests;

pub use connection::{ClientOptions, ConnectionReader, LspClient};
pub use counters::ConnectionCounters;
