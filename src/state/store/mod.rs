//! Rank 3: the state directory. Where it is, who may serve from it, and what outlives a restart.
//!
//! Not a database: files are written whole, by rename. Invariants: the directory and what is in it are for the owner
//! only; two serving processes never share one; the floor of `rootsEpoch` only rises, whatever happened to its file.

mod epochs;
mod lock;
mod state_dir;
mod warmset;

pub use epochs::RootsEpochs;
pub use lock::{LockError, LockedBy, ServeLock};
pub use state_dir::{INDEX, StateDir, StoreError};
pub use warmset::{WARMSET_FILE, Warmset};
