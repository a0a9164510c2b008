//! The operations of the routes: each queries the engine and returns a document.

pub(super) mod servers;
pub(super) mod service;
pub(super) mod workspaces;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;

use super::problem::Problem;
use super::route::RouteRequest;
use codeyard_base::ids::WorkspaceName;

fn json(status: StatusCode, document: &impl Serialize) -> Response {
    let mut response = Response::new(Body::from(serde_json::to_vec(document).unwrap_or_default()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The workspace name in the first parameter of the path, if the caller sees such a workspace.
fn workspace_name(request: &RouteRequest) -> Result<WorkspaceName, Problem> {
    let name = request.captures.first().and_then(|text| WorkspaceName::new(text));
    name.filter(|name| request.caller.sees(name)).ok_or_else(Problem::no_workspace)
}
