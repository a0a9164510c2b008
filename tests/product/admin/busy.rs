//! Operators and busy workspaces: `top`, `workspaces`, `doctor` and the admin API say what a workspace waits for, with the age of its state.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::admin::wire::Way;
use crate::cli::harness::{Sandbox, ServeProcess};
use crate::mcp::until;

/// Serves two workspaces whose language servers never answer `initialize`.
fn hanging(sandbox: &Sandbox) -> ServeProcess {
    let config = sandbox.configure(
        "[servers.mute]\nlanguages = [\"mute\"]\ngroup = \"mute\"\ncommand = [\"/bin/sleep\", \"3600\"]\n\
         [languages.mute]\nextensions = [\"mute\"]\n\
         [[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n[[workspace]]\nname = \"other\"\nroots = [\"other\"]\n",
    );
    for name in ["repo", "other"] {
        std::fs::write(sandbox.path(name).join("x.mute"), "text\n").unwrap();
    }
    sandbox.serve(&["--config", &config])
}

/// Asks for a file whose server never answers; the error comes at the deadline.
fn ask_mute(serving: &ServeProcess, sandbox: &Sandbox, workspace: &str) {
    let uri = format!("file://{}", sandbox.path(workspace).join("x.mute").display());
    drop(serving.client(workspace).call("vscode.lsp.documentSymbols", &json!({"uri": uri})));
}

/// The workspace of this name in the list of the admin API.
fn listed(way: &Way, name: &str) -> Value {
    let list = way.get("/admin/v1/workspaces").is(200).json();
    assert!(!list.to_string().contains("not_answering"), "{list}");
    list["workspaces"].as_array().unwrap().iter().find(|workspace| workspace["name"] == name).unwrap().clone()
}

#[test]
fn a_workspace_whose_server_starts_is_busy_everywhere() {
    let sandbox = Sandbox::new();
    let serving = hanging(&sandbox);
    let way = Way::local(&sandbox);
    assert_eq!(listed(&way, "repo")["busy"], Value::Null);
    ask_mute(&serving, &sandbox, "repo");
    let mut repo = Value::Null;
    assert!(
        until(10_000, || {
            repo = listed(&way, "repo");
            repo["busy"]["waits_for"].is_string()
        }),
        "never busy after the call: {repo}"
    );
    assert_eq!(repo["state"], "open", "{repo}");
    assert!(repo["busy"]["waits_for"].as_str().unwrap().contains("mute to start"), "{repo}");
    assert!(repo["busy"]["since_s"].is_u64() && repo["status_age_ms"].is_u64(), "{repo}");
    let idle = listed(&way, "other");
    assert_eq!(idle["busy"], Value::Null, "the other one is idle: {idle}");
    let servers = way.get("/admin/v1/servers").is(200).json();
    assert!(servers["servers"].as_array().unwrap().iter().any(|server| server["state"] == "starting"), "{servers}");
    for words in [&["workspaces"][..], &["top", "--once"], &["doctor"]] {
        let shown = sandbox.run(words).code(0).stdout;
        assert!(shown.contains("busy") && shown.contains("mute to start"), "{words:?}: {shown}");
        assert!(!shown.contains("not answering"), "{words:?}: {shown}");
    }
    let json = sandbox.run(&["workspaces", "--json"]).code(0).json();
    assert_eq!(json["workspaces"][0]["busy"]["waits_for"], repo["busy"]["waits_for"]);
    way.get("/readyz").is(200);
    sandbox.run(&["health"]).code(0);
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn many_calls_at_once_delay_no_operator() {
    let sandbox = Sandbox::new();
    let serving = hanging(&sandbox);
    let way = Way::local(&sandbox);
    std::thread::scope(|scope| {
        for number in 0..40 {
            let serving = &serving;
            let sandbox = &sandbox;
            scope.spawn(move || ask_mute(serving, sandbox, if number % 2 == 0 { "repo" } else { "other" }));
        }
        // Every listing meanwhile is complete.
        for _ in 0..20 {
            let repo = listed(&way, "repo");
            let other = listed(&way, "other");
            assert!(repo["state"] == "open" && other["state"] == "open", "{repo} {other}");
        }
        assert!(until(10_000, || ["repo", "other"].iter().all(|name| listed(&way, name)["busy"].is_object())));
    });
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn the_doctors_exit_codes() {
    let sandbox = Sandbox::new();
    sandbox.run(&["doctor"]).code(0);
    sandbox.run(&["doctor", "no/such/file"]).code(3).says(&["no/such/file"]);
    sandbox.run(&["doctor", "--config", "missing.toml"]).code(1).says(&["missing.toml"]);
    sandbox.run(&["doctor", "--no-such-flag"]).code(2);
    std::fs::write(sandbox.path("repo/unknown.zzz"), "text").unwrap();
    sandbox.run(&["doctor", "unknown.zzz"]).code(0);
}
