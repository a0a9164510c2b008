//! What each route does: a question to the engine, and its answer as a document.

pub(super) mod servers;
pub(super) mod service;
pub(super) mod workspaces;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;

use super::problem::Problem;
use super::routes::Call;
use codeyard_base::ids::WorkspaceName;

/// JSON with a status.
fn json(status: StatusCode, document: &impl Serialize) -> Response {
    let mut response = Response::new(Body::from(serde_json::to_vec(document).unwrap_or_default()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The workspace that the path names first.
fn named(call: &Call) -> Result<WorkspaceName, Problem> {
    call.captures.first().and_then(|text| WorkspaceName::new(text)).ok_or_else(Problem::no_workspace)
}
