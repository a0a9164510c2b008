//! `connect`: what it shows, writes, keeps, makes and tests.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::cli::harness::{CommandOutput, Sandbox, run};

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

#[test]
fn a_copy_is_written_through_no_link() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("repo/.mcp.json"), "{}").unwrap();
    std::os::unix::fs::symlink(sandbox.path("outside"), sandbox.path("repo/.mcp.json.codeyard-backup")).unwrap();
    sandbox.connect(&["claude-code", "--write"]).code(0);
    assert!(!sandbox.path("outside").exists());
    assert_eq!(sandbox.text("repo/.mcp.json.codeyard-backup-1"), "{}");
}

#[test]
fn a_token_that_works_is_kept_and_one_that_does_not_is_removed_again() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--root", "."]);
    let path = "home/.cline/data/settings/cline_mcp_settings.json";
    sandbox.connect(&["cline", "--http", "--write"]).code(0);
    let before = tokens(&sandbox);
    let file = sandbox.text(path);
    sandbox.connect(&["cline", "--http", "--write"]).code(0);
    assert_eq!((tokens(&sandbox), sandbox.text(path)), (before, file.clone()));
    let written = sandbox.connect(&["cline", "--http", "--catalog", "code", "--write"]).code(0).stdout;
    assert!(written.contains("holds the token too") && !written.contains("cyd_"), "{written}");
    let bearer = |text: &str| text.split_once("Bearer ").unwrap().1.split('"').next().unwrap().to_owned();
    assert_eq!((tokens(&sandbox), bearer(&sandbox.text(path))), (before, bearer(&file)));
    // One that the server refuses is replaced.
    fs::write(sandbox.path(path), file.replace(&bearer(&file), "cyd_old")).unwrap();
    let written = sandbox.connect(&["cline", "--http", "--write"]).code(0).stdout;
    assert!(written.contains("codeyard token list") && !sandbox.text(path).contains("cyd_old"), "{written}");
    assert_eq!(tokens(&sandbox), before + 1);
    // A variable that is set to nothing isn't a token.
    let mut unset = sandbox.command(&["connect", "gemini-cli", "--http", "--write"]);
    unset.env("HOME", sandbox.path("home")).env("CODEYARD_TOKEN", "");
    assert!(run(&mut unset).code(0).stdout.contains("export CODEYARD_TOKEN=cyd_"));
    // The tokens of another state directory are not those of the server.
    let url = format!("http://{}/mcp/repo/agent", serving.address);
    let state = sandbox.path("elsewhere").display().to_string();
    let words = ["codex", "--http", "--url", &url, "--state-dir", &state, "--write"];
    sandbox.connect(&words).code(1).says(&["another state directory", "--state-dir"]);
    let listed = sandbox.run(&["token", "list", "--json", "--state-dir", &state]).code(0).json();
    assert_eq!(listed, json!([]));
    assert!(!sandbox.path("home/.codex").exists());
    drop(serving);
}

#[test]
fn paths_are_written_as_they_are_or_refused() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("my repo/path/to/repository");
    fs::create_dir_all(&root).unwrap();
    let shown = root.display().to_string();
    let words = ["claude-code", "--root", &shown, "--state-dir", "its state"];
    let dry = sandbox.connect(&words).code(0).stdout;
    let line = format!("codeyard connect claude-code --root '{shown}' --state-dir 'its state' --write");
    assert!(dry.contains(&line), "{line}: {dry}");
    sandbox.connect(&[&words[..], &["--write"]].concat()).code(0);
    let entry: Value = serde_json::from_str(&fs::read_to_string(root.join(".mcp.json")).unwrap()).unwrap();
    let state = sandbox.path("repo/its state").display().to_string();
    let args = json!(["stdio", "--root", shown, "--state-dir", state, "--catalog", "agent"]);
    assert_eq!(entry["mcpServers"]["codeyard"]["args"], args);
    for name in ["back\\slash", "two\nlines"] {
        fs::create_dir(sandbox.path(name)).unwrap();
        let bad = sandbox.path(name).display().to_string();
        sandbox.connect(&["claude-code", "--root", &bad, "--write"]).code(2).says(&["its path has"]);
        assert_eq!(fs::read_dir(sandbox.path(name)).unwrap().count(), 0);
    }
    sandbox.connect(&["claude-code", "--state-dir", "two\nlines", "--write"]).code(2).says(&["state directory"]);
}

#[test]
fn a_file_that_works_stays_if_the_new_one_would_not() {
    let sandbox = Sandbox::new();
    let old =
        "{\"mcpServers\": {\"codeyard\": {\"command\": \"mine\", \"env\": {\"A\": \"b\"}, \"disabled\": false}}}\n";
    let file = sandbox.path("repo/.mcp.json");
    fs::write(&file, old).unwrap();
    // A file can't be a state directory.
    let bad = sandbox.path("repo/a.tiny").display().to_string();
    let words = ["claude-code", "--state-dir", &bad, "--write"];
    sandbox.connect(&words).code(1).says(&["does not work", "nothing was written"]);
    assert_eq!((sandbox.text("repo/.mcp.json"), sandbox.names_in("repo").len()), (old.to_owned(), 2));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    sandbox.connect(&["claude-code", "--write"]).code(1).says(&["is not writable"]);
    assert_eq!(sandbox.text("repo/.mcp.json"), old);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let written = sandbox.connect(&["claude-code", "--write"]).code(0).stdout;
    assert!(written.contains("changed the entry `codeyard` that was there"), "{written}");
    let entry: Value = serde_json::from_str(&sandbox.text("repo/.mcp.json")).unwrap();
    let entry = &entry["mcpServers"]["codeyard"];
    assert_eq!(entry["command"], env!("CARGO_BIN_EXE_codeyard"));
    assert_eq!((&entry["env"], &entry["disabled"]), (&json!({"A": "b"}), &json!(false)));
}

#[test]
fn a_program_gets_its_variables_and_a_new_file_the_mode_of_the_umask() {
    let sandbox = Sandbox::new();
    let export = format!("export CODEYARD_ROOT={}", sandbox.path("repo").display());
    for host in ["pydantic-ai", "openai-agents", "langchain"] {
        let shown = sandbox.connect(&[host]).code(0).stdout;
        assert!(shown.contains(&export) && shown.contains(env!("CARGO_BIN_EXE_codeyard")), "{shown}");
    }
    #[expect(clippy::disallowed_methods, reason = "a shell sets the umask for the binary under test")]
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "umask 027; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_codeyard")]);
    command.args(["connect", "pydantic-ai", "--file", "agent.py", "--write"]).current_dir(sandbox.path("repo"));
    command.env("CODEYARD_STATE_DIR", sandbox.path("state")).env("HOME", sandbox.path("home"));
    let written = run(&mut command).code(0).stdout;
    assert!(written.contains("codeyard itself answers over stdio") && written.contains(&export), "{written}");
    assert!(!written.contains("tested:"), "{written}");
    let program = format!("StdioTransport(\"{}\", arguments)", env!("CARGO_BIN_EXE_codeyard"));
    assert!(sandbox.text("repo/agent.py").contains(&program));
    let mode = fs::metadata(sandbox.path("repo/agent.py")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}
