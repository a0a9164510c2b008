//! Operations on the whole service: status, retained results, OpenAPI document, probes.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;

use super::json;
use crate::admin::api::Api;
use crate::admin::documents::{ServiceDocument, SnapshotDocument, SnapshotList};
use crate::admin::openapi;
use crate::admin::problem::Problem;
use crate::admin::route::RouteRequest;
use crate::transport::http::probes::Probe;
use codeyard_base::ids::TenantId;
use codeyard_base::proc_status;
use codeyard_engine::supervisor::messages::WorkspaceEntry;
use codeyard_paging::SnapshotStats;

pub(crate) async fn get(api: Arc<Api>, _: RouteRequest) -> Result<Response, Problem> {
    let listing = api.control.list(None).await?;
    let facts = &api.facts;
    let document = ServiceDocument {
        pid: std::process::id(),
        version: facts.version.to_owned(),
        uptime_s: facts.started.elapsed().as_secs(),
        listen: facts.listen.clone(),
        admin_listen: facts.admin_listen.clone(),
        default_workspace: listing.defaults.get(&TenantId::default_tenant()).map(ToString::to_string),
        draining: listing.stopping,
        memory_bytes: resident_bytes(),
        calls: (facts.calls)(),
        registry: serde_json::to_value(&*listing.registry).ok().and_then(|registry| registry.as_object().cloned()),
    };
    Ok(json(StatusCode::OK, &document))
}

pub(crate) async fn snapshots(api: Arc<Api>, request: RouteRequest) -> Result<Response, Problem> {
    let (listing, stats) = api.control.snapshots().await?;
    let mut list = SnapshotList::default();
    let all = listing.entries.iter().zip(stats);
    for (entry, stats) in all.filter(|(entry, _)| request.caller.sees(&entry.config.name)) {
        list.workspaces.extend(stats.map(|stats| snapshot(entry, stats)));
    }
    Ok(json(StatusCode::OK, &list))
}

pub(crate) async fn openapi(_: Arc<Api>, request: RouteRequest) -> Result<Response, Problem> {
    Ok(json(StatusCode::OK, &openapi::document(request.routes)))
}

pub(crate) async fn live(api: Arc<Api>, _: RouteRequest) -> Result<Response, Problem> {
    Ok(api.probes.answer(Probe::Live).await)
}

pub(crate) async fn ready(api: Arc<Api>, _: RouteRequest) -> Result<Response, Problem> {
    Ok(api.probes.answer(Probe::Ready).await)
}

pub(crate) async fn metrics(api: Arc<Api>, _: RouteRequest) -> Result<Response, Problem> {
    Ok(api.probes.answer(Probe::Metrics).await)
}

fn snapshot(entry: &WorkspaceEntry, stats: SnapshotStats) -> SnapshotDocument {
    SnapshotDocument {
        workspace: entry.config.name.to_string(),
        count: stats.count,
        bytes: stats.bytes,
        limit_bytes: stats.limit_bytes,
        oldest_s: stats.oldest.map(|age| age.as_secs()),
        evictions: stats.evictions,
        by_tool: stats.by_tool.into_iter().map(|(tool, count)| (tool.to_owned(), count)).collect(),
    }
}

/// Resident memory of this process, in bytes.
fn resident_bytes() -> Option<u64> {
    proc_status::bytes_in(&std::fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}
