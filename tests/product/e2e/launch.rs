//! Launch runs of the real binary on the sample: over HTTP from start to branch, in every state, and from ten clients at once.
//!
//! The sample site is built by the real Hugo; where it can't be had the runs treat the site as plain Markdown, and say so.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::e2e::launch_tools::{allowed_in, refused_as_illegal};
use crate::mcp::{Mcp, until};
use crate::running_server::Yard;

use codeyard_test_support::git;
use codeyard_test_support::hugo;

pub(crate) struct Sample {
    dir: tempfile::TempDir,
    /// What the site is: built by Hugo, or plain Markdown where there is none.
    pub(crate) kind: &'static str,
}

const SECTIONS: [&str; 5] = ["products", "docs", "reference", "kb", "blog"];

impl Sample {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let sample = Self { dir, kind: if hugo::test_hugo().is_some() { "hugo" } else { "markdown" } };
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/launch");
        for name in ["library", "site"] {
            let to = sample.top().join(name);
            copy(&from.join(name), &to);
            git::git(&to, &["init", "--quiet", "--initial-branch=main"]);
            git::git(&to, &["add", "--all"]);
            git::git(&to, &["commit", "--quiet", "--date=2026-01-20T10:00:00Z", "-m", "first"]);
        }
        sample
    }

    pub(crate) fn top(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub(crate) fn configuration(&self) -> String {
        self.configuration_with(&hugo::test_hugo().map(|program| format!("hugo = {program:?}\n")).unwrap_or_default())
    }

    /// The same with other words about Hugo.
    pub(crate) fn configuration_with(&self, hugo: &str) -> String {
        let top = self.top();
        let library = top.join("library");
        format!("[[workspace]]\nname = \"lib\"\nroots = [{library:?}]\n[runs]\nsources = [{top:?}]\n{hugo}")
    }

    pub(crate) fn run_config(&self) -> Value {
        let content = if self.kind == "hugo" { "content/" } else { "" };
        let allowed = SECTIONS.map(|name| format!("{content}{name}/tabtidy/**"));
        json!({
            "schema_version": "1.0", "product_slug": "tabtidy", "product_name": "tabtidy", "family": "cells",
            "target_platform": "python", "github_repo_url": self.top().join("library"), "github_ref": "main",
            "required_sections": SECTIONS, "allowed_paths": allowed,
            "site": {"repo_url": self.top().join("site"), "ref": "main", "kind": self.kind},
        })
    }

    /// The branches of runs in the site's repository.
    pub(crate) fn branches(&self) -> Vec<String> {
        let list = git::git(&self.top().join("site"), &["branch", "--list", "--format=%(refname:short)", "launch/*"]);
        list.lines().map(str::to_owned).collect()
    }
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A client of the catalog `launch` that checks each answer against the tool's schema.
pub(crate) struct Client(pub(crate) Mcp);

impl Client {
    pub(crate) fn of(yard: &Yard) -> Self {
        Self::at(yard, "lib/launch")
    }

    pub(crate) fn at(yard: &Yard, endpoint: &str) -> Self {
        Self(yard.client(endpoint))
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let body = self.0.call_text(tool, arguments);
        let response: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"));
        checked(tool, &response)
    }

    pub(crate) fn ok(&mut self, tool: &str, arguments: &Value) -> Value {
        let object = self.call(tool, arguments);
        assert_eq!(object["ok"], true, "{tool}: {object}");
        object
    }

    pub(crate) fn refused(&mut self, tool: &str, arguments: &Value) -> Value {
        let object = self.call(tool, arguments);
        assert_eq!(object["ok"], false, "{tool}: {object}");
        let error = object["error"].clone();
        assert!(error["code"] != "INTERNAL" || error["details"]["cause_class"].is_string(), "{error}");
        error
    }

    pub(crate) fn state(&mut self, run: &Value) -> String {
        self.ok("launch_get_status", run)["status"]["state"].as_str().unwrap().to_owned()
    }

    /// Waits until the run is in this state.
    pub(crate) fn wait(&mut self, run: &Value, wanted: &str) {
        let mut state = String::new();
        let reached = until(60_000, || {
            state = self.state(run);
            state == wanted || matches!(state.as_str(), "FAILED" | "CANCELLED")
        });
        assert!(reached && state == wanted, "{state}: {}", self.ok("launch_get_status", run));
    }

    pub(crate) fn events(&mut self, run: &Value) -> Vec<Value> {
        let mut text = String::new();
        let mut offset = 0;
        loop {
            let mut arguments = run.clone();
            (arguments["artifact_name"], arguments["offset"]) = (json!("events.ndjson"), json!(offset));
            let artifact = self.ok("launch_get_artifact", &arguments)["artifact"].clone();
            text.push_str(artifact["content"].as_str().unwrap());
            match artifact["next_offset"].as_u64() {
                Some(next) => offset = next,
                None => return text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
            }
        }
    }

    pub(crate) fn artifacts(&mut self, run: &Value) -> BTreeMap<String, String> {
        let status = self.ok("launch_get_status", run);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let of = |artifact: &Value| (text(&artifact["name"]), text(&artifact["sha256"]));
        let all = status["status"]["artifacts"].as_array().unwrap().iter().map(of);
        all.filter(|(name, _)| name != "pr.json").collect()
    }
}

/// The object of a tool's answer, after its form was checked.
pub(crate) fn checked(tool: &str, response: &Value) -> Value {
    let result = &response["result"];
    let object = result["structuredContent"].clone();
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().expect("a text")).unwrap();
    assert_eq!(text, object, "the text is the same JSON");
    assert_eq!(result["isError"], !object["ok"].as_bool().expect("ok"), "{response}");
    // The deprecated alias has the schema of its tool.
    let listed = if tool == "launch_start_run_from_url" { "launch_start_run_from_product_url" } else { tool };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("schemas/tools/{listed}.output.json"));
    let schema: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let faults: Vec<String> = validator.iter_errors(&object).map(|error| error.to_string()).collect();
    assert_eq!(faults, Vec::<String>::new(), "{tool}: {object}");
    object
}

