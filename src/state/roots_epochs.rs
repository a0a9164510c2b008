//! The floor of each workspace's `rootsEpoch`: a number that rises with every start and every change of roots. A cursor of an
//! earlier process therefore never matches a new result (`docs/internals/decisions/epochs.md`).
//!
//! Invariant: for one workspace every number is higher than all before, also after `kill -9`, and, as long as the clock isn't set
//! back, after the database was lost: a new counter starts with the clock.

use codeyard_base::clock::wall_ns;
use codeyard_base::ids::WorkspaceName;

use crate::state_store::{Namespace, StateError, StoreHandle};

/// The counters, by workspace.
pub(crate) const ROOTS_EPOCHS: Namespace = Namespace::new("roots-epochs");

/// The counters in one store.
#[derive(Debug, Clone)]
pub struct RootsEpochs {
    store: StoreHandle,
}

impl RootsEpochs {
    /// The counters in `store`.
    pub fn new(store: StoreHandle) -> Self {
        Self { store }
    }

    /// A number higher than all before, for `workspace`. Blocks for an `fsync`.
    ///
    /// # Errors
    /// If the number can't be made durable. Then it isn't used.
    pub fn next(&self, workspace: &WorkspaceName) -> Result<u64, StateError> {
        // No server starts a workspace a million times a second, so the clock is ahead of a counter that was lost.
        self.store.next(ROOTS_EPOCHS, workspace.as_str(), wall_us())
    }
}

/// Microseconds since 1970: still exact in a JSON number.
fn wall_us() -> u64 {
    u64::try_from(wall_ns() / 1_000).unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::SqliteStore;

    fn epochs(folder: &std::path::Path) -> Result<RootsEpochs, StateError> {
        Ok(RootsEpochs::new(Arc::new(SqliteStore::open(folder)?)))
    }

    #[test]
    fn every_number_is_higher_also_after_the_database_is_lost() {
        let dir = tempfile::tempdir().unwrap();
        let name = WorkspaceName::new("w").unwrap();
        let first = epochs(dir.path()).unwrap().next(&name).unwrap();
        assert!(first > 1_000_000_000_000_000, "microseconds since 1970");
        let opened = epochs(dir.path()).unwrap();
        assert_eq!(opened.next(&name).unwrap(), first + 1);
        assert_eq!(epochs(dir.path()).unwrap().next(&name).unwrap(), first + 2);
        let other = opened.next(&WorkspaceName::new("other").unwrap()).unwrap();
        assert!(other > first, "each workspace has a counter");
        drop(opened);
        for damage in [&b""[..], b"SQLite format 3\0", b"garbage"] {
            std::fs::write(dir.path().join(crate::STATE_FILE), damage).unwrap();
            assert!(matches!(epochs(dir.path()), Err(StateError::Damaged { .. })), "no number from a damaged file");
            std::fs::remove_file(dir.path().join(crate::STATE_FILE)).unwrap();
            assert!(epochs(dir.path()).unwrap().next(&name).unwrap() > first + 2);
        }
    }

    #[test]
    fn the_last_number_has_no_successor() {
        let dir = tempfile::tempdir().unwrap();
        let epochs = epochs(dir.path()).unwrap();
        let database = rusqlite::Connection::open(dir.path().join(crate::STATE_FILE)).unwrap();
        database.execute("INSERT INTO counter VALUES (?1, 'w', ?2)", (ROOTS_EPOCHS.as_str(), i64::MAX)).unwrap();
        let name = WorkspaceName::new("w").unwrap();
        for _ in 0..2 {
            assert!(matches!(epochs.next(&name), Err(StateError::Damaged { .. })));
        }
    }
}
