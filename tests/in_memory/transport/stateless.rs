//! The stateless revision 2026-07-28: what requests must carry, what results carry, prompts as results, subscriptions.

use std::time::Duration;

use codeyard_config::PermissionRule;
use codeyard_gateway::limits::PERMISSION_WAIT_MS;
use codeyard_gateway::permission::Permissions;
use codeyard_server::limits::{MAX_STDIO_SUBSCRIPTIONS, MAX_SUBSCRIPTIONS_PER_PRINCIPAL};
use codeyard_state::{PermissionStore, StateDir};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use crate::transport::stdio::pipe_to;
use crate::transport::wire::{AGENT, Answer, Ask, Server, server};

const REVISION: &str = "2026-07-28";
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

fn meta() -> Value {
    json!({VERSION: REVISION, CAPABILITIES: {}})
}

/// A request with the `_meta` that each one must have.
fn message(id: u64, method: &str, mut params: Value) -> Value {
    if params.get("_meta").is_none() {
        params["_meta"] = meta();
    }
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A well-formed POST of `message`.
fn post(server: &Server, message: &Value) -> Ask {
    let ask = server.post(message).at(AGENT).set("mcp-protocol-version", REVISION);
    let ask = ask.set("mcp-method", message["method"].as_str().unwrap_or_default());
    match message["params"]["name"].as_str() {
        Some(name) => ask.set("mcp-name", name),
        None => ask,
    }
}

fn call(server: &Server, tool: &str, arguments: Value) -> Ask {
    post(server, &message(1, "tools/call", json!({"name": tool, "arguments": arguments})))
}

fn code(answer: &Answer) -> (u16, i64) {
    (answer.status, answer.json()["error"]["code"].as_i64().unwrap_or_default())
}

#[tokio::test]
async fn each_request_is_complete() {
    let server = server().await;
    let found = server.send(&post(&server, &message(1, "server/discover", json!({})))).await.json()["result"].clone();
    assert_eq!(found["supportedVersions"], json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"]));
    assert_eq!((&found["capabilities"], &found["instructions"]), (&json!({"tools": {}}), &json!("be kind")));
    let list = server.send(&post(&server, &message(2, "tools/list", json!({})))).await.json()["result"].clone();
    assert_eq!(list["tools"][0]["name"], "agent.echo");
    let answer = server.send(&call(&server, "echo", json!({"x": 1}))).await;
    assert_eq!(answer.header("mcp-session-id"), None);
    let echoed = answer.json()["result"].clone();
    assert_eq!(echoed["structuredContent"]["echo"]["x"], 1);
    for result in [&found, &list, &echoed] {
        assert_eq!(result["resultType"], "complete", "{result}");
        assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "codeyard");
    }
    for result in [&found, &list] {
        assert!(result["ttlMs"].as_u64().is_some_and(|ms| ms > 0) && result["cacheScope"] == "private", "{result}");
    }
    assert!(echoed.get("ttlMs").is_none());
    // A session id is ignored, whether there is such a session or not.
    for session in ["nonesuch", &server.session_of("2025-11-25").await] {
        let again = server.send(&call(&server, "echo", json!({})).in_session(session)).await;
        assert_eq!((again.status, again.header("mcp-session-id")), (200, None));
    }
    let refused = server.send(&call(&server, "refuse", json!({}))).await;
    assert_eq!(refused.status, 200);
}

#[tokio::test]
async fn headers_and_metadata_are_required_and_agree() {
    let server = server().await;
    let list = |params: Value| post(&server, &message(1, "tools/list", params));
    let echo = call(&server, "echo", json!({}));
    let without = |member: &str| {
        let mut meta = meta();
        meta.as_object_mut().unwrap().remove(member);
        list(json!({"_meta": meta}))
    };
    let of_version = |version: &str| list(json!({"_meta": {VERSION: version, CAPABILITIES: {}}}));
    let bare = |method: &str| server.post(&json!({"jsonrpc": "2.0", "id": 1, "method": method})).at(AGENT);
    let rows = [
        ("no _meta", post(&server, &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})), -32602),
        ("no version", without(VERSION), -32602),
        ("no capabilities", without(CAPABILITIES), -32602),
        ("bad version", list(json!({"_meta": {VERSION: 7, CAPABILITIES: {}}})), -32602),
        ("no version header", list(json!({})).without("mcp-protocol-version"), -32020),
        ("two version headers", list(json!({})).add("mcp-protocol-version", REVISION), -32020),
        ("other version header", list(json!({})).set("mcp-protocol-version", "2025-11-25"), -32020),
        ("no method header", list(json!({})).without("mcp-method"), -32020),
        ("other method header", list(json!({})).set("mcp-method", "tools/call"), -32020),
        ("other case", list(json!({})).set("mcp-method", "TOOLS/LIST"), -32020),
        ("no name header", echo.clone().without("mcp-name"), -32020),
        ("other name header", echo.clone().set("mcp-name", "hang"), -32020),
        ("unknown version", of_version("v999").set("mcp-protocol-version", "v999"), -32022),
        ("a version with sessions", of_version("2025-11-25").set("mcp-protocol-version", "2025-11-25"), -32022),
        ("unknown version header alone", bare("tools/list").set("mcp-protocol-version", "2027-01-01"), -32022),
        ("a probe without anything", bare("server/discover").without("mcp-protocol-version"), -32020),
        ("bad parameters", list(json!({"cursor": "x"})), -32602),
        ("no notifications", post(&server, &message(1, "subscriptions/listen", json!({}))), -32602),
        ("bad notifications", post(&server, &message(1, "subscriptions/listen", json!({"notifications": 7}))), -32602),
        ("no tool", post(&server, &message(1, "tools/call", json!({}))), -32602),
        ("bad state", post(&server, &message(1, "tools/call", json!({"name": "echo", "requestState": 7}))), -32602),
    ];
    for (what, ask, expected) in rows {
        let answer = server.send(&ask).await;
        assert_eq!(code(&answer), (400, expected), "{what}: {answer:?}");
        assert_eq!(answer.json()["id"], 1, "{what}");
    }
    let unknown = server.send(&of_version("v999.0").set("mcp-protocol-version", "v999.0")).await.json();
    assert_eq!(unknown["error"]["data"]["requested"], "v999.0");
    assert_eq!(unknown["error"]["data"]["supported"][0], REVISION);
    assert!(unknown["error"]["message"].as_str().unwrap().contains("2025-06-18"), "the sentence names them: {unknown}");
    let encoded = echo.clone().set("mcp-name", "=?base64?ZWNobw==?=");
    assert_eq!(server.send(&encoded).await.status, 200);
    assert_eq!(server.send(&echo.clone().set("mcp-name", "  echo ")).await.status, 200);
    assert_eq!(server.fake.started.load(std::sync::atomic::Ordering::SeqCst), 2, "no refused request reached a tool");
}

