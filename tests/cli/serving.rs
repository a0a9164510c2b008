//! `serve`: how it begins, who may come in, how it ends.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;

use crate::harness::{Place, descendants};
use crate::mcp::until;

#[test]
fn term_and_int_end_it_in_order_with_its_children() {
    let place = Place::new();
    let config = place.configured();
    for signal in [Signal::TERM, Signal::INT] {
        let serving = place.serve(&["--config", &config, "--no-auth"]);
        assert!(serving.token.is_empty());
        let symbols = serving.client("repo").ask("vscode.lsp.documentSymbols", &uri(&place)).unwrap();
        assert_eq!(symbols["symbols"][0]["name"], "repo");
        assert!(!descendants(serving.pid()).is_empty(), "the language server runs");
        assert!(place.path("state/run/admin.sock").exists() && place.path("state/run/attach.sock").exists());
        assert_eq!(serving.stop(signal), 0);
        assert!(!place.path("state/run/admin.sock").exists() && !place.path("state/run/attach.sock").exists());
    }
}

#[test]
fn a_second_one_says_who_has_the_state_directory() {
    let place = Place::new();
    let serving = place.serve(&["--root", "."]);
    let second = place.run(&["serve", "--root", ".", "--listen", "127.0.0.1:0"]).code(1);
    second.says(&[&format!("process {}", serving.pid()), "--state-dir", "codeyard doctor"]);
    let quickstart = place.run(&["quickstart", "--once", "--listen", "127.0.0.1:0"]).code(1);
    quickstart.says(&["--state-dir"]);
    let address = serving.address.clone();
    let other = place.path("state2").display().to_string();
    let taken = place.run(&["serve", "--root", ".", "--state-dir", &other, "--listen", &address]).code(1);
    taken.says(&[&address, "--listen"]);
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn the_first_token_is_shown_once_and_others_come_and_go_while_it_runs() {
    let place = Place::new();
    let serving = place.serve(&["--root", "."]);
    let first = serving.token.clone();
    assert!(first.starts_with("cyd_"), "{}", serving.log());
    assert_eq!(serving.status("/mcp", &first), 200);
    assert_eq!(serving.status("/mcp", "cyd_wrong"), 401);
    let added = place.run(&["token", "add", "ci"]).code(0).stdout.trim().to_owned();
    assert_eq!(serving.status("/mcp", &added), 200, "a new token holds at once");
    assert_eq!(place.run(&["token", "list", "--json"]).code(0).json(), serde_json::json!(["local", "ci"]));
    place.run(&["token", "remove", "ci"]).code(0);
    assert!(until(5_000, || serving.status("/mcp", &added) == 401), "a removed token is refused");
    assert_eq!(serving.status("/mcp", &first), 200);
    assert_eq!(serving.stop(Signal::TERM), 0);
    assert!(place.serve(&["--root", "."]).token.is_empty(), "it is not shown again");
}

#[test]
fn standard_error_that_cannot_be_written_stops_nothing_and_loses_no_token() {
    let place = Place::new();
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut lost = place.command(&["serve", "--root", ".", "--listen", "127.0.0.1:0"]);
    assert_eq!(lost.stderr(full()).status().unwrap().code(), Some(1), "the first token could not be shown");
    let token = place.run(&["token", "add", "me"]).code(0).stdout.trim().to_owned();
    assert_eq!(place.run(&["token", "list"]).code(0).stdout, "me\n", "the one that nobody saw was not made");
    let mut serving = place.command(&["serve", "--root", ".", "--listen", "127.0.0.1:0"]);
    let mut serving = serving.stderr(full()).spawn().unwrap();
    let served = until(30_000, || place.run(&["workspaces"]).code == 0);
    let pid = rustix::process::Pid::from_child(&serving);
    rustix::process::kill_process(pid, Signal::TERM).ok();
    assert_eq!((served, serving.wait().unwrap().code()), (true, Some(0)));
    assert!(!token.is_empty());
}

#[test]
fn a_token_added_before_the_first_start_is_the_only_one() {
    let place = Place::new();
    let token = place.run(&["token", "add", "me"]).code(0).stdout.trim().to_owned();
    assert_eq!(place.run(&["token", "list"]).code(0).stdout, "me\n");
    let serving = place.serve(&["--root", "."]);
    assert_eq!(serving.status("/mcp", &token), 200);
}

#[test]
fn the_admin_socket_and_the_doctor_tell_how_it_is() {
    let place = Place::new();
    let config = place.configured();
    let nobody = place.run(&["doctor", "--config", &config]).code(0).stdout;
    assert!(nobody.contains("no server runs here; `codeyard serve --root .`"), "{nobody}");
    let serving = place.serve(&["--config", &config]);
    let mode = std::fs::metadata(place.path("state/run/admin.sock")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    serving.client("repo").ask("vscode.lsp.documentSymbols", &uri(&place)).unwrap();
    let whole = place.run(&["doctor", "--config", &config, "--json"]).code(0).json();
    let server = &whole["server"];
    assert_eq!(server["pid"], serving.pid());
    assert_eq!(server["listen"], format!("http://{}/mcp", serving.address));
    assert_eq!(server["default_workspace"], "repo");
    assert_eq!(server["workspaces"][0]["roots"][0], place.path("repo").display().to_string());
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
    let text = place.run(&["doctor", "--config", &config]).code(0).stdout;
    let wanted =
        ["running server: process", "workspace repo (default)", "tiny", "stderr: tiny is here", "inotify watches"];
    assert!(wanted.iter().all(|part| text.contains(part)), "{text}");
    drop(serving);
    let dead = place.run(&["doctor", "--config", &config]).code(0).stdout;
    assert!(dead.contains("no server runs here"), "a socket that a killed server left is nobody: {dead}");
}

#[test]
fn supervision_of_the_configuration_is_applied() {
    let place = Place::new();
    let rest = "[supervision]\nidle_stop_s = 1\n[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n";
    let serving = place.serve(&["--config", &place.configure(rest)]);
    serving.client("repo").ask("vscode.lsp.documentSymbols", &uri(&place)).unwrap();
    assert!(until(20_000, || descendants(serving.pid()).is_empty()), "an idle language server is stopped");
    assert_eq!(serving.stop(Signal::TERM), 0);
}

pub(crate) fn uri(place: &Place) -> serde_json::Value {
    serde_json::json!({"uri": format!("file://{}", place.path("repo/a.tiny").display())})
}
