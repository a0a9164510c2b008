//! Access to the files of a workspace: the path gate ([`gate`]), the walk of the code index ([`walk`]), the file watcher ([`watch`]), and
//! where a git directory lies ([`git_layout`]).
//!
//! Invariant: nothing here writes inside a root.

mod dir_listing;
pub mod gate;
pub mod git_layout;
mod ignore_cost;
mod ignores;
pub mod limits;
pub mod walk;
pub mod watch;
