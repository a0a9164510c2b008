//! The commands that use the admin socket.

use rustix::process::Signal;
use serde_json::json;

use crate::cli::harness::Sandbox;

#[test]
fn workspaces_are_listed_put_and_deleted() {
    let sandbox = Sandbox::new();
    for words in [&["workspaces"][..], &["top", "--once"], &["servers", "running"], &["workspaces", "delete", "x"]] {
        sandbox.run(words).code(3).says(&["codeyard serve --root"]);
    }
    let serving = sandbox.serve(&["--config", &sandbox.configured()]);
    let other = sandbox.path("other").display().to_string();
    let made = sandbox.run(&["workspaces", "put", "other", "--root", &other]).code(0);
    assert!(made.stdout.contains("created"), "{made:?}");
    let again = sandbox.run(&["workspaces", "put", "other", "--root", "../other", "--json"]).code(0).json();
    assert_eq!(again["change"], "unchanged", "a relative path counts from here");
    let listed = sandbox.run(&["workspaces"]).code(0).stdout;
    assert!(listed.contains("repo (default)") && listed.contains(&other), "{listed}");
    assert_eq!(sandbox.run(&["workspaces", "--json"]).code(0).json()["workspaces"][1]["name"], "other");
    sandbox.run(&["workspaces", "put", "other", "--root", "nowhere"]).code(1).says(&["roots", "name existing folders"]);
    sandbox.run(&["workspaces", "put", "No", "--root", "."]).code(2).says(&["not a valid workspace name"]);
    let gone = sandbox.run(&["workspaces", "delete", "other"]).code(0).stdout;
    assert!(gone.contains("workspace other removed"), "{gone}");
    sandbox.run(&["workspaces", "delete", "other"]).code(3).says(&["codeyard workspaces"]);
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn servers_are_listed_restarted_and_stopped() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--config", &sandbox.configured()]);
    sandbox.run(&["servers", "restart", "repo", "tiny"]).code(3).says(&["codeyard servers running"]);
    let uri = json!({"uri": format!("file://{}", sandbox.path("repo/a.tiny").display())});
    serving.client("repo").ask("vscode.lsp.documentSymbols", &uri).unwrap();
    let pid = |sandbox: &Sandbox| {
        let listed = sandbox.run(&["servers", "running", "--json"]).code(0).json();
        listed["servers"][0]["pid"].as_u64()
    };
    let before = pid(&sandbox).unwrap();
    let restarted = sandbox.run(&["servers", "restart", "repo", "tiny"]).code(0).stdout;
    assert!(restarted.contains("is restarting"), "{restarted}");
    serving
        .client("repo")
        .ask("vscode.lsp.hover", &json!({"uri": uri["uri"], "position": {"line": 0, "character": 5}}))
        .unwrap();
    assert!(pid(&sandbox).is_some_and(|after| after != before));
    let stopped = sandbox.run(&["servers", "stop", "repo", "tiny"]).code(0).stdout;
    assert!(stopped.contains("has stopped (exit)"), "{stopped}");
    assert_eq!(pid(&sandbox), None);
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn top_prints_one_frame_without_a_terminal() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--config", &sandbox.configured()]);
    let uri = json!({"uri": format!("file://{}", sandbox.path("repo/a.tiny").display())});
    serving.client("repo").ask("vscode.lsp.documentSymbols", &uri).unwrap();
    let frame = sandbox.run(&["top", "--once"]).code(0).stdout;
    for part in [&format!("process {}", serving.pid()), "repo*", "open", "tiny-", "ready", "  calls ", "calls/s 0.0"] {
        assert!(frame.contains(part), "no `{part}` in\n{frame}");
    }
    // A call that came before the server was ready was repeated.
    assert!(!frame.contains("  calls 0 "), "{frame}");
    sandbox.run(&["top"]).code(1).says(&["top --once"]);
    assert_eq!(serving.stop(Signal::TERM), 0);
}
