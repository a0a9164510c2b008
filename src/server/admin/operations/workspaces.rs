//! Workspaces: list, get, put, delete with drain.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;

use super::{json, named};
use crate::admin::api::Api;
use crate::admin::documents::{
    Change, EpochsDocument, IndexDocument, Origin, PutDocument, RemovalDocument, StoppedDocument, WorkspaceDocument,
    WorkspaceList, WorkspaceState,
};
use crate::admin::problem::{Kind, Problem};
use crate::admin::routes::Call;
use crate::admin::unique;
use crate::limits::ADMIN_REMOVAL_WAIT_MS;
use codeyard_base::ids::WorkspaceName;
use codeyard_config::WorkspaceConfig;
use codeyard_engine::control::Overview;
use codeyard_engine::indexer::health::IndexHealth;
use codeyard_engine::supervisor::{Condition, Departure, Leaving, PutChange, PutError, RemoveError, RosterEntry};
use codeyard_engine::workspace::WorkspaceHealth;

pub(crate) async fn list(api: Arc<Api>, _: Call) -> Result<Response, Problem> {
    Ok(json(StatusCode::OK, &WorkspaceList { workspaces: documents(api.control.overview(None).await?) }))
}

pub(crate) async fn get(api: Arc<Api>, call: Call) -> Result<Response, Problem> {
    let document = one(&api, &named(&call)?).await?;
    let answer = json(StatusCode::OK, &document);
    Ok(match &document.revision {
        Some(revision) => tagged(answer, revision),
        None => answer,
    })
}

pub(crate) async fn put(api: Arc<Api>, call: Call) -> Result<Response, Problem> {
    let name = named(&call).map_err(|_| {
        let form = "name it with 1 to 64 of a-z, 0-9, '.', '_', '-', of which the first is a letter or digit";
        Problem::new(Kind::Invalid, "this is no name of a workspace", form)
    })?;
    let body = unique::from_slice(&call.body).map_err(|_| {
        Problem::new(Kind::BadRequest, "the body is no JSON, or has a key twice", "send a JSON object, each key once")
    })?;
    let roster = api.control.roster(Some(&name)).await?;
    let before = roster.entries.first().map(|entry| &entry.config);
    let config = WorkspaceConfig::from_json(&name, body, before).map_err(invalid)?;
    let done = api.control.put(config, condition(&call.headers)).await?.map_err(refused_put)?;
    let change = match done.change {
        PutChange::Created => Change::Created,
        PutChange::Replaced => Change::Replaced,
        PutChange::Retuned => Change::Retuned,
        PutChange::Unchanged => Change::Unchanged,
    };
    let status = if change == Change::Created { StatusCode::CREATED } else { StatusCode::OK };
    let workspace = one(&api, &name).await?;
    Ok(tagged(json(status, &PutDocument { change, workspace }), &done.revision))
}

pub(crate) async fn delete(api: Arc<Api>, call: Call) -> Result<Response, Problem> {
    let name = named(&call)?;
    let departing = api.control.remove(name.clone(), condition(&call.headers)).await?.map_err(|error| match error {
        RemoveError::Unknown => Problem::no_workspace(),
        RemoveError::Condition(there) => condition_failed(there),
        RemoveError::Busy => Problem::busy(),
        RemoveError::Stopping => Problem::stopping(),
    })?;
    // It goes on by itself, whether or not we wait.
    match tokio::time::timeout(Duration::from_millis(ADMIN_REMOVAL_WAIT_MS), departing).await {
        Ok(departure) => Ok(json(StatusCode::OK, &removal(&departure))),
        Err(_) => {
            let (calls, calls_cut, servers, took_ms) = (None, None, Vec::new(), None);
            let name = name.to_string();
            let document = RemovalDocument { name, finished: false, calls, calls_cut, servers, took_ms };
            Ok(json(StatusCode::ACCEPTED, &document))
        }
    }
}

/// How one workspace is now.
async fn one(api: &Api, name: &WorkspaceName) -> Result<WorkspaceDocument, Problem> {
    let found = documents(api.control.overview(Some(name)).await?);
    found.into_iter().next().ok_or_else(Problem::no_workspace)
}

fn documents(overview: Overview) -> Vec<WorkspaceDocument> {
    let roster = overview.roster;
    let is_default = |name: &WorkspaceName| roster.default.as_ref() == Some(name);
    let there = roster.entries.iter().zip(overview.healths);
    let there = there.map(|(entry, health)| document(entry, health, is_default(&entry.config.name)));
    there.chain(roster.leaving.iter().map(leaving)).collect()
}

fn document(entry: &RosterEntry, health: Option<WorkspaceHealth>, default: bool) -> WorkspaceDocument {
    let config = &entry.config;
    let shown = |path: &std::path::PathBuf| path.to_string_lossy().into_owned();
    let state = match (&entry.handle, &health) {
        (None, _) => WorkspaceState::Failed,
        (Some(_), None) => WorkspaceState::NotAnswering,
        (Some(_), Some(_)) => WorkspaceState::Open,
    };
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
        servers: health.map(|health| health.servers.len()),
        snapshots: health.map(|health| health.snapshots.0),
        snapshot_bytes: health.map(|health| health.snapshots.1),
        indexes: health.into_iter().flat_map(|health| &health.indexes).map(index).collect(),
    }
}

fn leaving(leaving: &Leaving) -> WorkspaceDocument {
    WorkspaceDocument {
        name: leaving.name.to_string(),
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
        calls_in_flight: leaving.calls(),
        servers: None,
        snapshots: None,
        snapshot_bytes: None,
        indexes: Vec::new(),
    }
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

fn removal(departure: &Departure) -> RemovalDocument {
    let servers = departure.servers.iter().map(|server| StoppedDocument {
        workspace: departure.name.to_string(),
        id: server.id.clone(),
        kind: server.kind.clone(),
        ended_by: server.ended_by.to_owned(),
    });
    RemovalDocument {
        name: departure.name.to_string(),
        finished: true,
        calls: Some(departure.calls),
        calls_cut: Some(departure.calls_cut),
        servers: servers.collect(),
        took_ms: u64::try_from(departure.took.as_millis()).ok(),
    }
}

fn tagged(mut response: Response, revision: &str) -> Response {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{revision}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// What `If-Match` and `If-None-Match` ask for. One that can't be read holds of nothing.
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
    let remedy = "GET the workspace, look at what changed, and ask again with its ETag";
    Problem::new(Kind::ConditionFailed, "the workspace is not as the request supposes", remedy).with_revision(there)
}

fn invalid(error: codeyard_config::ConfigError) -> Problem {
    let remedy = if error.remedy.is_empty() { "see docs/configuration.md".to_owned() } else { error.remedy };
    Problem::new(Kind::Invalid, error.problem, remedy).at_key(error.key)
}

fn refused_put(error: PutError) -> Problem {
    match error {
        PutError::Condition(there) => condition_failed(there),
        PutError::Invalid(error) => invalid(error),
        PutError::Unusable(why) => {
            Problem::new(Kind::Invalid, why, "name folders that are there and may be read").at_key("roots".into())
        }
        PutError::Busy => Problem::busy(),
        PutError::Stopping => Problem::stopping(),
    }
}
