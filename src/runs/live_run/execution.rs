//! One execution of a stage: plans its items, does them in parallel, and combines their results.
//!
//! Invariants: an item that has finished isn't done again; after a failure no further item begins; an item that was stopped hasn't failed.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parking_lot::Mutex;
use serde_json::Value;

use super::LiveRun;
use crate::durable_run::{DurableRun, RunError};
use crate::event::TraceContext;
use crate::event_log::EventLogError;
use crate::machine::{Activity, StageResult, Work};
use crate::run_folder::RunFolder;
use crate::stage::{Stage, StageError, StopFlag};
use crate::work_item::{WorkItemId, WorkItemSpec};

/// What the parts of an execution share.
pub(super) struct Execution<'r> {
    pub(super) live: &'r LiveRun,
    pub(super) work: Work,
    pub(super) trace: &'r TraceContext,
    pub(super) stop: &'r StopFlag,
    pub(super) left: Mutex<VecDeque<(WorkItemId, WorkItemSpec)>>,
    pub(super) failure: Mutex<Option<ExecutionError>>,
}

/// Why an execution has no result.
pub(super) enum ExecutionError {
    Stage(StageError),
    /// It can't be recorded.
    Record(RunError),
    /// The disk can't be written.
    Disk(StageError),
}

impl From<StageError> for ExecutionError {
    fn from(error: StageError) -> Self {
        if error.is_of_disk { Self::Disk(error) } else { Self::Stage(error) }
    }
}

impl Execution<'_> {
    /// Does the items of the stage that aren't finished, and returns the stage's result.
    pub(super) fn run(&self) -> Result<StageResult, ExecutionError> {
        let code = &self.live.code;
        let folder = self.live.folder();
        let stage = self.stage(&folder, self.trace.clone());
        let specs = guarded(|| code.items(&stage))?;
        let open = self.record(|run| run.plan_items(self.trace, self.work, &specs))?;
        let by_id = specs.iter().map(|spec| (WorkItemId::new(&self.live.id, self.work.attempt, spec), spec));
        *self.left.lock() =
            by_id.clone().filter(|(id, _)| open.contains(id)).map(|(id, spec)| (id, spec.clone())).collect();
        let threads = code.parallel_items(self.work.stage).clamp(1, open.len().max(1));
        if threads == 1 {
            self.work_off(&folder);
        } else {
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| self.work_off(&folder));
                }
            });
        }
        if let Some(failure) = self.failure.lock().take() {
            return Err(failure);
        }
        if self.stop.is_set() {
            return Err(self.timely(StageError::cancelled()).into());
        }
        let view = self.live.status().view;
        let result_of = |id| view.items.get(&id).map_or(Value::Null, |item| item.result.clone());
        let results: Vec<Value> = by_id.map(|(id, _)| result_of(id)).collect();
        Ok(guarded(|| code.finish(&stage, &results))?)
    }

    /// Does items until there are none left, or one has failed.
    fn work_off(&self, folder: &RunFolder) {
        while !self.stop.is_set() && self.failure.lock().is_none() {
            let Some((id, spec)) = self.left.lock().pop_front() else { return };
            if let Err(error) = self.work_on(folder, &id, &spec) {
                self.failure.lock().get_or_insert(error);
            }
        }
    }

    fn work_on(&self, folder: &RunFolder, id: &WorkItemId, spec: &WorkItemSpec) -> Result<(), ExecutionError> {
        let live = self.live;
        let span = live.observer.item_began(&live.id, id, spec, self.trace);
        let done = self.work_in(folder, id, spec, &span);
        let code = match &done {
            Ok(()) => None,
            Err(ExecutionError::Stage(error) | ExecutionError::Disk(error)) => Some(error.code),
            Err(ExecutionError::Record(_)) => Some("INTERNAL"),
        };
        live.observer.item_ended(&live.id, &span, code);
        done
    }

    fn work_in(
        &self,
        folder: &RunFolder,
        id: &WorkItemId,
        spec: &WorkItemSpec,
        span: &TraceContext,
    ) -> Result<(), ExecutionError> {
        self.record(|run| run.item_started(span, id))?;
        let stage = self.stage(folder, span.clone());
        let done = guarded(|| self.live.code.work(&stage, spec)).map_err(ExecutionError::from).and_then(|output| {
            self.record(|run| run.item_finished(span, id, &output.artifacts, output.events, output.result))
        });
        match done {
            // What was stopped hasn't failed: the run ends otherwise, or continues later. Neither has what the disk refused.
            Err(ExecutionError::Stage(error)) if !self.stop.was_requested() => {
                let error = self.timely(error);
                self.record(|run| run.item_failed(span, id, &error.to_value()))?;
                Err(ExecutionError::Stage(error))
            }
            done => done,
        }
    }

    /// Changes the run, if it is still at this work.
    fn record<T>(&self, change: impl FnOnce(&mut DurableRun) -> Result<T, RunError>) -> Result<T, ExecutionError> {
        let changed = self.live.record(|run| match run.view().progress.activity {
            Activity::Running(work) if work == self.work => change(run).map(Some),
            _ => Ok(None),
        });
        match changed {
            Ok(Some(changed)) => Ok(changed),
            Ok(None) => Err(ExecutionError::Stage(StageError::cancelled())),
            // The disk isn't at fault, and a repetition would be as large.
            Err(RunError::Log(error @ EventLogError::TooLarge { .. })) => {
                let message =
                    format!("the result of a work item can't be recorded: {error}; start a run with smaller inputs");
                let error = StageError::new("INTERNAL", message).with("cause_class", "event_too_large");
                Err(ExecutionError::Stage(error))
            }
            Err(error) => Err(ExecutionError::Record(error)),
        }
    }

    /// The error, or that the run's time is over.
    fn timely(&self, error: StageError) -> StageError {
        if self.stop.is_late() && !self.stop.was_requested() { over_time(&error) } else { error }
    }

    fn stage<'s>(&'s self, folder: &'s RunFolder, trace: TraceContext) -> Stage<'s> {
        let live = self.live;
        Stage {
            run: &live.id,
            workspace: &live.workspace,
            folder,
            config: &live.config,
            work: self.work,
            trace,
            stop: self.stop,
            host: live,
        }
    }
}

/// A panic of a workflow's code fails its stage, not the process.
fn guarded<T>(work: impl FnOnce() -> Result<T, StageError>) -> Result<T, StageError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let message = "the work failed because of an error in codeyard; see the server's log, then resume the run";
        Err(StageError::new("INTERNAL", message).with("cause_class", "panic"))
    })
}

/// The error of work that was stopped because the run's time is over.
fn over_time(error: &StageError) -> StageError {
    let at = match error.code {
        // The work says that it was stopped, which is no reason of its own.
        "CANCELLED" => String::new(),
        _ => format!(", and stopped at: {error}"),
    };
    let message = format!(
        "the run took longer than its configuration allows (budgets.max_runtime_s){at}; start another run with more time"
    );
    StageError::new("INTERNAL", message).with("cause_class", "budget_exceeded").with("budget", "max_runtime_s")
}
