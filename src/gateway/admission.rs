//! Admission: a place for every call in flight, in the process and in its workspace, or a refusal at once.
//!
//! Nothing queues here: a call that finds no place is told to come back, before any work is done for it.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits;
use codeyard_engine::directory::WorkspaceHandle;

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

/// Why a call finds no place: it is to be answered with CAP_EXCEEDED and reason `overloaded`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// As many calls are in flight as the process takes.
    Process,
    /// As many as the workspace takes.
    Workspace,
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

    /// A place for a call to `workspace`, or what is full. A workspace that drains has none.
    pub fn enter(&self, workspace: &WorkspaceHandle) -> Result<Place, Full> {
        let process = self.places.clone().try_acquire_owned().map_err(|_| Full::Process)?;
        let workspace = workspace.places.clone().try_acquire_owned().map_err(|_| Full::Workspace)?;
        Ok(Place { _process: process, _workspace: workspace })
    }
}

impl Full {
    /// The word in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Workspace => "workspace",
        }
    }
}
