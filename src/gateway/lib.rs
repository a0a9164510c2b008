//! The gateway: it turns a tool call of a client into a query of the engine, and the answer into a reply.
//!
//! It decodes through a catalog, asks for permission, checks the path, admits the call, and runs one actor per call. It knows
//! no transport. Invariants: each call gets exactly one reply, at the latest shortly after its deadline; cancelled work
//! leaves nothing running; a reply never exceeds its byte cap.

pub mod admission;
mod admit;
mod catalog_sets;
mod content;
pub mod elicit;
mod group_calls;
mod instructions;
pub mod launch;
pub mod limits;
pub mod permission;
mod quotas;
mod reply;
mod request;
mod request_state;
pub mod router;
pub mod service;
mod workspace_checks;
pub mod workspace_thread;
