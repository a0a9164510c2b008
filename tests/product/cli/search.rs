//! `codeyard search` as a user meets it: on a terminal and in a pipe, exit codes, and over several workspaces with and without a server.

use std::fs;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::cli::harness::{Sandbox, run};

/// Runs a command on a terminal of its own and prints, as JSON, what it wrote there and its exit code. Its standard error isn't the
/// terminal.
const TERMINAL: &str = r#"
import fcntl, json, os, struct, subprocess, sys, termios
master, slave = os.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE)
os.close(slave)
seen = b""
while True:
    try:
        part = os.read(master, 65536)
    except OSError:
        break
    if not part:
        break
    seen += part
child.stderr.read()
print(json.dumps([seen.decode().replace("\r\n", "\n"), child.wait()]))
"#;

/// What `codeyard search` with these words writes to a terminal, and its exit code.
fn on_terminal(sandbox: &Sandbox, words: &[&str], environment: &[(&str, &str)]) -> (String, i64) {
    #[expect(clippy::disallowed_methods, reason = "a terminal for the binary under test")]
    let mut driver = Command::new("python3");
    driver.args(["-c", TERMINAL, env!("CARGO_BIN_EXE_codeyard"), "search"]).args(words);
    driver
        .current_dir(sandbox.path("repo"))
        .env("CODEYARD_STATE_DIR", sandbox.path("state"))
        .env("TERM", "xterm-256color");
    for name in [
        "NO_COLOR", "CLICOLOR_FORCE", "VTE_VERSION", "TERM_PROGRAM", "WT_SESSION", "KONSOLE_VERSION", "FORCE_HYPERLINK",
    ] {
        driver.env_remove(name);
    }
    driver.envs(environment.iter().copied());
    let seen: Value = serde_json::from_str(&run(&mut driver).code(0).stdout).unwrap();
    (seen[0].as_str().unwrap().to_owned(), seen[1].as_i64().unwrap())
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let source = "use std::fs;\n\n/// Lets a ship in.\npub fn admit_ship(name: &str) -> bool {\n    name.is_empty()\n}\n\n\n\nfn sink_ship() {}\n";
    fs::write(sandbox.path("repo/harbour.rs"), source).unwrap();
    fs::write(sandbox.path("repo/notes.md"), "# Notes\n\nOne ship a day.\n").unwrap();
    fs::write(sandbox.path("other/quay.rs"), "fn moor_ship() {}\nfn admit_ship() {}\n").unwrap();
    sandbox
}

#[test]
fn a_terminal_gets_headings_colours_and_links_and_a_pipe_plain_lines() {
    let sandbox = sandbox();
    let words = ["-m", "text", "ship", "-C", "1"];
    let (shown, code) = on_terminal(&sandbox, &words, &[]);
    assert_eq!(code, 0);
    let line = "\x1b[32m3\x1b[0m:/// Lets a \x1b[1;31mship\x1b[0m in.\n";
    assert!(shown.starts_with("\x1b[35mharbour.rs\x1b[0m\n") && shown.contains(line), "{shown:?}");
    assert!(shown.contains("\x1b[2m--\x1b[0m\n") && shown.contains("\n\n\x1b[35mnotes.md\x1b[0m\n"), "{shown:?}");
    assert_eq!(shown.matches("admit_").count(), 1, "a line of two contexts is shown once: {shown:?}");
    let (linked, _) = on_terminal(&sandbox, &words, &[("VTE_VERSION", "7200")]);
    let url = format!("\x1b]8;;file://{}\x1b\\", sandbox.path("repo/harbour.rs").display());
    assert!(linked.starts_with(&url), "{linked:?}");
    let (bare, _) = on_terminal(&sandbox, &words, &[("NO_COLOR", "1"), ("VTE_VERSION", "7200")]);
    assert!(!bare.contains('\x1b') && bare.starts_with("harbour.rs\n2-\n3:/// Lets a ship in.\n4:pub fn"), "{bare:?}");
    let (dumb, _) = on_terminal(&sandbox, &words, &[("TERM", "dumb")]);
    assert_eq!(bare, dumb);
    let (flat, _) = on_terminal(&sandbox, &["-m", "text", "day", "--color", "never", "--no-heading"], &[]);
    assert_eq!(flat, "notes.md:3:One ship a day.\n");

    let piped = sandbox.run(&["search", "-m", "text", "ship", "-A", "1", "-B", "0"]).code(0).stdout;
    let expected = "harbour.rs:3:/// Lets a ship in.\nharbour.rs:4:pub fn admit_ship(name: &str) -> bool {\nharbour.rs-5-    name.is_empty()\n--\nharbour.rs:10:fn sink_ship() {}\n--\nnotes.md:3:One ship a day.\n";
    assert_eq!(piped, expected);
    let coloured = sandbox.run(&["search", "-m", "text", "day", "--color", "always"]).code(0).stdout;
    assert_eq!(coloured, "\x1b[35mnotes.md\x1b[0m:\x1b[32m3\x1b[0m:One ship a \x1b[1;31mday\x1b[0m.\n");
    let (symbols, _) = on_terminal(&sandbox, &["admit_ship", "--color", "never"], &[]);
    assert!(
        symbols.starts_with("harbour.rs\n4: fn admit_ship\n    pub fn admit_ship(name: &str) -> bool\n"),
        "{symbols:?}"
    );
}

