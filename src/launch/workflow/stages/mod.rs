//! The stages of a launch run: which work items they have, who does them, and what their results mean.
//!
//! It connects the run engine with the workers and decides nothing about pages. Invariants: an item reads artifacts and the run's folder alone,
//! so it can be done again; what an item leaves behind is durable before it ends; a fix that wasn't recorded is rolled back before the next.
//! Source: `docs/internals/reference/contract-launch.md#work-items`.

mod checks;
mod inputs;
mod pages;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codeyard_process::tool_log::{self, ToolRun};
use codeyard_runs::event::TraceContext;
use codeyard_runs::machine::{self, Command, StageResult};
use codeyard_runs::observer::{PassedPart, WorkPart};
use codeyard_runs::run_folder::RunFolder;
use codeyard_runs::stage::{ItemOutput, Stage, StageCode, StageError, StageHost};
use codeyard_runs::work_item::WorkItemSpec;
use codeyard_runs::workflow::Workflow;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::artifacts::issue::ValidationReport;
use crate::artifacts::{from_bytes, names, to_bytes};
use crate::repository::checkout::CheckedOut;
use crate::request::allowed_paths::AllowedPaths;
use crate::request::run_config::RunConfig;
use crate::workflow::run_status::workers;
use crate::workflow::settings::LaunchSettings;
use crate::workflow::states::LAUNCH;

/// Pages that are drafted at once.
const PARALLEL_DRAFTS: usize = 2;

/// The code of the launch workflow.
pub struct LaunchStages {
    settings: Arc<LaunchSettings>,
}

/// One execution of a stage, with what all workers need.
struct Work<'s, 'r> {
    stage: &'s Stage<'r>,
    settings: &'s LaunchSettings,
    config: RunConfig,
    allowed: AllowedPaths,
}

impl LaunchStages {
    /// The code with what the operator allows.
    pub fn new(settings: Arc<LaunchSettings>) -> Self {
        Self { settings }
    }
}

impl StageCode for LaunchStages {
    fn workflow(&self) -> &'static Workflow {
        &LAUNCH
    }

    fn items(&self, stage: &Stage<'_>) -> Result<Vec<WorkItemSpec>, StageError> {
        let item = |worker: &'static str, scope: &str| WorkItemSpec { worker, scope: scope.to_owned() };
        Ok(match stage.work.stage {
            "clone" => vec![item(workers::REPO_SCOUT, "repo"), item(workers::REPO_SCOUT, "site")],
            "inventory" => vec![item(workers::REPO_SCOUT, "inventory"), item(workers::REPO_SCOUT, "site_context")],
            "facts" => vec![item(workers::FACTS_BUILDER, "all"), item(workers::SNIPPET_CURATOR, "all")],
            "plan" => vec![item(workers::PLANNER, "all")],
            "draft" => Work::of(self, stage)?.draft_items()?,
            "link" => vec![item(workers::LINKER, "all")],
            "validate" => vec![item(workers::VALIDATOR, "all")],
            "fix" => vec![item(workers::FIXER, "next")],
            "open_pr" => vec![item(workers::PUBLISHER, "all")],
            other => return Err(unexpected(format!("the stage {other} is unknown"))),
        })
    }

    fn check(&self, command: Command, config: &Value, run: &dyn StageHost) -> Result<(), StageError> {
        let needs_site = matches!(command, Command::Validate | Command::FixNext | Command::Publish);
        if needs_site && run.state() != "LINKING" && !run.folder().work().join("site").is_dir() {
            let message = "the run's working copy of the site is missing; start another run";
            let error = StageError::new("ILLEGAL_STATE", message).with("state", run.state());
            return Err(error.with("allowed", machine::allowed(&LAUNCH, command)).with("reason", "worktree_missing"));
        }
        match command {
            Command::FixNext => checks::check_fix(&parsed(config)?, run),
            _ => Ok(()),
        }
    }

    fn time_limit(&self, config: &Value) -> Option<Duration> {
        parsed(config).ok().map(|config| Duration::from_secs(config.budgets.max_runtime_s))
    }

    fn parallel_items(&self, stage: &'static str) -> usize {
        if stage == "draft" { PARALLEL_DRAFTS } else { 1 }
    }

    fn work(&self, stage: &Stage<'_>, item: &WorkItemSpec) -> Result<ItemOutput, StageError> {
        tool_log::begin();
        let done = self.work_on(stage, item).map_err(|error| without_folder(error, stage.folder));
        processes(stage, tool_log::end(), &stage.trace);
        done
    }

    fn finish(&self, stage: &Stage<'_>, results: &[Value]) -> Result<StageResult, StageError> {
        let result = results.last();
        Ok(match stage.work.stage {
            "validate" => StageResult::Report { ok: result.is_some_and(|result| result["ok"] == true) },
            "fix" => {
                // The fix is recorded, so it is not undone any more.
                Work::of(self, stage)?.keep_fix().map_err(|error| without_folder(error, stage.folder))?;
                let has_fixed = result.is_some_and(|result| result["fixed_issue_id"].is_string());
                if has_fixed { StageResult::Done } else { StageResult::Unchanged }
            }
            _ => StageResult::Done,
        })
    }

    fn failed(&self, stage: &'static str, _: &StageError) -> StageResult {
        // What was done before is not lost: the caller repairs the cause and tries again.
        match stage {
            "validate" | "fix" | "open_pr" => StageResult::Unchanged,
            _ => StageResult::Failed,
        }
    }
}

