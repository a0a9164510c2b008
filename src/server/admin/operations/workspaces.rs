//! Operations on workspaces: list, get, put, delete.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;

use super::{json, workspace_name};
use crate::admin::api::Api;
use crate::admin::documents::{
    BusyDocument, Change, EpochsDocument, IndexDocument, IsolationDocument, Origin, PutDocument, RemovalDocument,
    StoppedDocument, WorkspaceDocument, WorkspaceList, WorkspaceState,
};
use crate::admin::problem::{Kind, Problem};
use crate::admin::route::RouteRequest;
use codeyard_base::ids::WorkspaceName;
use codeyard_base::strict_json;
use codeyard_config::WorkspaceConfig;
use codeyard_engine::server::program::isolation::WorkspaceIsolation;
use codeyard_engine::status::index_status::IndexHealth;
use codeyard_engine::supervisor::control::Overview;
use codeyard_engine::supervisor::drain_state::{DrainReport, Draining};
use codeyard_engine::supervisor::messages::{Condition, PutChange, PutError, RemoveError, WorkspaceEntry};
use codeyard_engine::workspace::messages::WorkspaceHealth;

/// Longest wait of a DELETE for the end of the workspace, in milliseconds. Then it is answered with 202 and the removal continues.
const ADMIN_REMOVAL_WAIT_MS: u64 = 12_000;

pub(crate) async fn list(api: Arc<Api>, request: RouteRequest) -> Result<Response, Problem> {
    let workspaces = documents(api.control.overview(None).await?, |name| request.caller.sees(name));
    Ok(json(StatusCode::OK, &WorkspaceList { workspaces }))
}

pub(crate) async fn get(api: Arc<Api>, request: RouteRequest) -> Result<Response, Problem> {
    let document = current(&api, &workspace_name(&request)?).await?;
    let answer = json(StatusCode::OK, &document);
    Ok(match &document.revision {
        Some(revision) => tagged(answer, revision),
        None => answer,
    })
}

pub(crate) async fn put(api: Arc<Api>, request: RouteRequest) -> Result<Response, Problem> {
    let name = workspace_name(&request).map_err(|_| {
        let form = "use 1 to 64 of a-z, 0-9, '.', '_' and '-', with a letter or digit first";
        Problem::new(Kind::Invalid, "the workspace name is not valid", form)
    })?;
    let body = strict_json::from_slice(&request.body).map_err(|_| {
        Problem::new(
            Kind::BadRequest,
            "body is not valid JSON or has a duplicate key",
            "send a JSON object with distinct keys",
        )
    })?;
    let listing = api.control.list(Some(&name)).await?;
    let before = listing.entries.first().map(|entry| &entry.config);
    let config = WorkspaceConfig::from_json(&name, body, before).map_err(invalid)?;
    let done = api.control.put(config, condition(&request.headers)).await?.map_err(refused_put)?;
    let change = match done.change {
        PutChange::Created => Change::Created,
        PutChange::Replaced => Change::Replaced,
        PutChange::Retuned => Change::Retuned,
        PutChange::Unchanged => Change::Unchanged,
    };
    let status = if change == Change::Created { StatusCode::CREATED } else { StatusCode::OK };
    let workspace = current(&api, &name).await?;
    Ok(tagged(json(status, &PutDocument { change, workspace }), &done.revision))
}

pub(crate) async fn delete(api: Arc<Api>, request: RouteRequest) -> Result<Response, Problem> {
    let name = workspace_name(&request)?;
    let report = api.control.remove(name.clone(), condition(&request.headers)).await?.map_err(|error| match error {
        RemoveError::Unknown => Problem::no_workspace(),
        RemoveError::Condition(there) => condition_failed(there),
        RemoveError::Busy => Problem::busy(),
        RemoveError::Stopping => Problem::stopping(),
    })?;
    // The removal continues in the engine, whether or not this request waits.
    match tokio::time::timeout(Duration::from_millis(ADMIN_REMOVAL_WAIT_MS), report).await {
        Ok(report) => Ok(json(StatusCode::OK, &removal(&report))),
        Err(_) => {
            let calls_cut = None;
            let servers = Vec::new();
            let stuck = Vec::new();
            let took_ms = None;
            let name = name.to_string();
            let document = RemovalDocument { name, finished: false, calls: None, calls_cut, servers, stuck, took_ms };
            Ok(json(StatusCode::ACCEPTED, &document))
        }
    }
}

async fn current(api: &Api, name: &WorkspaceName) -> Result<WorkspaceDocument, Problem> {
    let found = documents(api.control.overview(Some(name)).await?, |_| true);
    found.into_iter().next().ok_or_else(Problem::no_workspace)
}

fn documents(overview: Overview, is_seen: impl Fn(&WorkspaceName) -> bool) -> Vec<WorkspaceDocument> {
    let listing = overview.list;
    let is_default = |name: &WorkspaceName| listing.defaults.values().any(|default| default == name);
    let open = listing.entries.iter().zip(overview.healths).filter(|(entry, _)| is_seen(&entry.config.name));
    let open = open.map(|(entry, health)| document(entry, health, is_default(&entry.config.name)));
    let draining = listing.draining.iter().filter(|one| is_seen(&one.name)).map(draining);
    open.chain(draining).collect()
}

