//! Messages of JSON-RPC 2.0 and of the revisions of MCP: bytes to typed messages, and back (`docs/internals/protocol.md`).
//!
//! The crate is pure: no I/O and no clock. Tools belong to the catalogs, callers to the transports. Invariants: an id is echoed byte
//! for byte; every malformed message has one typed error; an error never repeats text of a request's body.

pub mod cancelled;
pub mod elicit;
pub mod error;
pub mod id;
pub mod initialize;
pub mod limits;
pub mod message;
pub mod names;
pub mod progress;
pub mod revision;
pub mod stateless;
pub mod tools;
pub mod write;
