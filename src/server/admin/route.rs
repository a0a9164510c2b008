//! The types of the table of routes. The table itself is in `routes`.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use futures::future::BoxFuture;
use schemars::{Schema, SchemaGenerator};

use super::api::Api;
use super::problem::{Kind, Problem};

/// A request with its route's parameters.
pub struct RouteRequest {
    /// All routes, for the operation that describes them.
    pub routes: &'static [Route],
    /// The values of the path's parameters, in order.
    pub captures: Vec<String>,
    pub headers: HeaderMap,
    /// The body; empty for routes without one.
    pub body: Bytes,
}

/// Generates a JSON Schema.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The content of a response.
#[derive(Clone, Copy)]
pub enum ResponseContent {
    Json(SchemaOf),
    AnyJson,
    /// Plain text.
    Text,
}

/// A response that isn't a problem.
pub struct RouteResponse {
    pub status: u16,
    /// When this response is sent.
    pub about: &'static str,
    pub content: ResponseContent,
}

/// The operation of a route.
pub type RunOperation = fn(Arc<Api>, RouteRequest) -> BoxFuture<'static, Result<Response, Problem>>;

/// One route.
pub struct Route {
    pub method: &'static str,
    /// The path, with `{parameters}`.
    pub path: &'static str,
    pub id: &'static str,
    /// One line that describes the operation.
    pub summary: &'static str,
    /// The schema of the request's body, if it has one.
    pub body: Option<SchemaOf>,
    /// Whether the operation takes `If-Match` and `If-None-Match`.
    pub conditional: bool,
    /// Whether no token is needed.
    pub open: bool,
    pub answers: &'static [RouteResponse],
    /// The problems besides those of all routes.
    pub problems: &'static [Kind],
    pub run: RunOperation,
}
