//! The current problems of the service, and which of them keep it from serving.
//!
//! Invariant: a problem of one workspace never makes the service unready while another workspace serves.

use std::time::Duration;

use crate::limits::HUNG_AFTER_MS;
use crate::supervisor::messages::{WorkspaceEntry, WorkspaceListing};
use crate::workspace::messages::WorkspaceProblem;
use codeyard_base::ids::WorkspaceName;

/// A problem of the service, as readiness probes report it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceProblem {
    Stopping,
    /// A workspace couldn't be opened.
    NotOpen(WorkspaceName),
    /// The thread of a workspace has not run for long.
    NotAnswering(WorkspaceName),
    /// Something is wrong in a workspace.
    InWorkspace(WorkspaceName, WorkspaceProblem),
}

/// All current problems.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceProblems {
    /// Why the service isn't ready: it is stopping, or none of its workspaces serves.
    pub failing: Vec<ServiceProblem>,
    /// What is wrong in single workspaces while the service is ready.
    pub degraded: Vec<ServiceProblem>,
}

impl ServiceProblem {
    /// The workspace that it is about, if it is about one.
    pub fn workspace(&self) -> Option<&WorkspaceName> {
        match self {
            Self::Stopping => None,
            Self::NotOpen(name) | Self::NotAnswering(name) | Self::InWorkspace(name, _) => Some(name),
        }
    }

    /// Its word in metrics and probes.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Stopping => "draining",
            Self::NotOpen(_) => "workspace_not_open",
            Self::NotAnswering(_) => "workspace_not_answering",
            Self::InWorkspace(_, WorkspaceProblem::Unwatched) => "watcher_gone",
            Self::InWorkspace(_, WorkspaceProblem::Quarantined(_)) => "server_quarantined",
        }
    }

    /// Whether its workspace answers nothing at all.
    fn is_outage(&self) -> bool {
        matches!(self, Self::NotOpen(_) | Self::NotAnswering(_))
    }
}

impl ServiceProblems {
    /// The problems of the workspaces of `listing`.
    pub fn of(listing: &WorkspaceListing) -> Self {
        let mut found: Vec<ServiceProblem> = listing.entries.iter().flat_map(of_workspace).collect();
        let outages = found.iter().filter(|problem| problem.is_outage()).count();
        let is_down = outages > 0 && outages == listing.entries.len();
        let degraded = if is_down { Vec::new() } else { std::mem::take(&mut found) };
        found.splice(..0, listing.stopping.then_some(ServiceProblem::Stopping));
        Self { failing: found, degraded }
    }
}

/// The problems of one workspace; at most one of them is an outage.
fn of_workspace(entry: &WorkspaceEntry) -> Vec<ServiceProblem> {
    let name = || entry.config.name.clone();
    let Some(handle) = &entry.handle else { return vec![ServiceProblem::NotOpen(name())] };
    let is_hung = handle.status.heartbeat().age() >= Duration::from_millis(HUNG_AFTER_MS);
    let hung = is_hung.then(|| ServiceProblem::NotAnswering(name()));
    let inside = handle.problems().into_iter().map(|problem| ServiceProblem::InWorkspace(name(), problem));
    hung.into_iter().chain(inside).collect()
}
