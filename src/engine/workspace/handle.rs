//! How a call reaches its workspace without asking the supervisor, and what is known of it without asking any actor.

use std::path::PathBuf;
use std::sync::Arc;

use actix::Addr;
use actix_rt::ArbiterHandle;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::indexer::indexes::Indexes;
use crate::limits;
use crate::query::known_files::SharedKnownFiles;
use crate::server::program::isolation::WorkspaceIsolation;
use crate::status::registry::{ServerPhase, WorkspaceReport, WorkspaceState, WorkspaceStatus};
use crate::status::server_status::ServerHealth;
use crate::status::watch_slot::WatchSlot;
use crate::workspace::activity;
use crate::workspace::actor::Workspace;
use crate::workspace::messages::{WorkspaceHealth, WorkspaceProblem};
use codeyard_base::clock::Instant;
use codeyard_base::ids::WorkspaceName;
use codeyard_config::{ContentModes, PermissionSection};
use codeyard_files::gate::Gate;
use codeyard_model::epoch::Epochs;
use codeyard_model::limits::Limits;
use codeyard_paging::{SnapshotStats, SnapshotStore};

/// How a call reaches its workspace.
#[derive(Clone)]
pub struct WorkspaceHandle {
    /// Its name.
    pub name: WorkspaceName,
    /// The path gate of its roots.
    pub gate: Gate,
    /// The limits of its answers.
    pub limits: Limits,
    /// The permissions of callers.
    pub permission: Arc<PermissionSection>,
    /// The copies of a result that callers get.
    pub content: Arc<ContentModes>,
    /// What its servers may do.
    pub isolation: Arc<WorkspaceIsolation>,
    /// Its actor.
    pub actor: Addr<Workspace>,
    /// The thread that it and its calls run on.
    pub arbiter: ArbiterHandle,
    /// Call slots; closed when the workspace drains.
    pub places: Arc<Semaphore>,
    /// Its subscription to file changes.
    pub watch: WatchSlot,
    /// Its entry in the status registry.
    pub status: Arc<WorkspaceStatus>,
    /// Its retained results.
    pub snapshots: Arc<Mutex<SnapshotStore>>,
    /// The files that its answers depend on.
    pub known: SharedKnownFiles,
    /// The resources that the code indexes share.
    pub indexes: Arc<Indexes>,
    /// The largest payload of an answer from its code index, in bytes.
    pub payload_bytes: usize,
    /// The longest text of a page of the tool `lsp`, in code points.
    pub page_chars: usize,
}

impl WorkspaceHandle {
    /// A semaphore with the call slots of one workspace.
    pub fn new_places() -> Arc<Semaphore> {
        Arc::new(Semaphore::new(limits::MAX_CALLS_PER_WORKSPACE))
    }

    /// A slot for one more call, which counts as begun; `None` if there is none.
    pub fn begin_call(&self) -> Option<OwnedSemaphorePermit> {
        let slot = self.places.clone().try_acquire_owned().ok()?;
        self.status.count_call();
        Some(slot)
    }

    /// Number of calls in flight.
    pub fn calls(&self) -> usize {
        limits::MAX_CALLS_PER_WORKSPACE.saturating_sub(self.places.available_permits())
    }

    /// Its health, as its actors published it last. Asks no actor, so it is right also while they are busy. Must be called inside a
    /// tokio runtime.
    pub fn health(&self) -> WorkspaceHealth {
        let report = self.status.report();
        let Epochs { roots, text, fs, diagnostics } = report.epochs;
        let servers = self.servers();
        let indexes = self.status.index_board.read();
        WorkspaceHealth {
            name: self.name.to_string(),
            roots: self.gate.root_set().allowed().map(PathBuf::from).collect(),
            epochs: [roots, text, fs, diagnostics],
            watching: self.watching(&report),
            source_files: self.watch.get().map(|subscription| subscription.source_files().len()),
            snapshots: self.status.snapshots(),
            isolation: self.isolation.clone(),
            activity: activity::of(self, &report, &servers, &indexes),
            age: self.status.heartbeat().age(),
            servers,
            stopped: self.status.stopped(),
            indexes,
        }
    }

    /// The health of its language servers.
    pub fn servers(&self) -> Vec<ServerHealth> {
        self.status.servers().iter().map(|status| status.health()).collect()
    }

    /// The figures of its retained results.
    pub fn snapshot_stats(&self) -> SnapshotStats {
        self.snapshots.lock().stats(Instant::now())
    }

    /// Its current problems.
    pub fn problems(&self) -> Vec<WorkspaceProblem> {
        let unwatched = self.unwatched(&self.status.report()).map(|_| WorkspaceProblem::Unwatched);
        let quarantined = self.status.servers().into_iter().filter(|status| status.phase() == ServerPhase::Quarantined);
        let quarantined = quarantined.map(|status| WorkspaceProblem::Quarantined(status.identity().kind.to_string()));
        unwatched.into_iter().chain(quarantined).collect()
    }

    fn watching(&self, report: &WorkspaceReport) -> String {
        match report.state {
            WorkspaceState::Idle => "idle".to_owned(),
            WorkspaceState::Starting => "starting".to_owned(),
            _ => self.unwatched(report).unwrap_or_else(|| "watching".to_owned()),
        }
    }

    /// Why files aren't watched, although they should be.
    fn unwatched(&self, report: &WorkspaceReport) -> Option<String> {
        let is_begun = !matches!(report.state, WorkspaceState::Idle | WorkspaceState::Starting);
        let degraded = || self.watch.get().and_then(|subscription| subscription.degraded());
        report.unwatched.clone().or_else(degraded).filter(|_| is_begun)
    }
}