#[tokio::test]
async fn methods_of_sessions_are_unknown() {
    let server = server().await;
    for method in ["initialize", "ping", "logging/setLevel", "resources/list", "x"] {
        let answer = server.send(&post(&server, &message(9, method, json!({})))).await;
        assert_eq!((code(&answer), &answer.json()["id"]), ((404, -32601), &json!(9)), "{method}");
    }
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    let accepted = server.send(&post(&server, &cancelled)).await;
    assert_eq!((accepted.status, accepted.body.len()), (202, 0));
    let with_session = server.send(&post(&server, &cancelled).in_session("nonesuch")).await;
    assert_eq!(with_session.status, 202, "a session id is ignored");
    let unknown = server.send(&post(&server, &cancelled).set("mcp-protocol-version", "2099-01-01")).await;
    assert_eq!((code(&unknown), &unknown.json()["id"]), ((400, -32022), &Value::Null));
    let response = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    assert_eq!(server.send(&post(&server, &response)).await.status, 400, "there are no requests to respond to");
}

#[tokio::test]
async fn endpoints_of_lsp_v1_answer_a_probe_like_any_unknown_method() {
    let server = server().await;
    for target in ["/mcp", "/mcp/main/lsp-v1", "/mcp/main/agent+lsp-v1"] {
        let answer = server.send(&post(&server, &message(1, "server/discover", json!({}))).at(target)).await;
        assert_eq!(code(&answer), (200, -32601), "{target}");
        let listed = server.send(&post(&server, &message(1, "tools/list", json!({}))).at(target)).await;
        assert_eq!((listed.status, &*listed.reason()), (400, "wrong_protocol_version"), "{target}");
    }
}

