//! Rank 0: the ground everything stands on. Digests, encodings, limits, budgets, the clock, and what threads are asked to do.
//!
//! Nothing here knows what a tool, a language server or a workspace is, and nothing here does I/O.

pub mod base64url;
pub mod blocking;
pub mod budget;
pub mod clock;
pub mod digest;
pub mod ids;
pub mod priority;
pub mod stable_json;
