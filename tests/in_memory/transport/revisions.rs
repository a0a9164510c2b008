//! The revisions with sessions: negotiation, the version header, arrays of messages, prompts.

use std::time::Duration;

use codeyard_config::PermissionRule;
use serde_json::{Value, json};

use crate::transport::stdio::{Pipe, pipe_to};
use crate::transport::wire::{AGENT, Answer, Ask, Server, initialize, server};

const WITH_SESSIONS: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];

fn request(id: u64, method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method})
}

fn call(id: u64, tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

/// A POST of `message` in a session of `revision`, as a client of that revision sends it.
fn in_revision(server: &Server, message: &Value, session: &str, revision: &str) -> Ask {
    let ask = server.post(message).at(AGENT).in_session(session);
    if revision == "2025-03-26" {
        ask.without("mcp-protocol-version")
    } else {
        ask.set("mcp-protocol-version", revision)
    }
}

#[tokio::test]
async fn an_endpoint_speaks_the_requested_revision_if_its_catalogs_allow_it() {
    let server = server().await;
    let rows = [
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("next", "2025-11-25"),
    ];
    for (requested, negotiated) in rows {
        let mut message = initialize();
        message["params"]["protocolVersion"] = json!(requested);
        for (target, expected) in [
            (AGENT, negotiated),
            ("/mcp/main/lsp-v1", "2025-11-25"),
            ("/mcp/main/agent+lsp-v1", "2025-11-25"),
            ("/mcp", "2025-11-25"),
        ] {
            let answer = server.send(&server.post(&message).at(target)).await;
            assert_eq!(answer.json()["result"]["protocolVersion"], expected, "{requested} at {target}");
        }
    }
}

#[tokio::test]
async fn the_version_header_names_the_revision_of_the_session() {
    let server = server().await;
    let list = request(1, "tools/list");
    for revision in WITH_SESSIONS {
        let session = server.session_of(revision).await;
        let ask = server.post(&list).at(AGENT).in_session(&session);
        assert_eq!(server.send(&ask.clone().without("mcp-protocol-version")).await.status, 200, "{revision}");
        for named in WITH_SESSIONS.into_iter().chain(["2024-11-05", ""]) {
            let answer = server.send(&ask.clone().set("mcp-protocol-version", named)).await;
            let expected = if named == revision { 200 } else { 400 };
            assert_eq!(answer.status, expected, "{named} in a session of {revision}");
        }
        // An endpoint that doesn't speak the session's revision refuses it.
        let elsewhere = server.send(&ask.at("/mcp").without("mcp-protocol-version")).await;
        let expected = if revision == "2025-11-25" { (200, "") } else { (400, "wrong_protocol_version") };
        let reason = if elsewhere.status == 200 { String::new() } else { elsewhere.reason() };
        assert_eq!((elsewhere.status, &*reason), expected, "{revision}");
    }
    // Outside a session, `ping` may name each of them.
    for revision in WITH_SESSIONS {
        let ping = server.post(&request(1, "ping")).set("mcp-protocol-version", revision);
        assert_eq!(server.send(&ping.clone().at(AGENT)).await.status, 200, "{revision}");
        assert_eq!(server.send(&ping.at("/mcp")).await.status, if revision == "2025-11-25" { 200 } else { 400 });
    }
}

#[tokio::test]
async fn a_request_of_a_session_may_name_its_revision() {
    let server = server().await;
    let meta = |revision: &str| json!({"io.modelcontextprotocol/protocolVersion": revision, "io.modelcontextprotocol/clientCapabilities": {}});
    let list = |revision: &str| json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta(revision)}});
    for revision in WITH_SESSIONS {
        let session = server.session_of(revision).await;
        let answer = server.send(&in_revision(&server, &list(revision), &session, revision)).await;
        assert!(answer.json()["result"]["tools"].is_array(), "{revision}: {answer:?}");
    }
    let mut pipe = pipe_to("agent");
    begin(&mut pipe, "2025-11-25").await;
    pipe.send(format!("{}\n", list("2025-11-25"))).await;
    assert!(pipe.next().await["result"]["tools"].is_array());
    pipe.end().await;
}

