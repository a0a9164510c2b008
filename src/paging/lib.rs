//! Paging of retained results: cursors, snapshots, the store of snapshots, and the pages of a snapshot. It neither changes
//! epochs nor decides whether a snapshot is still valid.
//!
//! Invariants: the pages of a list, for any sequence of sizes, together equal the whole list; a snapshot is complete,
//! immutable and counted in bytes; callers pass the time as a value.

pub mod cursor;
pub mod limits;
mod output;
mod page;
mod result;
mod size;
mod snapshot;
mod store;

pub use cursor::{CursorToken, decode, mint, request_key, snapshot_key};
pub use page::page;
pub use result::{CanonicalResult, FullList, LspResult};
pub use snapshot::Snapshot;
pub use store::{SnapshotStats, SnapshotStore};
