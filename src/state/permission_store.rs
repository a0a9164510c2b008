//! The permissions that a person granted with "always": principal, workspace and permission.
//!
//! It holds grants, not what the configuration says. Other processes change them (`codeyard permissions revoke`); a running server
//! follows with the next call. Invariants: grants that can't be read don't hold; a grant holds only for the roots that it was given
//! for, whatever the workspace is called; the number of grants is bounded, and the oldest is dropped first.

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::cached_records::CachedRecords;
use crate::limits::MAX_PERMISSIONS;
use crate::state_store::{Namespace, Record, StateError, StoreHandle, Write};
use codeyard_base::clock::wall_s;
use codeyard_base::ids::{PrincipalId, WorkspaceName};

/// The grants, oldest first.
pub(crate) const PERMISSIONS: Namespace = Namespace::new("permissions");

/// A permission that a person granted for all calls to come.
#[derive(Debug, Clone, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The principal that may call.
    pub principal: String,
    pub workspace: String,
    pub permission: String,
    /// The `rootsKey` that the workspace had.
    pub roots: String,
    /// When it was granted, in seconds since 1970.
    pub since: u64,
}

/// The grants of one state directory.
#[derive(Debug)]
pub struct PermissionStore {
    store: StoreHandle,
    known: Mutex<CachedRecords<Vec<Grant>>>,
}

/// Grants are equal if they allow the same, whenever they were given.
impl PartialEq for Grant {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Grant {
    /// A grant that is given now.
    pub fn new(principal: &PrincipalId, workspace: &WorkspaceName, roots: &str, permission: &str) -> Self {
        Self {
            principal: principal.as_str().to_owned(),
            workspace: workspace.as_str().to_owned(),
            permission: permission.to_owned(),
            roots: roots.to_owned(),
            since: wall_s(),
        }
    }

    fn identity(&self) -> [&str; 4] {
        [&self.principal, &self.workspace, &self.permission, &self.roots]
    }
}

/// The key of a grant's record.
pub(crate) fn key(grant: &Grant) -> String {
    serde_json::json!(grant.identity()).to_string()
}

/// The value of a grant's record.
pub(crate) fn encode(grant: &Grant) -> String {
    serde_json::json!(grant).to_string()
}

fn decode(records: &[Record]) -> Result<Vec<Grant>, String> {
    let grants: Option<Vec<Grant>> = records.iter().map(Record::decode).collect();
    grants.ok_or_else(|| "a record of a permission is not of the expected form".to_owned())
}

impl PermissionStore {
    /// The grants in `store`.
    pub fn new(store: StoreHandle) -> Self {
        Self { store, known: Mutex::new(CachedRecords::new(PERMISSIONS)) }
    }

    /// Whether this was granted, and still is.
    pub fn contains(&self, grant: &Grant) -> bool {
        let mut known = self.known.lock();
        known.refresh(&*self.store, "no permission holds", decode);
        known.value().contains(grant)
    }

    /// All grants, the oldest first. Blocks.
    ///
    /// # Errors
    /// If they can't be read.
    pub fn list(&self) -> Result<Vec<Grant>, StateError> {
        let mut known = self.known.lock();
        known.try_refresh(&*self.store, decode)?;
        Ok(known.value().clone())
    }

    /// Stores a grant. Blocks.
    ///
    /// # Errors
    /// If it can't be stored.
    pub fn remember(&self, grant: &Grant) -> Result<(), StateError> {
        let put = Write::Put { key: key(grant), value: encode(grant) };
        self.store.update(PERMISSIONS, &mut |before| {
            let others: Vec<&Record> = before.records.iter().filter(|record| record.key != key(grant)).collect();
            let surplus = (others.len() + 1).saturating_sub(MAX_PERMISSIONS);
            if surplus > 0 {
                tracing::warn!(surplus, "there are more permissions than allowed; the oldest are dropped");
            }
            let dropped = others.iter().take(surplus).map(|record| Write::Remove { key: record.key.clone() });
            dropped.chain([put.clone()]).collect()
        })
    }

