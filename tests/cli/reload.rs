//! SIGHUP: workspaces come, go and change; what can't be taken over changes nothing.

use std::fs;

use rustix::process::Signal;

use crate::harness::{Place, Serving};
use crate::mcp::until;

const REPO: &str = "[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n";
const OTHER: &str = "[[workspace]]\nname = \"other\"\nroots = [\"other\"]\n";

fn there(serving: &Serving, name: &str) -> bool {
    serving.status(&format!("/mcp/{name}"), &serving.token) == 200
}

fn reloads(serving: &Serving) -> usize {
    serving.log().matches("configuration reloaded").count()
}

/// Writes, signals, and waits until it is taken over.
fn reload(place: &Place, serving: &Serving, text: &str) {
    let before = reloads(serving);
    place.configure(text);
    serving.signal(Signal::HUP);
    assert!(until(20_000, || reloads(serving) > before), "not reloaded:\n{}", serving.log());
}

#[test]
fn workspaces_are_added_removed_and_changed() {
    let place = Place::new();
    let serving = place.serve(&["--config", &place.configure(REPO)]);
    assert!(there(&serving, "repo") && !there(&serving, "other"));
    reload(&place, &serving, &format!("{REPO}{OTHER}"));
    assert!(there(&serving, "repo") && there(&serving, "other"));
    reload(&place, &serving, OTHER);
    assert!(!there(&serving, "repo") && there(&serving, "other"));
    // The same name with another root answers about the other files.
    reload(&place, &serving, "[[workspace]]\nname = \"other\"\nroots = [\"repo\"]\n");
    let uri = |name: &str| serde_json::json!({"uri": format!("file://{}", place.path(name).join("a.tiny").display())});
    let mut client = serving.client("other");
    assert_eq!(client.ask("vscode.lsp.documentSymbols", &uri("repo")).unwrap()["symbols"][0]["name"], "repo");
    let denied = client.ask("vscode.lsp.documentSymbols", &uri("other")).unwrap_err();
    assert_eq!(denied.code, "WORKSPACE_DENIED");
    assert_eq!(serving.stop(Signal::TERM), 0);
}

/// A workspace that prefers a language server that isn't there.
const UNKNOWN: &str = "[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\nservers.prefer = [\"nonsense\"]\n";

#[test]
fn what_the_check_refuses_no_server_starts_with() {
    let place = Place::new();
    for (text, word) in [(UNKNOWN, "workspace[0].servers.prefer"), ("[log]\nfilter = \"[[\"\n", "log.filter")] {
        let file = place.configure(text);
        place.run(&["config", "check", &file]).code(1).says(&[word]);
        place.run(&["serve", "--config", &file, "--no-auth", "--listen", "127.0.0.1:0"]).code(1).says(&[word]);
    }
}

#[test]
fn a_broken_file_keeps_the_old_workspaces() {
    let place = Place::new();
    let serving = place.serve(&["--config", &place.configure(REPO)]);
    let broken = [
        "nonsense = [",
        "colour = 1\n",
        "[servers.ty]\ncommand = []\n",
        "[log]\nfilter = \"[[\"\n",
        UNKNOWN,
        "default_workspace = \"gone\"\n",
    ];
    for (count, text) in broken.iter().enumerate() {
        fs::write(place.path("codeyard.toml"), text).unwrap();
        serving.signal(Signal::HUP);
        let refused = || serving.log().matches("the old one stays").count() > count;
        assert!(until(20_000, refused), "{text:?} was taken over:\n{}", serving.log());
        assert!(there(&serving, "repo"));
    }
    fs::remove_file(place.path("codeyard.toml")).unwrap();
    serving.signal(Signal::HUP);
    assert!(until(20_000, || serving.log().contains("can't be read")), "{}", serving.log());
    reload(&place, &serving, OTHER);
    assert!(there(&serving, "other"), "a good file is taken over again");
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn what_needs_a_restart_is_compared_with_the_configuration_in_force() {
    let place = Place::new();
    let serving = place.serve(&["--config", &place.configure(REPO)]);
    let level = format!("[log]\nlevel = \"debug\"\n{REPO}");
    reload(&place, &serving, &level);
    let warnings = || serving.log().matches("log.level").count();
    assert_eq!(warnings(), 1, "{}", serving.log());
    reload(&place, &serving, &level);
    assert_eq!(warnings(), 1, "nothing changed since: {}", serving.log());
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn without_a_file_there_is_nothing_to_reload() {
    let place = Place::new();
    let serving = place.serve(&["--root", "."]);
    serving.signal(Signal::HUP);
    serving.wait_for("nothing to reload");
    assert!(there(&serving, "repo"));
    assert_eq!(serving.stop(Signal::TERM), 0);
}
