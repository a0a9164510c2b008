//! `connect`: what it shows, writes, keeps, makes and tests.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::harness::{CommandOutput, Sandbox, run};

impl Sandbox {
    /// Runs `connect` with a home folder of its own.
    fn connect(&self, words: &[&str]) -> CommandOutput {
        let mut command = self.command(&[&["connect"], words].concat());
        command.env("HOME", self.path("home"));
        run(&mut command)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn names_in(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

fn tokens(sandbox: &Sandbox) -> usize {
    sandbox.run(&["token", "list", "--json"]).code(0).json().as_array().unwrap().len()
}

#[test]
fn without_a_flag_nothing_is_changed() {
    let sandbox = Sandbox::new();
    let listed = sandbox.connect(&[]).code(0).stdout;
    assert!(
        ["claude-code", "codex", "gemini-cli", "copilot-cli", "pydantic-ai"].iter().all(|host| listed.contains(host))
    );
    let shown = sandbox.connect(&["claude-code"]).code(0).stdout;
    for part in [".mcp.json", "a new file", "\"--catalog\"", "\"agent\"", "codeyard connect claude-code --write"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown = sandbox.connect(&["codex", "--catalog", "agent+code"]).code(0).stdout;
    assert!(shown.contains("agent+code") && shown.contains("connect codex --catalog agent+code --write"), "{shown}");
    assert_eq!(sandbox.names_in("repo"), ["a.tiny"]);
    assert!(!sandbox.path("home").exists() && !sandbox.path("state").join("tokens").exists());
    for (words, code, says) in [
        (&["nonesuch"][..], 2, "claude-code"),
        (&["codex", "--catalog", "nope"], 2, "--catalog"),
        (&["codex", "--http"], 3, "codeyard serve --root"),
        (&["claude-desktop", "--http"], 2, "stdio only"),
        (&["codex", "--root", "missing"], 3, "--root"),
    ] {
        sandbox.connect(words).code(code).says(&[says]);
    }
}

#[test]
fn an_entry_is_merged_and_the_old_file_is_kept() {
    let sandbox = Sandbox::new();
    let old = "{\n  // mine\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" } // keep\n  }\n}\n";
    fs::write(sandbox.path("repo/.mcp.json"), old).unwrap();
    fs::set_permissions(sandbox.path("repo/.mcp.json"), fs::Permissions::from_mode(0o640)).unwrap();
    let written = sandbox.connect(&["claude-code", "--write"]).code(0).stdout;
    assert!(written.contains("tested: 1 tool (lsp) over stdio"), "{written}");
    let new = sandbox.text("repo/.mcp.json");
    assert!(new.contains("// mine") && new.contains("// keep") && new.contains("\"codeyard\""), "{new}");
    assert_eq!(sandbox.text("repo/.mcp.json.codeyard-backup"), old);
    let mode = fs::metadata(sandbox.path("repo/.mcp.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    // What was written is what a host starts.
    let entry: Value = serde_json::from_str(&new.replace("// mine", "").replace("// keep", "")).unwrap();
    let entry = &entry["mcpServers"]["codeyard"];
    assert_eq!(entry["command"], env!("CARGO_BIN_EXE_codeyard"));
    let root = json!(sandbox.path("repo"));
    assert!(entry["args"].as_array().unwrap().contains(&root), "{entry}");
    // Again: nothing to do, so nothing more is kept. Then another catalog.
    let again = sandbox.connect(&["claude-code", "--write"]).code(0).stdout;
    assert!(!again.contains("kept") && again.contains("tested"), "{again}");
    assert!(sandbox.connect(&["claude-code"]).code(0).stdout.contains("there already"));
    sandbox.connect(&["claude-code", "--catalog", "code", "--write"]).code(0);
    let names = [".mcp.json", ".mcp.json.codeyard-backup", ".mcp.json.codeyard-backup-1", "a.tiny"];
    assert_eq!(sandbox.names_in("repo"), names);
}

#[test]
fn a_linked_file_is_replaced_behind_its_link_and_a_broken_one_is_left() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("home/.codex")).unwrap();
    fs::write(sandbox.path("dotfiles.toml"), "model = \"m\" # mine\n").unwrap();
    std::os::unix::fs::symlink(sandbox.path("dotfiles.toml"), sandbox.path("home/.codex/config.toml")).unwrap();
    sandbox.connect(&["codex", "--write"]).code(0);
    assert!(sandbox.path("home/.codex/config.toml").is_symlink());
    let new = sandbox.text("dotfiles.toml");
    assert!(new.contains("# mine") && new.contains("[mcp_servers.codeyard]"), "{new}");
    for bad in ["[]", "{\"mcpServers\": 7}", "{ broken"] {
        fs::write(sandbox.path("repo/.mcp.json"), bad).unwrap();
        sandbox.connect(&["claude-code", "--write"]).code(1).says(&["Nothing was written", "by hand", "\"codeyard\""]);
        assert_eq!(sandbox.text("repo/.mcp.json"), bad);
    }
    assert_eq!(sandbox.names_in("repo"), [".mcp.json", "a.tiny"]);
}

#[test]
fn a_token_is_made_only_where_one_is_needed() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--root", "."]);
    let before = tokens(&sandbox);
    sandbox.connect(&["codex", "--http"]).code(0);
    assert_eq!(tokens(&sandbox), before, "a dry run makes none");
    let written = sandbox.connect(&["codex", "--http", "--write"]).code(0).stdout;
    let token = written.lines().find_map(|line| line.strip_prefix("export CODEYARD_TOKEN=")).unwrap().to_owned();
    assert!(written.contains("tested: 1 tool (lsp) over HTTP"), "{written}");
    assert_eq!(serving.status("/mcp", &token), 200);
    let file = sandbox.text("home/.codex/config.toml");
    assert!(!file.contains(&token) && file.contains("CODEYARD_TOKEN") && file.contains("/mcp/repo/agent"), "{file}");
    // A token that is set already is used.
    let mut again = sandbox.command(&["connect", "gemini-cli", "--http", "--write"]);
    again.env("HOME", sandbox.path("home")).env("CODEYARD_TOKEN", &token);
    let again = run(&mut again).code(0).stdout;
    assert!(again.contains("tested") && !again.contains("export"), "{again}");
    assert_eq!(tokens(&sandbox), before + 1);
    // This host replaces no variables: its file holds the token, and only its owner can read it.
    let written = sandbox.connect(&["cline", "--http", "--write"]).code(0).stdout;
    let path = "home/.cline/data/settings/cline_mcp_settings.json";
    let file = sandbox.text(path);
    assert!(file.contains("Bearer cyd_") && !written.contains("cyd_"), "{written}");
    assert_eq!(fs::metadata(sandbox.path(path)).unwrap().permissions().mode() & 0o777, 0o600);
    drop(serving);
    let open = sandbox.serve(&["--root", ".", "--no-auth"]);
    let before = tokens(&sandbox);
    sandbox.connect(&["cursor", "--http", "--write"]).code(0);
    assert_eq!(tokens(&sandbox), before);
    assert!(!sandbox.text("repo/.cursor/mcp.json").contains("Authorization"));
    let elsewhere = sandbox.path("other").display().to_string();
    sandbox.connect(&["cursor", "--http", "--root", &elsewhere]).code(3).says(&["codeyard workspaces put"]);
    drop(open);
}
