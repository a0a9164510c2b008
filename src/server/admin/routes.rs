//! The one table of routes: the router and the OpenAPI document are both made from it.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::api::Api;
use super::documents::{
    PutDocument, RemovalDocument, RestartDocument, ServerDocument, ServerList, ServiceDocument, SnapshotList,
    StoppedDocument, WorkspaceDocument, WorkspaceList,
};
use super::operations::{servers, service, workspaces};
use super::problem::{Kind, Problem};
use crate::transport::http::probes::{Liveness, Readiness};
use codeyard_config::WorkspaceConfig;

/// A request that has found its route.
pub struct Call {
    /// What stands for the path's parameters, in their order.
    pub captures: Vec<String>,
    /// Its header.
    pub headers: HeaderMap,
    /// Its body; empty for routes without one.
    pub body: Bytes,
}

/// Makes a schema.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// What an answer carries.
#[derive(Clone, Copy)]
pub enum Content {
    /// JSON of this schema.
    Json(SchemaOf),
    /// JSON of any shape.
    AnyJson,
    /// Plain text.
    Text,
}

/// An answer that isn't a problem.
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// When it is given.
    pub about: &'static str,
    /// What it carries.
    pub content: Content,
}

/// Does what a route says.
pub type Run = fn(Arc<Api>, Call) -> BoxFuture<'static, Result<Response, Problem>>;

/// One route.
pub struct Route {
    /// The HTTP method.
    pub method: &'static str,
    /// The path, with `{parameters}`.
    pub path: &'static str,
    /// Its name.
    pub id: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// The schema of its body, if it takes one.
    pub body: Option<SchemaOf>,
    /// It changes a workspace, and so takes `If-Match` and `If-None-Match`.
    pub conditional: bool,
    /// It is answered without a token.
    pub open: bool,
    /// Answers.
    pub answers: &'static [Answer],
    /// Problems of its own, beside those that any request may meet.
    pub problems: &'static [Kind],
    /// Does it.
    pub run: Run,
}

/// The schema of a document.
fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

const fn answer(status: u16, about: &'static str, schema: SchemaOf) -> Answer {
    Answer { status, about, content: Content::Json(schema) }
}

const fn get(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    answers: &'static [Answer],
    run: Run,
) -> Route {
    let (body, conditional, open) = (None, false, false);
    Route { method: "GET", path, id, summary, body, conditional, open, answers, problems: &[], run }
}

/// All routes.
pub static ROUTES: &[Route] = &[
    get(
        "/admin/v1/service",
        "getService",
        "The service as a whole: process, addresses, calls so far.",
        &[answer(200, "The service.", of::<ServiceDocument>)],
        |api, call| service::get(api, call).boxed(),
    ),
    get(
        "/admin/v1/workspaces",
        "listWorkspaces",
        "All workspaces, and how each is.",
        &[answer(200, "The workspaces.", of::<WorkspaceList>)],
        |api, call| workspaces::list(api, call).boxed(),
    ),
    Route {
        problems: &[Kind::NotFound],
        ..get(
            "/admin/v1/workspaces/{name}",
            "getWorkspace",
            "One workspace. Its ETag is the revision of its configuration.",
            &[answer(200, "The workspace.", of::<WorkspaceDocument>)],
            |api, call| workspaces::get(api, call).boxed(),
        )
    },
    Route {
        method: "PUT",
        path: "/admin/v1/workspaces/{name}",
        id: "putWorkspace",
        summary: "Creates or changes a workspace, with the keys and rules of [[workspace]] in the configuration file. It \
                  holds until the service ends, or the file is read again and defines the same name.",
        body: Some(WorkspaceConfig::body_schema),
        conditional: true,
        open: false,
        answers: &[
            answer(200, "It was there; `change` says what happened.", of::<PutDocument>),
            answer(201, "It is new.", of::<PutDocument>),
        ],
        problems: &[
            Kind::BadRequest,
            Kind::NotFound,
            Kind::TooSlow,
            Kind::ConditionFailed,
            Kind::TooLarge,
            Kind::UnsupportedMediaType,
            Kind::Invalid,
        ],
        run: |api, call| workspaces::put(api, call).boxed(),
    },
    Route {
        method: "DELETE",
        path: "/admin/v1/workspaces/{name}",
        id: "deleteWorkspace",
        summary: "Removes a workspace: it takes no new call, calls in flight end, its language servers stop; then it is \
                  answered. Asked again meanwhile, it tells of the same removal.",
        body: None,
        conditional: true,
        open: false,
        answers: &[
            answer(200, "It is gone.", of::<RemovalDocument>),
            answer(202, "It takes no new call; what is left of it goes on ending.", of::<RemovalDocument>),
        ],
        problems: &[Kind::NotFound, Kind::ConditionFailed],
        run: |api, call| workspaces::delete(api, call).boxed(),
    },
    get(
        "/admin/v1/servers",
        "listServers",
        "All language servers, and how each is.",
        &[answer(200, "The language servers.", of::<ServerList>)],
        |api, call| servers::list(api, call).boxed(),
    ),
    Route {
        problems: &[Kind::NotFound],
        ..get(
            "/admin/v1/servers/{workspace}/{id}",
            "getServer",
            "One language server, with all that is kept of its standard error.",
            &[answer(200, "The language server.", of::<ServerDocument>)],
            |api, call| servers::get(api, call).boxed(),
        )
    },
    Route {
        method: "POST",
        problems: &[Kind::NotFound, Kind::Conflict],
        ..get(
            "/admin/v1/servers/{workspace}/{id}/restart",
            "restartServer",
            "Starts a language server anew, whatever it is at; a quarantine ends.",
            &[answer(202, "It is being started anew.", of::<RestartDocument>)],
            |api, call| servers::restart(api, call).boxed(),
        )
    },
    Route {
        method: "POST",
        problems: &[Kind::NotFound, Kind::Conflict],
        ..get(
            "/admin/v1/servers/{workspace}/{id}/stop",
            "stopServer",
            "Stops a language server, and waits until it has ended. The next question that needs it starts it again.",
            &[answer(200, "It has ended.", of::<StoppedDocument>)],
            |api, call| servers::stop(api, call).boxed(),
        )
    },
    get(
        "/admin/v1/snapshots",
        "listSnapshots",
        "What each workspace retains for later pages and equal questions: numbers, no content.",
        &[answer(200, "What is retained.", of::<SnapshotList>)],
        |api, call| service::snapshots(api, call).boxed(),
    ),
    get(
        "/admin/v1/openapi.json",
        "getOpenApi",
        "This document.",
        &[Answer { status: 200, about: "OpenAPI 3.1.", content: Content::AnyJson }],
        |api, call| service::openapi(api, call).boxed(),
    ),
    Route {
        open: true,
        ..get(
            "/livez",
            "getLiveness",
            "Whether the process answers.",
            &[answer(200, "It does.", of::<Liveness>)],
            |api, call| service::live(api, call).boxed(),
        )
    },
    get(
        "/readyz",
        "getReadiness",
        "Whether the service answers as it should.",
        &[answer(200, "It does.", of::<Readiness>), answer(503, "Something fails.", of::<Readiness>)],
        |api, call| service::ready(api, call).boxed(),
    ),
    get(
        "/metrics",
        "getMetrics",
        "The metrics in Prometheus' text format.",
        &[Answer { status: 200, about: "The metrics.", content: Content::Text }],
        |api, call| service::metrics(api, call).boxed(),
    ),
];
