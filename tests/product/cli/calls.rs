//! `call`: the running server, an endpoint, or one of its own; answers for people and for scripts.

use std::process::Stdio;

use rustix::process::Signal;
use serde_json::json;

use crate::cli::harness::{Sandbox, run};
use crate::cli::serving::uri;

const HOVER: &str = r#"{"uri": "a.tiny", "position": {"line": 1, "character": 1}}"#;

#[test]
fn a_temporary_server_answers_and_exits() {
    let sandbox = Sandbox::new();
    let config = sandbox.configured();
    let symbols = sandbox.run(&["call", "documentSymbols", r#"{"uri": "a.tiny"}"#, "--config", &config]).code(0);
    assert_eq!(symbols.stdout, "1:5  function repo\nReturned 1 document symbol.\n");
    let mut elsewhere = sandbox.command(&["call", "hover", HOVER, "--workspace", "repo", "--config", &config]);
    assert!(run(elsewhere.current_dir(sandbox.path("other"))).code(0).stdout.contains("use repo"));
    let hover = sandbox.run(&["call", "hover", HOVER, "--config", &config]).code(0).stdout;
    assert!(hover.starts_with("tiny says: use repo\n"), "{hover}");
    let definition =
        sandbox.run(&["call", "vscode.lsp.definition", HOVER, "--config", &config, "--json"]).code(0).json();
    assert_eq!(definition["locations"][0]["uri"], uri(&sandbox)["uri"]);
}

#[test]
fn arguments_are_read_from_standard_input() {
    let sandbox = Sandbox::new();
    let input = std::fs::File::open({
        std::fs::write(sandbox.path("question"), HOVER).unwrap();
        sandbox.path("question")
    });
    let config = sandbox.configured();
    let mut command = sandbox.command(&["call", "hover", "-", "--config", &config]);
    let ran = run(command.stdin(Stdio::from(input.unwrap()))).code(0);
    assert!(ran.stdout.contains("tiny says"), "{ran:#?}");
}

#[test]
fn call_uses_the_running_server_and_shares_its_language_server() {
    let sandbox = Sandbox::new();
    let rest =
        "[[workspace]]\nname = \"other\"\nroots = [\"other\"]\n[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n";
    let serving = sandbox.serve(&["--config", &sandbox.configure(rest)]);
    let counted = || {
        let whole = sandbox.run(&["doctor", "--json"]).code(0).json();
        let calls = whole["server"]["counts"]["calls"].as_array().unwrap().clone();
        // One that the server asks to come back, because the language server still starts, is repeated.
        let is_repeated = |call: &serde_json::Value| call["outcome"].as_str().unwrap().contains("CAP_EXCEEDED");
        calls.iter().filter(|call| !is_repeated(call)).map(|call| call["count"].as_u64().unwrap()).sum::<u64>()
    };
    // By the file asked about, although another workspace is the default one.
    sandbox.run(&["call", "hover", HOVER]).code(0);
    let absolute = uri(&sandbox).to_string();
    sandbox.run(&["call", "documentSymbols", &absolute, "--workspace", "repo"]).code(0);
    sandbox.run(&["call", "documentSymbols", &absolute, "--root", "."]).code(0);
    sandbox
        .run(&["call", "documentSymbols", &absolute, "--workspace", "other"])
        .code(1)
        .says(&["WORKSPACE_DENIED", "next:"]);
    assert_eq!(counted(), 4);
    let list = sandbox.run(&["workspaces", "--json"]).code(0).json();
    let repo = list["workspaces"].as_array().unwrap().iter().find(|workspace| workspace["name"] == "repo").unwrap();
    assert!(repo["calls"].as_u64() >= Some(3) && repo["calls_in_flight"] == 0, "{repo}");
    // A relative path counts from the workspace that is named.
    let there = ["call", "documentSymbols", r#"{"uri": "a.tiny"}"#, "--workspace", "other"];
    assert!(sandbox.run(&there).code(0).stdout.contains("function other"));
    let url = format!("http://{}/mcp/repo", serving.address);
    let over_http = ["call", "hover", HOVER, "--url", &url];
    sandbox.run(&over_http).code(1).says(&["401", "codeyard token add"]);
    let ran = run(sandbox.command(&over_http).env("CODEYARD_TOKEN", &serving.token)).code(0);
    assert!(ran.stdout.starts_with("tiny says"), "{ran:#?}");
    let unknown = format!("http://{}/mcp/gone", serving.address);
    let ran = sandbox.run(&["call", "hover", HOVER, "--url", &unknown, "--token", &serving.token]).code(1);
    ran.says(&["404", "codeyard doctor"]);
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn errors_have_code_details_and_the_next_command() {
    let sandbox = Sandbox::new();
    let config = sandbox.configured();
    std::fs::write(sandbox.path("repo/x.pl"), "").unwrap();
    let cases = [
        (json!({"uri": "gone.tiny"}), "NOT_FOUND", "next: check path"),
        (json!({"uri": "../other/a.tiny"}), "WORKSPACE_DENIED", "next: name the repository"),
        (json!({"uri": "http://x/y"}), "URI_INVALID", "next: check path"),
        (json!({}), "INVALID_PARAMS", "next: `codeyard call --help`"),
        (json!({"uri": "x.pl"}), "PROVIDER_UNAVAILABLE", "reason: \"not_installed\""),
    ];
    for (arguments, code, next) in cases {
        let words = ["call", "documentSymbols", &arguments.to_string(), "--config", &config];
        let ran = run(sandbox.command(&words).env("PATH", "/usr/bin:/bin")).code(1);
        ran.says(&[code, next]);
        assert!(ran.stdout.is_empty());
    }
}

#[test]
fn a_repository_that_the_running_server_lacks_is_refused_with_the_next_command() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--config", &sandbox.configured()]);
    let other = sandbox.path("other").display().to_string();
    let symbol = r#"{"query": "repo"}"#;
    for words in
        [&["call", "workspaceSymbols", symbol][..], &["call", "search_code", symbol], &["call", "hover", HOVER]]
    {
        let mut elsewhere = sandbox.command(words);
        let ran = run(elsewhere.current_dir(&other)).code(3);
        ran.says(&[
            "no workspace of the running server contains",
            "it has repo",
            &format!("workspaces put NAME --root {other}"),
        ]);
        assert!(ran.stdout.is_empty(), "{ran:#?}");
    }
    let mut named = sandbox.command(&["call", "workspaceSymbols", symbol, "--workspace", "repo"]);
    run(named.current_dir(&other)).code(0);
    sandbox.run(&["workspaces", "put", "more", "--root", &other]).code(0);
    let mut added = sandbox.command(&["call", "hover", HOVER]);
    assert!(run(added.current_dir(&other)).code(0).stdout.contains("use other"));
    assert_eq!(serving.stop(Signal::TERM), 0);
}
