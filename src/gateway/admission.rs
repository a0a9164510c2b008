//! Admission: a slot for every call in flight, in the process and in its workspace, or an immediate rejection.
//!
//! Calls never queue here. A call without a slot is rejected with a retry hint before any work is done for it.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits;
use codeyard_engine::workspace::handle::WorkspaceHandle;

/// The call slots of the whole process. Cheap to clone.
#[derive(Clone)]
pub struct Admission {
    slots: Arc<Semaphore>,
}

/// The slot of one call. Drop it when the call ends.
#[derive(Debug)]
pub struct CallSlot {
    _process: OwnedSemaphorePermit,
    _workspace: OwnedSemaphorePermit,
}

/// Which slots are exhausted. The call is answered with its policy's `overloaded` code and the reason `overloaded`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overload {
    /// The slots of the process.
    Process,
    /// The slots of the workspace.
    Workspace,
}

impl Default for Admission {
    fn default() -> Self {
        Self::with_slots(limits::MAX_CALLS_IN_FLIGHT)
    }
}

impl Admission {
    /// Admission with this number of slots for the process.
    pub fn with_slots(slots: usize) -> Self {
        Self { slots: Arc::new(Semaphore::new(slots)) }
    }

    /// Takes a slot for a call to `workspace`. A workspace that drains has none.
    ///
    /// # Errors
    /// The first exhausted resource, process before workspace.
    pub fn admit(&self, workspace: &WorkspaceHandle) -> Result<CallSlot, Overload> {
        let process = self.slots.clone().try_acquire_owned().map_err(|_| Overload::Process)?;
        let workspace = workspace.places.clone().try_acquire_owned().map_err(|_| Overload::Workspace)?;
        Ok(CallSlot { _process: process, _workspace: workspace })
    }
}

impl Overload {
    /// The label value in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Workspace => "workspace",
        }
    }
}
