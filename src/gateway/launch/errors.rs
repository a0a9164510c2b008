//! Errors of runs as the catalog `launch` answers them (`docs/internals/reference/contract-launch.md#errors`).
//!
//! Invariant: an INTERNAL error has `details.cause_class`.

use codeyard_engine::redact::redact;
use codeyard_engine::run::OpenRunError;
use codeyard_engine::workspace::messages::StartRunError;
use codeyard_launch::workflow::run_status;
use codeyard_model::launch::LaunchRefusal;
use codeyard_model::limits::RETRY_AFTER_MS;
use codeyard_model::roots::RootSet;
use codeyard_runs::durable_run::RunError;
use codeyard_runs::event_log::EventLogError;
use codeyard_runs::live_run::CommandError;
use codeyard_runs::machine::Refusal;
use codeyard_runs::observer::RunStatus;
use codeyard_runs::run_host::StartError;
use codeyard_runs::stage::StageError;
use serde_json::Value;

/// The error of work that failed.
pub(super) fn of_stage(error: StageError) -> LaunchRefusal {
    let StageError { code, message, retryable, mut details, .. } = error;
    if code == "INTERNAL" && !details.contains_key("cause_class") {
        details.insert("cause_class".into(), "unexpected".into());
    }
    LaunchRefusal { run_id: None, code, message, retryable, details }
}

/// The codes that a recorded error can have.
const CODES: [&str; 13] = [
    "INVALID_INPUT", "SCHEMA_VALIDATION_FAILED", "RUN_NOT_FOUND", "ILLEGAL_STATE", "TOOLCHAIN_MISSING",
    "FIX_EXHAUSTED", "ALLOWED_PATHS_VIOLATION", "COMMIT_SERVICE_ERROR", "CANCELLED", "INTERNAL", "INVALID_URL",
    "REPO_NOT_FOUND", "UNSUPPORTED_SITE",
];

/// The error that a run's log has recorded.
pub(super) fn of_recorded(error: &Value) -> LaunchRefusal {
    let code = error["code"].as_str().and_then(|code| CODES.into_iter().find(|known| *known == code));
    let message =
        error["message"].as_str().unwrap_or("the work failed; launch_get_artifact shows why in events.ndjson");
    let mut failed = StageError::new(code.unwrap_or("INTERNAL"), message);
    failed.retryable = error["retryable"].as_bool().unwrap_or(false);
    failed.details = error["details"].as_object().cloned().unwrap_or_default();
    of_stage(failed)
}

/// The error of a command.
pub(super) fn of_command(error: CommandError, status: &RunStatus) -> LaunchRefusal {
    match error {
        CommandError::Stage(error) => of_stage(error),
        CommandError::Run(RunError::Refused(refusal)) => of_refusal(&refusal, status),
        CommandError::Run(error) => of_run(&error),
    }
}

fn of_refusal(refusal: &Refusal, status: &RunStatus) -> LaunchRefusal {
    let message = format!("{refusal}; launch_get_status shows the run");
    let illegal = LaunchRefusal::new("ILLEGAL_STATE", message);
    match refusal {
        Refusal::State { state, allowed } => {
            let illegal = illegal.with("state", *state).with("allowed", allowed.clone());
            let illegal = match run_status::pull_request(&status.view).and_then(|result| result.get("pr_url")) {
                Some(url) => illegal.with("pr_url", url.clone()),
                None => illegal,
            };
            // Why the run has failed helps more than that it can't go on.
            if status.view.failure.is_null() { illegal } else { illegal.with("failure", status.view.failure.clone()) }
        }
        Refusal::Busy { state, stage } => LaunchRefusal {
            retryable: true,
            ..illegal.with("state", *state).with("allowed", vec![*state]).with("stage", *stage)
        },
        Refusal::Report { state, found } => {
            let illegal = illegal.with("state", *state).with("allowed", vec![*state]);
            illegal.with("reason", "report").with("report_ok", found.map_or(Value::Null, Value::Bool))
        }
    }
}

/// A run's files or the list of runs can't be read or written.
pub(super) fn of_storage(error: &impl std::fmt::Display) -> LaunchRefusal {
    let error = error.to_string();
    tracing::warn!(error, "a call about runs failed");
    LaunchRefusal {
        retryable: true,
        ..LaunchRefusal::new("INTERNAL", without_paths(&error)).with("cause_class", "storage")
    }
}

/// A run can't be read or written. What is wrong in its files stays wrong when the call is repeated.
fn of_run(error: &RunError) -> LaunchRefusal {
    let is_damaged = matches!(error, RunError::Log(EventLogError::Damaged { .. }) | RunError::Replay(_));
    LaunchRefusal { retryable: !is_damaged, ..of_storage(error) }
}

/// A message without the folders in which the server keeps its files; its log has them.
fn without_paths(message: &str) -> String {
    redact(message, &RootSet::of_real_paths(Vec::new(), Vec::new())).into_owned()
}

/// Why a run can't be opened.
pub(super) fn of_open(run_id: &str, error: &OpenRunError) -> LaunchRefusal {
    match error {
        OpenRunError::NotFound => {
            let shown: String = run_id.chars().take(64).collect();
            let message = format!("this workspace has no run {shown:?}; launch_list_runs lists its runs");
            LaunchRefusal::new("RUN_NOT_FOUND", message)
        }
        OpenRunError::Unavailable(_) => {
            let message = format!("{}; an operator can see why in the server's log", without_paths(&error.to_string()));
            LaunchRefusal {
                retryable: true,
                ..LaunchRefusal::new("INTERNAL", message).with("cause_class", "unavailable")
            }
        }
        OpenRunError::InUse => LaunchRefusal {
            retryable: true,
            ..LaunchRefusal::new("INTERNAL", error.to_string()).with("cause_class", "in_use")
        },
        OpenRunError::Run(error) => of_run(error),
        OpenRunError::List(_) => of_storage(error),
    }
}

/// Why a run can't be started.
pub(super) fn of_start(error: StartRunError) -> LaunchRefusal {
    match error {
        StartRunError::Open(error) => of_open("", &error),
        StartRunError::Start(StartError::Full(full)) => LaunchRefusal {
            retryable: true,
            ..LaunchRefusal::new("INTERNAL", full.to_string())
                .with("cause_class", "overloaded")
                .with("reason", "overloaded")
                .with("retryAfterMs", RETRY_AFTER_MS)
        },
        StartRunError::Start(error @ StartError::KeyReused { .. }) => {
            let StartError::KeyReused { run_id } = &error else { return of_storage(&error) };
            LaunchRefusal::new("INVALID_INPUT", error.to_string())
                .with("reason", "idempotency_key_reused")
                .with("existing_run_id", run_id.clone())
        }
        StartRunError::Start(error) => of_storage(&error),
    }
}