#[test]
fn files_counts_case_and_exit_codes_are_those_of_ripgrep() {
    let sandbox = sandbox();
    let text = |words: &[&str]| sandbox.run(&[&["search", "-m", "text"], words].concat());
    assert_eq!(text(&["ship", "-l"]).code(0).stdout, "harbour.rs\nnotes.md\n");
    assert_eq!(text(&["ship", "-c"]).code(0).stdout, "harbour.rs:3\nnotes.md:1\n");
    assert_eq!(text(&["ship", "-c", "-n", "1"]).code(0).stdout, "harbour.rs:3\nnotes.md:1\n", "all matches count");
    assert_eq!(text(&["ONE", "-i", "-l"]).code(0).stdout, "notes.md\n");
    assert_eq!(text(&["one", "-s", "-l"]).code(1).stdout, "");
    let none = text(&["nowhere_at_all"]).code(1);
    assert_eq!(none.stdout, "", "{none:?}");
    none.says(&["no match"]);
    let json = text(&["nowhere_at_all", "--json"]).code(1).json();
    assert_eq!(json["results"].as_array().map(Vec::len), Some(0));
    sandbox.run(&["search", "-m", "regex", "("]).code(2).says(&["regular expression"]);
    sandbox.run(&["search", "x", "--root", "missing"]).code(2).says(&["missing"]);
    sandbox.run(&["search", "x", "-l", "-c"]).code(2);
}

#[test]
fn without_a_match_the_note_names_what_can_find_more() {
    let sandbox = sandbox();
    let note = |words: &[&str]| {
        let words = [&["search", "no_such_thing"], words].concat();
        let ran = sandbox.run(&words).code(1);
        let said = ran.stderr.lines().find_map(|line| line.strip_prefix("no match; try ")).map(str::to_owned);
        said.unwrap_or_else(|| panic!("{ran:#?}"))
    };
    assert_eq!(note(&[]), "--mode text or --mode regex");
    assert_eq!(note(&["-m", "text"]), "--mode auto, which finds similar names");
    assert_eq!(
        note(&["-m", "regex", "-s", "-w", "-g", "*.rs", "-t", "rust"]),
        "--mode auto, which finds similar names, or --ignore-case, or fewer globs, or no --language, or no --word"
    );
    assert_eq!(note(&["-g", "*.rs"]), "--mode text or --mode regex, or fewer globs");
}

