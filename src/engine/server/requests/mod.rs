//! The requests to a language server: their types, how they are sent, and when nobody waits for them any more.

pub(in crate::server) mod expiry;
pub mod request;
pub(in crate::server) mod request_handling;
