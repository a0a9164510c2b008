//! Language servers that break the protocol, a limit or a promise: a table of behaviours, each with what the caller gets and the state of the
//! server afterwards.
//!
//! Each behaviour runs in a workspace of its own beside a healthy one, on paused time. Invariants that hold for every row: the call ends
//! within its deadline of two seconds, the other workspace answers at once during and after it, a server that is still ready answers another
//! call, a call is answered once the behaviour has stopped, and no server is left after the end.

mod crashes;
mod frames;
mod lifecycle;
mod memory;
mod results;
mod rpc;
mod server_requests;
mod timing;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use codeyard_engine::workspace::messages::RestartChild;
use codeyard_process::launch::{LaunchSpec, Launcher};
use codeyard_telemetry::Counts;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::engine::harness::*;
use crate::fake_server::*;

/// Time of a call within which it must end, with the ticks of the clock.
const DEADLINE_MS: u128 = 2_010;
/// Longest time until a server is started again after the behaviour has stopped: a quarantine of five minutes.
const RECOVERY_MS: u64 = 310_000;
/// Time that a yard may take to close: the limits of the stop sequence together.
const CLOSE_MS: u128 = 3_000;

/// One row of the table.
struct Behaviour {
    name: &'static str,
    make: Box<dyn Fn(&Site) -> FakeServer>,
    tool: &'static str,
    outcome: &'static str,
    after: &'static str,
    /// Time between the end of the call and the look at the state, in milliseconds.
    settles_ms: u64,
    answers_later: bool,
}

/// A behaviour during a query for a definition. Without more said it does no harm: the call is answered and the server stays ready.
fn when(name: &'static str, make: impl Fn(&Site) -> FakeServer + 'static) -> Behaviour {
    let tool = DEFINITION;
    let outcome = "Found 1 definition.";
    Behaviour { name, make: Box::new(make), tool, outcome, after: "ready", settles_ms: 100, answers_later: true }
}

/// A behaviour that begins with a query for a definition.
fn on_definition(name: &'static str, steps: impl Fn(&Site) -> Vec<Step> + 'static) -> Behaviour {
    when(name, move |site| good(site).on("textDocument/definition", steps(site)))
}

impl Behaviour {
    /// The query that is sent: a tool of `lsp-v1`, or an operation of the tool `lsp`.
    fn asked(mut self, tool: &'static str) -> Self {
        self.tool = tool;
        self
    }

    /// What the caller gets: the summary of an answer, or code, reason and phase of an error.
    fn gets(mut self, outcome: &'static str) -> Self {
        self.outcome = outcome;
        self
    }

    /// State of the server after the call, and the number of its ends by reason.
    fn leaves(mut self, after: &'static str) -> Self {
        self.after = after;
        self
    }

    /// The state is looked at only so long after the call.
    fn settles_in(mut self, ms: u64) -> Self {
        self.settles_ms = ms;
        self
    }

    /// It counts as ready but answers nothing, which is noticed only after further calls.
    fn stays_hostile(mut self) -> Self {
        self.answers_later = false;
        self
    }
}

/// A correct server with all capabilities.
fn good(site: &Site) -> FakeServer {
    let symbol = json!([{"name": "alpha", "kind": 12, "location": site.location("a.fake", 0)}]);
    FakeServer::new()
        .capabilities(json!({
            "definitionProvider": true, "referencesProvider": true, "hoverProvider": true, "documentSymbolProvider": true,
            "workspaceSymbolProvider": true, "callHierarchyProvider": true, "textDocumentSync": 1
        }))
        .answer("textDocument/definition", json!([site.location("a.fake", 1)]))
        .answer("textDocument/references", json!([site.location("a.fake", 1)]))
        .answer("textDocument/hover", json!({"contents": "well"}))
        .answer("textDocument/documentSymbol", json!([]))
        .answer("workspace/symbol", symbol)
        .pipe_bytes(1 << 18)
}

/// What a behaviour led to.
struct Outcome {
    name: &'static str,
    tool: &'static str,
    outcome: String,
    after: String,
    faults: Vec<String>,
}

