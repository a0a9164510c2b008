//! The metadata of endpoints as protected resources (RFC 9728), by which clients find the authorization server.
//!
//! Invariant: nothing is looked up, so the metadata of an endpoint that isn't there are those of one that is.

use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::Response;

use super::answer;
use super::credentials::operations_at;
use super::handler::McpEndpoint;
use super::path::EndpointPath;
use super::refusal::HttpRefusal;

impl McpEndpoint {
    /// The metadata of the resource at `resource`, a path of the server; empty for the whole server.
    pub(super) fn resource_metadata(&self, parts: &Parts, resource: &str) -> Result<Response, HttpRefusal> {
        let is_resource = resource.is_empty() || EndpointPath::parse(resource).is_some();
        if !is_resource || !matches!(parts.method, Method::GET | Method::HEAD) {
            return Err(HttpRefusal::of_path(parts.uri.path()));
        }
        let metadata = self.sign_on.metadata(resource, operations_at(resource));
        Ok(answer::with_status(StatusCode::OK, metadata.to_string().into_bytes()))
    }
}
