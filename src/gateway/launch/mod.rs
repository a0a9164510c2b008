//! Calls of the catalog `launch`: they start runs, carry out commands, and wait until the run has settled.
//!
//! The work of a run belongs to its actor, so a call that ends early changes nothing. What the stages do, `codeyard-launch` knows. Invariants: a
//! command is durable before its call answers; a call that repeats one in progress attaches to that; a call whose run is cancelled answers
//! CANCELLED (`docs/internals/reference/contract-launch.md#tools`).

mod commands;
mod errors;
mod starts;

use std::sync::Arc;

use codeyard_access::Principal;
use codeyard_base::blocking;
use codeyard_engine::answer::wait_status::WaitStatus;
use codeyard_engine::run::{RunHandle, RunService};
use codeyard_engine::workspace::handle::WorkspaceHandle;
use codeyard_engine::workspace::messages::OpenRun;
use codeyard_launch::request::run_config::RunConfig;
use codeyard_launch::workflow::run_status;
use codeyard_launch::workflow::settings::LaunchSettings;
use codeyard_model::launch::{ArtifactPart, LaunchAnswer, LaunchRefusal, LaunchRequest, RunAction};
use codeyard_runs::artifact_store::ArtifactStore;
use codeyard_runs::event::TraceContext;
use codeyard_runs::run_id::RunId;
use codeyard_runs::run_store::RunFilter;
use codeyard_telemetry::CallTrace;
use serde_json::{Map, Value, json};

use self::errors::{of_open, of_storage};
use self::starts::Discoveries;

/// What calls of the catalog `launch` need of the process.
pub struct LaunchCalls {
    runs: Result<Arc<RunService>, String>,
    settings: Arc<LaunchSettings>,
    discoveries: Discoveries,
}

/// One call.
pub(crate) struct LaunchCall {
    pub(crate) calls: Arc<LaunchCalls>,
    pub(crate) workspace: Arc<WorkspaceHandle>,
    pub(crate) request: LaunchRequest,
    pub(crate) principal: Principal,
}

/// The outcome of a call.
type Answered = Result<LaunchAnswer, LaunchRefusal>;

/// Files of a run that are read like artifacts.
const OPEN_FILES: [&str; 2] = ["events.ndjson", "run_config.json"];

impl LaunchCalls {
    /// The calls to the runs of a process; the reason if it has none.
    pub fn new(runs: Result<Arc<RunService>, String>, settings: Arc<LaunchSettings>) -> Self {
        Self { runs, settings, discoveries: Discoveries::default() }
    }
}

/// Answers a call.
pub(crate) async fn answer(call: &LaunchCall, status: &WaitStatus, trace: &CallTrace) -> LaunchAnswer {
    if let LaunchRequest::Run { run_id, .. } = &call.request {
        // A text that is no run's name is not recorded.
        if RunId::parse(run_id).is_some() {
            trace.update(|record| record.run = Some(run_id.clone()));
        }
    }
    trace.mark_admitted();
    let answered = match &call.request {
        LaunchRequest::Start { source, idempotency_key } => {
            starts::start(call, source, idempotency_key.as_deref(), trace).await
        }
        LaunchRequest::Run { run_id, action } => {
            on_run(call, run_id, action, status, trace).await.map_err(|refusal| refusal.for_run(run_id.clone()))
        }
        LaunchRequest::List { product_slug, state, limit, cursor } => {
            let filter = RunFilter {
                workspace: Some(call.workspace.name.to_string()),
                subject: product_slug.clone(),
                state: state.clone(),
                after: None,
                limit: *limit,
            };
            list(call, filter, cursor.as_deref()).await
        }
    };
    answered.unwrap_or_else(|refusal| LaunchAnswer::Refused(Box::new(refusal)))
}

async fn on_run(
    call: &LaunchCall,
    run_id: &str,
    action: &RunAction,
    status: &WaitStatus,
    trace: &CallTrace,
) -> Answered {
    let run = open(call, run_id).await?;
    let context = call.context(trace);
    match action {
        RunAction::Status => Ok(status_answer(&run)),
        RunAction::Artifact { name, offset, length } => artifact(&run, name, *offset, *length).await,
        RunAction::Validate => commands::validate(&run, status, context).await,
        RunAction::FixNext => commands::fix_next(&run, status, context).await,
        RunAction::Resume => commands::resume(&run, status, context).await,
        RunAction::Cancel => commands::cancel(&run, context).await,
        RunAction::OpenPr => commands::open_pr(&run, status, context).await,
    }
}

