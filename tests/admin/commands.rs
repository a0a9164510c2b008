//! The commands that stand on the admin socket.

use rustix::process::Signal;
use serde_json::json;

use crate::harness::Place;

#[test]
fn workspaces_are_listed_put_and_deleted() {
    let place = Place::new();
    for words in [&["workspaces"][..], &["top", "--once"], &["servers", "running"], &["workspaces", "delete", "x"]] {
        place.run(words).code(3).says(&["codeyard serve --root"]);
    }
    let serving = place.serve(&["--config", &place.configured()]);
    let other = place.path("other").display().to_string();
    let made = place.run(&["workspaces", "put", "other", "--root", &other]).code(0);
    assert!(made.stdout.contains("created"), "{made:?}");
    let again = place.run(&["workspaces", "put", "other", "--root", "../other", "--json"]).code(0).json();
    assert_eq!(again["change"], "unchanged", "a relative path counts from here");
    let listed = place.run(&["workspaces"]).code(0).stdout;
    assert!(listed.contains("repo (default)") && listed.contains(&other), "{listed}");
    assert_eq!(place.run(&["workspaces", "--json"]).code(0).json()["workspaces"][1]["name"], "other");
    place.run(&["workspaces", "put", "other", "--root", "nowhere"]).code(1).says(&["roots", "folders that are there"]);
    place.run(&["workspaces", "put", "No", "--root", "."]).code(2).says(&["no name of a workspace"]);
    let gone = place.run(&["workspaces", "delete", "other"]).code(0).stdout;
    assert!(gone.contains("workspace other removed"), "{gone}");
    place.run(&["workspaces", "delete", "other"]).code(3).says(&["codeyard workspaces"]);
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn servers_are_listed_restarted_and_stopped() {
    let place = Place::new();
    let serving = place.serve(&["--config", &place.configured()]);
    place.run(&["servers", "restart", "repo", "tiny"]).code(3).says(&["codeyard servers running"]);
    let uri = json!({"uri": format!("file://{}", place.path("repo/a.tiny").display())});
    serving.client("repo").ask("vscode.lsp.documentSymbols", &uri).unwrap();
    let pid = |place: &Place| {
        let listed = place.run(&["servers", "running", "--json"]).code(0).json();
        listed["servers"][0]["pid"].as_u64()
    };
    let before = pid(&place).unwrap();
    let restarted = place.run(&["servers", "restart", "repo", "tiny"]).code(0).stdout;
    assert!(restarted.contains("is being started anew"), "{restarted}");
    serving
        .client("repo")
        .ask("vscode.lsp.hover", &json!({"uri": uri["uri"], "position": {"line": 0, "character": 5}}))
        .unwrap();
    assert!(pid(&place).is_some_and(|after| after != before));
    let stopped = place.run(&["servers", "stop", "repo", "tiny"]).code(0).stdout;
    assert!(stopped.contains("has ended (exit)"), "{stopped}");
    assert_eq!(pid(&place), None);
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn top_prints_one_frame_without_a_terminal() {
    let place = Place::new();
    let serving = place.serve(&["--config", &place.configured()]);
    let uri = json!({"uri": format!("file://{}", place.path("repo/a.tiny").display())});
    serving.client("repo").ask("vscode.lsp.documentSymbols", &uri).unwrap();
    let frame = place.run(&["top", "--once"]).code(0).stdout;
    for part in [&format!("process {}", serving.pid()), "repo*", "open", "tiny-", "ready", "calls 1", "calls/s 0.0"] {
        assert!(frame.contains(part), "no `{part}` in\n{frame}");
    }
    place.run(&["top"]).code(1).says(&["top --once"]);
    assert_eq!(serving.stop(Signal::TERM), 0);
}
