//! The OpenAPI document matches the code, and every answer matches the document.

use std::fs;
use std::path::Path;

use codeyard_server::admin::openapi;
use codeyard_server::admin::routes::ROUTES;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::admin::wire::{Answer, Way};
use crate::cli::harness::Sandbox;

#[test]
fn the_committed_document_equals_the_generated_one() {
    let wanted = serde_json::to_string_pretty(&openapi::document(ROUTES)).unwrap() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/admin.openapi.json");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &wanted).unwrap();
    }
    assert!(fs::read_to_string(&path).unwrap_or_default() == wanted, "out of date; run with UPDATE_DOCS=1");
}

/// Asserts that the document contains this answer of the operation.
#[track_caller]
fn check(operation: &Value, answer: &Answer) {
    let id = &operation["operationId"];
    let response = &operation["responses"][answer.status.to_string()];
    assert!(response.is_object(), "{id} answers {}, which the document doesn't list: {answer:?}", answer.status);
    let kind = answer.header("content-type").unwrap().split(';').next().unwrap();
    let content = &response["content"][kind];
    assert!(content.is_object(), "{id} answers {kind}");
    if kind == "text/plain" {
        return;
    }
    let mut schema = content["schema"].clone();
    schema["components"] = openapi::document(ROUTES)["components"].clone();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let body = answer.json();
    let wrong: Vec<String> = validator.iter_errors(&body).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{id}: {wrong:?} in {body}");
}

#[test]
fn every_route_answers_as_documented() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--config", &sandbox.configured()]);
    let way = Way::local(&sandbox);
    let served = way.get("/admin/v1/openapi.json").is(200).json();
    assert_eq!(served, openapi::document(ROUTES));
    serving.client("repo").ask("vscode.lsp.documentSymbols", &json!({"uri": uri(&sandbox)})).unwrap();
    let id = way.get("/admin/v1/servers").json()["servers"][0]["id"].as_str().unwrap().to_owned();
    let mut called = 0;
    // Reads first, then changes, then the shutdown.
    for method in ["get", "put", "post", "delete"] {
        for (path, operations) in served["paths"].as_object().unwrap() {
            let operation = &operations[method];
            if operation.is_null() {
                continue;
            }
            let name = if method == "put" { "fresh" } else { "repo" };
            let path = path.replace("{name}", name).replace("{workspace}", "repo").replace("{id}", &id);
            let body = json!({"roots": [sandbox.path("other")]});
            let body = if operation["requestBody"].is_object() { body } else { Value::Null };
            let answer = match &body {
                Value::Null => way.send(&method.to_uppercase(), &path, &[], ""),
                body => way.json(&method.to_uppercase(), &path, body),
            };
            assert!(answer.status < 300, "{path}: {answer:?}");
            check(operation, &answer);
            let gone = path.replace("repo", "nowhere").replace("fresh", "nowhere");
            if gone != path && method != "put" {
                let answer = way.send(&method.to_uppercase(), &gone, &[], "").is(404);
                check(operation, &answer);
            }
            called += 1;
        }
    }
    assert_eq!(called, ROUTES.len());
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn the_workspace_schema_matches_the_decoder() {
    let whole = openapi::document(ROUTES);
    let mut schema = whole["paths"]["/admin/v1/workspaces/{name}"]["put"]["requestBody"]["content"]["application/json"]
        ["schema"]
        .clone();
    schema["components"] = whole["components"].clone();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for good in [json!({"roots": ["/a"]}), json!({"name": "x", "roots": ["/a"], "limits": {"max_page_size": 3}})] {
        assert!(validator.is_valid(&good), "{good}");
    }
    for bad in [json!({}), json!({"roots": "/a"}), json!({"roots": ["/a"], "colour": 1})] {
        assert!(!validator.is_valid(&bad), "{bad}");
    }
}

fn uri(sandbox: &Sandbox) -> String {
    format!("file://{}", sandbox.path("repo/a.tiny").display())
}
