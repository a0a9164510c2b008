//! The audit log of a running server: who did what, whatever path it came by; what becomes of calls when it can't be written; and that no
//! answered call is missing when the server is killed.

use std::fs;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use serde_json::{Value, json};

use crate::admin::wire::Way;
use crate::cli::harness::{Sandbox, ServeProcess};
use crate::mcp::{Mcp, until};

const WORKSPACES: &str = "[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\nisolation = \"trusted\"\n\
                          [[workspace]]\nname = \"team-a/web\"\nroots = [\"other\"]\nisolation = \"trusted\"\n";

fn configure(sandbox: &Sandbox, audit: &str) -> String {
    sandbox.configure(&format!("{WORKSPACES}\n[audit]\n{audit}\n"))
}

/// All lines of the log.
fn lines(sandbox: &Sandbox) -> Vec<Value> {
    let text = sandbox.run(&["audit", "export"]).code(0).stdout;
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

fn of<'l>(lines: &'l [Value], event: &str, operation: &str) -> &'l Value {
    let is_it = |line: &&Value| line["event"] == event && line["operation"] == operation;
    lines.iter().find(is_it).unwrap_or_else(|| panic!("no {event} {operation} in {lines:#?}"))
}

fn symbols(sandbox: &Sandbox, folder: &str) -> Value {
    json!({ "uri": format!("file://{}", sandbox.path(folder).join("a.tiny").display()) })
}

fn add(sandbox: &Sandbox, words: &[&str]) -> String {
    sandbox.run(&[&["token", "add"], words].concat()).code(0).stdout.trim().to_owned()
}