#[tokio::test]
async fn results_have_what_the_revision_defines() {
    let server = server().await;
    for revision in WITH_SESSIONS {
        let mut begin = initialize();
        begin["params"]["protocolVersion"] = json!(revision);
        let begun = server.send(&server.post(&begin).at(AGENT)).await.json();
        let is_oldest = revision == "2025-03-26";
        assert_eq!(begun["result"]["serverInfo"].get("title").is_none(), is_oldest, "{begun}");
        let session = server.session_of(revision).await;
        let list = server.send(&in_revision(&server, &request(1, "tools/list"), &session, revision)).await.json();
        let tool = &list["result"]["tools"][0];
        assert_eq!((&tool["name"], tool.get("outputSchema").is_none()), (&json!("agent.echo"), is_oldest), "{list}");
        let answer =
            server.send(&in_revision(&server, &call(2, "echo", json!({"x": 1})), &session, revision)).await.json();
        for member in ["resultType", "_meta", "ttlMs"] {
            assert!(answer["result"].get(member).is_none() && list["result"].get(member).is_none(), "{answer} {list}");
        }
        let unknown = server.send(&in_revision(&server, &request(3, "subscriptions/listen"), &session, revision)).await;
        assert_eq!(unknown.status, 400, "the method belongs to the stateless revision, whose headers are missing");
    }
}

#[tokio::test]
async fn an_array_is_answered_by_an_array() {
    let server = server().await;
    let session = server.session_of("2025-03-26").await;
    let batch = json!([
        call(1, "slow", json!({"ms": 200})),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        request(2, "tools/list"),
        request(3, "nonsense"),
        call(4, "echo", json!({"x": 4})),
        {"jsonrpc": "1.0", "id": 5, "method": "ping"},
        initialize(),
        7,
        {"jsonrpc": "2.0", "id": "other", "result": {}},
        request(6, "ping"),
    ]);
    let answer = server.send(&in_revision(&server, &batch, &session, "2025-03-26")).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let answers = answer.json();
    let of = |id: Value| answers.as_array().unwrap().iter().find(|answer| answer["id"] == id).cloned().unwrap();
    assert_eq!(of(json!(1))["result"]["structuredContent"]["echo"]["ms"], 200);
    assert!(of(json!(2))["result"]["tools"].is_array());
    assert_eq!(of(json!(3))["error"]["code"], -32601);
    assert_eq!(of(json!(4))["result"]["structuredContent"]["echo"]["x"], 4);
    assert_eq!(of(json!(5))["error"]["data"]["reason"], "wrong_jsonrpc");
    assert_eq!(of(json!(0))["error"]["data"]["reason"], "batched_initialize");
    assert_eq!(of(Value::Null)["error"]["data"]["reason"], "not_a_message");
    assert_eq!(of(json!(6))["result"], json!({}));
    assert_eq!(answers.as_array().unwrap().len(), 8);
}

#[tokio::test]
async fn arrays_are_bounded_and_belong_to_one_revision() {
    let server = server().await;
    let session = server.session_of("2025-03-26").await;
    let post = |batch: Value| in_revision(&server, &batch, &session, "2025-03-26");
    let notices = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "method": "x"}]);
    let accepted = server.send(&post(notices)).await;
    assert_eq!((accepted.status, accepted.body.len()), (202, 0));
    let many = |count: u64| Value::from_iter((0..count).map(|id| request(id, "ping")));
    assert_eq!(server.send(&post(many(64))).await.json().as_array().unwrap().len(), 64);
    for (batch, reason) in [(json!([]), "not_a_message"), (many(65), "long_batch")] {
        let answer = server.send(&post(batch)).await;
        assert_eq!((answer.status, &*answer.reason()), (400, reason));
    }
    let pings = many(2);
    let elsewhere = [
        in_revision(&server, &pings, &server.session_of("2025-06-18").await, "2025-06-18"),
        in_revision(&server, &pings, &server.session_of("2025-11-25").await, "2025-11-25"),
        server.post(&pings).at(AGENT),
        post(pings.clone()).at("/mcp"),
        post(pings.clone()).without("mcp-session-id"),
        server.post(&pings).at(AGENT).set("mcp-protocol-version", "2026-07-28"),
    ];
    for ask in elsewhere {
        let answer = server.send(&ask).await;
        assert_eq!((answer.status, &*answer.reason()), (400, "batch"), "{ask:?}");
    }
    let gone = server.send(&post(pings.clone()).in_session("nonesuch")).await;
    assert_eq!((gone.status, &*gone.reason()), (404, "unknown_session"), "so that the client begins a new one");
    // A request of the stateless revision can't be part of an array.
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let modern =
        json!([{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}, request(2, "ping")]);
    let answers = server.send(&post(modern)).await.json();
    assert_eq!((&answers[0]["error"]["data"]["reason"], &answers[1]["result"]), (&json!("batch"), &json!({})));
    // What doesn't fit any more is replaced by its error.
    let floods = Value::from_iter((0..3).map(|id| call(id, "huge", json!({"bytes": 300_000}))));
    let answer = server.send(&post(floods)).await;
    assert!(answer.body.len() <= codeyard_model::limits::MAX_RESPONSE_BYTES, "{}", answer.body.len());
    assert_eq!(answer.json().as_array().unwrap().iter().filter(|one| one.get("result").is_some()).count(), 1);
    assert_eq!(answer.json().as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_call_of_an_array_has_progress_and_can_be_cancelled() {
    let server = server().await;
    let session = server.session_of("2025-03-26").await;
    let with_progress = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "slow", "arguments": {"ms": 1_500}, "_meta": {"progressToken": "t"}}});
    let batch = json!([with_progress, call(2, "hang", json!({}))]);
    let ask = in_revision(&server, &batch, &session, "2025-03-26");
    let cancel = json!([{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}]);
    let (answer, ()) = tokio::join!(server.send(&ask), async {
        server.fake.until_running(2).await;
        assert_eq!(server.send(&in_revision(&server, &cancel, &session, "2025-03-26")).await.status, 202);
        server.fake.until_running(1).await;
    });
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let events = answer.events();
    let (last, updates) = events.split_last().unwrap();
    assert!(updates.iter().all(|event| event["params"]["progressToken"] == "t") && !updates.is_empty());
    assert_eq!((&last[0]["id"], last.as_array().unwrap().len()), (&json!(1), 1), "a cancelled call has no answer");
    // A client that leaves cancels the whole array.
    let stream = server
        .open(
            &in_revision(
                &server,
                &json!([call(1, "hang", json!({})), call(2, "hang", json!({}))]),
                &session,
                "2025-03-26",
            )
            .bytes(),
        )
        .await;
    server.fake.until_running(2).await;
    drop(stream);
    server.fake.until_running(0).await;
}

