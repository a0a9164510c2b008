//! `serve`: how it begins, who may come in, how it ends.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;

use crate::cli::harness::{Sandbox, descendants};
use crate::mcp::{Mcp, until};

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
    assert!(first.starts_with("cyd_") && !serving.log().contains("cyd_"), "{}", serving.log());
    let mode = std::fs::metadata(sandbox.path("state/first-token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(serving.status("/mcp", &first), 200);
    assert_eq!(serving.status("/mcp", "cyd_wrong"), 401);
    let added = sandbox.run(&["token", "add", "ci"]).code(0).stdout.trim().to_owned();
    assert_eq!(serving.status("/mcp", &added), 200, "a new token holds at once");
    assert_eq!(names(&sandbox), ["ci", "local"]);
    sandbox.run(&["token", "remove", "ci"]).code(0);
    assert!(until(5_000, || serving.status("/mcp", &added) == 401), "a removed token is refused");
    assert_eq!(serving.status("/mcp", &first), 200);
    assert_eq!(serving.stop(Signal::TERM), 0);
    assert!(sandbox.serve(&["--root", "."]).token.is_empty(), "it is not shown again");
}

/// The names of the tokens, in their order.
fn names(sandbox: &Sandbox) -> Vec<String> {
    let listed = sandbox.run(&["token", "list", "--json"]).code(0).json();
    let mut names: Vec<_> =
        listed.as_array().unwrap().iter().map(|token| token["name"].as_str().unwrap().to_owned()).collect();
    names.sort_unstable();
    names
}

#[test]
fn unwritable_standard_error_stops_nothing_and_loses_no_token() {
    let sandbox = Sandbox::new();
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    std::fs::create_dir_all(sandbox.path("state/first-token/not-a-file")).unwrap();
    let failed = sandbox.run(&["serve", "--root", ".", "--listen", "127.0.0.1:0"]).code(1);
    failed.says(&["no token was created", "codeyard token add NAME"]);
    std::fs::remove_dir_all(sandbox.path("state/first-token")).unwrap();
    let token = sandbox.run(&["token", "add", "me"]).code(0).stdout.trim().to_owned();
    assert_eq!(names(&sandbox), ["me"], "the one that nobody could see was not made");
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
    assert_eq!(names(&sandbox), ["me"]);
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

#[test]
fn a_removed_lock_file_lets_no_second_server_start() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--root", "."]);
    let lock = sandbox.path("state/serve.lock");
    std::fs::remove_file(&lock).unwrap();
    let second = sandbox.run(&["serve", "--root", ".", "--listen", "127.0.0.1:0"]).code(1);
    second.says(&["another process serves from this state directory", "--state-dir"]);
    let pid = format!("{}\n", serving.pid());
    let is_made_again = || std::fs::read_to_string(&lock).is_ok_and(|text| text == pid);
    assert!(until(20_000, is_made_again), "{}", serving.log());
    let second = sandbox.run(&["serve", "--root", ".", "--listen", "127.0.0.1:0"]).code(1);
    second.says(&[&format!("process {}", serving.pid())]);
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn a_server_whose_state_directory_was_replaced_stops() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--root", "."]);
    std::fs::rename(sandbox.path("state"), sandbox.path("moved")).unwrap();
    let next = sandbox.serve(&["--root", "."]);
    serving.wait_for("the state directory was removed or replaced");
    assert_eq!(serving.stop(Signal::TERM), 1);
    assert_eq!(next.stop(Signal::TERM), 0);
}

#[test]
fn too_few_open_files_are_refused_with_the_command_that_helps() {
    let sandbox = Sandbox::new();
    for words in [
        &["serve", "--root", ".", "--listen", "127.0.0.1:0"][..],
        &["stdio", "--root", "."],
        &["index", "--root", "."],
        &["search", "--mode", "text", "def", "--root", "."],
    ] {
        let mut command = limited(&sandbox, "ulimit -n 24", words);
        // As with grep, 1 would mean that nothing was found.
        let code = if words[0] == "search" { 2 } else { 1 };
        let refused = crate::cli::harness::run(&mut command).code(code);
        refused.says(&["24 open files", "at least 256", "`ulimit -n 1024`"]);
        assert!(!refused.stderr.contains("panicked"), "{refused:#?}");
    }
}

/// The tiny language server, whose start writes a file into its cache folder.
fn with_shim(sandbox: &Sandbox) -> String {
    let config = sandbox.configure("[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{text}quirks = {{ shims = [\"substitute\"] }}\n")).unwrap();
    config
}

#[test]
fn a_thread_that_is_stuck_on_a_fifo_holds_up_neither_a_removal_nor_the_exit() {
    let sandbox = Sandbox::new();
    let config = with_shim(&sandbox);
    let serving = sandbox.serve(&["--config", &config, "--no-auth"]);
    serving.client("repo").ask("vscode.lsp.documentSymbols", &uri(&sandbox)).unwrap();
    assert_eq!(serving.stop(Signal::TERM), 0);
    let made = files_below(&sandbox.path("state/cache"));
    let shim = made.iter().find(|path| path.ends_with("shims/substitute")).expect("the cache folder holds it");
    std::fs::remove_file(shim).unwrap();
    // Whoever opens it to write waits for a reader.
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR | rustix::fs::Mode::XUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, shim, mode).unwrap();
    for is_removed in [false, true] {
        let serving = sandbox.serve(&["--config", &config, "--no-auth"]);
        let refused = serving.client("repo").call("vscode.lsp.documentSymbols", &uri(&sandbox));
        assert!(refused.is_err(), "the start of the language server never ends: {refused:?}");
        if is_removed {
            let removed = sandbox.run(&["workspaces", "delete", "repo", "--json"]).code(0).json();
            assert_eq!((&removed["finished"], &removed["calls_cut"]), (&true.into(), &0.into()), "{removed}");
        }
        assert_eq!(serving.stop(Signal::TERM), 0);
    }
}