#[test]
fn who_did_what_is_in_the_log_without_a_token_and_a_change_of_it_is_found() {
    let sandbox = Sandbox::new();
    let config = configure(&sandbox, "enabled = true");
    let serving = sandbox.serve(&["--config", &config]);
    let serving_token = serving.token.clone();
    let ann = add(&sandbox, &["ann", "--tenant", "team-a"]);
    let bob = add(&sandbox, &["bob", "--tenant", "team-a", "--operation", "search"]);
    let mut client = Mcp::connect(&serving.address, "/mcp/web", Some(&ann));
    client.ask("vscode.lsp.documentSymbols", &symbols(&sandbox, "other")).unwrap();
    client.ask("vscode.lsp.documentSymbols", &json!({"uri": "file:///etc/passwd"})).unwrap_err();
    let mut narrow = Mcp::connect(&serving.address, "/mcp/web", Some(&bob));
    narrow.ask("vscode.lsp.documentSymbols", &symbols(&sandbox, "other")).unwrap_err();
    let foreign = format!("{}x", &ann[..ann.len() - 1]);
    assert_eq!([serving.status("/mcp/none", &ann), serving.status("/mcp/web", &foreign)], [404, 401]);
    let bearer = format!("Authorization: Bearer {ann}");
    let headers = [&*bearer, "Content-Type: application/json"];
    let web = Way::Tcp(serving.address.clone());
    let minted = web.send("POST", "/tokens", &headers, "{\"operations\": [\"search\"]}").is(201).json();
    let id = minted["id"].as_str().unwrap();
    web.send("DELETE", &format!("/tokens/{id}"), &headers, "").is(204);
    Way::local(&sandbox).json("PUT", "/admin/v1/workspaces/more", &json!({"roots": [sandbox.path("other")]})).is(201);
    Way::local(&sandbox).get("/admin/v1/workspaces").is(200);
    fs::write(&config, fs::read_to_string(&config).unwrap().replace("name = \"repo\"", "name = \"renamed\"")).unwrap();
    serving.signal(Signal::HUP);
    serving.wait_for("configuration reloaded");
    sandbox.run(&["call", "documentSymbols", "{\"uri\": \"a.tiny\"}", "--workspace", "renamed"]).code(0);
    sandbox.run(&["token", "remove", "team-a/bob"]).code(0);
    assert_eq!(serving.stop(Signal::TERM), 0);

    let all = lines(&sandbox);
    let calls: Vec<&Value> = all.iter().filter(|line| line["event"] == "call").collect();
    let asked = calls[0];
    assert_eq!(
        [&asked["tenant"], &asked["principal"], &asked["from"], &asked["workspace"], &asked["tool"], &asked["verdict"]],
        ["team-a", "ann", "127.0.0.1", "team-a/web", "vscode.lsp.documentSymbols", "ok"],
        "{asked}"
    );
    assert_eq!(asked["arguments"], symbols(&sandbox, "other"));
    assert!(asked["ms"].as_f64().unwrap() > 0.0 && asked["bytes"].as_u64().unwrap() > 0, "{asked}");
    assert_eq!(
        (&calls[1]["verdict"], &calls[1]["arguments"]["uri"]),
        (&json!("WORKSPACE_DENIED"), &json!("file:///etc/passwd"))
    );
    assert_eq!((&calls[2]["principal"], &calls[2]["reason"]), (&json!("bob"), &json!("operation_not_allowed")));
    let local = calls.last().unwrap();
    assert_eq!(
        (&local["principal"], &local["from"], &local["workspace"]),
        (&json!("local"), &json!("local"), &json!("renamed"))
    );
    let refused: Vec<_> = all.iter().filter(|line| line["event"] == "refused").collect();
    assert_eq!(
        [&refused[0]["principal"], &refused[0]["arguments"]["path"], &refused[0]["reason"], &refused[1]["reason"]],
        [&json!("ann"), &json!("/mcp/none"), &json!("unknown_endpoint"), &json!("bearer_required")],
        "{refused:#?}"
    );
    assert!(refused[1].get("principal").is_none() && refused[1]["from"] == "127.0.0.1", "{refused:#?}");
    assert_eq!(of(&all, "session", "initialize")["principal"], "ann");
    let added: Vec<&Value> = all.iter().filter(|line| line["event"] == "token" && line["operation"] == "add").collect();
    let names: Vec<&Value> = added.iter().map(|line| &line["arguments"]["name"]).collect();
    assert_eq!(names, ["first token", "team-a/ann", "team-a/bob"]);
    assert!(added.iter().all(|line| line["from"] == "command"), "{added:#?}");
    let mint = of(&all, "token", "mint");
    assert_eq!((&mint["principal"], &mint["arguments"]["id"]), (&json!("ann"), &json!(id)), "{mint}");
    assert_eq!(of(&all, "token", "remove")["arguments"]["id"], id);
    let put = of(&all, "admin", "PUT");
    assert_eq!(put["arguments"]["folders"]["roots"][0], sandbox.path("other").to_str().unwrap(), "{put}");
    assert_eq!((&put["principal"], &put["verdict"]), (&json!("operator"), &json!("201")), "{put}");
    assert!(!all.iter().any(|line| line["event"] == "admin" && line["operation"] == "GET"));
    let reload = of(&all, "configuration", "reload");
    assert_eq!(
        (&reload["arguments"]["started"], &reload["arguments"]["removed"]),
        (&json!(["renamed"]), &json!(["repo"])),
        "{reload}"
    );
    assert_eq!(reload["arguments"]["sections"], json!(["workspace"]), "{reload}");
    of(&all, "service", "start");
    of(&all, "service", "stop");
    let path = sandbox.path("state/audit/audit.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    for token in [&*ann, &*bob, &*foreign, &*serving_token, minted["token"].as_str().unwrap()] {
        assert!(!text.contains(token.trim_start_matches("cyd_")), "a token is in the log");
    }

    let verified = sandbox.run(&["audit", "verify", "--json"]).code(0).json();
    assert_eq!((&verified["intact"], verified["last"].as_u64()), (&json!(true), Some(all.len() as u64)));
    let anchor = format!("{}:{}", verified["last"], verified["last_hash"].as_str().unwrap());
    sandbox.run(&["audit", "verify", "--line", &anchor]).code(0);
    let found = sandbox.run(&["audit", "search", "passwd", "--principal", "ann"]).code(0).stdout;
    assert!(
        found.lines().count() == 2 && found.contains("team-a/ann") && found.contains("WORKSPACE_DENIED"),
        "{found}"
    );
    sandbox.run(&["audit", "search", "--principal", "nobody"]).code(3).says(&["codeyard audit tail"]);
    let tail = sandbox.run(&["audit", "tail", "-n", "3", "--json"]).code(0).stdout;
    assert_eq!(
        tail.lines().map(str::to_owned).collect::<Vec<_>>(),
        text.lines().skip(all.len() - 3).collect::<Vec<_>>()
    );
    fs::write(sandbox.path("copy.jsonl"), sandbox.run(&["audit", "export", "--since", "1h"]).code(0).stdout).unwrap();
    let copy = sandbox.path("copy.jsonl").display().to_string();
    sandbox.run(&["audit", "verify", &copy]).code(0);
    fs::write(&path, text.replacen("passwd", "shadow", 1)).unwrap();
    sandbox.run(&["audit", "verify"]).code(1).says(&["not as it was written", "line "]);
    fs::write(&path, &text).unwrap();

    // Without the section the log ends, and commands write no more lines.
    let serving = sandbox.serve(&["--config", &sandbox.configure(WORKSPACES)]);
    add(&sandbox, &["carl"]);
    assert_eq!(serving.stop(Signal::TERM), 0);
    let after = lines(&sandbox);
    assert_eq!((after.len(), &after[all.len()]["operation"]), (all.len() + 1, &json!("audit_off")));
    sandbox.run(&["audit", "verify"]).code(0);
}

