//! The types of the table of routes. The table itself is in `routes`.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use futures::future::BoxFuture;
use schemars::{Schema, SchemaGenerator};

use super::api::Api;
use super::problem::{Kind, Problem};
use codeyard_access::{Operation, Principal};
use codeyard_base::ids::WorkspaceName;

/// Who may request a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteAccess {
    /// Everybody, without a token.
    Open,
    /// Operators, and administrators of a tenant, who get what belongs to their workspaces.
    Administrators,
    /// Operators. For administrators of a tenant the path isn't there.
    Operators,
}

/// Who sends a request: the principal of a token; `None` on the local socket, and where none is needed.
#[derive(Debug, Clone)]
pub struct AdminCaller(pub Option<Principal>);

impl AdminCaller {
    /// Whether it is an operator of the whole service: a token that is narrowed to no tenant and no workspaces is one's. Others are of
    /// administrators of one tenant.
    pub fn is_operator(&self) -> bool {
        self.0.as_ref().is_none_or(|principal| principal.tenant.is_default() && principal.scope.covers_all())
    }

    /// Whether the workspace is there for the caller.
    pub fn sees(&self, workspace: &WorkspaceName) -> bool {
        self.is_operator() || self.0.as_ref().is_some_and(|principal| principal.sees(workspace))
    }

    /// Whether its token allows the operation.
    pub fn may(&self, operation: Operation) -> bool {
        self.0.as_ref().is_none_or(|principal| principal.may(operation))
    }
}

/// A request with its route's parameters.
pub struct RouteRequest {
    /// All routes, for the operation that describes them.
    pub routes: &'static [Route],
    /// The values of the path's parameters, in order.
    pub captures: Vec<String>,
    pub headers: HeaderMap,
    pub caller: AdminCaller,
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
    /// Who may request it.
    pub access: RouteAccess,
    pub answers: &'static [RouteResponse],
    /// The problems besides those of all routes.
    pub problems: &'static [Kind],
    pub run: RunOperation,
}
