//! Paging over retained results: cursors, snapshots, the store that keeps them, and the slice that is a page
//! (contract §3.5, §3.6, §4.4). Not here: epochs' changes, actors, and when a snapshot is still true.
//!
//! Invariants: pages concatenated, for any sequence of sizes, equal the whole list; a snapshot is whole, immutable and
//! counted in bytes; time is a value that callers bring.

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
