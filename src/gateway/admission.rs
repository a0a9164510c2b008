//! Admission: a place for every call in flight, in the process and in its workspace, or a refusal at once.
//!
//! Nothing queues here: a call that finds no place is told to come back, before any work is done for it.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::base::limits;
use crate::engine::directory::WorkspaceHandle;
use crate::model::error::ToolError;

/// The places of the whole process.
#[derive(Clone)]
pub struct Admission {
    places: Arc<Semaphore>,
}

/// A call's place; dropped when the call is over.
#[derive(Debug)]
pub struct Place {
    _process: OwnedSemaphorePermit,
    _workspace: OwnedSemaphorePermit,
}

impl Default for Admission {
    fn default() -> Self {
        Self::with_places(limits::MAX_CALLS_IN_FLIGHT)
    }
}

impl Admission {
    /// So many calls at once.
    pub fn with_places(places: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(places)) }
    }

    /// A place for a call to `workspace`, or CAP_EXCEEDED with reason `overloaded`. A workspace that drains has none.
    pub fn enter(&self, workspace: &WorkspaceHandle) -> Result<Place, ToolError> {
        let overloaded = || ToolError::overloaded(limits::RETRY_AFTER_MS);
        let process = self.places.clone().try_acquire_owned().map_err(|_| overloaded())?;
        let workspace = workspace.places.clone().try_acquire_owned().map_err(|_| overloaded())?;
        Ok(Place { _process: process, _workspace: workspace })
    }
}
