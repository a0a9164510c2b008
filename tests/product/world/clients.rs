//! Sessions of the official TypeScript and Python clients, unchanged, over HTTP and stdio, with both naming schemes of the tools.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::running_server::{Yard, codeyard};
use crate::world::parts::{node, npm_folder, python_with_client};
use crate::world::program::run_well;
use crate::world::sample::Sample;

const TOOLS: [&str; 7] = [
    "definition", "references", "hover", "documentSymbols", "workspaceSymbols", "diagnostics.document",
    "diagnostics.workspace",
];

/// A naming scheme of the tools.
#[derive(Clone, Copy)]
enum Catalog {
    Dots,
    Safe,
}

impl Catalog {
    fn name(self) -> &'static str {
        match self {
            Self::Dots => "lsp-v1",
            Self::Safe => "lsp-v1-safe",
        }
    }

    fn tool(self, name: &str) -> String {
        let dotted = format!("vscode.lsp.{name}");
        match self {
            Self::Dots => dotted,
            Self::Safe => dotted.replace('.', "_"),
        }
    }
}

/// Command that runs a client's script; its last argument must be the plan's file.
fn script(name: &str) -> Command {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/product/world/clients").join(name);
    let mut command = if name.ends_with(".py") { python_with_client() } else { node() };
    command.arg(path);
    if !name.ends_with(".py") {
        command.arg(npm_folder());
    }
    command
}

/// Runs the plan; returns the client's report after the checks that don't depend on the transport.
fn report(sample: &Sample, script: &mut Command, catalog: Catalog, connection: &Value) -> Value {
    let mut plan = sample.plan(|name| catalog.tool(name));
    plan.as_object_mut().expect("an object").extend(connection.as_object().expect("an object").clone());
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("plan.json");
    fs::write(&file, plan.to_string()).expect("a file");
    let printed = run_well(script.arg(&file));
    let report: Value = serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
    assert_eq!(report["tools"], json!(TOOLS.map(|name| catalog.tool(name))));
    assert_eq!(report["newSession"], true, "{report}");
    if !report["protocol"].is_null() {
        assert_eq!(report["protocol"], "2025-11-25");
    }
    sample.assert_right(&report);
    sample.assert_cancelled(&report);
    report
}

fn over_http(script: &mut Command, catalog: Catalog, mode: &str) {
    let sample = Sample::new();
    let yard = Yard::serve(&sample.configuration());
    let url = format!("http://{}/mcp/python/{}", yard.address, catalog.name());
    let connection = json!({"url": url, "token": yard.token, "mode": mode});
    let report = report(&sample, script, catalog, &connection);
    assert_eq!(report["continued"]["items"], report["pages"][1], "another session continues at the cursor");
    assert_eq!(report["endedStatus"], 404, "{report}");
    let silent = catalog.tool("hover");
    let cancelled = |line: &str| line.contains(&silent) && line.contains("\"outcome\":\"cancelled\"");
    assert_eq!(yard.log().lines().filter(|line| cancelled(line)).count(), 1, "{}", yard.log());
    yard.stop();
}

fn over_stdio(script: &mut Command, catalog: Catalog, mode: &str) {
    let sample = Sample::new();
    let state = tempfile::tempdir().expect("a folder");
    let configuration = state.path().join("codeyard.toml");
    fs::write(&configuration, sample.configuration()).expect("a file");
    let mut command = codeyard("stdio", state.path());
    command.arg("--config").arg(&configuration).args(["--workspace", "python", "--catalog", catalog.name()]);
    let text = |text: &std::ffi::OsStr| text.to_str().expect("UTF-8").to_owned();
    let set = command.get_envs().filter_map(|(name, value)| Some((text(name), json!(text(value?)))));
    let env: serde_json::Map<String, Value> = set.collect();
    let args: Vec<String> = command.get_args().map(text).collect();
    let connection = json!({"command": text(command.get_program()), "args": args, "env": env, "mode": mode});
    let report = report(&sample, script, catalog, &connection);
    let code = report["continued"]["data"]["code"].as_str().unwrap_or_default();
    assert_eq!(code, "MCP_LSP_GATEWAY/CURSOR_STALE", "another process begins another epoch: {report}");
}

#[test]
#[ignore = "slow: fetches the TypeScript client from npm"]
fn typescript_over_http() {
    over_http(&mut script("session.mjs"), Catalog::Dots, "");
}

#[test]
#[ignore = "slow: fetches the TypeScript client from npm"]
fn typescript_over_stdio() {
    over_stdio(&mut script("session.mjs"), Catalog::Safe, "");
}

#[test]
#[ignore = "slow: fetches the Python client from PyPI"]
fn python_over_http() {
    over_http(&mut script("session.py"), Catalog::Safe, "legacy");
}

#[test]
#[ignore = "slow: fetches the Python client from PyPI"]
fn python_over_stdio() {
    over_stdio(&mut script("session.py"), Catalog::Dots, "legacy");
}

/// It first requests a newer protocol, and falls back.
#[test]
#[ignore = "slow: fetches the Python client from PyPI"]
fn python_that_probes_over_http() {
    over_http(&mut script("session.py"), Catalog::Dots, "auto");
}

/// Same over stdio.
#[test]
#[ignore = "slow: fetches the Python client from PyPI"]
fn python_that_probes_over_stdio() {
    over_stdio(&mut script("session.py"), Catalog::Safe, "auto");
}
