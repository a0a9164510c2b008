//! A run in this process: carries out commands, executes stages, and publishes what follows from its events.
//!
//! All methods but [`LiveRun::status`] and [`LiveRun::interrupt`] block. It doesn't decide when a stage may begin: commands and executions return
//! the next one. Invariants: a stage executes only while the run says that it runs, so a cancelled one has no effect; what can't be recorded
//! is interrupted, never lost; the published status is never older than the last call that has returned.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use codeyard_base::clock::Instant;
use parking_lot::Mutex;
use serde_json::Value;

use self::execution::{Execution, ExecutionError};
use crate::artifact_store::ArtifactVersion;
use crate::durable_run::{DurableRun, Effect, RunError, RunStart};
use crate::event::TraceContext;
use crate::event_log::NewEvent;
use crate::machine::{Activity, Command, Work};
use crate::observer::{PassedPart, RunObserver, RunStatus, WorkPart};
use crate::run_folder::RunFolder;
use crate::run_id::RunId;
use crate::run_lease::RunLease;
use crate::stage::{StageCode, StageError, StageHost, StopFlag};
use crate::work_item::WorkItemState;

mod execution;

/// A run that is open in this process.
pub struct LiveRun {
    code: Arc<dyn StageCode>,
    runs: PathBuf,
    id: RunId,
    workspace: String,
    config: Value,
    run: Mutex<DurableRun>,
    running: Mutex<Option<(Work, StopFlag)>>,
    /// Whether no further work may begin.
    is_stopped: AtomicBool,
    _lease: Option<RunLease>,
    status: Mutex<RunStatus>,
    observer: Arc<dyn RunObserver>,
}

/// Why a command isn't carried out.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The run refuses, or can't be recorded.
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Stage(#[from] StageError),
}

impl LiveRun {
    /// Creates a run, durable when this returns. Its first command is [`Command::Resume`].
    ///
    /// # Errors
    /// If the run exists, or can't be written.
    pub fn create(
        code: Arc<dyn StageCode>,
        runs: &Path,
        id: &RunId,
        start: RunStart,
        trace: &TraceContext,
        observer: Arc<dyn RunObserver>,
    ) -> Result<Self, RunError> {
        let run = DurableRun::create(code.workflow(), runs, id, &start, trace)?;
        Ok(Self::of(code, runs, run, start.config, observer))
    }

    /// Opens a run.
    ///
    /// # Errors
    /// If it can't be read, or its log is damaged.
    pub fn open(
        code: Arc<dyn StageCode>,
        runs: &Path,
        id: &RunId,
        observer: Arc<dyn RunObserver>,
    ) -> Result<Self, RunError> {
        let run = DurableRun::open(code.workflow(), runs, id)?;
        let config = run.config()?;
        Ok(Self::of(code, runs, run, config, observer))
    }

    /// The same run, which holds its lease as long as it is open.
    pub(crate) fn holding(self, lease: RunLease) -> Self {
        Self { _lease: Some(lease), ..self }
    }

    fn of(
        code: Arc<dyn StageCode>,
        runs: &Path,
        run: DurableRun,
        config: Value,
        observer: Arc<dyn RunObserver>,
    ) -> Self {
        let status = RunStatus { view: Arc::new(run.view().clone()), message: None, broken: None };
        Self {
            code,
            runs: runs.to_owned(),
            id: run.id().clone(),
            workspace: run.view().workspace.clone(),
            config,
            run: Mutex::new(run),
            running: Mutex::new(None),
            is_stopped: AtomicBool::new(false),
            _lease: None,
            status: Mutex::new(status),
            observer,
        }
    }

    /// Its identifier.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Its folders.
    pub fn folder(&self) -> RunFolder {
        RunFolder::new(&self.runs, &self.id)
    }

    /// The configuration that it was started with.
    pub fn config(&self) -> &Value {
        &self.config
    }

