//! Handles one admin request: access, route, body, deadline.
//!
//! The routes come from the table of routes. Invariants: over TCP nothing is looked up before the token is checked; bodies are bounded
//! in bytes and time, requests in time.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Method, header};
use axum::response::Response;
use bytes::Bytes;
use tokio::time::timeout;

use super::api::Api;
use super::audit_record::AdminRecord;
use super::problem::{Kind, Problem};
use super::route::{AdminCaller, Route, RouteAccess, RouteRequest};
use super::routes::ROUTES;
use crate::limits::{ADMIN_REQUEST_TIMEOUT_MS, HTTP_BODY_TIMEOUT_MS};
use crate::transport::http::credentials::bearer;
use crate::transport::http::host::only;
use crate::transport::http::refusal::RefusalReason;
use crate::transport::http::{AllowedHosts, AllowedOrigins, body, media};
use codeyard_access::Operation;
use codeyard_model::limits::MAX_REQUEST_BYTES;
use codeyard_state::TokenStore;

/// The access rule of one listener.
#[derive(Clone)]
pub enum Access {
    /// Processes of our own user. The listener checks this for each connection.
    Local,
    /// Requests with an admin token, an allowed host and an allowed origin.
    Tcp {
        tokens: Arc<TokenStore>,
        /// The accepted values of `Host`.
        hosts: AllowedHosts,
        /// The accepted values of `Origin`.
        origins: AllowedOrigins,
    },
}

struct AdminService {
    api: Arc<Api>,
    access: Access,
}

/// The router of a listener with the rule `access`.
pub fn router(api: Arc<Api>, access: Access) -> Router {
    Router::new().fallback(handle).with_state(Arc::new(AdminService { api, access }))
}

async fn handle(State(service): State<Arc<AdminService>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let limit = Duration::from_millis(ADMIN_REQUEST_TIMEOUT_MS);
    let is_local = matches!(service.access, Access::Local);
    let mut record = AdminRecord::begin(service.api.audit.clone(), &parts, is_local);
    let answered = timeout(limit, service.answer(&parts, body, &mut record)).await.unwrap_or_else(|_| {
        Err(Problem::new(
            Kind::TimedOut,
            "the request takes too long",
            "check GET /admin/v1/workspaces before you retry",
        ))
    });
    let response = answered.unwrap_or_else(|problem| problem.response());
    record.end(response.status());
    response
}

impl AdminService {
    async fn answer(&self, parts: &Parts, body: Body, record: &mut AdminRecord) -> Result<Response, Problem> {
        let found = find(parts.uri.path(), &parts.method);
        let is_open = matches!(&found, Ok((route, _)) if route.access == RouteAccess::Open);
        let caller = self.access.caller(parts, is_open)?;
        record.caller = Some(caller.clone());
        let (route, captures) = found?;
        caller.check(route)?;
        let body = match route.body {
            Some(_) => {
                media::content_type(&parts.headers)?;
                let body = body::read(body, MAX_REQUEST_BYTES, Duration::from_millis(HTTP_BODY_TIMEOUT_MS)).await?;
                record.keep_roots(&body);
                body
            }
            None => Bytes::new(),
        };
        let request = RouteRequest { routes: ROUTES, captures, headers: parts.headers.clone(), caller, body };
        (route.run)(self.api.clone(), request).await
    }
}

impl Access {
    /// Who sends a request.
    fn caller(&self, parts: &Parts, is_open: bool) -> Result<AdminCaller, RefusalReason> {
        let Self::Tcp { tokens, hosts, origins } = self else { return Ok(AdminCaller(None)) };
        hosts.check(parts)?;
        origins.check(&parts.headers)?;
        if is_open {
            return Ok(AdminCaller(None));
        }
        let sent = only(&parts.headers, header::AUTHORIZATION).and_then(|value| bearer(tokens, value));
        sent.map(|principal| AdminCaller(Some(principal))).ok_or(RefusalReason::Bearer)
    }
}