#[test]
fn filters_alone_list_files_and_symbols() {
    let sandbox = sandbox();
    let paths = |query: &str| sandbox.run(&["search", query, "-l"]).code(0).stdout;
    assert_eq!(paths("lang:rust"), "harbour.rs\n");
    assert_eq!(paths("path:notes"), "notes.md\n");
    let names = |query: &str| -> Vec<String> {
        let json = sandbox.run(&["search", query, "--json"]).code(0).json();
        json["results"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("kind:fn"), ["admit_ship", "sink_ship"]);
    assert_eq!(names("sym:/^sink/"), ["sink_ship"]);
    let shown = sandbox.run(&["search", "sym:/_ship$/"]).code(0).stdout;
    assert!(shown.contains("harbour.rs:4") && shown.contains("harbour.rs:10"), "{shown}");
    sandbox.run(&["search", "kind:enum"]).code(1);
    sandbox.run(&["search", "sym:/(/"]).code(2);
    sandbox.run(&["search", "--", "-path:notes"]).code(2).says(&["only what to leave out"]);
}

#[test]
fn all_searches_every_indexed_repository_without_a_server() {
    let sandbox = sandbox();
    let empty = sandbox.run(&["search", "--all", "ship"]).code(2);
    empty.says(&["no index yet", "codeyard index"]);
    sandbox.run(&["index"]).code(0);
    sandbox.run(&["index", "--root", "../other"]).code(0);
    let found = sandbox.run(&["search", "--all", "-m", "text", "ship"]).code(0).stdout;
    let expected = "other/quay.rs:1:fn moor_ship() {}\nother/quay.rs:2:fn admit_ship() {}\nrepo/harbour.rs:3:/// Lets a ship in.\nrepo/harbour.rs:4:pub fn admit_ship(name: &str) -> bool {\nrepo/harbour.rs:10:fn sink_ship() {}\nrepo/notes.md:3:One ship a day.\n";
    assert_eq!(found, expected);
    let json = sandbox.run(&["search", "--all", "admit_ship", "--json"]).code(0).json();
    let workspaces: Vec<&str> =
        json["results"].as_array().unwrap().iter().map(|row| row["workspace"].as_str().unwrap()).take(2).collect();
    assert_eq!(workspaces, ["repo", "other"], "{json}");
    // An edit since the last job is seen.
    fs::write(sandbox.path("other/new.rs"), "fn launch_ship() {}\n").unwrap();
    let new = sandbox.run(&["search", "--all", "launch_ship"]).code(0).stdout;
    assert!(new.starts_with("other/new.rs:1: fn launch_ship\n"), "{new}");
    let one = sandbox.run(&["search", "--workspace", "oth*", "-m", "text", "ship", "-l"]).code(0).stdout;
    assert_eq!(one, "other/new.rs\nother/quay.rs\n");
    sandbox.run(&["search", "--workspace", "nope", "ship"]).code(2).says(&["other, repo"]);
    sandbox.run(&["search", "--group", "nope", "ship"]).code(2).says(&["no such group"]);
    let config = sandbox.configure(
        "[[workspace]]\nname = \"a\"\nroots = [\"repo\"]\n[[workspace]]\nname = \"b\"\nroots = [\"other\"]\n[groups.second]\nworkspaces = [\"b\"]\n",
    );
    let group = sandbox.run(&["search", "--group", "second", "--config", &config, "-m", "text", "moor"]).code(0).stdout;
    assert_eq!(group, "b/quay.rs:1:fn moor_ship() {}\n");
}

#[test]
fn a_running_server_answers_for_its_workspaces_and_groups() {
    let sandbox = sandbox();
    let config = sandbox.configure(
        "[[workspace]]\nname = \"a\"\nroots = [\"repo\"]\n[[workspace]]\nname = \"b\"\nroots = [\"other\"]\n[groups.second]\nworkspaces = [\"b\"]\n",
    );
    let serving = sandbox.serve(&["--config", &config]);
    let found = sandbox.run(&["search", "--all", "--wait", "60", "-m", "text", "admit"]).code(0).stdout;
    assert_eq!(found, "a/harbour.rs:4:pub fn admit_ship(name: &str) -> bool {\nb/quay.rs:2:fn admit_ship() {}\n");
    let group = sandbox.run(&["search", "--group", "second", "admit_ship", "--json"]).code(0).json();
    assert_eq!(group["results"][0]["workspace"], "b");
    let one = sandbox.run(&["search", "--workspace", "a", "-m", "text", "admit", "-c"]).code(0).stdout;
    assert_eq!(one, "a/harbour.rs:1\n", "counts come from the indexes themselves");
    let listed = |flag: &str| sandbox.run(&["search", "--group", "second", "-m", "text", "admit", flag]).code(0).stdout;
    assert_eq!((listed("-l"), listed("-c")), ("b/quay.rs\n".to_owned(), "b/quay.rs:1\n".to_owned()));
    for no_group in ["nope", "Second", "a b", ""] {
        for words in [&["admit"][..], &["admit", "-l"]] {
            let refused = sandbox.run(&[&["search", "--group", no_group], words].concat()).code(2);
            assert_eq!(refused.stdout, "", "{no_group}: {refused:?}");
            refused.says(&["no such group"]);
        }
    }
    sandbox.run(&["search", "--workspace", "zzz", "x"]).code(2).says(&["No workspace of this group", "a, b"]);
    let shown =
        sandbox.run(&["call", "locate_symbol", "{\"name\": \"moor_ship\"}", "--workspace", "@all"]).code(0).stdout;
    assert!(shown.starts_with("b/quay.rs:1: fn moor_ship\n"), "{shown}");
    let called = sandbox.run(&["call", "locate_symbol", "{\"name\": \"moor_ship\"}", "--workspace", "@all", "--json"]);
    assert_eq!(called.code(0).json()["results"][0]["workspace"], "b");
    assert_eq!(serving.status("/mcp/@all/code", &serving.token), 200);
    assert_eq!(serving.status("/mcp/@all/lsp-v1", &serving.token), 404);
    assert_eq!(serving.status("/mcp/@all/code", "wrong"), 401);
    assert_eq!(serving.stop(Signal::TERM), 0);
}

#[test]
fn stdio_serves_a_group_of_the_running_server() {
    let sandbox = sandbox();
    let config = sandbox.configure(
        "[[workspace]]\nname = \"a\"\nroots = [\"repo\"]\n[[workspace]]\nname = \"b\"\nroots = [\"other\"]\n",
    );
    let words = ["stdio", "--workspace", "@all", "--catalog", "code"];
    sandbox.run(&words).code(3).says(&["no running server", "@all"]);
    sandbox.run(&["stdio", "--workspace", "@all"]).code(2).says(&["--catalog code"]);
    let serving = sandbox.serve(&["--config", &config]);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"health_check","arguments":{}}}"#;
    let mut child = sandbox
        .command(&words)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, format!("{call}\n").as_bytes()).unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
    drop(input);
    child.wait().unwrap();
    let answer: Value = serde_json::from_str(&line).unwrap();
    let projects = answer["result"]["structuredContent"]["projects"].as_array().unwrap();
    let names: Vec<&str> = projects.iter().map(|project| project["workspace"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(serving.stop(Signal::TERM), 0);
}
