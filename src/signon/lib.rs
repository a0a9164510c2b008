//! Sign-on: access tokens of authorization servers, and what they open here (OAuth 2.1 resource server, RFC 6750, 8707, 9068 and 9728).
//!
//! Invariants: a token counts only with a signature by a key of its issuer, for an audience that counts, within its time, and by a rule of
//! the configuration; no text of a token is logged or kept; a token makes codeyard send nothing but a request for keys, at a bounded rate.
//!
//! # Code map
//!
//! A place imports only places above it in this table, which a test checks.
//!
//! | place | holds |
//! |---|---|
//! | `claims` | what a token says |
//! | `signature` | checking signatures |
//! | `key_set` | the keys of an issuer |
//! | `metadata` | fetching the keys, and where they are |
//! | `issuer_keys` | the keys as they change: rotation, outages |
//! | `issuer` | one issuer: from a token to a principal |
//! | `refusal_log` | log lines about tokens that were refused |
//! | `resource` | URLs, metadata and challenges of this server |
//! | `sign_on` | all issuers, and the tokens that were checked |

mod claims;
mod issuer;
mod issuer_keys;
mod key_set;
mod limits;
mod metadata;
mod refusal_log;
mod resource;
mod sign_on;
mod signature;

#[cfg(test)]
mod tests;

pub use issuer::TokenProblem;
pub use resource::{Challenge, WELL_KNOWN};
pub use sign_on::{SignOn, SignedOn};
