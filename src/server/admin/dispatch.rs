//! One request of an operator: may it come in, which route is it, what does it bring, how long may it take.
//!
//! The router is made from the table of routes. Invariants: over TCP nothing is looked up before the token was checked;
//! bodies are bounded in bytes and time, and every request in time.

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
use super::problem::{Kind, Problem};
use super::routes::{Call, ROUTES, Route};
use crate::limits::{ADMIN_REQUEST_TIMEOUT_MS, HTTP_BODY_TIMEOUT_MS};
use crate::transport::http::refusal::Refusal;
use crate::transport::http::{AllowedHosts, AllowedOrigins, body, media};
use codeyard_model::limits::MAX_REQUEST_BYTES;
use codeyard_state::TokenStore;

/// Who may come in.
#[derive(Clone)]
pub enum Entrance {
    /// Processes of our own user, which was checked when they connected.
    Local,
    /// Who has a token of an operator, asks for a host of ours, and is no foreign page.
    Tcp {
        /// The tokens.
        tokens: Arc<TokenStore>,
        /// Hosts that may be asked for.
        hosts: AllowedHosts,
        /// Web origins that may ask.
        origins: AllowedOrigins,
    },
}

struct Door {
    api: Arc<Api>,
    entrance: Entrance,
}

/// The router for those who come in by `entrance`.
pub fn router(api: Arc<Api>, entrance: Entrance) -> Router {
    Router::new().fallback(handle).with_state(Arc::new(Door { api, entrance }))
}

async fn handle(State(door): State<Arc<Door>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let limit = Duration::from_millis(ADMIN_REQUEST_TIMEOUT_MS);
    let answered = timeout(limit, door.answer(&parts, body)).await.unwrap_or_else(|_| {
        Err(Problem::new(Kind::TimedOut, "it takes too long", "look at GET /admin/v1/workspaces before asking again"))
    });
    answered.unwrap_or_else(|problem| problem.response())
}

impl Door {
    async fn answer(&self, parts: &Parts, body: Body) -> Result<Response, Problem> {
        let found = find(parts.uri.path(), &parts.method);
        let open = matches!(&found, Ok((route, _)) if route.open);
        self.entrance.check(parts, open)?;
        let (route, captures) = found?;
        let body = match route.body {
            Some(_) => {
                media::content_type(&parts.headers)?;
                body::read(body, MAX_REQUEST_BYTES, Duration::from_millis(HTTP_BODY_TIMEOUT_MS)).await?
            }
            None => Bytes::new(),
        };
        let call = Call { captures, headers: parts.headers.clone(), body };
        (route.run)(self.api.clone(), call).await
    }
}

impl Entrance {
    fn check(&self, parts: &Parts, open: bool) -> Result<(), Refusal> {
        let Self::Tcp { tokens, hosts, origins } = self else { return Ok(()) };
        hosts.check(parts)?;
        origins.check(&parts.headers)?;
        if open {
            return Ok(());
        }
        let mut values = parts.headers.get_all(header::AUTHORIZATION).iter();
        let value = values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok());
        let (scheme, token) = value.and_then(|value| value.split_once(' ')).ok_or(Refusal::Bearer)?;
        let known = scheme.eq_ignore_ascii_case("bearer") && tokens.principal(token.trim_matches(' ')).is_some();
        if known { Ok(()) } else { Err(Refusal::Bearer) }
    }
}

/// The route of a request, and what stands for the parameters of its path. `HEAD` is a `GET` whose body isn't sent.
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
        let remedy = "GET /admin/v1/openapi.json describes what is";
        return Err(Problem::new(Kind::NotFound, "nothing is served here", remedy));
    }
    if others.contains(&"GET") {
        others.push("HEAD");
    }
    Err(Problem::method(&others))
}

fn captures(template: &str, path: &str) -> Option<Vec<String>> {
    let (mut wanted, mut given) = (template.split('/'), path.split('/'));
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

/// A part of a path, its escapes resolved; `None` if it is empty or no text.
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
    fn no_two_routes_have_the_same_method_and_path_or_name() {
        for (at, route) in ROUTES.iter().enumerate() {
            let same = |other: &Route| (other.method, other.path) == (route.method, route.path) || other.id == route.id;
            assert!(!ROUTES[at + 1..].iter().any(same), "{}", route.id);
        }
    }
}
