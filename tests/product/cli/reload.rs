//! SIGHUP: workspaces come, go and change; what can't be taken over changes nothing.

use std::fs;

use rustix::process::Signal;

use crate::cli::harness::{Sandbox, ServeProcess};
use crate::mcp::until;

const REPO: &str = "[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n";
const OTHER: &str = "[[workspace]]\nname = \"other\"\nroots = [\"other\"]\n";

fn has_workspace(serving: &ServeProcess, name: &str) -> bool {
    serving.status(&format!("/mcp/{name}"), &serving.token) == 200
}

fn reloads(serving: &ServeProcess) -> usize {
    serving.log().matches("configuration reloaded").count()
}

/// Writes, signals, and waits until it is taken over.
fn reload(sandbox: &Sandbox, serving: &ServeProcess, text: &str) {
    let before = reloads(serving);
    sandbox.configure(text);
    serving.signal(Signal::HUP);
    assert!(until(20_000, || reloads(serving) > before), "not reloaded:\n{}", serving.log());
}

#[test]
fn workspaces_are_added_removed_and_changed() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--config", &sandbox.configure(REPO)]);
    assert!(has_workspace(&serving, "repo") && !has_workspace(&serving, "other"));
    reload(&sandbox, &serving, &format!("{REPO}{OTHER}"));
    assert!(has_workspace(&serving, "repo") && has_workspace(&serving, "other"));
    reload(&sandbox, &serving, OTHER);
    assert!(!has_workspace(&serving, "repo") && has_workspace(&serving, "other"));
    // The same name with another root answers about the other files.
    reload(&sandbox, &serving, "[[workspace]]\nname = \"other\"\nroots = [\"repo\"]\n");
    let uri =
        |name: &str| serde_json::json!({"uri": format!("file://{}", sandbox.path(name).join("a.tiny").display())});
    let mut client = serving.client("other");
    assert_eq!(client.ask("vscode.lsp.documentSymbols", &uri("repo")).unwrap()["symbols"][0]["name"], "repo");
    let denied = client.ask("vscode.lsp.documentSymbols", &uri("other")).unwrap_err();
    assert_eq!(denied.code, "WORKSPACE_DENIED");
    assert_eq!(serving.stop(Signal::TERM), 0);
}

/// A workspace that prefers a language server that isn't there.
const UNKNOWN: &str = "[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\nservers.prefer = [\"nonsense\"]\n";

#[test]
fn serve_refuses_what_check_refuses() {
    let sandbox = Sandbox::new();
    for (text, word) in [(UNKNOWN, "workspace[0].servers.prefer"), ("[log]\nfilter = \"[[\"\n", "log.filter")] {
        let file = sandbox.configure(text);
        sandbox.run(&["config", "check", &file]).code(1).says(&[word]);
        sandbox.run(&["serve", "--config", &file, "--no-auth", "--listen", "127.0.0.1:0"]).code(1).says(&[word]);
    }
}

#[test]
fn an_invalid_file_keeps_the_old_workspaces() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--config", &sandbox.configure(REPO)]);
    let broken = [
        "nonsense = [",
        "colour = 1\n",
        "[servers.ty]\ncommand = []\n",
        "[log]\nfilter = \"[[\"\n",
        UNKNOWN,
        "default_workspace = \"gone\"\n",
    ];
    for (count, text) in broken.iter().enumerate() {
        fs::write(sandbox.path("codeyard.toml"), text).unwrap();
        serving.signal(Signal::HUP);
        let refused = || serving.log().matches("the old one stays active").count() > count;
        assert!(until(20_000, refused), "{text:?} was taken over:\n{}", serving.log());
        assert!(has_workspace(&serving, "repo"));
    }
    fs::remove_file(sandbox.path("codeyard.toml")).unwrap();
    serving.signal(Signal::HUP);
    assert!(until(20_000, || serving.log().contains("cannot read")), "{}", serving.log());
    reload(&sandbox, &serving, OTHER);
    assert!(has_workspace(&serving, "other"), "a good file is taken over again");
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn keys_that_need_a_restart_are_compared_with_the_active_configuration() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--config", &sandbox.configure(REPO)]);
    let level = format!("[log]\nlevel = \"debug\"\n{REPO}");
    reload(&sandbox, &serving, &level);
    let warnings = || serving.log().matches("log.level").count();
    assert_eq!(warnings(), 1, "{}", serving.log());
    reload(&sandbox, &serving, &level);
    assert_eq!(warnings(), 1, "nothing changed since: {}", serving.log());
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn without_a_file_there_is_nothing_to_reload() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--root", "."]);
    serving.signal(Signal::HUP);
    serving.wait_for("nothing to reload");
    assert!(has_workspace(&serving, "repo"));
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn folders_that_match_a_pattern_are_followed() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("repos/one")).unwrap();
    let file = sandbox.configure("[[workspaces_from]]\nroots = [\"repos/*\"]\nexclude = [\"*.bak\"]\n");
    let checked = sandbox.run(&["config", "check", &file]).code(0);
    assert!(checked.stdout.contains("workspace one"), "{checked:?}");
    let serving = sandbox.serve(&["--config", &file]);
    assert!(has_workspace(&serving, "one") && !has_workspace(&serving, "two"));
    fs::create_dir(sandbox.path("repos/two.bak")).unwrap();
    fs::create_dir(sandbox.path("repos/two")).unwrap();
    assert!(until(30_000, || has_workspace(&serving, "two")), "{}", serving.log());
    assert!(!has_workspace(&serving, "two.bak"));
    fs::remove_dir(sandbox.path("repos/one")).unwrap();
    assert!(until(30_000, || !has_workspace(&serving, "one")), "{}", serving.log());
    assert!(has_workspace(&serving, "two"));
    // A reload keeps the folders.
    reload(&sandbox, &serving, "[[workspaces_from]]\nroots = [\"repos/*\"]\n");
    assert!(has_workspace(&serving, "two") && has_workspace(&serving, "two.bak"));
    assert_eq!(serving.stop(Signal::TERM), 0);
}
