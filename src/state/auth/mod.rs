//! Rank 3: who is behind a request, and what persons have allowed them. Bearer tokens, kept as hashes in a file, and
//! remembered permissions, in another.
//!
//! It says which principal a token names and what was allowed, and decides nothing. Invariants: the text of a token
//! exists only in the hands of who made it and who sends it; neither `Debug` nor a log line nor the file holds it.

pub mod file;
pub mod permissions;
pub mod store;
pub mod token;

pub use permissions::{Grant, PermissionStore};
pub use store::{Error, TokenStore};
pub use token::Token;