#[tokio::test]
async fn a_disconnected_client_cancels_and_progress_comes_on_the_stream() {
    let server = server().await;
    let mut with_token = meta();
    with_token["progressToken"] = json!("t");
    let slow = json!({"name": "slow", "arguments": {"ms": 1_500}, "_meta": with_token});
    let answer = server.send(&post(&server, &message(1, "tools/call", slow))).await;
    assert_eq!(answer.header("x-accel-buffering"), Some("no"));
    let events = answer.events();
    assert_eq!(events[0]["method"], "notifications/progress");
    assert_eq!(events.last().unwrap()["result"]["resultType"], "complete");
    let stream = server.open(&call(&server, "hang", json!({})).bytes()).await;
    server.fake.until_running(1).await;
    drop(stream);
    server.fake.until_running(0).await;
    let busy = server.send(&call(&server, "busy", json!({}))).await;
    assert_eq!((busy.status, busy.header("retry-after").is_some()), (503, true));
}

/// A call of the guarded tool by a client that can show forms, with these further parameters.
fn guarded(server: &Server, arguments: Value, more: &[(&str, &Value)]) -> Ask {
    let meta = json!({VERSION: REVISION, CAPABILITIES: {"elicitation": {"form": {}}}});
    let mut params = json!({"name": "guarded", "arguments": arguments, "_meta": meta});
    for (name, value) in more {
        params[*name] = (*value).clone();
    }
    post(server, &message(1, "tools/call", params))
}

/// The state of a call that asks.
async fn requested(server: &Server, arguments: Value) -> Value {
    let result = server.send(&guarded(server, arguments, &[])).await.json()["result"].clone();
    assert_eq!(result["resultType"], "input_required", "{result}");
    let question = &result["inputRequests"]["permission"];
    assert_eq!((&question["method"], &question["params"]["mode"]), (&json!("elicitation/create"), &json!("form")));
    assert!(question.get("id").is_none(), "it is no request of its own");
    result["requestState"].clone()
}

fn answered(word: &str) -> Value {
    json!({"permission": {"action": "accept", "content": {"decision": word}}})
}

fn outcome(answer: &Value) -> &str {
    match answer["result"]["structuredContent"]["echo"] == "in" {
        true => "in",
        false => answer["error"]["data"]["reason"]
            .as_str()
            .or(answer["result"]["resultType"].as_str())
            .unwrap_or("no reason"),
    }
}

#[tokio::test]
async fn a_person_is_asked_by_the_result_and_the_repeated_call_brings_the_answer() {
    let server = server().await;
    *server.fake.rule.lock() = PermissionRule::Ask;
    let action = |action: &str| json!({"permission": {"action": action}});
    for (responses, expected) in [
        (answered("once"), "in"),
        (answered("always"), "in"),
        (answered("deny"), "permission_declined"),
        (answered("yes"), "permission_not_asked"),
        (action("decline"), "permission_declined"),
        (action("cancel"), "permission_cancelled"),
        (json!({"permission": 7}), "permission_not_asked"),
        (json!({"other": {"action": "accept"}}), "input_required"),
        (json!({}), "input_required"),
    ] {
        let state = requested(&server, json!({"a": 1, "b": 2})).await;
        let more = [("requestState", &state), ("inputResponses", &responses)];
        // The same arguments in another order are the same call.
        let answer = server.send(&guarded(&server, json!({"b": 2, "a": 1}), &more)).await.json();
        assert_eq!(outcome(&answer), expected, "{responses}: {answer}");
        let again = server.send(&guarded(&server, json!({"a": 1, "b": 2}), &more)).await.json();
        assert_eq!(outcome(&again), "input_required", "an answer counts once: {again}");
    }
}

#[tokio::test]
async fn an_answer_without_its_question_never_counts() {
    let server = server().await;
    *server.fake.rule.lock() = PermissionRule::Ask;
    let yes = answered("once");
    let state = requested(&server, json!({"a": 1})).await;
    let mut tampered = state.as_str().unwrap().to_owned();
    let last = if tampered.ends_with('A') { "B" } else { "A" };
    tampered.replace_range(tampered.len() - 1.., last);
    let tampered = json!(tampered);
    let empty = json!("");
    let rows = [
        ("no state", vec![("inputResponses", &yes)], json!({"a": 1}), "input_required"),
        ("changed", vec![("requestState", &tampered), ("inputResponses", &yes)], json!({"a": 1}), "request_state"),
        ("empty", vec![("requestState", &empty), ("inputResponses", &yes)], json!({"a": 1}), "request_state"),
        ("other call", vec![("requestState", &state), ("inputResponses", &yes)], json!({"a": 2}), "request_state"),
    ];
    for (what, more, arguments, expected) in rows {
        let answer = server.send(&guarded(&server, arguments, &more)).await.json();
        assert_eq!(outcome(&answer), expected, "{what}: {answer}");
    }
    let more = [("requestState", &state), ("inputResponses", &yes)];
    let of_bob = guarded(&server, json!({"a": 1}), &more).set("authorization", &format!("Bearer {}", server.bob));
    assert_eq!(outcome(&server.send(&of_bob).await.json()), "request_state", "another principal's");
    *server.fake.rule.lock() = PermissionRule::Deny;
    assert_eq!(outcome(&server.send(&guarded(&server, json!({"a": 1}), &more)).await.json()), "permission_denied");
    *server.fake.rule.lock() = PermissionRule::Ask;
    assert_eq!(outcome(&server.send(&guarded(&server, json!({"a": 1}), &more)).await.json()), "in", "still unused");
    let cannot = server.send(&call(&server, "guarded", json!({}))).await.json();
    assert_eq!(outcome(&cannot), "permission_not_asked", "the client declares no forms");
}

