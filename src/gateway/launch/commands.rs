//! Commands to a run: each is carried out, then the call waits until the run has settled.
//!
//! Invariant: a call that comes while its own work is in progress waits for that work and doesn't repeat it.

use codeyard_engine::answer::wait_status::WaitStatus;
use codeyard_engine::run::RunHandle;
use codeyard_launch::artifacts::issue::ValidationReport;
use codeyard_launch::artifacts::names;
use codeyard_launch::workflow::run_status::{self, workers};
use codeyard_model::launch::{LaunchAnswer, LaunchRefusal};
use codeyard_runs::durable_run::RunError;
use codeyard_runs::event::TraceContext;
use codeyard_runs::live_run::CommandError;
use codeyard_runs::machine::{Activity, Command, Refusal};
use codeyard_runs::observer::RunStatus;
use codeyard_runs::run_view::RunView;
use codeyard_runs::work_item::WorkItemState;
use codeyard_runs::workflow::Role;
use serde_json::{Map, Value, json};

use super::errors::{of_command, of_recorded, of_stage, of_storage};
use super::{Answered, object, status_answer};

/// Runs the gates and answers with their report.
pub(super) async fn validate(run: &RunHandle, status: &WaitStatus, trace: TraceContext) -> Answered {
    let settled = command(run, status, Command::Validate, trace).await?;
    failed_stage(&settled.view)?;
    let report = report(run).await?;
    Ok(with_report(run, Map::new(), report))
}

/// Repairs one issue.
pub(super) async fn fix_next(run: &RunHandle, status: &WaitStatus, trace: TraceContext) -> Answered {
    let settled = command(run, status, Command::FixNext, trace).await?;
    failed_stage(&settled.view)?;
    let result = run_status::last(&settled.view, workers::FIXER).map(|item| item.result.clone()).unwrap_or_default();
    let report = report(run).await?;
    let blockers =
        serde_json::from_value::<ValidationReport>(report.clone()).map_or(0, |report| report.open_blockers());
    let mut members = object(result);
    members.insert("remaining_blockers".into(), blockers.into());
    Ok(with_report(run, members, report))
}

/// Goes on until the run needs a decision, or to the next boundary.
pub(super) async fn resume(run: &RunHandle, status: &WaitStatus, trace: TraceContext) -> Answered {
    let settled = command(run, status, Command::Resume, trace).await?;
    if matches!(settled.view.progress.state.role, Role::Check { .. }) && settled.view.progress.report.is_none() {
        failed_stage(&settled.view)?;
    }
    Ok(status_answer(run))
}

/// Ends the run.
pub(super) async fn cancel(run: &RunHandle, trace: TraceContext) -> Answered {
    run.apply(Command::Cancel, trace).await.map_err(|error| of_command(error, &run.status()))?;
    let state = run.status().view.progress.state.name;
    let members = json!({"run_id": run.live().id().as_str(), "cancelled": true, "state": state});
    Ok(LaunchAnswer::Object(object(members)))
}

/// Publishes the result.
pub(super) async fn open_pr(run: &RunHandle, status: &WaitStatus, trace: TraceContext) -> Answered {
    let settled = command(run, status, Command::Publish, trace).await?;
    failed_stage(&settled.view)?;
    let result = run_status::pull_request(&settled.view).cloned();
    let result =
        result.ok_or_else(|| of_storage(&"the publication has left no result; launch_get_status shows the run"))?;
    let members = json!({
        "run_id": run.live().id().as_str(),
        "pr_url": result["pr_url"],
        "branch": result["branch"],
        "commit_sha": result["commit_sha"],
    });
    Ok(LaunchAnswer::Object(object(members)))
}

/// Carries out a command and waits until the run has settled.
async fn command(
    run: &RunHandle,
    status: &WaitStatus,
    command: Command,
    trace: TraceContext,
) -> Result<RunStatus, LaunchRefusal> {
    loop {
        match run.apply(command, trace.clone()).await {
            Ok(()) => break,
            Err(CommandError::Run(RunError::Refused(Refusal::Busy { .. }))) => {
                let is_own = command == Command::FixNext && follows_a_fix(&run.status().view);
                let settled = settle(run, status).await?;
                if is_own {
                    return Ok(settled);
                }
            }
            Err(error) => return Err(of_command(error, &run.status())),
        }
    }
    settle(run, status).await
}

/// Whether the validation in progress is that of a fix: the work before it was one.
fn follows_a_fix(view: &RunView) -> bool {
    let Activity::Running(work) = view.progress.activity else { return false };
    let before = view.items.values().filter(|item| item.work != work).max_by_key(|item| item.number);
    before.is_some_and(|item| item.worker == workers::FIXER && item.state == WorkItemState::Finished)
}

/// Waits until nothing runs in the run.
async fn settle(run: &RunHandle, waiting: &WaitStatus) -> Result<RunStatus, LaunchRefusal> {
    let settled = run
        .wait_for(|status| {
            waiting.write_work(run_status::progress_text(status, run.queue_position()));
            !status.view.progress.is_active()
        })
        .await;
    if let Some(why) = &settled.broken {
        return Err(of_storage(why));
    }
    match settled.view.progress.state.role {
        Role::Cancelled => Err(LaunchRefusal::new("CANCELLED", "the run was cancelled")),
        Role::Failed => Err(of_recorded(&settled.view.failure)),
        // A run that waits for its turn is still to work when the server stops.
        _ if settled.view.progress.activity != Activity::Idle => {
            let message = "the work was interrupted, because the server or the workspace stops; resume the run later";
            Err(LaunchRefusal {
                retryable: true,
                ..LaunchRefusal::new("INTERNAL", message).with("cause_class", "interrupted")
            })
        }
        _ => Ok(settled),
    }
}

/// The error of the last stage, if it has failed and the run goes on.
fn failed_stage(view: &RunView) -> Result<(), LaunchRefusal> {
    if view.stage_failure.is_null() { Ok(()) } else { Err(of_recorded(&view.stage_failure)) }
}

async fn report(run: &RunHandle) -> Result<Value, LaunchRefusal> {
    let found = run.artifact(names::VALIDATION_REPORT.to_owned()).await.map_err(|error| of_storage(&error))?;
    let missing = || {
        let error =
            codeyard_runs::stage::StageError::new("INTERNAL", "the validation has left no report; validate again");
        of_stage(error)
    };
    let (_, content) = found.ok_or_else(missing)?;
    serde_json::from_slice(&content).map_err(|error| of_storage(&error))
}

fn with_report(run: &RunHandle, mut members: Map<String, Value>, report: Value) -> LaunchAnswer {
    members.insert("run_id".into(), run.live().id().as_str().into());
    members.insert("validation_report".into(), report);
    LaunchAnswer::WithList { object: members, list: &["validation_report", "issues"], total: "issues_total" }
}
