//! Operations on language servers: list, get, restart, stop.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;

use super::{json, workspace_name};
use crate::admin::api::Api;
use crate::admin::documents::{RestartDocument, ServerDocument, ServerList, StoppedDocument};
use crate::admin::problem::{Kind, Problem};
use crate::admin::route::RouteRequest;
use crate::limits::MAX_LISTED_STDERR_BYTES;
use codeyard_base::ids::WorkspaceName;
use codeyard_engine::server::messages::ServerHealth;
use codeyard_engine::status::server_state::ServerState;

pub(crate) async fn list(api: Arc<Api>, _: RouteRequest) -> Result<Response, Problem> {
    let overview = api.control.overview(None).await?;
    let mut list = ServerList::default();
    for (entry, health) in overview.list.entries.iter().zip(overview.healths) {
        match health {
            Some(health) => list.servers.extend(health.servers.into_iter().map(|server| {
                let mut document = document(&entry.config.name, server);
                document.stderr = tail(&document.stderr, MAX_LISTED_STDERR_BYTES);
                document
            })),
            None if entry.handle.is_some() => list.not_answering.push(entry.config.name.to_string()),
            None => {}
        }
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
    let (workspace, id, kind) = (found.workspace, stopped.id, stopped.kind);
    Ok(json(StatusCode::OK, &StoppedDocument { workspace, id, kind, ended_by: stopped.ended_by.to_owned() }))
}

/// The language server that the path names.
async fn find(api: &Api, request: &RouteRequest) -> Result<ServerDocument, Problem> {
    let name = workspace_name(request)?;
    let overview = api.control.overview(Some(&name)).await?;
    let entry = overview.list.entries.first().ok_or_else(Problem::no_workspace)?;
    let health = match overview.healths.into_iter().next().flatten() {
        Some(health) => health,
        None if entry.handle.is_some() => {
            let remedy = "retry; if it persists, DELETE and PUT the workspace";
            return Err(Problem::new(Kind::Unavailable, "the workspace does not answer", remedy));
        }
        None => {
            let remedy = "GET the workspace for the reason, fix it, and PUT the workspace again";
            return Err(Problem::new(Kind::Conflict, "the workspace could not be opened", remedy));
        }
    };
    let id = request.captures.get(1).map(String::as_str).unwrap_or_default();
    let server = health.servers.into_iter().find(|server| server.key.id() == id);
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
        id: server.key.id(),
        state: state.to_owned(),
        since_s: server.since_s,
        reason: down.map(|down| down.reason.to_owned()),
        message: down.map(|down| down.message.clone()),
        progress: server.state.progress(),
        kind: server.kind,
        version: server.version,
        root: server.root,
        assumed_ready: server.assumed_ready,
        pid: server.pid,
        memory_bytes: server.memory_bytes,
        restarts: server.restarts,
        open_documents: server.open_documents,
        pending: server.pending,
        unused_s: server.unused_s,
        stderr: server.stderr,
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
