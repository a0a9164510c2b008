//! The OpenAPI 3.1 document of the admin API, generated from the table of routes.
//!
//! Invariant: it describes exactly the routes of the table.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::problem::{Kind, ProblemDocument};
use super::route::{ResponseContent, Route, RouteAccess, RouteResponse};
use codeyard_protocol::names::SERVER_VERSION;

/// The problems of all routes.
const COMMON: [Kind; 4] = [Kind::Unauthorized, Kind::Forbidden, Kind::Unavailable, Kind::TimedOut];

/// The OpenAPI document of `routes`.
pub fn document(routes: &[Route]) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths: Map<String, Value> = Map::new();
    for route in routes {
        let described = describe(route, &mut generator);
        let methods = paths.entry(route.path).or_insert_with(|| Value::Object(Map::new()));
        methods[route.method.to_ascii_lowercase()] = described;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "codeyard admin API",
            "version": SERVER_VERSION,
            "description": "For operators, on the local socket run/admin.sock of the state directory, or on the address of \
                            [admin] listen with an admin token.",
        },
        "security": [{}, {"operator": []}],
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": {
                "operator": {"type": "http", "scheme": "bearer", "description": "Over TCP only; `codeyard token add --admin NAME`."},
            },
        },
    })
}

fn describe(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let mut described = json!({"operationId": route.id, "summary": route.summary});
    let parameters = parameters(route);
    if !parameters.is_empty() {
        described["parameters"] = parameters.into();
    }
    if let Some(body) = route.body {
        let schema = body(generator);
        described["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": schema}}});
    }
    if route.access == RouteAccess::Open {
        described["security"] = json!([]);
    }
    let mut responses = Map::new();
    for answer in route.answers {
        responses.insert(answer.status.to_string(), response(answer, generator));
    }
    for kind in route.problems.iter().chain(&COMMON) {
        let schema = generator.subschema_for::<ProblemDocument>();
        let content = json!({"application/problem+json": {"schema": schema}});
        let status = kind.status().as_u16().to_string();
        match responses.get_mut(&status) {
            Some(there) => there["content"]["application/problem+json"] = content["application/problem+json"].clone(),
            None => {
                responses.insert(status, json!({"description": kind.title(), "content": content}));
            }
        }
    }
    described["responses"] = responses.into();
    described
}

fn parameters(route: &Route) -> Vec<Value> {
    let named = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut all: Vec<Value> =
        named.map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}})).collect();
    if route.conditional {
        let tag = |name: &str, about: &str| json!({"name": name, "in": "header", "required": false, "description": about, "schema": {"type": "string"}});
        all.push(tag("If-Match", "The workspace must have one of these ETags; `*`: it must exist."));
        all.push(tag("If-None-Match", "`*`: the workspace must not exist."));
    }
    all
}

fn response(answer: &RouteResponse, generator: &mut SchemaGenerator) -> Value {
    let content = match answer.content {
        ResponseContent::Json(schema) => json!({"application/json": {"schema": schema(generator)}}),
        ResponseContent::AnyJson => json!({"application/json": {"schema": {"type": "object"}}}),
        ResponseContent::Text => json!({"text/plain": {"schema": {"type": "string"}}}),
    };
    json!({"description": answer.about, "content": content})
}