    /// What it looks like now.
    pub fn status(&self) -> RunStatus {
        self.status.lock().clone()
    }

    /// The content of an artifact; `None` if there is none of this name.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn artifact(&self, name: &str) -> Result<Option<(ArtifactVersion, Vec<u8>)>, RunError> {
        self.run.lock().artifact(name)
    }

    /// Carries out a command. Returns the work to execute next, if the command begins one.
    ///
    /// # Errors
    /// If the run or its workflow refuses, or it can't be recorded. Then nothing has changed.
    pub fn command(&self, trace: &TraceContext, command: Command) -> Result<Option<Work>, CommandError> {
        if self.status.lock().broken.is_some() {
            self.reopen()?;
        }
        let is_idle = {
            let run = self.run.lock();
            // What the table of states refuses is refused with its words.
            run.check(command).map_err(RunError::from)?;
            !run.view().progress.is_active()
        };
        if is_idle {
            self.code.check(command, &self.config, self)?;
        }
        let mut run = self.run.lock();
        let effects = run.command(trace, command)?;
        let next = self.carry_out(effects);
        self.write_snapshot(&run);
        self.publish(&run);
        Ok(next)
    }

    /// Executes a stage to its end and records it. Returns the work to execute next. Does nothing if the run doesn't work on it.
    pub fn execute(&self, trace: &TraceContext, work: Work) -> Option<Work> {
        let stop = self.begin(work)?;
        let execution =
            Execution { live: self, work, trace, stop: &stop, left: Mutex::default(), failure: Mutex::new(None) };
        let outcome = execution.run();
        *self.running.lock() = None;
        let mut run = self.run.lock();
        if run.view().progress.activity != Activity::Running(work) {
            // It was cancelled meanwhile.
            self.publish(&run);
            return None;
        }
        if stop.was_requested() {
            run.interrupt();
            self.publish(&run);
            return None;
        }
        let (result, failure) = match outcome {
            Ok(result) => (result, Value::Null),
            Err(ExecutionError::Stage(error)) => (self.code.failed(work.stage, &error), error.to_value()),
            Err(ExecutionError::Record(error)) => {
                self.break_off(&mut run, &error);
                return None;
            }
            Err(ExecutionError::Disk(error)) => {
                self.break_off(&mut run, &error);
                return None;
            }
        };
        let next = match run.finish_stage(trace, result, failure) {
            Ok(effects) => self.carry_out(effects),
            Err(error) => {
                self.break_off(&mut run, &error);
                return None;
            }
        };
        self.write_snapshot(&run);
        self.publish(&run);
        next
    }

    /// The snapshot is made from the events, so a failure loses nothing.
    fn write_snapshot(&self, run: &DurableRun) {
        if let Err(error) = run.write_snapshot() {
            tracing::warn!(run = %self.id, %error, "the snapshot of a run can't be written");
        }
    }

    /// Lets no further work begin and interrupts the work in progress. The run doesn't end: it continues when it is opened again.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
        self.interrupt();
    }

    /// Says that nobody works on the run, although a stage may have begun: its thread couldn't be started, or it was stopped in the queue.
    pub fn abandon(&self) {
        let mut run = self.run.lock();
        *self.running.lock() = None;
        run.interrupt();
        self.publish(&run);
    }

    /// Tells the running work to stop. The run doesn't end: it continues when it is resumed.
    pub fn interrupt(&self) {
        if let Some((_, stop)) = &*self.running.lock() {
            stop.set();
        }
    }

    /// The flag of work that the run is at; `None` if it isn't at this work.
    fn begin(&self, work: Work) -> Option<StopFlag> {
        let mut run = self.run.lock();
        let mut running = self.running.lock();
        if self.is_stopped.load(Ordering::Acquire) {
            run.interrupt();
            self.publish(&run);
            return None;
        }
        if run.view().progress.activity != Activity::Running(work) || running.is_some() {
            return None;
        }
        let used = std::time::Duration::from_secs(run.view().worked_s);
        let limit = self.code.time_limit(&self.config);
        let stop = StopFlag::with_deadline(limit.map(|limit| Instant::now() + limit.saturating_sub(used)));
        *running = Some((work, stop.clone()));
        Some(stop)
    }

    fn carry_out(&self, effects: Vec<Effect>) -> Option<Work> {
        let mut next = None;
        for effect in effects {
            match effect {
                Effect::Stop(_) => self.interrupt(),
                Effect::Begin(work) => next = Some(work),
            }
        }
        next
    }

    /// The run can't be recorded: its work is interrupted until the next command.
    fn break_off(&self, run: &mut DurableRun, error: &dyn std::fmt::Display) {
        tracing::error!(run = %self.id, %error, "a run can't be recorded, so it is interrupted");
        run.interrupt();
        self.status.lock().broken = Some(error.to_string());
        self.publish(run);
    }

    fn reopen(&self) -> Result<(), RunError> {
        let mut run = self.run.lock();
        *run = DurableRun::open(self.code.workflow(), &self.runs, &self.id)?;
        self.status.lock().broken = None;
        Ok(())
    }

    fn publish(&self, run: &DurableRun) {
        let status = {
            let mut status = self.status.lock();
            status.view = Arc::new(run.view().clone());
            if !status.view.progress.is_active() {
                status.message = None;
            }
            status.clone()
        };
        self.observer.changed(&self.id, &status);
    }

    /// Changes the run and publishes the change.
    fn record<T>(&self, change: impl FnOnce(&mut DurableRun) -> Result<T, RunError>) -> Result<T, RunError> {
        let mut run = self.run.lock();
        let changed = change(&mut run)?;
        self.publish(&run);
        Ok(changed)
    }
}

