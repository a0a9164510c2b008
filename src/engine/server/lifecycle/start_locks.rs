//! One lock for each language server of a workspace. It is taken before the process starts and held until the process has ended.
//!
//! A server that is being stopped, or whose workspace panicked, shares its caches with its successor.
//! Invariant: at most one process at a time for a workspace and key: a kind and a project root, or a kind alone. Bounded: a lock that is
//! neither held nor waited for is removed, so there are no more locks than starts and processes.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use crate::server::child_key::ChildKey;
use codeyard_base::ids::WorkspaceName;

/// The locks that are held or waited for.
type HeldLocks = BTreeMap<(WorkspaceName, ChildKey), Weak<AsyncMutex<()>>>;

/// The start locks of a service.
#[derive(Debug, Clone, Default)]
pub struct StartLocks(Arc<Mutex<HeldLocks>>);

/// A held lock; dropping it releases it.
#[derive(Debug)]
pub struct StartLock(#[expect(dead_code, reason = "it is held, not read")] OwnedMutexGuard<()>);

impl StartLocks {
    /// Takes the lock, after its current holder releases it; in order of the calls.
    pub async fn take(&self, workspace: &WorkspaceName, key: &ChildKey) -> StartLock {
        let lock = self.lock(workspace, key);
        StartLock(lock.lock_owned().await)
    }

    fn lock(&self, workspace: &WorkspaceName, key: &ChildKey) -> Arc<AsyncMutex<()>> {
        let mut start_locks = self.0.lock();
        start_locks.retain(|_, lock| lock.strong_count() > 0);
        let of = (workspace.clone(), key.clone());
        if let Some(lock) = start_locks.get(&of).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::new(AsyncMutex::new(()));
        start_locks.insert(of, Arc::downgrade(&lock));
        lock
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn a_start_lock_is_exclusive_and_forgotten_when_free() {
        let start_locks = StartLocks::default();
        let name = WorkspaceName::new("w").unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|kind| ChildKey { kind: kind.into(), root: "/w".into() });
        let held = start_locks.take(&name, &a).now_or_never().unwrap();
        let mut waiting = Box::pin(start_locks.take(&name, &a));
        assert!(waiting.as_mut().now_or_never().is_none(), "the lock is held");
        let other = start_locks.take(&name, &b).now_or_never().expect("another kind has another lock");
        drop(held);
        let held = waiting.now_or_never().expect("it is free now");
        drop((held, other));
        drop(start_locks.take(&name, &c).now_or_never());
        assert_eq!(start_locks.0.lock().len(), 1, "the free ones are forgotten");
    }
}