/// Lets the server write no file beyond the length of its audit log, as a full disk would; `None` lifts that.
fn limit(serving: &ServeProcess, length: Option<u64>) {
    let pid = Pid::from_raw(i32::try_from(serving.pid()).unwrap());
    prlimit(pid, Resource::Fsize, Rlimit { current: length, maximum: None }).unwrap();
}

#[test]
fn calls_without_a_line_are_refused_in_every_catalog_or_counted() {
    for goes_on in [false, true] {
        let sandbox = Sandbox::new();
        let policy = if goes_on { "on_failure = \"continue\"\narguments = \"digests\"" } else { "" };
        let config = configure(&sandbox, &format!("enabled = true\n{policy}"));
        let serving = sandbox.serve(&["--config", &config]);
        let mut client = serving.client("repo");
        let uri = symbols(&sandbox, "repo");
        client.ask("vscode.lsp.documentSymbols", &uri).unwrap();
        let path = sandbox.path("state/audit/audit.jsonl");
        limit(&serving, Some(fs::metadata(&path).unwrap().len()));
        let first = client.ask("vscode.lsp.documentSymbols", &uri);
        if goes_on {
            assert_eq!(first.unwrap()["symbols"][0]["name"], "repo");
        } else {
            let error = first.unwrap_err();
            assert_eq!(error.details["reason"], "audit_unavailable", "{error:?}");
            for catalog in ["agent", "code", "launch", "lsp-v1-safe"] {
                let mut other = serving.client(&format!("repo/{catalog}"));
                let tools = other.tools();
                for tool in tools.as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()) {
                    let refused = other.call_text(tool, &json!({}));
                    assert!(
                        refused.contains("audit_unavailable") && refused.contains("audit log"),
                        "{tool}: {refused}"
                    );
                }
            }
            let metrics = Way::Tcp(serving.address.clone()).get("/metrics").is(200).body;
            let lost = metrics.lines().find(|line| line.starts_with("codeyard_audit_lost_total")).unwrap();
            assert!(!lost.ends_with(" 0"), "{lost}");
            assert!(serving.log().contains("audit line not written"));
        }
        limit(&serving, None);
        // The first call writes the line that says what is missing, and whether it is refused itself is a matter of the moment.
        assert!(until(10_000, || client.ask("vscode.lsp.documentSymbols", &uri).is_ok()));
        let all = lines(&sandbox);
        let lost = all.iter().find(|line| line["event"] == "lost").unwrap_or_else(|| panic!("{all:#?}"));
        assert!(lost["count"].as_u64().unwrap() >= 1, "{lost}");
        sandbox.run(&["audit", "verify"]).code(0);
        if goes_on {
            let asked = uri["uri"].as_str().unwrap();
            assert!(all.iter().all(|line| !line.to_string().contains(asked)), "names are digests");
            let found = sandbox.run(&["audit", "search", asked]).code(0).stdout;
            assert!(found.contains("documentSymbols"), "{found}");
        }
    }
}

#[test]
fn a_killed_server_leaves_lines_of_all_calls_that_it_answered() {
    let sandbox = Sandbox::new();
    let config = configure(&sandbox, "enabled = true");
    let mut answered_before = 0;
    for round in 1..4_usize {
        let serving = sandbox.serve(&["--config", &config]);
        let token = add(&sandbox, &["ann"]);
        let answered = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let mut client = Mcp::connect(&serving.address, "/mcp/repo", Some(&token));
                let answered = &answered;
                let arguments = symbols(&sandbox, "repo");
                scope.spawn(move || {
                    // The connection breaks off when the server is killed, and the client panics.
                    let mut ask = || client.ask("vscode.lsp.documentSymbols", &arguments).is_ok();
                    while std::panic::catch_unwind(AssertUnwindSafe(&mut ask)).is_ok_and(|is_answered| is_answered) {
                        answered.fetch_add(1, Relaxed);
                    }
                });
            }
            assert!(until(20_000, || answered.load(Relaxed) > 10 * round), "{}", serving.log());
            serving.signal(Signal::KILL);
        });
        drop(serving);
        let seen = lines(&sandbox).iter().filter(|line| line["event"] == "call" && line["verdict"] == "ok").count();
        let answered = answered_before + answered.load(Relaxed);
        assert!(seen >= answered, "{answered} calls were answered, {seen} have lines");
        answered_before = seen;
        sandbox.run(&["audit", "verify"]).code(0);
    }
}