#[tokio::test]
async fn an_answer_that_comes_too_late_asks_again() {
    let server = server().await;
    *server.fake.rule.lock() = PermissionRule::Ask;
    *server.fake.permissions.lock() = Permissions::default().with_wait(Duration::ZERO);
    let state = requested(&server, json!({})).await;
    let more = [("requestState", &state), ("inputResponses", &answered("once"))];
    assert_eq!(outcome(&server.send(&guarded(&server, json!({}), &more)).await.json()), "input_required");
    assert_eq!(PERMISSION_WAIT_MS, 120_000, "docs/internals/protocol.md has the time");
}

#[tokio::test]
async fn always_is_remembered_for_clients_of_every_revision() {
    let server = server().await;
    *server.fake.rule.lock() = PermissionRule::Ask;
    let dir = tempfile::tempdir().unwrap();
    let state_dir = StateDir::open(&dir.path().join("state")).unwrap();
    let store = std::sync::Arc::new(PermissionStore::new(state_dir.store().unwrap()));
    *server.fake.permissions.lock() = Permissions::remembered_in(store);
    let state = requested(&server, json!({})).await;
    let more = [("requestState", &state), ("inputResponses", &answered("always"))];
    assert_eq!(outcome(&server.send(&guarded(&server, json!({}), &more)).await.json()), "in");
    assert_eq!(outcome(&server.send(&guarded(&server, json!({"other": 1}), &[])).await.json()), "in");
    let session = server.session().await;
    let old = server.send(&server.call(&json!(1), "guarded", &json!({})).in_session(&session)).await.json();
    assert_eq!(outcome(&old), "in");
    assert_eq!(server.fake.outcomes.0.lock().clone(), ["requested", "always", "remembered", "remembered"]);
}

async fn read_until(stream: &mut tokio::net::TcpStream, text: &mut String, wanted: &str) {
    let read = async {
        while !text.contains(wanted) {
            let mut more = [0_u8; 4096];
            let count = stream.read(&mut more).await.unwrap();
            assert!(count > 0, "the stream ended: {text}");
            text.push_str(std::str::from_utf8(&more[..count]).unwrap());
        }
    };
    tokio::time::timeout(Duration::from_secs(20), read).await.unwrap_or_else(|_| panic!("no {wanted}: {text}"));
}

fn listen(id: u64) -> Value {
    message(id, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}))
}

#[tokio::test]
async fn a_subscription_is_acknowledged_and_stays_open_until_the_server_stops() {
    let server = server().await;
    let mut stream = server.open(&post(&server, &listen(7)).bytes()).await;
    let mut text = String::new();
    read_until(&mut stream, &mut text, "acknowledged").await;
    assert!(text.contains(&format!("\"{SUBSCRIPTION}\":7")) && text.contains("\"notifications\":{}"), "{text}");
    assert!(!text.contains("resultType"), "{text}");
    server.stop.cancel();
    read_until(&mut stream, &mut text, "\"resultType\":\"complete\"").await;
    assert!(text.contains("\"id\":7,\"result\""), "{text}");
}

