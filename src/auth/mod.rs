//! Rank 3: who is behind a request. Bearer tokens, kept as hashes in a file.
//!
//! It says which principal a token names and nothing about what that principal may do. Invariants: the text of a token
//! exists only in the hands of who made it and who sends it; neither `Debug` nor a log line nor the file holds it.

pub mod file;
pub mod store;
pub mod token;

pub use store::{Error, TokenStore};
pub use token::Token;