pub(crate) fn run_of(started: &Value) -> Value {
    json!({"run_id": started["run_id"]})
}

#[test]
fn a_run_goes_from_its_start_to_a_branch() {
    let sample = Sample::new();
    let yard = Yard::serve(&sample.configuration());
    let mut client = Client::of(&yard);
    let started = client.ok("launch_start_run", &json!({"run_config": sample.run_config()}));
    assert_eq!(started["state"], "CREATED");
    let run = run_of(&started);
    let status = client.ok("launch_resume", &run)["status"].clone();
    assert_eq!((&status["state"], &status["open_issues"]), (&json!("READY_FOR_PR"), &json!([])), "{status}");
    assert!(SECTIONS.iter().all(|section| status["section_states"][section] == "DONE"), "{status}");
    let report = client.ok("launch_validate", &run)["validation_report"].clone();
    let gates: Vec<&Value> =
        report["gates"].as_array().unwrap().iter().filter(|gate| gate["skipped"].is_null()).collect();
    assert_eq!(gates.len(), if sample.kind == "hugo" { 10 } else { 9 }, "{report}");
    let published = client.ok("launch_open_pr", &run);
    assert_eq!(sample.branches(), [published["branch"].as_str().unwrap()]);
    let again = client.refused("launch_open_pr", &run);
    assert_eq!((&again["code"], &again["details"]["pr_url"]), (&json!("ILLEGAL_STATE"), &published["pr_url"]));
    let listed = client.ok("launch_list_runs", &json!({"filter": {"state": "DONE"}}));
    assert_eq!(listed["runs"][0]["run_id"], started["run_id"]);
    assert_eq!(client.ok("launch_list_runs", &json!({"filter": {"state": "FAILED"}}))["runs"], json!([]));

    let events = client.events(&run);
    let items: BTreeSet<&str> = events
        .iter()
        .filter(|event| event["type"] == "WORK_ITEM_FINISHED")
        .map(|event| event["payload"]["item"].as_str().unwrap())
        .collect();
    for worker in
        ["RepoScout", "FactsBuilder", "SnippetCurator", "Planner", "SectionWriter", "Linker", "Validator", "PrManager"]
    {
        assert!(items.iter().any(|item| item.contains(&format!(":{worker}:"))), "{worker}: {items:?}");
    }
    assert!(events.iter().all(|event| event["trace_id"].as_str().unwrap().len() == 32), "each event names its trace");
    // The person's branch and files are as they were.
    assert_eq!(git::git(&sample.top().join("site"), &["status", "--short", "--branch"]), "## main");
    yard.stop();
}