fn arguments(site: &Site, tool: &str, name: &str) -> Value {
    match tool {
        DEFINITION | REFERENCES | HOVER => site.at(name, 0, 0),
        DOCUMENT_SYMBOLS | DOCUMENT_DIAGNOSTICS => site.of(name),
        WORKSPACE_SYMBOLS => json!({"query": "alpha"}),
        WORKSPACE_DIAGNOSTICS => json!({}),
        operation => crate::engine::lsp_tool::place(operation, 0, 0),
    }
}

async fn query(yard: &Yard, tool: &str, name: &str) -> Called {
    let arguments = arguments(yard.site(), tool, name);
    if tool.contains('.') {
        return yard.call(tool, arguments).await;
    }
    let mut call = yard.tool_call("w0", "lsp", arguments);
    call.endpoint.catalogs = Arc::from(["agent".to_owned()]);
    yard.run(call).await
}

/// An answer or an error in one line.
fn described(called: &Called, tool: &str) -> String {
    use codeyard_gateway::service::ToolReply;
    let words = |error: &Value, details: &Value| {
        let texts = [&error["code"], &details["reason"], &details["phase"]];
        let texts: Vec<&str> = texts.into_iter().filter_map(Value::as_str).collect();
        texts.join(" ").replace("MCP_LSP_GATEWAY/", "")
    };
    match &called.reply {
        ToolReply::Error { data: Some(data), .. } => {
            let data: Value = serde_json::from_slice(data).unwrap();
            words(&data, &data["details"])
        }
        ToolReply::Error { data: None, .. } => "an error without data".to_owned(),
        _ if tool.contains('.') => called.summary(),
        _ => {
            let (ok, text, error) = called.lsp();
            if ok { text.lines().next().unwrap_or_default().to_owned() } else { words(&error, &error) }
        }
    }
}

/// Calls the healthy workspace at a place that no earlier call was about, and notes what is wrong with the answer.
async fn other_workspace(yard: &Yard, line: u32, faults: &Mutex<Vec<String>>) {
    let called = yard.start("w1", DEFINITION, yard.sites[1].at("a.fake", line, 0)).await;
    let outcome = described(&called, DEFINITION);
    if outcome != "Found 1 definition." || called.took.as_millis() > 10 {
        faults.lock().push(format!("another workspace: {outcome} after {} ms", called.took.as_millis()));
    }
}

fn state_of(health: &codeyard_engine::workspace::messages::WorkspaceHealth, counts: &Counts) -> String {
    let states = health.servers.iter().map(|server| {
        let state = serde_json::to_value(&server.state).unwrap();
        let mut text = state["state"].as_str().unwrap().to_owned();
        if let Some(reason) = state["reason"].as_str() {
            text = format!("{text} {reason}");
        }
        text
    });
    let ends = counts.restarts().into_iter().map(|(reason, count)| format!("{count} {reason}"));
    states.chain(ends).collect::<Vec<_>>().join(", ")
}

