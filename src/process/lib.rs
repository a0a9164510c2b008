//! Child processes: starting them under a guard, bounding them, accounting for them, and ending their whole tree.
//!
//! It knows no protocol and no workspace. Invariants: every child has its own process group and an allow-listed
//! environment; when codeyard ends in any way, no process that it started stays alive.

pub mod environment;
pub mod guard;
pub mod launch;
pub mod ledger;
pub mod limits;
pub mod proc_tree;
pub mod run;
pub mod sibling;
mod signal;
pub mod spawn;
