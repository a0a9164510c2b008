//! The table of routes: the router and the OpenAPI document come from it.

use futures::future::FutureExt;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::documents::{
    PutDocument, RemovalDocument, RestartDocument, ServerDocument, ServerList, ServiceDocument, SnapshotList,
    StoppedDocument, WorkspaceDocument, WorkspaceList,
};
use super::operations::{servers, service, workspaces};
use super::problem::Kind;
use super::route::{ResponseContent, Route, RouteAccess, RouteResponse, RunOperation, SchemaOf};
use crate::transport::http::probes::{Liveness, Readiness};
use codeyard_config::WorkspaceConfig;

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

const fn answer(status: u16, about: &'static str, schema: SchemaOf) -> RouteResponse {
    RouteResponse { status, about, content: ResponseContent::Json(schema) }
}

const fn get(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    answers: &'static [RouteResponse],
    run: RunOperation,
) -> Route {
    let conditional = false;
    Route {
        method: "GET",
        path,
        id,
        summary,
        body: None,
        conditional,
        access: RouteAccess::Administrators,
        answers,
        problems: &[],
        run,
    }
}

/// All routes.
pub static ROUTES: &[Route] = &[
    Route {
        access: RouteAccess::Operators,
        ..get(
            "/admin/v1/service",
            "getService",
            "The service as a whole: process, addresses, calls so far.",
            &[answer(200, "The service.", of::<ServiceDocument>)],
            |api, call| service::get(api, call).boxed(),
        )
    },
    get(
        "/admin/v1/workspaces",
        "listWorkspaces",
        "All workspaces and their states.",
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
                  stays until the service ends, or until a reloaded file defines the same name.",
        body: Some(WorkspaceConfig::body_schema),
        conditional: true,
        access: RouteAccess::Operators,
        answers: &[
            answer(200, "The workspace existed; `change` says what was done.", of::<PutDocument>),
            answer(201, "The workspace was created.", of::<PutDocument>),
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
        summary: "Removes a workspace: it accepts no new calls, calls in flight end, its language servers stop; then the \
                  response is sent. A repeated request reports the same removal.",
        body: None,
        conditional: true,
        access: RouteAccess::Operators,
        answers: &[
            answer(200, "The workspace was removed.", of::<RemovalDocument>),
            answer(202, "The workspace is draining; calls in flight will finish.", of::<RemovalDocument>),
        ],
        problems: &[Kind::NotFound, Kind::ConditionFailed],
        run: |api, call| workspaces::delete(api, call).boxed(),
    },
    get(
        "/admin/v1/servers",
        "listServers",
        "All language servers and their states.",
        &[answer(200, "The language servers.", of::<ServerList>)],
        |api, call| servers::list(api, call).boxed(),
    ),
    Route {
        problems: &[Kind::NotFound],
        ..get(
            "/admin/v1/servers/{workspace}/{id}",
            "getServer",
            "One language server, with the retained end of its standard error.",
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
            "Restarts a language server in any state, and ends a quarantine.",
            &[answer(202, "The language server is restarting.", of::<RestartDocument>)],
            |api, call| servers::restart(api, call).boxed(),
        )
    },
    Route {
        method: "POST",
        problems: &[Kind::NotFound, Kind::Conflict],
        ..get(
            "/admin/v1/servers/{workspace}/{id}/stop",
            "stopServer",
            "Stops a language server and waits until it has ended. The next query that needs it starts it again.",
            &[answer(200, "The language server has ended.", of::<StoppedDocument>)],
            |api, call| servers::stop(api, call).boxed(),
        )
    },
    get(
        "/admin/v1/snapshots",
        "listSnapshots",
        "The retained results of each workspace, for later pages and equal queries: counts and sizes, no content.",
        &[answer(200, "The retained results.", of::<SnapshotList>)],
        |api, call| service::snapshots(api, call).boxed(),
    ),
    get(
        "/admin/v1/openapi.json",
        "getOpenApi",
        "This document.",
        &[RouteResponse { status: 200, about: "OpenAPI 3.1.", content: ResponseContent::AnyJson }],
        |api, call| service::openapi(api, call).boxed(),
    ),
    Route {
        access: RouteAccess::Open,
        ..get(
            "/livez",
            "getLiveness",
            "Whether the process answers.",
            &[answer(200, "The process answers.", of::<Liveness>)],
            |api, call| service::live(api, call).boxed(),
        )
    },
    Route {
        access: RouteAccess::Operators,
        ..get(
            "/readyz",
            "getReadiness",
            "Whether the service is ready.",
            &[answer(200, "The service is ready.", of::<Readiness>), answer(503, "A check fails.", of::<Readiness>)],
            |api, call| service::ready(api, call).boxed(),
        )
    },
    Route {
        access: RouteAccess::Operators,
        ..get(
            "/metrics",
            "getMetrics",
            "The metrics in Prometheus' text format.",
            &[RouteResponse { status: 200, about: "The metrics.", content: ResponseContent::Text }],
            |api, call| service::metrics(api, call).boxed(),
        )
    },
];
