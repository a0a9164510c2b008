//! Checks now and then that this process still holds its state directory.
//!
//! Invariant: while it exists, the lock is held.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use codeyard_state::{LockState, ServeLock};

/// Time between two checks that this process still holds the lock of its state directory, in milliseconds.
const LOCK_CHECK_MS: u64 = 2_000;

/// A held lock that is checked.
pub(crate) struct LockWatch {
    lost: CancellationToken,
    task: tokio::task::JoinHandle<()>,
    _lock: Arc<ServeLock>,
}

impl LockWatch {
    /// Begins to check `lock`. Must run inside a tokio runtime.
    pub(crate) fn start(lock: ServeLock) -> Self {
        let lock = Arc::new(lock);
        let lost = CancellationToken::new();
        let task = tokio::spawn(watch(lock.clone(), lost.clone()));
        Self { lost, task, _lock: lock }
    }

    /// Waits until the state directory is no longer this process's.
    pub(crate) async fn lost(&self) {
        self.lost.cancelled().await;
    }
}

impl Drop for LockWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn watch(lock: Arc<ServeLock>, lost: CancellationToken) {
    loop {
        tokio::time::sleep(Duration::from_millis(LOCK_CHECK_MS)).await;
        let checked = lock.clone();
        match tokio::task::spawn_blocking(move || checked.check()).await {
            Ok(Ok(LockState::Held)) => {}
            Ok(Ok(LockState::Restored)) => {
                tracing::warn!("the lock file of the state directory had been removed; it was made again");
            }
            Ok(Ok(LockState::Lost)) => {
                lost.cancel();
                return;
            }
            Ok(Err(error)) => tracing::warn!(%error, "the lock file of the state directory can't be checked"),
            Err(_) => return,
        }
    }
}
