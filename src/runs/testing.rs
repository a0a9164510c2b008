//! A small workflow for the tests of this crate, and code for its stages.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::durable_run::RunStart;
use crate::event::TraceContext;
use crate::live_run::LiveRun;
use crate::machine::{Advance, Command, StageResult, Work};
use crate::observer::{PassedPart, RunObserver, RunStatus, WorkPart};
use crate::run_id::RunId;
use crate::stage::{ItemOutput, Stage, StageCode, StageError, StageHost};
use crate::work_item::{WorkItemId, WorkItemSpec};
use crate::workflow::{Role, State, Workflow};

/// Two steps, a boundary, a check with a repair, and a publication.
pub(crate) static SAMPLE: Workflow = Workflow {
    name: "sample",
    states: &[
        State::new("CREATED", Role::Step { stage: "plan", next: "PLANNED" }),
        State::new("PLANNED", Role::Boundary { next: "WRITING" }).stable(),
        State::new("WRITING", Role::Step { stage: "write", next: "CHECKING" }).with_validation(),
        State::new("CHECKING", Role::Check { stage: "check", next: "READY", repair: "REPAIRING" })
            .stable()
            .with_validation(),
        State::new("REPAIRING", Role::Repair { stage: "repair", check: "CHECKING" }).with_validation(),
        State::new("READY", Role::Ready { stage: "publish", next: "PUBLISHED", check: "CHECKING" })
            .stable()
            .with_validation(),
        State::new("PUBLISHED", Role::Published { next: "DONE" }),
        State::new("DONE", Role::Done),
        State::new("FAILED", Role::Failed),
        State::new("CANCELLED", Role::Cancelled),
    ],
};

/// What an item of a [`SampleCode`] does.
type ItemCode = dyn Fn(&Stage<'_>, &WorkItemSpec) -> Result<ItemOutput, StageError> + Send + Sync;

/// Code for the stages of [`SAMPLE`]: `write` has the items `a` to `d`, two at once, the others have one. A check is good from its second
/// execution on.
pub(crate) struct SampleCode {
    work: Box<ItemCode>,
    limit: Option<Duration>,
}

impl SampleCode {
    /// Each item does `work`.
    pub(crate) fn new(
        work: impl Fn(&Stage<'_>, &WorkItemSpec) -> Result<ItemOutput, StageError> + Send + Sync + 'static,
    ) -> Self {
        Self { work: Box::new(work), limit: None }
    }

    /// Each item writes an artifact of its own.
    pub(crate) fn plain() -> Self {
        Self::new(|stage, item| Ok(artifact_of(stage, item)))
    }

    /// The stages of a run may work for so long.
    pub(crate) fn within(self, limit: Duration) -> Self {
        Self { limit: Some(limit), ..self }
    }
}

/// An artifact that names the stage and the item.
pub(crate) fn artifact_of(stage: &Stage<'_>, item: &WorkItemSpec) -> ItemOutput {
    let name = format!("{}_{}.md", stage.work.stage, item.scope);
    let content = format!("{} {}", stage.work.attempt, item.scope).into_bytes();
    ItemOutput { artifacts: vec![(name, content)], events: Vec::new(), result: json!({"scope": item.scope}) }
}

impl StageCode for SampleCode {
    fn workflow(&self) -> &'static Workflow {
        &SAMPLE
    }

    fn items(&self, stage: &Stage<'_>) -> Result<Vec<WorkItemSpec>, StageError> {
        let scopes: &[&str] = if stage.work.stage == "write" { &["a", "b", "c", "d"] } else { &["all"] };
        Ok(scopes.iter().map(|scope| WorkItemSpec { worker: stage.work.stage, scope: (*scope).to_owned() }).collect())
    }

    fn check(&self, command: Command, config: &Value, _: &dyn StageHost) -> Result<(), StageError> {
        match command {
            Command::FixNext if config["fixes"] == false => {
                Err(StageError::new("FIX_EXHAUSTED", "no fault can be fixed"))
            }
            _ => Ok(()),
        }
    }

    fn time_limit(&self, _: &Value) -> Option<Duration> {
        self.limit
    }

    fn parallel_items(&self, stage: &'static str) -> usize {
        if stage == "write" { 2 } else { 1 }
    }

    fn work(&self, stage: &Stage<'_>, item: &WorkItemSpec) -> Result<ItemOutput, StageError> {
        (self.work)(stage, item)
    }

    fn finish(&self, stage: &Stage<'_>, _: &[Value]) -> Result<StageResult, StageError> {
        Ok(match stage.work.stage {
            "check" => StageResult::Report { ok: stage.work.attempt > 1 },
            _ => StageResult::Done,
        })
    }

    fn failed(&self, stage: &'static str, _: &StageError) -> StageResult {
        if stage == "publish" { StageResult::Unchanged } else { StageResult::Failed }
    }
}

/// Observes nothing.
pub(crate) struct Unwatched;

impl RunObserver for Unwatched {
    fn changed(&self, _: &RunId, _: &RunStatus) {}

    fn item_began(&self, _: &RunId, _: &WorkItemId, _: &WorkItemSpec, parent: &TraceContext) -> TraceContext {
        parent.clone()
    }

    fn part_began(&self, _: &RunId, _: WorkPart<'_>, parent: &TraceContext) -> TraceContext {
        parent.clone()
    }

    fn part_passed(&self, _: &RunId, _: WorkPart<'_>, _: &PassedPart, _: &TraceContext) {}

    fn item_ended(&self, _: &RunId, _: &TraceContext, _: Option<&'static str>) {}
}

/// What a run of these tests is started with.
pub(crate) fn sample_start(advance: Advance, config: Value) -> RunStart {
    RunStart { workspace: "shop".into(), subject: "till".into(), advance, config }
}

/// A new run of `code`.
pub(crate) fn sample_run(runs: &Path, code: SampleCode, advance: Advance, config: Value) -> Arc<LiveRun> {
    let start = sample_start(advance, config);
    let id = RunId::new(0, 1);
    let trace = TraceContext::default();
    Arc::new(LiveRun::create(Arc::new(code), runs, &id, start, &trace, Arc::new(Unwatched)).unwrap())
}

/// Carries out a command and all work that follows from it.
pub(crate) fn carry_out(run: &LiveRun, command: Command) {
    let next = run.command(&TraceContext::default(), command).unwrap();
    work_off(run, next);
}

/// Does `next` and all work that follows from it.
pub(crate) fn work_off(run: &LiveRun, mut next: Option<Work>) {
    while let Some(work) = next {
        next = run.execute(&TraceContext::default(), work);
    }
}