impl StageHost for LiveRun {
    fn artifact(&self, name: &str) -> Result<Option<Vec<u8>>, StageError> {
        let found = self.run.lock().artifact(name).map_err(|error| unrecorded(&error))?;
        Ok(found.map(|(_, content)| content))
    }

    fn folder(&self) -> RunFolder {
        self.folder()
    }

    fn state(&self) -> &'static str {
        self.status.lock().view.progress.state.name
    }

    fn results(&self, worker: &str) -> Vec<Value> {
        let view = self.status.lock().view.clone();
        let finished =
            view.items.values().filter(|item| item.worker == worker && item.state == WorkItemState::Finished);
        let mut finished: Vec<_> = finished.collect();
        finished.sort_by_key(|item| (item.work.attempt, item.number));
        finished.into_iter().map(|item| item.result.clone()).collect()
    }

    fn emit(&self, trace: &TraceContext, events: Vec<NewEvent>) -> Result<(), StageError> {
        let emitted = self.record(|run| match run.view().progress.activity {
            Activity::Running(_) => run.emit(trace, events).map(Some),
            // The run has ended: nothing follows its last event.
            _ => Ok(None),
        });
        emitted.map_err(|error| unrecorded(&error))?.ok_or_else(StageError::cancelled)
    }

    fn part_began(&self, part: WorkPart<'_>, parent: &TraceContext) -> TraceContext {
        self.observer.part_began(&self.id, part, parent)
    }

    fn part_ended(&self, span: &TraceContext, error: Option<&'static str>) {
        self.observer.item_ended(&self.id, span, error);
    }

    fn part_passed(&self, part: WorkPart<'_>, passed: &PassedPart, parent: &TraceContext) {
        self.observer.part_passed(&self.id, part, passed, parent);
    }

    fn progress(&self, message: &str) {
        let status = {
            let mut status = self.status.lock();
            status.message = Some(message.to_owned());
            status.clone()
        };
        self.observer.changed(&self.id, &status);
    }
}

fn unrecorded(error: &RunError) -> StageError {
    StageError::of_disk("storage", error.to_string())
}

#[cfg(test)]
mod tests;