/// The first event of the answer to a call of a guarded tool, then the final answer. The client declines what it is asked.
async fn declined(server: &Server, session: &str, revision: &str) -> Answer {
    let ask = in_revision(server, &call(1, "guarded", json!({})), session, revision);
    let declining = async {
        if revision == "2025-03-26" {
            return;
        }
        server.fake.until_running(1).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        let delete = server.post(&Value::Null).at(AGENT).in_session(session).without("mcp-protocol-version");
        assert_eq!(server.send(&delete.method("DELETE").body("")).await.status, 204);
    };
    tokio::join!(server.send(&ask), declining).0
}

#[tokio::test]
async fn a_prompt_has_the_form_of_the_revision() {
    let server = server().await;
    *server.fake.rule.lock() = PermissionRule::Ask;
    let titled = json!([{"const": "once", "title": "Allow once"},
        {"const": "always", "title": "Always allow in this workspace"}, {"const": "deny", "title": "Deny"}]);
    for revision in WITH_SESSIONS {
        let session = server.session_of(revision).await;
        let answer = declined(&server, &session, revision).await;
        if revision == "2025-03-26" {
            assert_eq!(answer.json()["error"]["data"]["reason"], "permission_not_asked", "it has no prompts");
            continue;
        }
        let prompt = &answer.events()[0]["params"];
        let field = &prompt["requestedSchema"]["properties"]["decision"];
        if revision == "2025-06-18" {
            assert_eq!((prompt.get("mode"), field.get("oneOf")), (None, None));
            assert_eq!(field["enum"], json!(["once", "always", "deny"]));
            assert_eq!(field["enumNames"].as_array().unwrap().len(), 3);
        } else {
            assert_eq!((&prompt["mode"], &field["oneOf"]), (&json!("form"), &titled));
        }
    }
}

async fn begin(pipe: &mut Pipe, revision: &str) {
    let mut message = initialize();
    message["params"]["protocolVersion"] = json!(revision);
    pipe.send(format!("{message}\n")).await;
    assert_eq!(pipe.next().await["result"]["protocolVersion"], revision);
}

#[tokio::test]
async fn a_pipe_has_the_revision_of_its_last_initialize() {
    let mut pipe = pipe_to("agent");
    let batch = json!([request(1, "ping"), call(2, "echo", json!({"x": 1})), {"jsonrpc": "2.0", "method": "x"}]);
    pipe.send(format!("{batch}\n")).await;
    assert_eq!(pipe.next().await["error"]["data"]["reason"], "batch", "before `initialize` it is 2025-11-25");
    begin(&mut pipe, "2025-03-26").await;
    pipe.send(format!("{batch}\n")).await;
    let answers = pipe.next().await;
    assert_eq!(answers.as_array().unwrap().len(), 2, "{answers}");
    pipe.send("[]\n").await;
    assert_eq!(pipe.next().await["error"]["data"]["reason"], "not_a_message");
    pipe.send("[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]\n").await;
    begin(&mut pipe, "2025-06-18").await;
    pipe.send(format!("{batch}\n")).await;
    assert_eq!(pipe.next().await["error"]["data"]["reason"], "batch");
    pipe.end().await;
}
