//! The files of a workspace: which names lie inside its roots, and what changes on disk.
//!
//! Invariant: nothing here writes inside a root.

pub mod gate;
pub mod limits;
pub mod watch;
