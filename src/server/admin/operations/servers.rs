//! Operations on language servers: list, get, restart, stop.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;

use super::{json, workspace_name};
use crate::admin::api::Api;
use crate::admin::documents::{
    ConditionDocument, FailureDocument, LastEndDocument, ProjectDocument, RestartDocument, ServerDocument, ServerList,
    StoppedDocument, StoppedServerDocument, UnresolvedDocument,
};
use crate::admin::problem::{Kind, Problem};
use crate::admin::route::RouteRequest;
use codeyard_base::ids::WorkspaceName;
use codeyard_engine::status::project_cell::PublishedProject;
use codeyard_engine::status::server_failure::ServerFailure;
use codeyard_engine::status::server_state::{Down, ServerState};
use codeyard_engine::status::server_status::ServerHealth;

/// Standard error of each language server in a list of all, in bytes.
const MAX_LISTED_STDERR_BYTES: usize = 2 * 1024;

pub(crate) async fn list(api: Arc<Api>, request: RouteRequest) -> Result<Response, Problem> {
    let overview = api.control.overview(None).await?;
    let mut list = ServerList::default();
    let all = overview.list.entries.iter().zip(overview.healths);
    for (entry, health) in all.filter(|(entry, _)| request.caller.sees(&entry.config.name)) {
        let (servers, stopped) = health.map_or_else(Default::default, |health| (health.servers, health.stopped));
        let workspace = entry.config.name.to_string();
        list.stopped.extend(stopped.into_iter().map(|server| StoppedServerDocument {
            workspace: workspace.clone(),
            id: server.id,
            kind: server.kind,
            root: server.root,
            reason: server.reason.to_owned(),
            since_s: server.since_s,
        }));
        list.servers.extend(servers.into_iter().map(|server| {
            let mut document = document(&entry.config.name, server);
            document.stderr = tail(&document.stderr, MAX_LISTED_STDERR_BYTES);
            document
        }));
    }
    Ok(json(StatusCode::OK, &list))
}

pub(crate) async fn get(api: Arc<Api>, request: RouteRequest) -> Result<Response, Problem> {
    Ok(json(StatusCode::OK, &find(&api, &request).await?))
}

pub(crate) async fn restart(api: Arc<Api>, request: RouteRequest) -> Result<Response, Problem> {
    let found = find(&api, &request).await?;
    if !api.control.restart(&workspace_name(&request)?, &found.id).await? {
        return Err(Problem::no_server());
    }
    let document = RestartDocument { workspace: found.workspace, id: found.id, kind: found.kind };
    Ok(json(StatusCode::ACCEPTED, &document))
}

pub(crate) async fn stop(api: Arc<Api>, request: RouteRequest) -> Result<Response, Problem> {
    let found = find(&api, &request).await?;
    let stopped = api.control.stop(&workspace_name(&request)?, &found.id).await?.ok_or_else(Problem::no_server)?;
    let workspace = found.workspace;
    let id = stopped.id;
    let kind = stopped.kind;
    Ok(json(StatusCode::OK, &StoppedDocument { workspace, id, kind, ended_by: stopped.ended_by.to_owned() }))
}

/// The language server that the path names.
async fn find(api: &Api, request: &RouteRequest) -> Result<ServerDocument, Problem> {
    let name = workspace_name(request)?;
    let overview = api.control.overview(Some(&name)).await?;
    let entry = overview.list.entries.first().ok_or_else(Problem::no_workspace)?;
    let Some(health) = overview.healths.into_iter().next().flatten().filter(|_| entry.handle.is_some()) else {
        let remedy = "GET the workspace for the reason, fix it, and PUT the workspace again";
        return Err(Problem::new(Kind::Conflict, "the workspace could not be opened", remedy));
    };
    let id = request.captures.get(1).map(String::as_str).unwrap_or_default();
    let server = health.servers.into_iter().find(|server| server.id == id);
    server.map(|server| document(&name, server)).ok_or_else(Problem::no_server)
}

fn document(workspace: &WorkspaceName, server: ServerHealth) -> ServerDocument {
    let (state, down) = match &server.state {
        ServerState::Starting => ("starting", None),
        ServerState::Restarting(down) => ("restarting", Some(down)),
        ServerState::Indexing { .. } => ("indexing", None),
        ServerState::Ready => ("ready", None),
        ServerState::Down(down) => ("down", Some(down)),
    };
    ServerDocument {
        workspace: workspace.to_string(),
        id: server.id,
        state: state.to_owned(),
        since_s: server.since_s,
        condition: Some(ConditionDocument {
            name: server.condition.name.to_owned(),
            since_s: server.condition.since_s,
            why: server.condition.why,
        }),
        reason: down.map(|down| down.reason.to_owned()),
        message: down.map(Down::sentence),
        failure: down.and_then(|down| down.failure.as_deref()).map(failure),
        progress: server.state.progress(),
        kind: server.kind,
        version: server.version,
        root: server.root,
        assumed_ready: server.assumed_ready,
        pid: server.pid,
        memory_bytes: server.memory_bytes,
        memory_limit_bytes: server.memory_limit_bytes,
        restarts: server.restarts,
        last_end: server
            .last_end
            .map(|end| LastEndDocument { reason: end.reason.to_owned(), at: codeyard_base::clock::utc(end.at_s) }),
        open_documents: server.open_documents,
        pending: server.pending,
        unused_s: server.unused_s,
        stderr: server.stderr,
        projects: server.projects.into_iter().filter_map(project).collect(),
    }
}

/// A project whose files count; answers about one document at a time have none.
fn project(project: PublishedProject) -> Option<ProjectDocument> {
    let coverage = project.coverage.clone()?;
    let inferred_from = project.inferred_from().map(str::to_owned);
    let unresolved = project.info.unresolved.into_iter().map(|cause| UnresolvedDocument {
        reason: cause.what,
        names: cause.count,
        examples: cause.examples,
        command: cause.remedy,
    });
    Some(ProjectDocument {
        root: coverage.project.clone(),
        languages: coverage.languages.clone(),
        project_file: coverage.source.as_str().to_owned(),
        path: coverage.source.path().map(str::to_owned),
        inferred_from,
        files: coverage.files,
        known_files: coverage.known,
        reason: Some(coverage.reason.clone()).filter(|reason| !reason.is_empty()),
        remedy: coverage.remedy.clone(),
        unresolved: unresolved.collect(),
    })
}

fn failure(failure: &ServerFailure) -> FailureDocument {
    FailureDocument {
        summary: failure.summary(),
        exit_code: failure.exit_code,
        signal: failure.signal,
        ran_ms: failure.ran_ms,
        at: codeyard_base::clock::utc(failure.at_s),
        lines: failure.lines.clone(),
    }
}

/// The last whole lines of `text` that fit into `bytes`.
fn tail(text: &str, bytes: usize) -> String {
    let mut from = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let tail = &text[from..];
    match tail.split_once('\n') {
        Some((_, lines)) if from > 0 => lines.to_owned(),
        _ => tail.to_owned(),
    }
}
