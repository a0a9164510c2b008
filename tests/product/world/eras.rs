//! Official clients of every era with one running server: from TypeScript 1.12, which speaks 2025-03-26, to the second versions, which
//! speak the stateless revision.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use serde_json::{Value, json};

use crate::running_server::{Yard, codeyard};
use crate::world::parts::{node, npm_packages, python_packages};
use crate::world::program::run_well;

/// A client, the revision it ends up with, and whether it can ask a person.
struct Era {
    name: &'static str,
    pin: &'static str,
    revision: &'static str,
    can_ask: bool,
}

const ERAS: [Era; 6] = [
    Era { name: "ts-1.12", pin: "@modelcontextprotocol/sdk@1.12.3", revision: "2025-03-26", can_ask: false },
    Era { name: "ts-1.20", pin: "@modelcontextprotocol/sdk@1.20.2", revision: "2025-06-18", can_ask: true },
    Era { name: "ts-1.32", pin: "@modelcontextprotocol/sdk@1.32.2", revision: "2025-11-25", can_ask: true },
    Era { name: "ts-2", pin: "@modelcontextprotocol/client@2.4.0", revision: "2026-07-28", can_ask: true },
    Era { name: "py-1.22", pin: "mcp==1.22.0", revision: "2025-06-18", can_ask: true },
    Era { name: "py-2", pin: "mcp==2.3.0", revision: "2026-07-28", can_ask: true },
];

impl Era {
    /// The client's script with `plan`.
    fn command(&self, plan: &Path) -> Command {
        let script = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/product/world/clients").join(name);
        let mut command = if self.name.starts_with("py") {
            let mut python = python_packages(self.name, &[self.pin]);
            python.arg(script("era.py"));
            python
        } else {
            let mut node = node();
            node.arg(script("era.mjs")).arg(npm_packages(self.name, &[self.pin]));
            node
        };
        command.arg(plan);
        command
    }
}

/// Two workspaces of one root: `open` allows calls, `asked` asks a person first. One file's language server never answers a hover.
struct Scenario {
    folder: tempfile::TempDir,
}

impl Scenario {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("root")).expect("a folder");
        fs::write(folder.path().join("root/a.tiny"), "def shelf\nuse shelf\n").expect("a file");
        fs::write(folder.path().join("root/quiet.mute"), "nobody answers\n").expect("a file");
        Self { folder }
    }

    fn configuration(&self) -> String {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/product");
        let server = |language: &str, program: &str, rest: &str| {
            let program = tests.join(program);
            format!(
                "[languages.{language}]\nextensions = [\"{language}\"]\n[servers.{language}]\nlanguages = [\"{language}\"]\n\
                 group = \"{language}\"\ncommand = [\"python3\", {program:?}{rest}]\n"
            )
        };
        let root = self.folder.path().join("root");
        let notes = format!(", {:?}", self.folder.path().join("notes"));
        let workspace = |name: &str| format!("[[workspace]]\nname = \"{name}\"\nroots = [{root:?}]\n");
        [
            workspace("open"),
            workspace("asked"),
            "[workspace.permission]\nlsp = \"ask\"\n".to_owned(),
            server("tiny", "tiny_lsp.py", ""),
            server("mute", "world/clients/mute_lsp.py", &notes),
        ]
        .concat()
    }

    /// What the client reports of a session over `connection`.
    fn report(&self, era: &Era, connection: &Value) -> Value {
        let lsp = |name: &str, arguments: Value| json!({"name": name, "tool": "lsp", "arguments": arguments});
        let mut plan = json!({
            "calls": [
                lsp("symbols", json!({"operation": "documentSymbol", "filePath": "a.tiny"})),
                lsp("missing", json!({"operation": "documentSymbol", "filePath": "nope.tiny"})),
            ],
            "silent": {"tool": "lsp", "arguments": {"operation": "hover", "filePath": "quiet.mute", "line": 1, "character": 1}},
        });
        plan.as_object_mut().expect("an object").extend(connection.as_object().expect("an object").clone());
        let file = tempfile::NamedTempFile::new_in(self.folder.path()).expect("a file");
        fs::write(file.path(), plan.to_string()).expect("a file");
        let printed = run_well(&mut era.command(file.path()));
        serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{}: {error}: {printed}", era.name))
    }
}

