//! The language-server actor: one per workspace and server kind, or one per project root where the kind handles only one; shared by
//! every client.
//!
//! [`actor`] holds the state, [`session`] is the running process with its connection and open documents, and [`messages`] lists what the
//! actor accepts. The folders hold what it does:
//!
//! | folder | holds |
//! |---|---|
//! | [`program`] | where the program is found, and how its process is started and confined |
//! | [`documents`] | the texts on disk, what the server has open of them, and changes of files |
//! | [`projects`] | the folders that it is started for, what is prepared in them and published of them |
//! | [`diagnostics`] | what it has reported, within a budget |
//! | [`requests`] | what it is asked, and when nobody waits for it any more |
//! | [`lifecycle`] | start, supervision, restart and stop of the process |
//!
//! Invariants: at most one process at a time; an event of an earlier incarnation is never attributed to the current one; a dropped
//! actor leaves no process.

pub mod actor;
pub mod child_key;
pub mod context;
pub mod diagnostics;
pub mod documents;
pub mod lifecycle;
pub mod messages;
pub mod program;
pub mod projects;
pub mod registry;
pub mod requests;
mod session;
