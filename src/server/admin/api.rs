//! The context of the operations: the engine's control, the probes, and facts about the service.

use std::sync::Arc;

use crate::transport::http::probes::{
    Exposition, FailingCheck, ProbeAccess, ProbeCheck, Probes, Readiness, ReadinessChecks,
};
use codeyard_base::clock::Instant;
use codeyard_engine::supervisor::control::Control;
use codeyard_engine::supervisor::problems::{ServiceProblem as Found, ServiceProblems};
use codeyard_engine::workspace::messages::WorkspaceProblem;

use super::documents::CallCount;

/// Facts about the service that the engine doesn't know.
#[derive(Clone)]
pub struct ServiceFacts {
    pub version: &'static str,
    /// When the service started.
    pub started: Instant,
    /// The endpoint of the default workspace.
    pub listen: String,
    /// The address of the admin API over TCP.
    pub admin_listen: Option<String>,
    /// Returns the number of tool calls since the start, by tool and outcome.
    pub calls: Arc<dyn Fn() -> Vec<CallCount> + Send + Sync>,
}

/// The context of the operations.
pub struct Api {
    pub(super) control: Control,
    pub(super) probes: Probes,
    pub(super) facts: ServiceFacts,
}

impl Api {
    /// A context with the engine behind `control`.
    pub fn new(control: Control, probes: Probes, facts: ServiceFacts) -> Self {
        Self { control, probes, facts }
    }
}

/// The probes of the engine behind `control`, with the metrics of `exposition`.
pub fn probes(control: &Control, exposition: Exposition) -> Probes {
    let control = control.clone();
    let checks: ReadinessChecks = Arc::new(move || {
        let control = control.clone();
        Box::pin(async move {
            let engine = FailingCheck { check: ProbeCheck::Engine, workspace: None, server: None };
            let found = control.problems().await.map(|ServiceProblems { failing, degraded }| {
                let checks = |found: Vec<Found>| found.into_iter().map(check).collect::<Vec<_>>();
                (checks(failing), checks(degraded))
            });
            let (failing, degraded) = found.unwrap_or_else(|_| (vec![engine], Vec::new()));
            Readiness { ready: failing.is_empty(), failing, degraded }
        })
    });
    Probes { checks, exposition, access: ProbeAccess::default() }
}

fn check(found: Found) -> FailingCheck {
    let (check, workspace, server) = match found {
        Found::Stopping => (ProbeCheck::Draining, None, None),
        Found::NotOpen(name) => (ProbeCheck::WorkspaceNotOpen, Some(name), None),
        Found::NotAnswering(name) => (ProbeCheck::WorkspaceNotAnswering, Some(name), None),
        Found::InWorkspace(name, WorkspaceProblem::Unwatched) => (ProbeCheck::WatcherGone, Some(name), None),
        Found::InWorkspace(name, WorkspaceProblem::Quarantined(kind)) => {
            (ProbeCheck::ServerQuarantined, Some(name), Some(kind))
        }
    };
    FailingCheck { check, workspace: workspace.map(|name| name.to_string()), server }
}
