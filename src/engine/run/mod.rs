//! Runs as actors under their workspace: one actor per open run, which executes its stages one after the other on a thread of low priority.
//!
//! What a run is, `codeyard-runs` knows; what its stages do, the workflow's own crate. This folder decides when a run works: in turns, with
//! limits per workspace and in total. Invariants: a run is open at most once; a run works only in its turn; when its workspace drains, its work
//! is interrupted and ends before the workspace does.

mod actor;
mod handle;
mod messages;
mod queue;
mod service;
mod spans;

pub use handle::RunHandle;
pub use messages::{ApplyCommand, OpenRunError};
pub use queue::RunQueue;
pub use service::{RunLimits, RunService};

pub(crate) use actor::RunActor;
pub(crate) use spans::RunWatch;
