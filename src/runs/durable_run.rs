//! One run on disk: its log, its artifacts, and what follows from them.
//!
//! It doesn't execute stages: [`DurableRun::command`] says what to begin and to stop, and the caller reports what became of it. Invariants:
//! every change is an event before it is visible; what a run is follows from its events alone, so a run that is opened again is the one that
//! was closed; a work item that has finished isn't offered again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use codeyard_base::atomic_file::{self, Durability};
use codeyard_base::clock;
use serde_json::{Value, json};

use crate::artifact_store::{ArtifactError, ArtifactStore, ArtifactVersion};
use crate::event::{EventType, TraceContext};
use crate::event_log::{EventLog, EventLogError, NewEvent};
use crate::machine::{self, Action, Activity, Advance, Command, Refusal, StageResult, Work};
use crate::run_folder::{RunFolder, shown};
use crate::run_id::RunId;
use crate::run_view::{ReplayError, RunView};
use crate::work_item::{WorkItemId, WorkItemSpec, WorkItemState};
use crate::workflow::{Role, Workflow};

/// A run that is open for changes.
#[derive(Debug)]
pub struct DurableRun {
    workflow: &'static Workflow,
    id: RunId,
    folder: RunFolder,
    log: EventLog,
    artifacts: ArtifactStore,
    view: RunView,
}

/// What a run is started with.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStart {
    /// The workspace that it belongs to.
    pub workspace: String,
    /// What it is about, in the workflow's words.
    pub subject: String,
    /// Whether it goes on by itself.
    pub advance: Advance,
    pub config: Value,
}

/// What a caller has to do after a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Stop this work, child processes included.
    Stop(Work),
    /// Do this work: plan its items with [`DurableRun::plan_items`], and do those that aren't finished.
    Begin(Work),
}

/// Why a run can't be created, opened or changed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The log can't be read or written.
    #[error(transparent)]
    Log(#[from] EventLogError),
    /// An artifact can't be read or written.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// The log's content isn't that of a run of this workflow.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error("{} can't be read or written: {source}; free space and check its permissions, then try again", shown(path))]
    Io {
        /// Which file or folder.
        path: PathBuf,
        source: io::Error,
    },
}

impl DurableRun {
    /// Creates a run, durable when this returns.
    ///
    /// A folder of this identifier without an event, which a crash during a creation leaves, is used again.
    ///
    /// # Errors
    /// If the run exists, or can't be written.
    pub fn create(
        workflow: &'static Workflow,
        runs: &Path,
        id: &RunId,
        start: &RunStart,
        trace: &TraceContext,
    ) -> Result<Self, RunError> {
        let folder = RunFolder::new(runs, id);
        let failed = |source| RunError::Io { path: folder.top().to_owned(), source };
        folder.make().map_err(failed)?;
        let log = match EventLog::open(&folder.events(), id) {
            Ok((log, events)) if events.is_empty() => log,
            // This fails if the log exists.
            _ => EventLog::create(&folder.events(), id)?,
        };
        let text = codeyard_base::stable_json::stringify(&start.config);
        atomic_file::replace_with(&folder.config(), Durability::Power, text.as_bytes()).map_err(failed)?;
        let artifacts = ArtifactStore::new(folder.artifacts());
        let view = RunView::new(workflow);
        let mut run = Self { workflow, id: id.clone(), folder, log, artifacts, view };
        let payload = json!({
            "workflow": workflow.name,
            "workspace": start.workspace,
            "subject": start.subject,
            "advance": start.advance,
            "config_sha256": codeyard_base::digest::sha256hex(&text),
        });
        run.append(trace, vec![NewEvent { event_type: EventType::RunCreated, payload }])?;
        Ok(run)
    }

    /// Opens a run: replays its log and completes what a crash has interrupted.
    ///
    /// # Errors
    /// If it can't be read, or its log is damaged.
    pub fn open(workflow: &'static Workflow, runs: &Path, id: &RunId) -> Result<Self, RunError> {
        let folder = RunFolder::new(runs, id);
        let (log, events) = EventLog::open(&folder.events(), id)?;
        if events.is_empty() {
            let source = io::Error::new(io::ErrorKind::NotFound, "the run was never created");
            return Err(RunError::Io { path: folder.events(), source });
        }
        let view = RunView::replay(workflow, &events)?;
        let artifacts = ArtifactStore::new(folder.artifacts());
        artifacts.recover(&view.artifacts.values().cloned().collect::<Vec<_>>())?;
        Ok(Self { workflow, id: id.clone(), folder, log, artifacts, view })
    }