async fn open(call: &LaunchCall, run_id: &str) -> Result<RunHandle, LaunchRefusal> {
    let opened = call.workspace.actor.send(OpenRun(run_id.to_owned())).await;
    let opened = opened.map_err(|_| of_storage(&"the workspace is being stopped"))?;
    opened.map_err(|error| of_open(run_id, &error))
}

impl LaunchCall {
    /// The span of the call, as the run's events record it. A call without a trace begins one: events name it, even if nobody exports it.
    fn context(&self, trace: &CallTrace) -> TraceContext {
        let (mut trace_id, span_id) = trace.identity();
        if let (true, Ok(runs)) = (trace_id.is_empty(), &self.calls.runs) {
            trace_id = runs.new_trace();
        }
        TraceContext { trace_id, span_id, parent_span_id: None }
    }
}

/// The configuration of a run. One that an older version has written may lack the form.
fn config_of(run: &RunHandle) -> Option<RunConfig> {
    RunConfig::parse(run.live().config()).ok()
}

fn status_object(run: &RunHandle) -> Map<String, Value> {
    let id = run.live().id().as_str();
    run_status::status(id, &run.status(), config_of(run).as_ref(), run.queue_position())
}

/// `{"status": …}`, whose list of issues is cut if it is too long.
fn status_answer(run: &RunHandle) -> LaunchAnswer {
    let object = Map::from_iter([("status".to_owned(), Value::Object(status_object(run)))]);
    LaunchAnswer::WithList { object, list: &["status", "open_issues"], total: "open_issues_total" }
}

async fn artifact(run: &RunHandle, name: &str, offset: u64, length: Option<u64>) -> Answered {
    let run_id = run.live().id().as_str().to_owned();
    let (sha256, content) = if OPEN_FILES.contains(&name) {
        let folder = run.live().folder();
        let path = if name == "events.ndjson" { folder.events() } else { folder.config() };
        let read = blocking::spawn(move || std::fs::read(path)).await;
        let content = read.map_err(|_| of_storage(&"reading failed"))?.map_err(|error| of_storage(&error))?;
        (codeyard_base::digest::sha256hex(&content), content)
    } else {
        let found = run.artifact(name.to_owned()).await.map_err(|error| of_storage(&error))?;
        found.ok_or_else(|| unknown_artifact(run, name))?
    };
    let content_type = ArtifactStore::content_type(name);
    if offset > content.len() as u64 {
        let message = format!(
            "the artifact has {} bytes, so there is no byte {offset}; begin at a smaller offset",
            content.len()
        );
        return Err(LaunchRefusal::new("INVALID_INPUT", message).with("bytes_total", content.len()));
    }
    let part = ArtifactPart { run_id, name: name.to_owned(), content_type, sha256, content, offset, length };
    Ok(LaunchAnswer::Artifact(Box::new(part)))
}

fn unknown_artifact(run: &RunHandle, name: &str) -> LaunchRefusal {
    let view = run.status().view;
    let names = view.artifacts.keys().map(String::as_str).chain(OPEN_FILES);
    let names: Vec<&str> = names.collect();
    let shown: String = name.chars().take(64).collect();
    let message = format!("the run has no artifact {shown:?} now; it has {}", names.join(", "));
    LaunchRefusal::new("INVALID_INPUT", message).with("artifacts", names)
}

async fn list(call: &LaunchCall, mut filter: RunFilter, cursor: Option<&str>) -> Answered {
    if let Some(cursor) = cursor {
        let after = RunId::parse(cursor).ok_or_else(|| {
            LaunchRefusal::new(
                "INVALID_INPUT",
                "the cursor isn't one that launch_list_runs gave; list again without it",
            )
        })?;
        filter.after = Some(after);
    }
    let runs =
        call.calls.runs.clone().map_err(|why| of_open("", &codeyard_engine::run::OpenRunError::Unavailable(why)))?;
    let page = blocking::spawn(move || runs.host().store().list(&filter)).await;
    let page = page.map_err(|_| of_storage(&"reading failed"))?.map_err(|error| of_storage(&error))?;
    let mut object =
        Map::from_iter([("runs".to_owned(), page.runs.iter().map(run_status::summary).collect::<Value>())]);
    if let Some(next) = page.next {
        object.insert("next_cursor".into(), next.into());
    }
    Ok(LaunchAnswer::WithList { object, list: &["runs"], total: "runs_total" })
}

/// An object of an answer.
fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => Map::from_iter([("value".to_owned(), json!(other))]),
    }
}
