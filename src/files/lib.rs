//! Access to the files of a workspace.
//!
//! Invariant: nothing here writes inside a root.
//!
//! # Code map
//!
//! A place imports only places above it in this table, which a test checks; the files beside this one may be imported by all.
//!
//! | place | holds |
//! |---|---|
//! | [`gate`] | the path gate: which paths lie inside the roots |
//! | [`git_layout`] | where a git directory lies |
//! | `ignores` | what ignore files exclude |
//! | `dir_listing` | the entries of a directory |
//! | [`walk`] | the walk of the code index |
//! | [`watch`] | the file watcher |

mod dir_listing;
pub mod gate;
pub mod git_layout;
mod ignore_cost;
mod ignores;
pub mod limits;
mod stamp;
pub mod walk;
pub mod watch;
