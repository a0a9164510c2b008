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
//! | [`inner_worktrees`] | which files lie in a linked worktree below a root |
//! | [`first_line`] | what the first line of a file says |
//! | `tracked_files` | the files that git tracks |
//! | `rule_reader` | reading ignore files |
//! | `ignores` | what ignore files exclude |
//! | `dir_listing` | the entries of a directory |
//! | [`walk`] | the walk of the code index |
//! | [`watch`] | the file watcher |

mod dir_listing;
pub mod first_line;
pub mod gate;
pub mod git_layout;
mod git_patterns;
mod ignore_cost;
mod ignores;
pub mod inner_worktrees;
pub mod limits;
mod rule_reader;
mod stamp;
#[cfg(test)]
mod test_git;
mod tracked_files;
pub mod walk;
pub mod watch;
