//! The code of a workflow: what its stages do.
//!
//! It is the interface between a run and its workflow. It doesn't decide which stage runs: [`crate::machine`] does. Invariants that an
//! implementation keeps: the items of a stage and the result of an item depend on the run's configuration, its folder and its
//! artifacts alone; an item that was interrupted can be done again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use codeyard_base::clock::Instant;
use serde_json::{Map, Value, json};

use crate::event::TraceContext;
use crate::event_log::NewEvent;
use crate::machine::{Command, StageResult, Work};
use crate::observer::{PassedPart, WorkPart};
use crate::run_folder::RunFolder;
use crate::run_id::RunId;
use crate::work_item::WorkItemSpec;
use crate::workflow::Workflow;

/// What the stages of a workflow do. All methods block, and return soon after the stage's [`StopFlag`] is set.
pub trait StageCode: Send + Sync + 'static {
    /// The table of states.
    fn workflow(&self) -> &'static Workflow;

    /// The items of a stage, in the order in which they begin. The same again after an interruption.
    ///
    /// # Errors
    /// If the stage can't be done.
    fn items(&self, stage: &Stage<'_>) -> Result<Vec<WorkItemSpec>, StageError>;

    /// Whether a command makes sense now, beyond what the table of states says. Called before the command is carried out.
    ///
    /// # Errors
    /// If it doesn't. Then nothing changes.
    fn check(&self, _command: Command, _config: &Value, _run: &dyn StageHost) -> Result<(), StageError> {
        Ok(())
    }

    /// For how long the stages of a run may work, all together; `None` for as long as they want.
    fn time_limit(&self, _config: &Value) -> Option<Duration> {
        None
    }

    /// How many items of a stage may run at once.
    fn parallel_items(&self, _stage: &'static str) -> usize {
        1
    }

    /// Does one item.
    ///
    /// # Errors
    /// If it can't be done. Then the stage has failed.
    fn work(&self, stage: &Stage<'_>, item: &WorkItemSpec) -> Result<ItemOutput, StageError>;

    /// The result of a stage whose items have all finished, from their results, in the order of [`Self::items`].
    ///
    /// # Errors
    /// If the results mean that the stage has failed.
    fn finish(&self, stage: &Stage<'_>, results: &[Value]) -> Result<StageResult, StageError>;

    /// The result of a stage that has failed with `error`: [`StageResult::Failed`], which ends the run, or
    /// [`StageResult::Unchanged`], after which the stage can be tried again.
    fn failed(&self, _stage: &'static str, _error: &StageError) -> StageResult {
        StageResult::Failed
    }
}

/// One execution of a stage, as the code of the stage sees it.
pub struct Stage<'r> {
    pub run: &'r RunId,
    /// The workspace that it belongs to.
    pub workspace: &'r str,
    pub folder: &'r RunFolder,
    /// The configuration that it was started with.
    pub config: &'r Value,
    pub work: Work,
    /// The span of the work item.
    pub trace: TraceContext,
    pub stop: &'r StopFlag,
    pub host: &'r dyn StageHost,
}

/// The run, as the code of a stage sees it.
pub trait StageHost: Sync {
    /// The content of an artifact; `None` if there is none of this name.
    ///
    /// # Errors
    /// If it can't be read.
    fn artifact(&self, name: &str) -> Result<Option<Vec<u8>>, StageError>;

    /// The folders of the run.
    fn folder(&self) -> RunFolder;

    /// The state of the run.
    fn state(&self) -> &'static str;

    /// The results of the finished items of a worker, in the order in which they finished.
    fn results(&self, worker: &str) -> Vec<Value>;

    /// Makes events durable while an item runs. They are written again if the item is repeated.
    ///
    /// # Errors
    /// If they can't be written.
    fn emit(&self, trace: &TraceContext, events: Vec<NewEvent>) -> Result<(), StageError>;

    /// A part of an item begins, such as a gate. Returns the span that its events belong to.
    fn part_began(&self, part: WorkPart<'_>, parent: &TraceContext) -> TraceContext {
        let _ = part;
        parent.clone()
    }

    /// The part with this span has ended; `error` is the code of its error.
    fn part_ended(&self, span: &TraceContext, error: Option<&'static str>) {
        let _ = (span, error);
    }

    /// A part of an item, such as a process, has passed.
    fn part_passed(&self, part: WorkPart<'_>, passed: &PassedPart, parent: &TraceContext) {
        let _ = (part, passed, parent);
    }

    /// Shows what an item is doing. It isn't kept.
    fn progress(&self, message: &str);
}

/// What an item has produced. It becomes durable as a whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ItemOutput {
    /// Artifacts, each with its name and its content.
    pub artifacts: Vec<(String, Vec<u8>)>,
    /// Further events.
    pub events: Vec<NewEvent>,
    /// The result, for later stages and for callers.
    pub result: Value,
}

/// Why a stage can't be done.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct StageError {
    /// A code of the workflow's contract.
    pub code: &'static str,
    /// What went wrong, why, and what to do.
    pub message: String,
    /// Whether the same again may succeed.
    pub retryable: bool,
    /// Details for programs.
    pub details: Map<String, Value>,
    /// Whether the disk is to blame, and not the work.
    pub(crate) is_of_disk: bool,
}

/// Asks work to stop. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct StopFlag {
    is_set: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

impl StageError {
    /// An error without details that isn't retryable.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), retryable: false, details: Map::new(), is_of_disk: false }
    }

    /// The disk of the run's files can't be written. That says nothing about the run, so its work is interrupted and the run doesn't fail.
    pub fn of_disk(class: &'static str, message: impl Into<String>) -> Self {
        Self { is_of_disk: true, ..Self::new("INTERNAL", message).retryable().with("cause_class", class) }
    }

    /// The same, which may succeed when it is tried again.
    #[must_use]
    pub fn retryable(self) -> Self {
        Self { retryable: true, ..self }
    }

    /// The error of work that was stopped.
    pub fn cancelled() -> Self {
        Self::new("CANCELLED", "the run was cancelled, or the server is stopping")
    }

    /// The error as events and callers have it.
    pub fn to_value(&self) -> Value {
        json!({"code": self.code, "message": self.message, "retryable": self.retryable, "details": self.details})
    }

    /// The same with a detail.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }
}

impl StopFlag {
    /// A flag that also counts as set from `deadline` on.
    pub fn with_deadline(deadline: Option<Instant>) -> Self {
        Self { deadline, ..Self::default() }
    }

    /// The same flag for a part of the work, which has `limit` at most.
    pub fn within(&self, limit: Duration) -> Self {
        let own = Instant::now() + limit;
        let deadline = self.deadline.map_or(own, |deadline| deadline.min(own));
        Self { is_set: Arc::clone(&self.is_set), deadline: Some(deadline) }
    }

    /// Asks the work to stop.
    pub fn set(&self) {
        self.is_set.store(true, Ordering::Release);
    }

    /// Whether the work has to stop.
    pub fn is_set(&self) -> bool {
        self.was_requested() || self.is_late()
    }

    pub(crate) fn was_requested(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// Whether the time is over.
    pub(crate) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}
