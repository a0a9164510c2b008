//! A disk that is full while the index is written: the job fails and says what to do, what was published stays, and once there is room
//! again nothing is missing.
//!
//! The limit is that of the size of files (`ulimit -f`): it needs no rights, holds for root too, and meets the database, its log, the
//! symbols and the text one after another as it is raised. A small file system of its own would need a mount, which not every machine
//! lets a test make.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::cli::harness::{CommandOutput, Sandbox, run};
use crate::mcp::until;

/// From what holds nothing to what holds everything, in KiB.
const ROOM: [u32; 22] = [0, 1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 64, 96, 128, 192, 256, 384, 512, 1_024, 2_048];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("repo/harbour.rs"), "pub fn admit_ship() {}\n").unwrap();
    sandbox
}

/// Many names in many files, and more text than fits into the smaller limits.
fn fill(sandbox: &Sandbox) {
    for number in 0..150 {
        let text: String =
            (0..20).map(|line| format!("fn more_{number}_{line}() {{}} // {:x}\n", number * line)).collect();
        fs::write(sandbox.path("repo").join(format!("more{number}.rs")), text).unwrap();
    }
}

/// The command in a process that may write no larger files.
fn limited(sandbox: &Sandbox, kib: u32, words: &[&str]) -> Command {
    let plain = sandbox.command(words);
    #[expect(clippy::disallowed_methods, reason = "the binary under test, under a limit that the shell sets")]
    let mut command = Command::new("sh");
    // The unit differs between shells; what the limit really is doesn't matter, as long as it rises.
    command.args(["-c", "ulimit -f \"$0\" && exec \"$@\"", &kib.to_string()]);
    command.arg(plain.get_program()).args(plain.get_args()).stdin(Stdio::null());
    command.current_dir(plain.get_current_dir().unwrap());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// What was there before is found as it was.
fn still_answers(sandbox: &Sandbox, context: &str) {
    let lines = sandbox.run(&["search", "--no-sync", "-m", "text", "admit_ship"]).code(0).stdout;
    assert!(lines.starts_with("harbour.rs:1:pub fn admit_ship() {}"), "{context}: {lines}");
    let symbols = sandbox.run(&["search", "--no-sync", "-m", "symbol", "admit_ship"]).code(0).stdout;
    assert!(symbols.starts_with("harbour.rs:1: fn admit_ship"), "{context}: {symbols}");
    let verified = sandbox.run(&["index", "verify"]).code(0).stdout;
    assert_eq!(verified, "the index is valid\n", "{context}");
}

fn fails_with_advice(ran: &CommandOutput, context: &str) {
    let said = &ran.stderr;
    assert_eq!(ran.code, 1, "{context}: {said}");
    assert!(said.contains("run `codeyard index`") && said.contains("disk of the state directory"), "{context}: {said}");
    assert!(!said.contains("--force") && !said.contains("panicked") && !said.contains("damaged"), "{context}: {said}");
}

/// Everything that can be asked, as an index shows it that is made from nothing.
fn equals_a_new_index(sandbox: &Sandbox) {
    let other = tempfile::tempdir().unwrap();
    for words in [
        &["search", "-m", "regex", r"\w", "--limit", "200", "--json"][..],
        &["search", "more_7_7", "--explain", "full", "--json"],
        &["search", "admit ship", "--json"],
        &["outline", "more42.rs", "--json"],
    ] {
        let ours = sandbox.run(words).code(0).json();
        let mut fresh = sandbox.command(words);
        fresh.env("CODEYARD_STATE_DIR", other.path());
        assert_eq!(ours, run(&mut fresh).code(0).json(), "{words:?}");
    }
    assert_eq!(sandbox.run(&["index", "verify"]).code(0).stdout, "the index is valid\n");
}

#[test]
fn a_job_on_a_full_disk_fails_and_the_next_one_continues() {
    let sandbox = sandbox();
    sandbox.run(&["index"]).code(0);
    fill(&sandbox);
    let mut failures = 0;
    let mut fitted = false;
    for kib in ROOM {
        let ran = run(&mut limited(&sandbox, kib, &["index"]));
        let context = format!("{kib} KiB");
        fitted = ran.code == 0;
        if fitted {
            break;
        }
        failures += 1;
        fails_with_advice(&ran, &context);
        still_answers(&sandbox, &context);
    }
    assert!(failures >= 5, "only {failures} of the limits were too small");
    if !fitted {
        sandbox.run(&["index"]).code(0);
    }
    equals_a_new_index(&sandbox);
    let jobs = sandbox.run(&["index", "stats", "--json"]).code(0).json();
    assert!(jobs["active_job"].is_null(), "{jobs}");
}

#[test]
fn an_index_is_created_once_the_disk_has_room() {
    let sandbox = sandbox();
    fill(&sandbox);
    for kib in [0, 4, 16, 32, 64] {
        let ran = run(&mut limited(&sandbox, kib, &["index"]));
        fails_with_advice(&ran, &format!("{kib} KiB"));
    }
    sandbox.run(&["index"]).code(0);
    equals_a_new_index(&sandbox);
}

#[test]
fn a_server_with_a_full_disk_keeps_answering_and_reports_it() {
    let sandbox = sandbox();
    let config = sandbox.configured();
    sandbox.run(&["index"]).code(0);
    let words = ["serve", "--listen", "127.0.0.1:0", "--config", &config];
    let serving = sandbox.served_by(limited(&sandbox, 128, &words));
    let mut client = serving.client("repo/code");
    let mut ask = |tool: &str, arguments: Value| {
        let body: Value = serde_json::from_str(&client.call_text(tool, &arguments)).unwrap();
        body["result"]["structuredContent"].clone()
    };
    let is_fresh = |answer: &Value| answer["metadata"]["freshness_status"] == "fresh";
    let strict = json!({"query": "admit_ship", "mode": "symbol", "freshness_policy": "strict"});
    assert!(until(30_000, || is_fresh(&ask("search_code", strict.clone()))), "it isn't fresh before");
    fill(&sandbox);
    let mut status = Value::Null;
    let has_failed = || {
        ask("search_code", json!({"query": "more_7_7"}));
        status = ask("index_status", json!({}));
        let jobs = status["recent_jobs"].as_array().unwrap_or_else(|| panic!("{status}"));
        jobs.iter().any(|job| job["status"] == "failed")
    };
    assert!(until(30_000, has_failed), "no job has failed: {status}");
    let jobs = status["recent_jobs"].as_array().unwrap();
    let failed = jobs.iter().find(|job| job["status"] == "failed").unwrap();
    assert!(failed["message"].as_str().unwrap().contains("run `codeyard index`"), "{failed}");
    let answer = ask("search_code", json!({"query": "admit_ship", "mode": "symbol"}));
    assert_eq!(answer["results"][0]["path"], "harbour.rs", "{answer}");
    assert!(!is_fresh(&answer), "{answer}");
    assert!(names_the_disk(&answer["metadata"]["warnings"].to_string()), "{answer}");
    let refused = ask("search_code", strict);
    assert_eq!(refused["error"]["code"], "index_stale", "{refused}");
    assert!(names_the_disk(refused["error"]["message"].as_str().unwrap()), "{refused}");
    // The others' jobs have room.
    sandbox.run(&["index"]).code(0);
    let answer = ask("search_code", json!({"query": "more_7_7", "mode": "symbol"}));
    assert_eq!(answer["results"][0]["path"], "more7.rs", "{answer}");
    drop(serving);
    equals_a_new_index(&sandbox);
}

/// Whether a message says that the disk is full, and doesn't ask for the same call again.
fn names_the_disk(message: &str) -> bool {
    message.contains("disk of the state directory is full") && !message.to_lowercase().contains("ask again")
}

#[test]
fn a_first_index_that_finds_no_room_is_named_in_every_answer() {
    let sandbox = sandbox();
    fill(&sandbox);
    let config = sandbox.configured();
    // The database of tokens is made before.
    sandbox.run(&["token", "add", "first"]).code(0);
    let words = ["serve", "--no-auth", "--listen", "127.0.0.1:0", "--config", &config];
    let serving = sandbox.served_by(limited(&sandbox, 128, &words));
    let mut client = serving.client("repo/code");
    let mut ask = |tool: &str, arguments: Value| {
        let body: Value = serde_json::from_str(&client.call_text(tool, &arguments)).unwrap();
        body["result"]["structuredContent"].clone()
    };
    let mut answer = Value::Null;
    let is_named = || {
        answer = ask("search_code", json!({"query": "more_7_7"}));
        names_the_disk(&answer["metadata"]["warnings"].to_string())
    };
    assert!(until(30_000, is_named), "{answer}");
    // Also while the next attempt runs.
    for _ in 0..20 {
        let answer = ask("search_code", json!({"query": "more_7_7"}));
        assert!(names_the_disk(&answer["metadata"]["warnings"].to_string()), "{answer}");
        assert!(
            answer["metadata"]["retry_after_ms"].is_null() && answer["suggested_next_actions"] == json!([]),
            "{answer}"
        );
        let refused = ask("get_file_outline", json!({"path": "harbour.rs"}));
        assert_eq!(refused["error"]["code"], "index_not_ready", "{refused}");
        assert!(names_the_disk(refused["error"]["message"].as_str().unwrap()), "{refused}");
    }
}
