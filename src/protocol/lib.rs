//! Rank 2, pure: the words of JSON-RPC 2.0 and MCP 2025-11-25. Bytes in, typed messages out, and back.
//!
//! No I/O, no clock, no tools: what a tool is called or answers is a catalog's business, and who may call it is a
//! transport's. Invariants: an id is echoed byte for byte; every malformed message has one typed error; no text of
//! a request's body is ever repeated in an error.

pub mod cancelled;
pub mod elicit;
pub mod error;
pub mod id;
pub mod initialize;
pub mod limits;
pub mod message;
pub mod names;
pub mod progress;
pub mod tools;
pub mod write;
