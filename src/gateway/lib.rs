//! Rank 5: from a tool call to its reply. Admission, one request actor a call, and the pipeline that the actor runs.
//!
//! Invariants: exactly one reply a call, inside the deadline plus a small grace; after a cancellation nothing of the call is
//! left; a reply's bytes never exceed the cap.

pub mod admission;
mod code;
mod confirm;
pub mod elicit;
mod entry;
pub mod home;
pub mod limits;
pub mod permission;
mod pipeline;
mod request;
pub mod router;
pub mod service;