fn assert_served(era: &Era, report: &Value) {
    let name = era.name;
    // The oldest client doesn't give its transport the revision.
    assert!(report["protocol"] == era.revision || report["protocol"].is_null(), "{name}: {report}");
    assert_eq!(report["tools"], json!(["lsp"]), "{name}");
    assert_eq!(report["outputSchemas"] == 0, era.revision == "2025-03-26", "{name}: {report}");
    let symbols = &report["answers"]["symbols"];
    assert_eq!(symbols["isError"], false, "{name}: {report}");
    assert!(symbols["text"].as_str().is_some_and(|text| text.contains("\"shelf\"")), "{name}: {report}");
    let missing = &report["answers"]["missing"];
    let sentence = "File not found: nope.tiny";
    assert_eq!((&missing["isError"], &missing["text"]), (&json!(true), &json!(sentence)), "{name}: {report}");
    assert!(report["progress"].as_u64() >= Some(1) && report["cancelled"] == true, "{name}: {report}");
    assert_eq!(report["after"], false, "{name}: the session goes on after a cancellation: {report}");
}

fn assert_asked(era: &Era, report: &Value) {
    let name = era.name;
    let questions = report["questions"].as_array().expect("a list");
    let symbols = &report["answers"]["symbols"];
    if !era.can_ask {
        assert!(questions.is_empty() && symbols["isError"] == true, "{name}: {report}");
        assert!(symbols["text"].as_str().is_some_and(|text| text.contains("permission.lsp")), "{name}: {report}");
        return;
    }
    assert_served(era, report);
    // A call that is repeated because its language server still starts asks again.
    assert!(questions.len() >= 4, "{name}: one prompt for each call: {report}");
    let field = &questions[0]["requestedSchema"]["properties"]["decision"];
    let is_titled = era.revision >= "2025-11-25";
    assert_eq!((field["oneOf"].is_array(), field["enum"].is_array()), (is_titled, !is_titled), "{name}: {field}");
}

#[test]
#[ignore = "slow: fetches clients from npm and PyPI"]
fn clients_of_every_era_use_one_server_over_http() {
    let scenario = Scenario::new();
    let yard = Yard::serve(&scenario.configuration());
    let of =
        |workspace: &str| json!({"url": format!("http://{}/mcp/{workspace}/agent", yard.address), "token": yard.token});
    let open = of("open");
    let asked = of("asked");
    // Fetched one after the other, so that all clients then run at the same time.
    ERAS.iter().for_each(|era| drop(era.command(Path::new("plan"))));
    thread::scope(|scope| {
        for era in &ERAS {
            let scenario = &scenario;
            let open = &open;
            let asked = &asked;
            scope.spawn(move || {
                assert_served(era, &scenario.report(era, open));
                assert_asked(era, &scenario.report(era, asked));
            });
        }
    });
    yard.stop();
}

#[test]
#[ignore = "slow: fetches clients from npm and PyPI"]
fn clients_of_every_era_use_a_pipe() {
    let scenario = Scenario::new();
    let state = tempfile::tempdir().expect("a folder");
    let file = state.path().join("codeyard.toml");
    fs::write(&file, scenario.configuration()).expect("a file");
    for (workspace, assert) in [("open", assert_served as fn(&Era, &Value)), ("asked", assert_asked)] {
        let mut command = codeyard("stdio", state.path());
        command.arg("--config").arg(&file).args(["--workspace", workspace, "--catalog", "agent"]);
        let text = |text: &std::ffi::OsStr| text.to_str().expect("UTF-8").to_owned();
        let set = command.get_envs().filter_map(|(name, value)| Some((text(name), json!(text(value?)))));
        let mut env: serde_json::Map<String, Value> = set.collect();
        // The oldest client gives the program these variables and no others.
        env.insert("PATH".to_owned(), json!(std::env::var("PATH").expect("a PATH")));
        let args: Vec<String> = command.get_args().map(text).collect();
        let connection = json!({"command": text(command.get_program()), "args": args, "env": env});
        for era in &ERAS {
            assert(era, &scenario.report(era, &connection));
        }
    }
}