    /// Removes the grants that `is_revoked` matches. Returns how many there were. Blocks.
    ///
    /// # Errors
    /// If they can't be removed.
    pub fn revoke(&self, is_revoked: impl Fn(&Grant) -> bool) -> Result<usize, StateError> {
        let mut revoked = 0;
        self.store.update(PERMISSIONS, &mut |before| {
            let matching =
                before.records.iter().filter(|record| record.decode().is_some_and(|grant| is_revoked(&grant)));
            let writes: Vec<Write> = matching.map(|record| Write::Remove { key: record.key.clone() }).collect();
            revoked = writes.len();
            writes
        })?;
        Ok(revoked)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{STATE_FILE, SqliteStore};

    fn open(folder: &std::path::Path) -> PermissionStore {
        PermissionStore::new(Arc::new(SqliteStore::open(folder).unwrap()))
    }

    fn grant(principal: &str, workspace: &str) -> Grant {
        Grant::new(&PrincipalId::new(principal), &WorkspaceName::new(workspace).unwrap(), "roots", "lsp")
    }

    #[test]
    fn a_grant_survives_and_holds_for_the_same_roots_and_permission_only() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        assert!(!store.contains(&grant("ann", "shop")));
        store.remember(&grant("ann", "shop")).unwrap();
        store.remember(&grant("ann", "shop")).unwrap();
        let again = open(dir.path());
        assert_eq!(again.list().unwrap(), [grant("ann", "shop")]);
        for other in [grant("bob", "shop"), grant("ann", "blog")] {
            assert!(!again.contains(&other));
        }
        let moved = Grant { roots: "others".into(), ..grant("ann", "shop") };
        let more = Grant { permission: "launch".into(), ..grant("ann", "shop") };
        assert!(!again.contains(&moved) && !again.contains(&more), "other folders, another permission");
    }

    #[test]
    fn a_revocation_by_another_process_holds_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let server = open(dir.path());
        let tool = open(dir.path());
        for name in ["ann", "bob"] {
            server.remember(&grant(name, "shop")).unwrap();
        }
        assert_eq!(tool.revoke(|grant| grant.principal == "ann").unwrap(), 1);
        assert!(!server.contains(&grant("ann", "shop")) && server.contains(&grant("bob", "shop")));
        assert_eq!(tool.revoke(|_| false).unwrap(), 0);
        for file in ["", "-wal", "-shm"] {
            std::fs::remove_file(dir.path().join(format!("{STATE_FILE}{file}"))).unwrap();
        }
        assert!(!server.contains(&grant("bob", "shop")));
        assert!(matches!(server.list(), Err(StateError::Missing { .. })));
    }

    #[test]
    fn grants_that_can_not_be_read_allow_nothing_and_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        store.remember(&grant("ann", "shop")).unwrap();
        assert!(store.contains(&grant("ann", "shop")));
        let damage = Write::Put { key: "x".into(), value: "{\"principal\":\"ann\"}".into() };
        store.store.update(PERMISSIONS, &mut |_| vec![damage.clone()]).unwrap();
        assert!(!store.contains(&grant("ann", "shop")));
        let error = store.list().unwrap_err().to_string();
        assert!(error.contains(STATE_FILE) && error.contains("permission"), "{error}");
        assert_eq!(store.store.list(PERMISSIONS).unwrap().records.len(), 2, "reading changes nothing");
        store.remember(&grant("bob", "shop")).unwrap();
        assert!(!store.contains(&grant("bob", "shop")));
        store.store.update(PERMISSIONS, &mut |_| vec![Write::Remove { key: "x".into() }]).unwrap();
        assert_eq!(store.list().unwrap(), [grant("ann", "shop"), grant("bob", "shop")]);
    }

    #[test]
    fn the_oldest_grant_is_dropped_first() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let many = (0..MAX_PERMISSIONS).map(|n| grant(&format!("p{n}"), "shop"));
        let puts: Vec<Write> = many.map(|grant| Write::Put { key: key(&grant), value: encode(&grant) }).collect();
        store.store.update(PERMISSIONS, &mut |_| puts.clone()).unwrap();
        store.remember(&grant("p0", "shop")).unwrap();
        assert_eq!(store.list().unwrap().len(), MAX_PERMISSIONS);
        store.remember(&grant("new", "shop")).unwrap();
        assert_eq!(store.list().unwrap().len(), MAX_PERMISSIONS);
        assert!(!store.contains(&grant("p1", "shop")) && store.contains(&grant("p0", "shop")), "p0 was granted again");
        assert!(store.contains(&grant("new", "shop")));
    }
}
