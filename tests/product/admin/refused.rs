//! Calls that are refused for what they ask, repeated as client libraries repeat them: no language server and no workspace pays for them.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::admin::wire::Way;
use crate::cli::harness::Sandbox;

/// Some libraries call three times; a model that repeats itself calls more often.
const REPETITIONS: u64 = 12;

/// The samples of `/metrics` with these names, without what changes by itself.
fn samples(way: &Way, names: &[&str]) -> Vec<String> {
    let text = way.get("/metrics").is(200).body;
    let found = text.lines().filter(|line| names.iter().any(|name| line.starts_with(name)));
    found.map(str::to_owned).collect()
}

#[test]
fn refused_calls_count_against_nothing() {
    let sandbox = Sandbox::new();
    let config = sandbox.configure(
        "[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n\
         [[workspace]]\nname = \"denied\"\nroots = [\"other\"]\npermission = { lsp = \"deny\" }\n",
    );
    let serving = sandbox.serve(&["--config", &config]);
    let way = Way::local(&sandbox);
    let mut repo = serving.client("repo");
    let mut denied = serving.client("denied");
    let uri = |name: &str| format!("file://{}", sandbox.path(name).display());
    let symbols = "vscode.lsp.documentSymbols";
    repo.ask(symbols, &json!({"uri": uri("repo/a.tiny")})).expect("an answer");
    // What a language server does and suffers: requests, errors, restarts, quarantines.
    let suffered =
        ["rpc_client_call_duration_seconds_count", "codeyard_server_restarts_total", "codeyard_workspace_degraded"];
    let before = samples(&way, &suffered);
    assert!(before.iter().any(|line| line.contains("textDocument/documentSymbol")), "{before:?}");
    let beyond = json!({"uri": uri("repo/a.tiny"), "position": {"line": 99, "character": 0}});
    let refused: [(&str, Value, &str); 4] = [
        (symbols, json!({"uri": uri("repo/a.tiny"), "depth": 2}), "INVALID_PARAMS"),
        (symbols, json!({"uri": uri("repo/none.tiny")}), "NOT_FOUND"),
        (symbols, json!({"uri": uri("other/a.tiny")}), "WORKSPACE_DENIED"),
        ("vscode.lsp.hover", beyond, "NOT_FOUND"),
    ];
    for _ in 0..REPETITIONS {
        for (tool, arguments, code) in &refused {
            assert_eq!(repo.call(tool, arguments).expect_err("refused").code, *code, "{tool} {arguments}");
        }
        let failure = denied.call(symbols, &json!({"uri": uri("other/a.tiny")})).expect_err("refused");
        assert_eq!(failure.code, "WORKSPACE_DENIED");
    }
    assert_eq!(samples(&way, &suffered), before, "no language server was asked");
    assert_eq!(way.get("/readyz").is(200).json(), json!({"ready": true, "failing": [], "degraded": []}));
    let servers = way.get("/admin/v1/servers").is(200).json();
    let states =
        servers["servers"].as_array().expect("a list").iter().map(|server| (&server["state"], &server["restarts"]));
    assert_eq!(states.collect::<Vec<_>>(), [(&json!("ready"), &json!(0))], "{servers}");
    // They are counted as what they are, and `codeyard health` finds nothing.
    let calls = way.get("/admin/v1/service").is(200).json()["calls"].clone();
    let counted = |outcome: &str| {
        let found = calls.as_array().expect("a list").iter().filter(|call| call["outcome"] == outcome);
        found.map(|call| call["count"].as_u64().expect("a number")).sum::<u64>()
    };
    let counts = ["INVALID_PARAMS", "NOT_FOUND", "WORKSPACE_DENIED"].map(counted);
    assert_eq!(counts, [REPETITIONS, 2 * REPETITIONS, 2 * REPETITIONS], "{calls}");
    sandbox.run(&["health"]).code(0);
    repo.call(symbols, &json!({"uri": uri("repo/a.tiny")})).expect("the next call is answered at once");
    assert_eq!(serving.stop(Signal::TERM), 0);
}