#[test]
fn each_tool_is_refused_in_each_state_that_does_not_allow_it() {
    let sample = Sample::new();
    let yard = Yard::serve(&sample.configuration());
    let mut client = Client::of(&yard);
    let mut config = sample.run_config();
    config["advance"] = json!("step");
    let run = run_of(&client.ok("launch_start_run", &json!({"run_config": config})));
    client.wait(&run, "PLAN_READY");
    let allowed = [
        ("PLAN_READY", &["launch_resume"][..]),
        ("DRAFT_READY", &["launch_resume"]),
        ("VALIDATING", &["launch_resume", "launch_validate"]),
        ("READY_FOR_PR", &["launch_validate", "launch_open_pr"]),
        ("DONE", &[]),
    ];
    for (state, tools) in allowed {
        assert_eq!(client.state(&run), state);
        for tool in
            ["launch_validate", "launch_fix_next", "launch_open_pr"].into_iter().filter(|tool| !tools.contains(tool))
        {
            refused_as_illegal(&mut client, tool, &run, state, &allowed_in(tool));
        }
        match tools.last() {
            Some(&"launch_open_pr") => drop(client.ok("launch_open_pr", &run)),
            Some(_) => drop(client.ok("launch_resume", &run)),
            None => {}
        }
    }
    for tool in ["launch_resume", "launch_cancel"] {
        refused_as_illegal(&mut client, tool, &run, "DONE", &allowed_in(tool));
    }
    for id in ["r_2020-01-01T00-00-00Z_00000000", "../../etc", "", "r_"] {
        assert_eq!(
            client.refused("launch_get_status", &json!({"run_id": id}))["code"],
            if id.is_empty() { "INVALID_INPUT" } else { "RUN_NOT_FOUND" },
            "{id}"
        );
    }
    for name in ["../run_config.json", "/etc/passwd", "nope"] {
        let arguments = json!({"run_id": run["run_id"], "artifact_name": name});
        assert_eq!(client.refused("launch_get_artifact", &arguments)["code"], "INVALID_INPUT", "{name}");
    }
    let run = run_of(&client.ok("launch_start_run", &json!({"run_config": config})));
    client.wait(&run, "PLAN_READY");
    for _ in 0..2 {
        assert_eq!(client.ok("launch_cancel", &run)["state"], "CANCELLED");
    }
    assert_eq!(client.refused("launch_resume", &run)["code"], "ILLEGAL_STATE");
    yard.stop();
}

#[test]
fn ten_clients_with_one_key_start_one_run() {
    let sample = Sample::new();
    let yard = Yard::serve(&sample.configuration());
    let start = json!({"run_config": sample.run_config(), "idempotency_key": "k"});
    let started: Vec<Value> = std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..10).map(|_| scope.spawn(|| Client::of(&yard).ok("launch_start_run", &start))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let runs: BTreeSet<&str> = started.iter().map(|started| started["run_id"].as_str().unwrap()).collect();
    assert_eq!(runs.len(), 1, "{started:?}");
    assert_eq!(started.iter().filter(|started| started["replayed"] == true).count(), 9);
    let mut client = Client::of(&yard);
    let mut other = start.clone();
    other["run_config"]["product_name"] = json!("Other");
    assert_eq!(client.refused("launch_start_run", &other)["details"]["reason"], "idempotency_key_reused");
    let mut wrong = start;
    wrong["run_config"]["colour"] = json!("red");
    assert_eq!(client.refused("launch_start_run", &wrong)["code"], "SCHEMA_VALIDATION_FAILED");
    let foreign = json!({"run_config": {"github_repo_url": "/etc", "site": {"repo_url": "/etc"}}});
    let mut config = sample.run_config();
    config["github_repo_url"] = foreign["run_config"]["github_repo_url"].clone();
    let refused = client.refused("launch_start_run", &json!({"run_config": config}));
    assert_eq!(refused["details"]["reason"], "source_not_allowed", "{refused}");
    client.wait(&run_of(&started[0]), "READY_FOR_PR");
    yard.stop();
}