/// The error without the folder in which the server keeps its runs: clients read it, and it is recorded.
fn without_folder(mut error: StageError, folder: &RunFolder) -> StageError {
    if let Some(runs) = folder.top().parent().and_then(Path::to_str) {
        error.message = error.message.replace(&format!("{runs}/"), "").replace(runs, "the folder of runs");
    }
    error
}

impl LaunchStages {
    /// Carries an item out.
    fn work_on(&self, stage: &Stage<'_>, item: &WorkItemSpec) -> Result<ItemOutput, StageError> {
        let work = Work::of(self, stage)?;
        match (stage.work.stage, item.scope.as_str()) {
            ("clone", "repo") => work.clone_product(),
            ("clone", _) => work.clone_site(),
            ("inventory", "inventory") => work.inventory(),
            ("inventory", _) => work.site_context(),
            ("facts", _) if item.worker == workers::FACTS_BUILDER => work.facts(),
            ("facts", _) => work.snippets(),
            ("plan", _) => work.plan(),
            ("draft", page) => work.draft(page),
            ("link", _) => work.link(),
            ("validate", _) => work.validate(),
            ("fix", _) => work.fix(),
            ("open_pr", _) => work.publish(),
            (other, _) => Err(unexpected(format!("the stage {other} is unknown"))),
        }
    }
}

impl<'s, 'r> Work<'s, 'r> {
    fn of(code: &'s LaunchStages, stage: &'s Stage<'r>) -> Result<Self, StageError> {
        let config = parsed(stage.config)?;
        let allowed = AllowedPaths::parse(&config.allowed_paths)
            .map_err(|faults| unexpected(format!("allowed_paths has {} faults", faults.len())))?;
        Ok(Self { stage, settings: &code.settings, config, allowed })
    }

    fn folder(&self) -> &RunFolder {
        self.stage.folder
    }

    /// The clone of the product.
    fn repo(&self) -> PathBuf {
        self.folder().work().join("repo")
    }

    /// The clone of the site, which is the run's working copy.
    fn site(&self) -> PathBuf {
        self.folder().work().join("site")
    }

    /// What was cloned: the product first, then the site.
    fn cloned(&self, number: usize) -> Result<CheckedOut, StageError> {
        let results = self.stage.host.results(workers::REPO_SCOUT);
        let found = results.get(number).cloned().unwrap_or_default();
        serde_json::from_value(found)
            .map_err(|error| unexpected(format!("the record of a clone has another form: {error}")))
    }

    /// An artifact that an earlier stage has made.
    fn artifact<T: DeserializeOwned>(&self, name: &str) -> Result<T, StageError> {
        artifact(self.stage.host, name)
    }

    fn progress(&self, message: &str) {
        self.stage.host.progress(message);
    }
}

/// Reports processes that have passed as parts of a span.
fn processes(stage: &Stage<'_>, passed: Vec<ToolRun>, parent: &TraceContext) {
    for ToolRun { program, began, took, is_good } in passed {
        stage.host.part_passed(WorkPart::Process(&program), &PassedPart { began, took, is_good }, parent);
    }
}

/// An artifact that an earlier stage has made.
fn artifact<T: DeserializeOwned>(host: &dyn StageHost, name: &str) -> Result<T, StageError> {
    let content = host.artifact(name)?.ok_or_else(|| unexpected(format!("the run has no artifact {name}")))?;
    from_bytes(name, &content).map_err(unexpected)
}

/// The last report; `None` before the first validation.
fn last_report(host: &dyn StageHost) -> Result<Option<ValidationReport>, StageError> {
    match host.artifact(names::VALIDATION_REPORT)? {
        None => Ok(None),
        Some(content) => from_bytes(names::VALIDATION_REPORT, &content).map(Some).map_err(unexpected),
    }
}

fn parsed(config: &Value) -> Result<RunConfig, StageError> {
    RunConfig::parse(config).map_err(|faults| {
        let fault = faults.first().map(|fault| format!("{}: {}", fault.path, fault.message)).unwrap_or_default();
        unexpected(format!("the configuration of the run isn't valid any more: {fault}; start another run"))
    })
}

/// An artifact with its name.
fn written(name: &str, value: &impl Serialize) -> (String, Vec<u8>) {
    (name.to_owned(), to_bytes(value))
}

fn output(artifacts: Vec<(String, Vec<u8>)>) -> ItemOutput {
    ItemOutput { artifacts, events: Vec::new(), result: json!({}) }
}

/// A state that codeyard doesn't produce.
fn unexpected(message: impl Into<String>) -> StageError {
    StageError::new("INTERNAL", message).with("cause_class", "unexpected_state")
}

#[cfg(test)]
mod tests;
