//! How a call reaches an open run.

use std::sync::Arc;

use actix::Addr;
use tokio::sync::watch;

use super::actor::RunActor;
use super::messages::{ApplyCommand, StopRun};
use super::service::RunService;
use codeyard_runs::durable_run::RunError;
use codeyard_runs::event::TraceContext;
use codeyard_runs::live_run::{CommandError, LiveRun};
use codeyard_runs::machine::Command;
use codeyard_runs::observer::RunStatus;
use codeyard_runs::stage::StageError;

/// An open run. Cheap to clone.
#[derive(Clone)]
pub struct RunHandle {
    pub(super) live: Arc<LiveRun>,
    pub(super) actor: Addr<RunActor>,
    pub(super) status: watch::Receiver<RunStatus>,
    pub(super) service: Arc<RunService>,
}

impl RunHandle {
    /// The run. Its methods block, but [`LiveRun::status`].
    pub fn live(&self) -> &Arc<LiveRun> {
        &self.live
    }

    /// Its status now.
    pub fn status(&self) -> RunStatus {
        self.live.status()
    }

    /// How many runs wait before this one, if it waits for its turn.
    pub fn queue_position(&self) -> Option<usize> {
        self.service.queue().position(self.live.id())
    }

    /// Carries out a command; it is durable when this returns.
    ///
    /// # Errors
    /// If the run or its workflow refuses, or it can't be recorded.
    pub async fn apply(&self, command: Command, trace: TraceContext) -> Result<(), CommandError> {
        let stopped = || CommandError::Stage(StageError::new("INTERNAL", "the workspace is being stopped").retryable());
        self.actor.send(ApplyCommand { command, trace }).await.map_err(|_| stopped())?
    }

    /// Sends a command whose outcome only the run's log shows.
    pub(crate) fn begin(&self, command: ApplyCommand) {
        if self.actor.try_send(command).is_err() {
            tracing::warn!(run = %self.live.id(), "a run can't be continued now; resume it");
        }
    }

    /// Interrupts the run's work; it has ended when this returns.
    pub(crate) async fn stop(&self) {
        // An actor that has ended does no work.
        self.actor.send(StopRun).await.ok();
    }

    /// Whether nobody else holds the run and nothing works on it.
    pub(crate) fn is_unused(&self) -> bool {
        // The actor and this handle.
        Arc::strong_count(&self.live) <= 2 && !self.live.status().view.progress.is_active()
    }

    /// Waits until `is_wanted` is true of the status, and returns that. Returns the last one if the run is closed before.
    pub async fn wait_for(&self, mut is_wanted: impl FnMut(&RunStatus) -> bool) -> RunStatus {
        let mut status = self.status.clone();
        loop {
            let now = self.live.status();
            if is_wanted(&now) || status.changed().await.is_err() {
                return now;
            }
            status.borrow_and_update();
        }
    }

    /// The content of an artifact; `None` if there is none of this name.
    ///
    /// # Errors
    /// If it can't be read.
    pub async fn artifact(&self, name: String) -> Result<Option<(String, Vec<u8>)>, RunError> {
        let live = self.live.clone();
        let read = codeyard_base::blocking::spawn(move || live.artifact(&name)).await;
        let found = read.unwrap_or(Ok(None))?;
        Ok(found.map(|(version, content)| (version.sha256, content)))
    }
}