fn document(entry: &WorkspaceEntry, health: Option<WorkspaceHealth>, default: bool) -> WorkspaceDocument {
    let config = &entry.config;
    let shown = |path: &std::path::PathBuf| path.to_string_lossy().into_owned();
    let state = if entry.handle.is_some() { WorkspaceState::Open } else { WorkspaceState::Failed };
    let roots = match &health {
        Some(health) => health.roots.iter().map(shown).collect(),
        None => config.roots.iter().chain(&config.extra_roots).map(shown).collect(),
    };
    let health = health.as_ref();
    WorkspaceDocument {
        name: config.name.to_string(),
        state,
        problem: entry.problem.clone(),
        origin: Some(if entry.put { Origin::Operator } else { Origin::Configuration }),
        default,
        revision: Some(entry.revision.clone()),
        roots,
        configuration: config.shown().as_object().cloned().unwrap_or_default(),
        epochs: health.map(|health| {
            let [roots, text, fs, diagnostics] = health.epochs;
            EpochsDocument { roots, text, fs, diagnostics }
        }),
        watching: health.map(|health| health.watching.clone()),
        source_files: health.and_then(|health| health.source_files),
        calls_in_flight: entry.handle.as_ref().map_or(0, |handle| handle.calls()),
        calls: entry.handle.as_ref().map(|handle| handle.status.calls()),
        servers: health.map(|health| health.servers.len()),
        snapshots: health.map(|health| health.snapshots.0),
        snapshot_bytes: health.map(|health| health.snapshots.1),
        isolation: entry.handle.as_ref().map(|handle| isolation(&handle.isolation)),
        indexes: health.into_iter().flat_map(|health| &health.indexes).map(index).collect(),
        busy: health
            .and_then(|health| health.activity.as_ref())
            .map(|activity| BusyDocument { waits_for: activity.waits_for.clone(), since_s: activity.since_s }),
        memory_bytes: health.and_then(memory),
        status_age_ms: health.and_then(|health| u64::try_from(health.age.as_millis()).ok()),
    }
}

fn isolation(isolation: &WorkspaceIsolation) -> IsolationDocument {
    let mechanism = isolation.mechanism();
    IsolationDocument {
        level: isolation.level.as_str().to_owned(),
        configured: isolation.is_configured,
        mechanism: mechanism.as_ref().and_then(|found| found.as_ref().ok()).map(|name| (*name).to_owned()),
        problem: mechanism.and_then(Result::err),
    }
}

fn draining(draining: &Draining) -> WorkspaceDocument {
    WorkspaceDocument {
        name: draining.name.to_string(),
        state: WorkspaceState::Draining,
        problem: None,
        origin: None,
        default: false,
        revision: None,
        roots: Vec::new(),
        configuration: serde_json::Map::new(),
        epochs: None,
        watching: None,
        source_files: None,
        isolation: None,
        calls_in_flight: draining.calls(),
        calls: None,
        servers: None,
        snapshots: None,
        snapshot_bytes: None,
        indexes: Vec::new(),
        busy: None,
        memory_bytes: None,
        status_age_ms: None,
    }
}

/// Memory of the language servers of a workspace; `None`: none was measured.
fn memory(health: &WorkspaceHealth) -> Option<u64> {
    health.servers.iter().filter_map(|server| server.memory_bytes).reduce(|sum, bytes| sum + bytes)
}

fn index(index: &IndexHealth) -> IndexDocument {
    IndexDocument {
        root: index.root.clone(),
        status: index.status.to_owned(),
        freshness: index.freshness.to_owned(),
        files: index.files,
        symbols: index.symbols,
        last_indexed_at: index.last_indexed_at.clone(),
        job: index.job.clone(),
        problem: index.problem.clone(),
    }
}

fn removal(report: &DrainReport) -> RemovalDocument {
    let servers = report.servers.iter().map(|server| StoppedDocument {
        workspace: report.name.to_string(),
        id: server.id.clone(),
        kind: server.kind.clone(),
        ended_by: server.ended_by.to_owned(),
    });
    RemovalDocument {
        name: report.name.to_string(),
        finished: true,
        calls: Some(report.calls),
        calls_cut: Some(report.calls_cut),
        servers: servers.collect(),
        stuck: report.stuck.clone(),
        took_ms: u64::try_from(report.took.as_millis()).ok(),
    }
}

fn tagged(mut response: Response, revision: &str) -> Response {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{revision}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// The condition of `If-Match` and `If-None-Match`. A header that can't be read matches nothing.
fn condition(headers: &HeaderMap) -> Condition {
    let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or_default().trim());
    match (text(header::IF_MATCH), text(header::IF_NONE_MATCH)) {
        (Some("*"), _) => Condition::Present,
        (Some(tags), _) => {
            Condition::Revision(tags.split(',').map(|tag| tag.trim().trim_matches('"').into()).collect())
        }
        (None, Some("*")) => Condition::Absent,
        (None, Some(_)) => Condition::Revision(Vec::new()),
        (None, None) => Condition::None,
    }
}

fn condition_failed(there: Option<String>) -> Problem {
    let remedy = "GET the workspace, check what changed, and retry with its ETag";
    Problem::new(Kind::ConditionFailed, "the workspace does not match the condition of the request", remedy)
        .with_revision(there)
}

fn invalid(error: codeyard_config::ConfigError) -> Problem {
    let remedy =
        if error.remedy.is_empty() { "see docs/internals/reference/configuration.md".to_owned() } else { error.remedy };
    Problem::new(Kind::Invalid, error.problem, remedy).at_key(error.key)
}

fn refused_put(error: PutError) -> Problem {
    match error {
        PutError::Condition(there) => condition_failed(there),
        PutError::Invalid(error) => invalid(error),
        PutError::Unusable(why) => {
            Problem::new(Kind::Invalid, why, "name existing folders that can be read").at_key("roots".into())
        }
        PutError::State(problem) => Problem::new(
            Kind::Unavailable,
            problem.to_string(),
            "nothing was changed; send the request again afterwards",
        ),
        PutError::Busy => Problem::busy(),
        PutError::Stopping => Problem::stopping(),
    }
}
