//! Access to the files of a workspace: the path gate ([`gate`]) and the file watcher ([`watch`]).
//!
//! Invariant: nothing here writes inside a root.

pub mod gate;
pub mod limits;
pub mod watch;
