//! Holds the process of a language server and its start lock; ends the process when dropped.
//!
//! Invariant: the lock is released when the process has ended, or after [`ENDED_PROCESS_WAIT_MS`].

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::limits::ENDED_PROCESS_WAIT_MS;
use crate::server::lifecycle::start_locks::StartLock;
use codeyard_process::launch::Process;

/// Kills the whole process group when dropped, unless it was stopped before.
pub(in crate::server) struct KillOnDrop {
    process: Arc<dyn Process>,
    armed: bool,
    start_lock: Option<StartLock>,
}

impl KillOnDrop {
    pub(in crate::server) fn new(process: Arc<dyn Process>, start_lock: StartLock) -> Self {
        Self { process, armed: true, start_lock: Some(start_lock) }
    }

    /// The process.
    pub(in crate::server) fn process(&self) -> &Arc<dyn Process> {
        &self.process
    }

    pub(in crate::server) fn disarm(mut self) {
        self.armed = false;
    }
}

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        self.process.kill();
        let mut exited = self.process.exited();
        if (&mut exited).now_or_never().is_some() {
            return;
        }
        // Its successor must not meet it in the caches that both use.
        let start_lock = self.start_lock.take();
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                timeout(Duration::from_millis(ENDED_PROCESS_WAIT_MS), exited).await.ok();
                drop(start_lock);
            });
        }
    }
}