fn run(behaviour: &Behaviour) -> Outcome {
    let faults = Arc::new(Mutex::new(Vec::new()));
    let outcome = Arc::new(Mutex::new(String::new()));
    let after = Arc::new(Mutex::new(String::new()));
    println!("    {}", behaviour.name);
    paused(|| async {
        let lines = "alpha\nbeta\ngamma\ndelta\n";
        let site = Site::new(&[("a.fake", lines), ("b.fake", lines)]);
        let other = Site::new(&[("a.fake", lines)]);
        let hostile = (behaviour.make)(&site).launcher();
        let well = good(&site).launcher();
        let healthy = good(&other).launcher();
        let stopped = Arc::new(AtomicBool::new(false));
        let first = hostile.clone();
        let second = well.clone();
        let third = healthy.clone();
        let is_stopped = stopped.clone();
        let launcher = Arc::new(LaunchBy(move |spec: &LaunchSpec| match spec.label.starts_with("w0/") {
            true if is_stopped.load(SeqCst) => second.launch(spec),
            true => first.launch(spec),
            false => third.launch(spec),
        }));
        let yard = Plan::one(site, launcher).workspace(other).open().await;
        other_workspace(&yard, 0, &faults).await;
        let call = query(&yard, behaviour.tool, "a.fake");
        let (called, ()) = tokio::join!(call, other_workspace(&yard, 1, &faults));
        other_workspace(&yard, 2, &faults).await;
        if called.took.as_millis() > DEADLINE_MS {
            faults.lock().push(format!("the call took {} ms", called.took.as_millis()));
        }
        *outcome.lock() = described(&called, behaviour.tool);
        pass(behaviour.settles_ms).await;
        *after.lock() = state_of(&yard.health().await[0], &yard.counts);
        if *after.lock() == "ready" && behaviour.answers_later {
            let tool = if behaviour.tool == HOVER { DEFINITION } else { HOVER };
            let later = query(&yard, tool, "b.fake").await;
            if later.took.as_millis() > 300 || !later.is_answered() {
                faults.lock().push(format!(
                    "the next call: {} after {} ms",
                    described(&later, tool),
                    later.took.as_millis()
                ));
            }
        }
        stopped.store(true, SeqCst);
        recover(&yard, &faults).await;
        close(yard, &faults).await;
        let left = [hostile.alive(), well.alive(), healthy.alive()];
        if left != [0, 0, 0] {
            faults.lock().push(format!("servers left: {left:?}"));
        }
    });
    let outcome = outcome.lock().clone();
    let after = after.lock().clone();
    let faults = faults.lock().clone();
    Outcome { name: behaviour.name, tool: behaviour.tool, outcome, after, faults }
}

/// Restarts the server, which is a good one from now on, and waits for an answer.
async fn recover(yard: &Yard, faults: &Mutex<Vec<String>>) {
    yard.site().write("a.fake", "changed\nbeta\ngamma\n");
    for server in yard.health().await[0].servers.clone() {
        let workspace = yard.engine().directory().all().into_iter().next().unwrap();
        workspace.actor.send(RestartChild(server.id)).await.ok();
    }
    let began = Instant::now();
    loop {
        let called = query(yard, DEFINITION, "a.fake").await;
        let outcome = described(&called, DEFINITION);
        if outcome == "Found 1 definition." {
            return;
        }
        if began.elapsed().as_millis() > u128::from(RECOVERY_MS) {
            return faults.lock().push(format!("no recovery: {outcome}"));
        }
        pass(1_000).await;
    }
}

async fn close(yard: Yard, faults: &Mutex<Vec<String>>) {
    let began = Instant::now();
    yard.drain().await;
    if began.elapsed().as_millis() > CLOSE_MS {
        faults.lock().push(format!("closing took {} ms", began.elapsed().as_millis()));
    }
}

/// Runs a part of the table, prints it, and fails with all rows that aren't right.
fn check(group: &str, behaviours: Vec<Behaviour>) {
    let mut wrong = Vec::new();
    println!("{group}: {} behaviours", behaviours.len());
    for behaviour in &behaviours {
        let found = run(behaviour);
        let row = format!("{} | {} | {} | {}", found.name, found.tool, found.outcome, found.after);
        println!("| {row} |");
        let expected = (behaviour.outcome, behaviour.after);
        if (found.outcome.as_str(), found.after.as_str()) != expected || !found.faults.is_empty() {
            wrong.push(format!("{row} | expected {expected:?} | {:?}", found.faults));
        }
    }
    assert!(wrong.is_empty(), "{} of {group} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn table() -> Vec<(&'static str, Vec<Behaviour>)> {
    vec![
        ("frames", frames::behaviours()),
        ("messages", rpc::behaviours()),
        ("lifecycle", lifecycle::behaviours()),
        ("results", results::behaviours()),
        ("requests of the server", server_requests::behaviours()),
        ("timing", timing::behaviours()),
        ("crashes", crashes::behaviours()),
    ]
}

#[test]
fn the_table_has_at_least_a_hundred_behaviours_with_different_names() {
    let names: Vec<&str> = table().iter().flat_map(|(_, rows)| rows.iter().map(|row| row.name)).collect();
    let distinct: std::collections::BTreeSet<&&str> = names.iter().collect();
    for (group, rows) in table() {
        println!("{group}: {}", rows.len());
    }
    println!("{} behaviours", names.len());
    assert!(names.len() >= 100, "{}", names.len());
    assert_eq!(names.len(), distinct.len());
}