impl AdminCaller {
    /// Refuses a route that isn't for the caller.
    fn check(&self, route: &Route) -> Result<(), Problem> {
        if route.access == RouteAccess::Operators && !self.is_operator() {
            return Err(no_path());
        }
        let operation = if route.method == "GET" { Operation::AdminRead } else { Operation::AdminWrite };
        if self.may(operation) {
            return Ok(());
        }
        let word = operation.as_str();
        let remedy = format!("ask with a token that allows it; `codeyard token add --operation {word}` makes one");
        Err(Problem::new(Kind::Forbidden, format!("the token doesn't allow the operation {word}"), remedy))
    }
}

fn no_path() -> Problem {
    Problem::new(Kind::NotFound, "there is no such path", "GET /admin/v1/openapi.json lists all paths")
}

/// The route of a request, and the values of the parameters in its path. `HEAD` is routed as `GET`.
fn find(path: &str, method: &Method) -> Result<(&'static Route, Vec<String>), Problem> {
    let method = if method == Method::HEAD { "GET" } else { method.as_str() };
    let mut others = Vec::new();
    for route in ROUTES {
        let Some(captures) = captures(route.path, path) else { continue };
        if route.method == method {
            return Ok((route, captures));
        }
        others.push(route.method);
    }
    if others.is_empty() {
        return Err(no_path());
    }
    if others.contains(&"GET") {
        others.push("HEAD");
    }
    Err(Problem::method(&others))
}

/// The values of the parameters of `template` in `path`; `None` if `path` doesn't match.
fn captures(template: &str, path: &str) -> Option<Vec<String>> {
    let mut wanted = template.split('/');
    let mut given = path.split('/');
    let mut found = Vec::new();
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return Some(found),
            (Some(part), Some(text)) if part.starts_with('{') => found.push(decoded(text)?),
            (Some(part), Some(text)) if part == text => {}
            _ => return None,
        }
    }
}

/// A segment of a path, percent-decoded; `None` if it is empty or no UTF-8.
fn decoded(text: &str) -> Option<String> {
    let bytes = codeyard_model::uri::percent_decode(text.as_bytes());
    String::from_utf8(bytes).ok().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(path: &str, method: Method) -> Result<(&'static str, Vec<String>), u16> {
        let found = find(path, &method).map_err(|problem| problem.response().status().as_u16());
        found.map(|(route, captures)| (route.id, captures))
    }

    #[test]
    fn paths_find_their_routes() {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(route("/admin/v1/workspaces", Method::GET), Ok(("listWorkspaces", vec![])));
        assert_eq!(route("/admin/v1/workspaces", Method::HEAD), Ok(("listWorkspaces", vec![])));
        assert_eq!(route("/admin/v1/workspaces/a%2eb", Method::PUT), Ok(("putWorkspace", owned(&["a.b"]))));
        assert_eq!(route("/admin/v1/servers/a/ty-1/stop", Method::POST), Ok(("stopServer", owned(&["a", "ty-1"]))));
        for missing in
            ["/", "", "/admin", "/admin/v1/workspaces/", "/admin/v1/workspaces/a/b", "/admin/v1//servers", "/mcp"]
        {
            assert_eq!(route(missing, Method::GET), Err(404), "{missing}");
        }
        assert_eq!(route("/admin/v1/servers/a/b/stop", Method::GET), Err(405));
        let allow = find("/admin/v1/workspaces/a", &Method::POST).err().unwrap().response();
        assert_eq!(allow.headers()[header::ALLOW], "GET, PUT, DELETE, HEAD");
    }

    #[test]
    fn routes_have_distinct_paths_and_names() {
        for (at, route) in ROUTES.iter().enumerate() {
            let same = |other: &Route| (other.method, other.path) == (route.method, route.path) || other.id == route.id;
            assert!(!ROUTES[at + 1..].iter().any(same), "{}", route.id);
        }
    }
}
