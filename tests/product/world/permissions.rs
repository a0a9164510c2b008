//! `permission.lsp = "ask"` with the official Python client: its user is prompted, and every answer applies.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::running_server::{Yard, codeyard};
use crate::world::parts::python_with_client;
use crate::world::program::run_well;

/// A folder with a file for the tiny language server, and its configuration.
struct PromptScenario {
    folder: tempfile::TempDir,
    configuration: String,
}

impl PromptScenario {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("root")).expect("a folder");
        fs::write(folder.path().join("root/a.tiny"), "def shelf\nuse shelf\n").expect("a file");
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/product/tiny_lsp.py");
        let configuration = format!(
            "[permission]\nlsp = \"ask\"\n[[workspace]]\nname = \"tiny\"\nroots = [{:?}]\n[languages.tiny]\n\
             extensions = [\"tiny\"]\n[servers.tiny]\nlanguages = [\"tiny\"]\ngroup = \"tiny\"\n\
             command = [\"python3\", {server:?}]\n",
            folder.path().join("root")
        );
        Self { folder, configuration }
    }

    /// Runs the client's plan over `connection`; returns its report.
    fn report(&self, connection: Value) -> Value {
        let accept = |word: &str| json!({"answer": {"action": "accept", "content": {"decision": word}}});
        let other = |action: &str| json!({"answer": {"action": action}});
        let steps =
            [accept("once"), accept("deny"), other("decline"), other("cancel"), accept("always"), other("decline")];
        let arguments = json!({"operation": "documentSymbol", "filePath": "a.tiny"});
        let mut plan = json!({"tool": "lsp", "arguments": arguments, "steps": steps});
        plan.as_object_mut().expect("an object").extend(connection.as_object().expect("an object").clone());
        let file = self.folder.path().join("plan.json");
        fs::write(&file, plan.to_string()).expect("a file");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/product/world/clients/permission.py");
        let mut command: Command = python_with_client();
        let printed = run_well(command.arg(script).arg(&file));
        serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"))
    }
}

fn is_answered(step: &Value) -> bool {
    step["isError"] == false && step["content"]["metadata"]["result"][0]["name"] == "shelf"
}

fn reason(step: &Value) -> &str {
    step["content"]["metadata"]["error"]["reason"].as_str().unwrap_or_default()
}

fn asked(step: &Value) -> usize {
    step["asked"].as_array().map_or(0, Vec::len)
}

fn assert_right(report: &Value) {
    assert_eq!(reason(&report["unable"]), "permission_not_asked", "{report}");
    let text = report["unable"]["text"].as_str().expect("a text");
    assert!(text.contains("permission.lsp") && text.contains("codeyard config check"), "{text}");
    assert_eq!(report["withdrawn"], true, "the client has taken its form away: {report}");
    assert!(is_answered(&report["afterCancel"]) && asked(&report["afterCancel"]) == 1, "{report}");
    let steps = report["steps"].as_array().expect("a list");
    let reasons: Vec<&str> = steps.iter().map(reason).collect();
    assert_eq!(reasons, ["", "permission_declined", "permission_declined", "permission_cancelled", "", ""], "{report}");
    assert_eq!(steps.iter().map(asked).collect::<Vec<_>>(), [1, 1, 1, 1, 1, 0], "after `always` there is no prompt");
    assert!([0, 4, 5].into_iter().all(|at| is_answered(&steps[at])), "{report}");
    let question = &steps[0]["asked"][0];
    assert!(question["message"].as_str().is_some_and(|text| text.contains("`tiny`")), "{question}");
    let options = question["schema"]["properties"]["decision"]["oneOf"].as_array().expect("options");
    assert!(options.iter().all(|option| option["title"].is_string()) && options.len() == 3, "{question}");
}

#[test]
#[ignore = "slow: fetches the Python client from PyPI"]
fn a_python_client_is_prompted_over_http() {
    let scenario = PromptScenario::new();
    let yard = Yard::serve(&scenario.configuration);
    let url = format!("http://{}/mcp/tiny/agent", yard.address);
    assert_right(&scenario.report(json!({"url": url, "token": yard.token})));
    let withdrawn = |line: &&str| line.contains("\"permission\":\"withdrawn\"");
    assert_eq!(yard.log().lines().filter(withdrawn).count(), 1, "{}", yard.log());
    yard.stop();
}

#[test]
#[ignore = "slow: fetches the Python client from PyPI"]
fn a_python_client_is_prompted_over_stdio() {
    let scenario = PromptScenario::new();
    let state = tempfile::tempdir().expect("a folder");
    let file = state.path().join("codeyard.toml");
    fs::write(&file, &scenario.configuration).expect("a file");
    let mut command = codeyard("stdio", state.path());
    command.arg("--config").arg(&file).args(["--catalog", "agent"]);
    let text = |text: &std::ffi::OsStr| text.to_str().expect("UTF-8").to_owned();
    let set = command.get_envs().filter_map(|(name, value)| Some((text(name), json!(text(value?)))));
    let env: serde_json::Map<String, Value> = set.collect();
    let args: Vec<String> = command.get_args().map(text).collect();
    assert_right(&scenario.report(json!({"command": text(command.get_program()), "args": args, "env": env})));
}
