//! Admission: a slot for every call in flight, in the process and in its workspace, or an immediate rejection.
//!
//! Calls never queue here. A call without a slot is rejected with a retry hint before any work is done for it.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits;
use codeyard_base::seeded_faults;
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
    _workspaces: Vec<OwnedSemaphorePermit>,
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
        if seeded_faults::is_on("call_limit_ignored") {
            return Ok(CallSlot { _process: process, _workspaces: vec![] });
        }
        let workspace = workspace.begin_call().ok_or(Overload::Workspace)?;
        Ok(CallSlot { _process: process, _workspaces: vec![workspace] })
    }

    /// Takes a slot for a call to several workspaces. With the slot, whether each workspace had one: the others aren't asked.
    ///
    /// # Errors
    /// The process has no slot.
    pub(super) fn admit_group(&self, workspaces: &[Arc<WorkspaceHandle>]) -> Result<(CallSlot, Vec<bool>), Overload> {
        let process = self.slots.clone().try_acquire_owned().map_err(|_| Overload::Process)?;
        let slots: Vec<Option<OwnedSemaphorePermit>> =
            workspaces.iter().map(|workspace| workspace.begin_call()).collect();
        let admitted = slots.iter().map(Option::is_some).collect();
        Ok((CallSlot { _process: process, _workspaces: slots.into_iter().flatten().collect() }, admitted))
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
