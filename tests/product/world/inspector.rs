//! The Inspector's command line over stdio and HTTP: the tools and their schemas, a call, and an error.

use std::process::Command;

use serde_json::Value;

use crate::e2e::place::Place;
use crate::running_server::{Yard, codeyard};
use crate::world::parts::{node, npm_folder};
use crate::world::program::{run, run_well};

/// The Inspector with its own home folder.
fn inspector(home: &tempfile::TempDir) -> Command {
    let mut command = node();
    let program = npm_folder().join("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    assert!(program.exists(), "{} isn't in the package", program.display());
    command.arg(program).arg("--cli").env("HOME", home.path());
    command
}

/// Its connection arguments; the last ones are for a server on standard input.
struct Target {
    before: Vec<String>,
    server: Vec<String>,
}

/// Lists the tools and requests a definition.
fn exercise(place: &Place, target: &Target) {
    let home = tempfile::tempdir().expect("a folder");
    let ask = |words: &[&str]| {
        let mut command = inspector(&home);
        command.args(&target.server).args(&target.before).args(words).args(["--format", "json"]);
        command
    };
    let listed = run_well(&mut ask(&["--method", "tools/list", "--strict"]));
    let listed: Value = serde_json::from_str(&listed).unwrap_or_else(|error| panic!("{error}: {listed}"));
    let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
    assert_eq!(tools.len(), 7);
    assert!(tools.iter().all(|tool| tool["outputSchema"]["type"] == "object"), "{listed}");

    let arguments = place.definition().0.to_string();
    let call = ["--method", "tools/call", "--tool-name", "vscode.lsp.definition", "--tool-args-json", &arguments];
    let mut attempts = 0;
    let answer = loop {
        let ended = run(&mut ask(&call));
        attempts += 1;
        let is_starting = ended.stderr.contains("CAP_EXCEEDED") || ended.stdout.contains("CAP_EXCEEDED");
        if attempts == 40 || !is_starting {
            break ended;
        }
    };
    assert!(answer.success, "{}\n{}", answer.stdout, answer.stderr);
    let answer: Value =
        serde_json::from_str(&answer.stdout).unwrap_or_else(|error| panic!("{error}: {}", answer.stdout));
    place.assert_right(&answer["result"]["structuredContent"]);

    let wrong = run(&mut ask(&["--method", "tools/call", "--tool-name", "vscode.lsp.hover", "--tool-args-json", "{}"]));
    assert!(!wrong.success);
    let output = format!("{}{}", wrong.stdout, wrong.stderr);
    assert!(output.contains("MCP_LSP_GATEWAY/INVALID_PARAMS"), "{output}");
    place.assert_untouched();
}

#[test]
#[ignore = "slow: fetches the Inspector from npm"]
fn over_http() {
    let place = Place::new("python");
    let yard = Yard::serve(&place.workspace());
    for era in ["legacy", "auto"] {
        let header = format!("Authorization: Bearer {}", yard.token);
        let before = ["--transport", "http", "--header", &header, "--protocol-era", era];
        let target =
            Target { before: before.map(str::to_owned).to_vec(), server: vec![format!("http://{}/mcp", yard.address)] };
        exercise(&place, &target);
    }
    yard.stop();
}

#[test]
#[ignore = "slow: fetches the Inspector from npm"]
fn over_stdio() {
    let place = Place::new("python");
    let state = tempfile::tempdir().expect("a folder");
    let mut command = codeyard("stdio", state.path());
    command.arg("--root").arg(&place.root);
    let text = |text: &std::ffi::OsStr| text.to_str().expect("UTF-8").to_owned();
    let before = command.get_envs().filter_map(|(name, value)| Some(format!("{}={}", text(name), text(value?))));
    let before = before.flat_map(|pair| ["-e".to_owned(), pair]).collect();
    let server = std::iter::once(command.get_program()).chain(command.get_args()).map(text).collect();
    exercise(&place, &Target { before, server });
}