#[tokio::test]
async fn the_number_of_subscriptions_is_bounded() {
    let server = server().await;
    let bytes = post(&server, &listen(1)).bytes();
    let mut open = Vec::new();
    for _ in 0..MAX_SUBSCRIPTIONS_PER_PRINCIPAL {
        let mut stream = server.open(&bytes).await;
        read_until(&mut stream, &mut String::new(), "acknowledged").await;
        open.push(stream);
    }
    assert_eq!(server.send(&post(&server, &listen(2))).await.status, 503);
    let of_bob = post(&server, &listen(3)).set("authorization", &format!("Bearer {}", server.bob));
    let mut stream = server.open(&of_bob.bytes()).await;
    read_until(&mut stream, &mut String::new(), "acknowledged").await;
    open.pop();
    let again = async {
        loop {
            let mut stream = server.open(&bytes).await;
            let mut first = [0_u8; 12];
            stream.read_exact(&mut first).await.unwrap();
            if first.ends_with(b"200") {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), again).await.expect("a place is free again");
}

#[tokio::test]
async fn clients_of_every_revision_use_one_server_at_once() {
    let server = server().await;
    let sessions =
        [server.session_of("2025-03-26").await, server.session_of("2025-06-18").await, server.session().await];
    let slow = json!({"ms": 150});
    let old = sessions.map(|session| {
        let ask = server.call(&json!(1), "slow", &slow).at(AGENT).in_session(&session);
        ask.without("mcp-protocol-version")
    });
    let new = call(&server, "slow", slow.clone());
    let (a, b, c, d) =
        tokio::join!(server.send(&old[0]), server.send(&old[1]), server.send(&old[2]), server.send(&new));
    for (answer, is_new) in [(a, false), (b, false), (c, false), (d, true)] {
        let result = answer.json()["result"].clone();
        assert_eq!(
            (&result["structuredContent"]["echo"]["ms"], result.get("resultType").is_some()),
            (&json!(150), is_new)
        );
    }
}

#[tokio::test]
async fn both_eras_share_a_pipe() {
    let mut pipe = pipe_to("agent");
    let send = async |pipe: &mut crate::transport::stdio::Pipe, message: Value| {
        pipe.send(format!("{message}\n")).await;
        pipe.next().await
    };
    let found = send(&mut pipe, message(1, "server/discover", json!({}))).await;
    assert_eq!(found["result"]["supportedVersions"][0], REVISION);
    let echo = json!({"name": "echo", "arguments": {"x": 1}});
    let answer = send(&mut pipe, message(2, "tools/call", echo.clone())).await;
    assert_eq!(answer["result"]["resultType"], "complete");
    let unsupported = json!({"_meta": {VERSION: "2025-11-25", CAPABILITIES: {}}});
    assert_eq!(send(&mut pipe, message(3, "tools/list", unsupported)).await["error"]["code"], -32022);
    let bad = json!({"jsonrpc": "2.0", "id": 4, "method": "server/discover"});
    assert_eq!(send(&mut pipe, bad).await["error"]["code"], -32602);
    assert_eq!(send(&mut pipe, message(5, "ping", json!({}))).await["error"]["code"], -32601);
    let begun = send(&mut pipe, crate::transport::wire::initialize()).await;
    assert_eq!(begun["result"]["protocolVersion"], "2025-11-25");
    pipe.call(6, "echo", json!({"x": 2}), json!({})).await;
    assert!(pipe.next().await["result"].get("resultType").is_none(), "a request without the member is the session's");
    *pipe.fake.rule.lock() = PermissionRule::Ask;
    let forms = json!({VERSION: REVISION, CAPABILITIES: {"elicitation": {}}});
    let asked = send(&mut pipe, message(7, "tools/call", json!({"name": "guarded", "_meta": forms}))).await;
    let state = asked["result"]["requestState"].clone();
    let retry = json!({"name": "guarded", "_meta": forms, "requestState": state, "inputResponses": answered("once")});
    assert_eq!(outcome(&send(&mut pipe, message(8, "tools/call", retry)).await), "in");
    pipe.end().await;
}

#[tokio::test]
async fn a_pipes_subscriptions_end_by_cancellation_or_with_the_server() {
    let mut pipe = pipe_to("agent");
    for id in 0..MAX_STDIO_SUBSCRIPTIONS as u64 {
        pipe.send(format!("{}\n", listen(id))).await;
        assert_eq!(pipe.next().await["params"]["_meta"][SUBSCRIPTION], id);
    }
    pipe.send(format!("{}\n", listen(99))).await;
    assert_eq!(pipe.next().await["error"]["data"]["details"]["reason"], "overloaded");
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 0}});
    pipe.send(format!("{cancel}\n{}\n", listen(99))).await;
    assert_eq!(pipe.next().await["params"]["_meta"][SUBSCRIPTION], 99, "the cancelled one has no answer");
    pipe.stop();
    let mut ended = Vec::new();
    for _ in 0..MAX_STDIO_SUBSCRIPTIONS {
        let last = pipe.next().await;
        assert_eq!(last["result"]["resultType"], "complete");
        ended.push(last["id"].as_u64().unwrap());
    }
    assert!(!ended.contains(&0) && ended.contains(&99));
}
