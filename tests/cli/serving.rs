//! `serve`: how it begins, who may come in, how it ends.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;

use crate::harness::{Sandbox, descendants};
use crate::mcp::until;

#[test]
fn term_and_int_end_serve_and_its_children() {
    let sandbox = Sandbox::new();
    let config = sandbox.configured();
    for signal in [Signal::TERM, Signal::INT] {
        let serving = sandbox.serve(&["--config", &config, "--no-auth"]);
        assert!(serving.token.is_empty());
        let symbols = serving.client("repo").ask("vscode.lsp.documentSymbols", &uri(&sandbox)).unwrap();
        assert_eq!(symbols["symbols"][0]["name"], "repo");
        assert!(!descendants(serving.pid()).is_empty(), "the language server runs");
        assert!(sandbox.path("state/run/admin.sock").exists() && sandbox.path("state/run/attach.sock").exists());
        assert_eq!(serving.stop(signal), 0);
        assert!(!sandbox.path("state/run/admin.sock").exists() && !sandbox.path("state/run/attach.sock").exists());
    }
}

#[test]
fn a_second_serve_names_the_owner_of_the_state_directory() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--root", "."]);
    let second = sandbox.run(&["serve", "--root", ".", "--listen", "127.0.0.1:0"]).code(1);
    second.says(&[&format!("process {}", serving.pid()), "--state-dir", "codeyard doctor"]);
    let quickstart = sandbox.run(&["quickstart", "--once", "--listen", "127.0.0.1:0"]).code(1);
    quickstart.says(&["--state-dir"]);
    let address = serving.address.clone();
    let other = sandbox.path("state2").display().to_string();
    let taken = sandbox.run(&["serve", "--root", ".", "--state-dir", &other, "--listen", &address]).code(1);
    taken.says(&[&address, "--listen"]);
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn the_first_token_is_shown_once_and_changes_apply_while_serving() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--root", "."]);
    let first = serving.token.clone();
    assert!(first.starts_with("cyd_"), "{}", serving.log());
    assert_eq!(serving.status("/mcp", &first), 200);
    assert_eq!(serving.status("/mcp", "cyd_wrong"), 401);
    let added = sandbox.run(&["token", "add", "ci"]).code(0).stdout.trim().to_owned();
    assert_eq!(serving.status("/mcp", &added), 200, "a new token holds at once");
    assert_eq!(sandbox.run(&["token", "list", "--json"]).code(0).json(), serde_json::json!(["local", "ci"]));
    sandbox.run(&["token", "remove", "ci"]).code(0);
    assert!(until(5_000, || serving.status("/mcp", &added) == 401), "a removed token is refused");
    assert_eq!(serving.status("/mcp", &first), 200);
    assert_eq!(serving.stop(Signal::TERM), 0);
    assert!(sandbox.serve(&["--root", "."]).token.is_empty(), "it is not shown again");
}

#[test]
fn unwritable_standard_error_stops_nothing_and_loses_no_token() {
    let sandbox = Sandbox::new();
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut lost = sandbox.command(&["serve", "--root", ".", "--listen", "127.0.0.1:0"]);
    assert_eq!(lost.stderr(full()).status().unwrap().code(), Some(1), "the first token could not be shown");
    let token = sandbox.run(&["token", "add", "me"]).code(0).stdout.trim().to_owned();
    assert_eq!(sandbox.run(&["token", "list"]).code(0).stdout, "me\n", "the one that nobody saw was not made");
    let mut serving = sandbox.command(&["serve", "--root", ".", "--listen", "127.0.0.1:0"]);
    let mut serving = serving.stderr(full()).spawn().unwrap();
    let served = until(30_000, || sandbox.run(&["workspaces"]).code == 0);
    let pid = rustix::process::Pid::from_child(&serving);
    rustix::process::kill_process(pid, Signal::TERM).ok();
    assert_eq!((served, serving.wait().unwrap().code()), (true, Some(0)));
    assert!(!token.is_empty());
}

#[test]
fn a_token_added_before_the_first_start_is_the_only_one() {
    let sandbox = Sandbox::new();
    let token = sandbox.run(&["token", "add", "me"]).code(0).stdout.trim().to_owned();
    assert_eq!(sandbox.run(&["token", "list"]).code(0).stdout, "me\n");
    let serving = sandbox.serve(&["--root", "."]);
    assert_eq!(serving.status("/mcp", &token), 200);
}

#[test]
fn the_admin_socket_and_doctor_show_the_status() {
    let sandbox = Sandbox::new();
    let config = sandbox.configured();
    let nobody = sandbox.run(&["doctor", "--config", &config]).code(0).stdout;
    assert!(nobody.contains("no server runs here; `codeyard serve --root .`"), "{nobody}");
    let serving = sandbox.serve(&["--config", &config]);
    let mode = std::fs::metadata(sandbox.path("state/run/admin.sock")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    serving.client("repo").ask("vscode.lsp.documentSymbols", &uri(&sandbox)).unwrap();
    let whole = sandbox.run(&["doctor", "--config", &config, "--json"]).code(0).json();
    let server = &whole["server"];
    assert_eq!(server["pid"], serving.pid());
    assert_eq!(server["listen"], format!("http://{}/mcp", serving.address));
    assert_eq!(server["default_workspace"], "repo");
    assert_eq!(server["workspaces"][0]["roots"][0], sandbox.path("repo").display().to_string());
    let tiny = &server["workspaces"][0]["servers"][0];
    assert_eq!((&tiny["kind"], &tiny["state"], &tiny["restarts"]), (&"tiny".into(), &"ready".into(), &0.into()));
    assert!(
        tiny["memory_bytes"].as_u64().is_some() && tiny["stderr"].as_str().unwrap().contains("tiny is here"),
        "{tiny}"
    );
    let calls = server["counts"]["calls"].as_array().unwrap();
    assert!(
        calls.iter().any(|call| call["tool"] == "vscode.lsp.documentSymbols" && call["outcome"] == "ok"),
        "{calls:?}"
    );
    let text = sandbox.run(&["doctor", "--config", &config]).code(0).stdout;
    let wanted =
        ["running server: process", "workspace repo (default)", "tiny", "stderr: tiny is here", "inotify watches"];
    assert!(wanted.iter().all(|part| text.contains(part)), "{text}");
    drop(serving);
    let dead = sandbox.run(&["doctor", "--config", &config]).code(0).stdout;
    assert!(dead.contains("no server runs here"), "a socket that a killed server left is nobody: {dead}");
}

#[test]
fn supervision_settings_are_applied() {
    let sandbox = Sandbox::new();
    let rest = "[supervision]\nidle_stop_s = 1\n[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n";
    let serving = sandbox.serve(&["--config", &sandbox.configure(rest)]);
    serving.client("repo").ask("vscode.lsp.documentSymbols", &uri(&sandbox)).unwrap();
    assert!(until(20_000, || descendants(serving.pid()).is_empty()), "an idle language server is stopped");
    assert_eq!(serving.stop(Signal::TERM), 0);
}

pub(crate) fn uri(sandbox: &Sandbox) -> serde_json::Value {
    serde_json::json!({"uri": format!("file://{}", sandbox.path("repo/a.tiny").display())})
}
