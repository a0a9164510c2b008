//! Holds the process of a language server and its start lock; ends the process when dropped.

use std::sync::Arc;

use crate::server::start_locks::StartLock;
use codeyard_process::launch::Process;

/// Kills the whole process group when dropped, unless it was stopped before.
pub(super) struct KillOnDrop {
    process: Arc<dyn Process>,
    armed: bool,
    _start_lock: StartLock,
}

impl KillOnDrop {
    pub(super) fn new(process: Arc<dyn Process>, start_lock: StartLock) -> Self {
        Self { process, armed: true, _start_lock: start_lock }
    }

    /// The process.
    pub(super) fn process(&self) -> &Arc<dyn Process> {
        &self.process
    }

    pub(super) fn disarm(mut self) {
        self.armed = false;
    }
}

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if self.armed {
            self.process.kill();
        }
    }
}
