//! The context of the operations: the engine's control, the probes, and facts about the service.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt;
use tokio::time::timeout;

use crate::transport::http::probes::{
    Exposition, FailingCheck, ProbeAccess, ProbeCheck, Probes, Readiness, ReadinessChecks,
};
use codeyard_audit::AuditLog;
use codeyard_base::blocking;
use codeyard_base::clock::Instant;
use codeyard_engine::supervisor::control::Control;
use codeyard_engine::supervisor::problems::{ServiceProblem as Found, ServiceProblems};
use codeyard_engine::workspace::messages::WorkspaceProblem;
use codeyard_state::StateDir;

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
    pub(super) audit: Option<Arc<AuditLog>>,
}

impl Api {
    /// A context with the engine behind `control`.
    pub fn new(control: Control, probes: Probes, facts: ServiceFacts) -> Self {
        Self { control, probes, facts, audit: None }
    }

    /// Records changes in an audit log.
    #[must_use]
    pub fn with_audit(self, audit: Option<Arc<AuditLog>>) -> Self {
        Self { audit, ..self }
    }
}

/// Longest wait for the free space of the state directory's disk, in milliseconds. While it hangs, what it said last holds.
const DISK_WAIT_MS: u64 = 500;

/// The probes of the engine behind `control` and of the state directory, with the metrics of `exposition`.
pub fn probes(control: &Control, state: &StateDir, exposition: Exposition) -> Probes {
    let control = control.clone();
    let state = state.clone();
    let disk = Arc::new(DiskCheck::default());
    let checks: ReadinessChecks =
        Arc::new(move || readiness(control.clone(), state.clone(), Arc::clone(&disk)).boxed());
    Probes { checks, exposition, access: ProbeAccess::default() }
}

/// The check of the state directory's disk. Invariant: one runs at a time, so that probes of a disk that hangs hold one thread.
#[derive(Default)]
struct DiskCheck {
    is_running: AtomicBool,
    was_full: AtomicBool,
}

/// The check that runs.
struct RunningDiskCheck(Arc<DiskCheck>);

impl Drop for RunningDiskCheck {
    fn drop(&mut self) {
        self.0.is_running.store(false, Ordering::Release);
    }
}

impl DiskCheck {
    /// Whether the disk is full; what it said last if a check still runs, or doesn't end in time.
    async fn is_full(self: Arc<Self>, state: StateDir) -> bool {
        if !self.is_running.swap(true, Ordering::AcqRel) {
            let running = RunningDiskCheck(Arc::clone(&self));
            let work = blocking::spawn(move || {
                running.0.was_full.store(state.is_disk_full(), Ordering::Release);
                drop(running);
            });
            drop(timeout(Duration::from_millis(DISK_WAIT_MS), work).await);
        }
        self.was_full.load(Ordering::Acquire)
    }
}

async fn readiness(control: Control, state: StateDir, disk: Arc<DiskCheck>) -> Readiness {
    let of_service = |check| FailingCheck { check, workspace: None, server: None };
    let is_disk_full = disk.is_full(state).await;
    let Ok(ServiceProblems { failing, degraded }) = control.problems().await else {
        return Readiness { ready: false, failing: vec![of_service(ProbeCheck::Engine)], degraded: Vec::new() };
    };
    let full = is_disk_full.then(|| of_service(ProbeCheck::StateDiskFull));
    let degraded = full.into_iter().chain(degraded.into_iter().map(check)).collect();
    Readiness { ready: failing.is_empty(), failing: failing.into_iter().map(check).collect(), degraded }
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