    /// Its identifier.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Its folders.
    pub fn folder(&self) -> &RunFolder {
        &self.folder
    }

    /// What follows from its events.
    pub fn view(&self) -> &RunView {
        &self.view
    }

    /// The configuration that it was started with.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn config(&self) -> Result<Value, RunError> {
        let path = self.folder.config();
        let read = fs::read(&path).and_then(|text| serde_json::from_slice(&text).map_err(io::Error::other));
        read.map_err(|source| RunError::Io { path, source })
    }

    /// Whether the state machine allows a command now.
    ///
    /// # Errors
    /// If it doesn't.
    pub fn check(&self, command: Command) -> Result<(), Refusal> {
        machine::apply(self.workflow, &self.view.progress, command).map(|_| ())
    }

    /// Carries out a command that isn't a result of work.
    ///
    /// # Errors
    /// If the state doesn't allow it, or it can't be made durable. Then nothing has changed.
    pub fn command(&mut self, trace: &TraceContext, command: Command) -> Result<Vec<Effect>, RunError> {
        self.apply(trace, command, Value::Null)
    }

    /// Records the end of the running stage and goes on from there. `failure` says why it failed, if it did.
    ///
    /// # Errors
    /// If nothing runs, or it can't be made durable.
    pub fn finish_stage(
        &mut self,
        trace: &TraceContext,
        result: StageResult,
        failure: Value,
    ) -> Result<Vec<Effect>, RunError> {
        self.apply(trace, Command::Finished(result), failure)
    }

    /// Records the items of a stage that has begun, and returns those that still have to be done.
    ///
    /// # Errors
    /// If they can't be made durable.
    pub fn plan_items(
        &mut self,
        trace: &TraceContext,
        work: Work,
        specs: &[WorkItemSpec],
    ) -> Result<Vec<WorkItemId>, RunError> {
        let ids: Vec<WorkItemId> = specs.iter().map(|spec| WorkItemId::new(&self.id, work.attempt, spec)).collect();
        let queued = specs.iter().zip(&ids).filter(|(_, id)| !self.view.items.contains_key(*id)).map(|(spec, id)| {
            let payload = json!({
                "item": id.as_str(), "worker": spec.worker, "scope": spec.scope, "stage": work.stage, "attempt": work.attempt,
            });
            NewEvent { event_type: EventType::WorkItemQueued, payload }
        });
        let queued: Vec<NewEvent> = queued.collect();
        self.append(trace, queued)?;
        let is_open =
            |id: &WorkItemId| self.view.items.get(id).is_none_or(|item| item.state != WorkItemState::Finished);
        Ok(ids.into_iter().filter(is_open).collect())
    }

    /// Records that an item has begun.
    ///
    /// # Errors
    /// If it can't be made durable.
    pub fn item_started(&mut self, trace: &TraceContext, id: &WorkItemId) -> Result<(), RunError> {
        let payload = json!({"item": id.as_str()});
        self.append(trace, vec![NewEvent { event_type: EventType::WorkItemStarted, payload }])
    }

    /// Records that an item has ended well, with its artifacts and its result: all of it, or nothing.
    ///
    /// # Errors
    /// If it can't be made durable. Then the item is repeated.
    pub fn item_finished(
        &mut self,
        trace: &TraceContext,
        id: &WorkItemId,
        artifacts: &[(String, Vec<u8>)],
        mut events: Vec<NewEvent>,
        result: Value,
    ) -> Result<(), RunError> {
        let mut staged = Vec::with_capacity(artifacts.len());
        for (name, content) in artifacts {
            staged.push(self.artifacts.stage(name, content)?);
        }
        events.extend(staged.iter().map(|version| NewEvent {
            event_type: EventType::ArtifactWritten,
            payload: json!({"name": version.name, "sha256": version.sha256, "bytes": version.bytes, "item": id.as_str()}),
        }));
        let payload = json!({"item": id.as_str(), "result": result});
        events.push(NewEvent { event_type: EventType::WorkItemFinished, payload });
        self.append(trace, events)?;
        for version in &staged {
            self.artifacts.publish(version)?;
        }
        Ok(())
    }

    /// Records that an item has failed.
    ///
    /// # Errors
    /// If it can't be made durable.
    pub fn item_failed(&mut self, trace: &TraceContext, id: &WorkItemId, error: &Value) -> Result<(), RunError> {
        let payload = json!({"item": id.as_str(), "error": error});
        self.append(trace, vec![NewEvent { event_type: EventType::WorkItemFailed, payload }])
    }

    /// Makes further events durable.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn emit(&mut self, trace: &TraceContext, events: Vec<NewEvent>) -> Result<(), RunError> {
        self.append(trace, events)
    }

    /// Treats the running stage as interrupted: whoever worked on it has stopped without recording an end.
    pub fn interrupt(&mut self) {
        if let Activity::Running(work) = self.view.progress.activity {
            self.view.progress.activity = Activity::Interrupted(work);
        }
    }

    /// Writes the readable state of the run. It is made from the events, so losing it loses nothing.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn write_snapshot(&self) -> Result<(), RunError> {
        let path = self.folder.snapshot();
        let text = codeyard_base::stable_json::stringify(&self.view.snapshot(&self.id));
        atomic_file::replace_with(&path, Durability::Process, text.as_bytes())
            .map_err(|source| RunError::Io { path, source })
    }

    /// The content of an artifact; `None` if there is none of this name.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn artifact(&self, name: &str) -> Result<Option<(ArtifactVersion, Vec<u8>)>, RunError> {
        let Some(version) = self.view.artifacts.get(name) else { return Ok(None) };
        Ok(Some((version.clone(), self.artifacts.read(version)?)))
    }

    fn apply(&mut self, trace: &TraceContext, command: Command, failure: Value) -> Result<Vec<Effect>, RunError> {
        let outcome = machine::apply(self.workflow, &self.view.progress, command)?;
        let mut effects = Vec::new();
        let mut events = Vec::new();
        let mut from = self.view.progress.state.name;
        for action in outcome.actions {
            match action {
                Action::Stop(work) => effects.push(Effect::Stop(work)),
                Action::Begin(work) => effects.push(Effect::Begin(work)),
                Action::Enter(to) => {
                    events.push(state_changed(from, to, outcome.progress.report));
                    events.extend(self.end_event(to, &failure));
                    from = to;
                }
            }
        }
        if events.is_empty() && matches!(command, Command::Finished(_)) {
            events.push(state_changed(from, from, outcome.progress.report));
        }
        // A stage that failed without ending the run: whoever waits for it learns why.
        if let Some(event) = events.last_mut().filter(|event| event.event_type == EventType::RunStateChanged)
            && !failure.is_null()
        {
            event.payload["error"] = failure;
        }
        self.append(trace, events)?;
        self.view.progress = outcome.progress;
        Ok(effects)
    }

    /// The event of a run that ends by entering `state`.
    fn end_event(&self, state: &str, failure: &Value) -> Option<NewEvent> {
        let (event_type, payload) = match self.workflow.state(state)?.role {
            Role::Done => (EventType::RunCompleted, json!({})),
            Role::Failed => (EventType::RunFailed, json!({"error": failure})),
            Role::Cancelled => (EventType::RunCancelled, json!({})),
            _ => return None,
        };
        Some(NewEvent { event_type, payload })
    }

    /// Makes events durable, then applies them to the view.
    fn append(&mut self, trace: &TraceContext, new: Vec<NewEvent>) -> Result<(), RunError> {
        if new.is_empty() {
            return Ok(());
        }
        for event in self.log.append(&clock::utc(clock::wall_s()), trace, new)? {
            self.view.apply(self.workflow, &event)?;
        }
        Ok(())
    }
}

/// The event of a stage's end. Where a stage ends in the state that it began in, both states are the same.
fn state_changed(from: &str, to: &str, report: Option<bool>) -> NewEvent {
    let payload = json!({"from": from, "to": to, "report_ok": report});
    NewEvent { event_type: EventType::RunStateChanged, payload }
}

#[cfg(test)]
mod tests;
