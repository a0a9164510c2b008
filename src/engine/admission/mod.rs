//! Who may begin when something is scarce: starts of language servers, and requests to them.

pub(crate) mod overload;
pub mod request_turns;
pub mod start_queue;