#[test]
fn a_language_server_that_ignores_every_signal_is_gone_after_the_exit() {
    let sandbox = Sandbox::new();
    let config = sandbox.configured();
    let serving = sandbox.serve(&["--config", &config, "--no-auth"]);
    serving.client("repo").ask("vscode.lsp.documentSymbols", &uri(&sandbox)).unwrap();
    let children = descendants(serving.pid());
    assert!(!children.is_empty());
    // It runs nothing any more: neither `shutdown` nor SIGTERM reaches it.
    let stopped = |pid: &u32| rustix::process::Pid::from_raw(i32::try_from(*pid).unwrap()).unwrap();
    for pid in &children {
        rustix::process::kill_process(stopped(pid), Signal::STOP).ok();
    }
    assert_eq!(serving.stop(Signal::TERM), 0);
    let is_alive =
        |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    assert!(until(20_000, || !children.iter().any(is_alive)), "{children:?}");
}

/// The same command with limits that this line of the shell sets first.
fn limited(sandbox: &Sandbox, limits: &str, words: &[&str]) -> std::process::Command {
    let plain = sandbox.command(words);
    #[expect(clippy::disallowed_methods, reason = "the binary under test")]
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &format!("{limits}; exec \"$0\" \"$@\"")]).arg(plain.get_program()).args(plain.get_args());
    command.current_dir(sandbox.path("repo")).stdin(std::process::Stdio::null());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

fn files_below(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn a_client_gets_the_copies_of_a_result_that_it_needs() {
    let sandbox = Sandbox::new();
    let rest = "content = \"both\"\n[tokens.ci]\ncontent = \"text\"\n[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n\
                isolation = \"trusted\"\n[[workspace]]\nname = \"other\"\nroots = [\"other\"]\nisolation = \"trusted\"\ncontent = \"structured\"\n";
    let config = sandbox.configure(rest);
    let ci = sandbox.run(&["token", "add", "ci"]).code(0).stdout.trim().to_owned();
    let local = sandbox.run(&["token", "add", "local"]).code(0).stdout.trim().to_owned();
    let serving = sandbox.serve(&["--config", &config]);
    let copies = |path: &str, token: &str| {
        let mut client = Mcp::connect(&serving.address, path, Some(token));
        let arguments = serde_json::json!({"operation": "documentSymbol", "filePath": "a.tiny"});
        let mut result = serde_json::Value::Null;
        let answers = until(20_000, || {
            let body: serde_json::Value = serde_json::from_str(&client.call_text("lsp", &arguments)).unwrap();
            result = body["result"].clone();
            result["isError"] == false
        });
        assert!(answers, "{path}: {result}");
        let has_text = result["content"].as_array().unwrap().len() == 1;
        let has_structure = result["structuredContent"].is_object();
        let listed = client.tools();
        assert_eq!(listed[0]["outputSchema"].is_object(), has_structure, "{path}: {listed}");
        (has_text, has_structure)
    };
    assert_eq!(copies("/mcp/repo/agent", &local), (true, true));
    assert_eq!(copies("/mcp/repo/agent", &ci), (true, false), "of the token");
    assert_eq!(copies("/mcp/other/agent", &local), (false, true), "of the workspace");
    assert_eq!(copies("/mcp/other/agent", &ci), (true, false), "the token wins");
    assert_eq!(copies("/mcp/other/agent/mcp?content=both", &ci), (true, true), "the address wins");
    assert_eq!(serving.status("/mcp/repo/agent?content=some", &ci), 400);
    // The contract of this catalog has one copy.
    let mut client = Mcp::connect(&serving.address, "/mcp/repo?content=text", Some(&local));
    assert_eq!(client.ask("vscode.lsp.documentSymbols", &uri(&sandbox)).unwrap()["symbols"][0]["name"], "repo");
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn commands_read_answers_whichever_copies_clients_get() {
    let sandbox = Sandbox::new();
    let config = sandbox.configure("content = \"text\"\n[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n");
    let asked = ["call", "documentSymbol", r#"{"filePath": "a.tiny"}"#];
    let prints = |more: &[&str]| {
        let ran = sandbox.run(&[&asked[..], more].concat()).code(0);
        assert!(ran.stdout.contains(" repo"), "{more:?}: {ran:#?}");
    };
    prints(&["--config", &config]);
    let serving = sandbox.serve(&["--config", &config]);
    prints(&[]);
    let url = format!("http://{}/mcp/repo/agent", serving.address);
    for query in ["", "?content=text"] {
        prints(&["--url", &format!("{url}{query}"), "--token", &serving.token]);
    }
    assert_eq!(serving.stop(Signal::TERM), 0);
}
