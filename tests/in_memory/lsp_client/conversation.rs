//! Requests of the server and their responses, and full pipes in both directions.

use std::sync::Arc;
use std::time::Duration;

use codeyard_lsp::client::capabilities::WatchPattern;
use codeyard_lsp::client::events::{CloseReason, ServerEvent};
use codeyard_lsp::client::server_requests::StaticClientHost;
use codeyard_lsp::limits;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::fake_server::*;
use crate::lsp_client::support::{bare, connect, connect_with, framed, options, settle};

async fn answer_to(method: &str, params: Value) -> Value {
    let fake = FakeServer::new().launcher();
    let _connected = connect(&fake).await;
    fake.push([ask(method, params)]);
    fake.record().wait_for_answers(method, 1).await;
    fake.record().answers(method).remove(0)
}

#[tokio::test(start_paused = true)]
async fn every_server_request_is_answered() {
    let items = json!({"items": [
        {"section": "python.analysis", "scopeUri": "file:///w/a.py"}, {"section": "a.b"}, {"section": "none"}, {},
        {"section": null, "scopeUri": null},
    ]});
    let all = json!({"python": {"analysis": {"level": 3}}, "a.b": "dotted"});
    let table = [
        ("workspace/configuration", items, json!([{"level": 3}, "dotted", null, all, all])),
        ("workspace/configuration", json!({"items": []}), json!([])),
        ("workspace/workspaceFolders", Value::Null, json!([{"uri": "file:///w", "name": "w"}])),
        ("window/workDoneProgress/create", json!({"token": 1}), Value::Null),
        ("window/showMessageRequest", json!({"type": 1, "message": "m", "actions": []}), Value::Null),
        ("window/showDocument", json!({"uri": "file:///x"}), json!({"success": false})),
        ("client/registerCapability", json!({"registrations": []}), Value::Null),
        ("client/unregisterCapability", json!({"unregisterations": []}), Value::Null),
        ("workspace/diagnostic/refresh", Value::Null, Value::Null),
        ("workspace/semanticTokens/refresh", Value::Null, Value::Null),
        ("workspace/inlayHint/refresh", Value::Null, Value::Null),
        ("workspace/codeLens/refresh", Value::Null, Value::Null),
    ];
    for (method, params, result) in table {
        let answer = answer_to(method, params).await;
        assert_eq!((&answer["result"], answer.get("error"), &answer["id"]), (&result, None, &json!(1)), "{method}");
        assert!(answer.as_object().unwrap().contains_key("result"), "{method}");
    }
    let refused = answer_to("workspace/applyEdit", json!({"edit": {}})).await;
    assert_eq!(refused["result"]["applied"], false);
    assert!(refused["result"]["failureReason"].is_string());
    for (method, params, code) in [
        ("made/up", json!({}), -32601),
        ("workspace/configuration", Value::Null, -32602),
        ("client/registerCapability", json!({"registrations": 1}), -32602),
        ("workspace/configuration", json!({"items": vec![json!({}); limits::MAX_CONFIGURATION_ITEMS + 1]}), -32803),
    ] {
        assert_eq!(answer_to(method, params).await["error"]["code"], code, "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn server_request_ids_are_returned_unchanged() {
    let (_client, _events, mut server) = bare(1 << 16, options());
    for id in ["7", "\"a-1\"", "0", "\"\\u00e9\"", "-3"] {
        server
            .write_all(&framed(&format!(r#"{{"id":{id},"method":"window/workDoneProgress/create"}}"#)))
            .await
            .unwrap();
        let expected = framed(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":null}}"#));
        let mut got = vec![0; expected.len()];
        server.read_exact(&mut got).await.unwrap();
        assert_eq!(String::from_utf8(got).unwrap(), String::from_utf8(expected).unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn registrations_are_added_replaced_and_removed() {
    let watchers = json!({"watchers": [
        {"globPattern": "**/*.py", "kind": 3},
        {"globPattern": {"baseUri": "file:///lib", "pattern": "**"}},
        {"globPattern": {"baseUri": {"uri": "file:///w", "name": "w"}, "pattern": "*.toml"}},
        {"globPattern": 7},
    ]});
    let fake = FakeServer::new().launcher();
    let mut connected = connect(&fake).await;
    let capabilities = connected.client.capabilities().clone();
    capabilities.set_static(json!({"textDocumentSync": 2, "hoverProvider": true, "definitionProvider": false}));
    assert!(capabilities.supports("textDocument/hover"));
    for method in ["textDocument/definition", "textDocument/diagnostic", "workspace/diagnostic"] {
        assert!(!capabilities.supports(method), "{method}");
    }
    let revision = capabilities.revision();
    let pull = json!({"identifier": "pyright", "interFileDependencies": true, "workspaceDiagnostics": false});
    fake.push([
        register("w", "workspace/didChangeWatchedFiles", watchers),
        register("d", "textDocument/diagnostic", pull),
    ]);
    fake.record().wait_for_answers("client/registerCapability", 2).await;
    assert!(capabilities.revision() > revision);
    assert!(capabilities.supports("textDocument/diagnostic") && !capabilities.workspace_diagnostics());
    let pulls = capabilities.pull_diagnostics();
    assert_eq!((pulls.len(), pulls[0].identifier.as_deref(), pulls[0].inter_file), (1, Some("pyright"), true));
    let pattern = |base: Option<&str>, pattern: &str, kind| WatchPattern {
        base: base.map(str::to_owned),
        pattern: pattern.to_owned(),
        kind,
    };
    let expected =
        [pattern(None, "**/*.py", 3), pattern(Some("file:///lib"), "**", 7), pattern(Some("file:///w"), "*.toml", 7)];
    assert_eq!(capabilities.watch_patterns(), expected);

    fake.push([register("d", "textDocument/diagnostic", json!({"workspaceDiagnostics": true}))]);
    fake.record().wait_for_answers("client/registerCapability", 3).await;
    assert!(capabilities.workspace_diagnostics(), "the same id replaces");
    fake.push([unregister("d", "textDocument/diagnostic"), unregister("unknown", "x")]);
    fake.record().wait_for_answers("client/unregisterCapability", 2).await;
    assert!(!capabilities.supports("textDocument/diagnostic"));

    let mut reported = Vec::new();
    while let Some(event) = connected.events.try_recv() {
        reported.push(match event {
            ServerEvent::Registered { methods } => format!("+{}", methods.join(",")),
            ServerEvent::Unregistered { methods } => format!("-{}", methods.join(",")),
            other => panic!("{other:?}"),
        });
    }
    let diagnostic = "textDocument/diagnostic";
    let expected = [
        "+workspace/didChangeWatchedFiles",
        &format!("+{diagnostic}"),
        &format!("+{diagnostic}"),
        &format!("-{diagnostic}"),
        "-",
    ];
    assert_eq!(reported, expected);
}

#[tokio::test(start_paused = true)]
async fn registrations_are_bounded() {
    let fake = FakeServer::new().launcher();
    let _connected = connect(&fake).await;
    let many: Vec<_> = (0..=limits::MAX_REGISTRATIONS).map(|n| json!({"id": n.to_string(), "method": "m"})).collect();
    let fat = "x".repeat(limits::MAX_REGISTRATION_BYTES);
    fake.push([
        ask("client/registerCapability", json!({"registrations": many})),
        register("fat", "m", json!(fat)),
        register(&fat, "m", json!({})),
        register("id", &fat, json!({})),
        register("fits", "m", json!({})),
    ]);
    fake.record().wait_for_answers("client/registerCapability", 5).await;
    let refused: Vec<_> =
        fake.record().answers("client/registerCapability").iter().map(|answer| answer.get("error").is_some()).collect();
    assert_eq!(refused, [true, true, true, true, false]);
}

#[tokio::test(start_paused = true)]
async fn an_unimplemented_method_stays_unsupported_until_registered() {
    let fake = FakeServer::new().launcher();
    let connected = connect(&fake).await;
    let capabilities = connected.client.capabilities();
    capabilities.set_static(json!({"callHierarchyProvider": true}));
    assert!(capabilities.supports("callHierarchy/outgoingCalls"));
    connected.client.request("callHierarchy/outgoingCalls", &json!({})).unwrap().await.unwrap_err();
    assert!(!capabilities.supports("callHierarchy/outgoingCalls"));
    assert!(capabilities.supports("callHierarchy/incomingCalls"), "per method");
    fake.push([register("1", "callHierarchy/outgoingCalls", json!({}))]);
    fake.record().wait_for_answers("client/registerCapability", 1).await;
    assert!(capabilities.supports("callHierarchy/outgoingCalls"));
}

/// A server that writes everything before it reads again, through tiny pipes: neither side may block the other.
#[tokio::test(start_paused = true)]
async fn full_pipes_in_both_directions_do_not_deadlock() {
    let (client, _events, server) = bare(64, options());
    let big = "x".repeat(100_000);
    let replies: Vec<_> = (0..20).map(|_| client.request("m", &json!({ "text": big })).unwrap()).collect();
    let (mut from_client, mut to_client) = tokio::io::split(server);
    let serving = tokio::spawn(async move {
        let mut first = vec![0; 10];
        from_client.read_exact(&mut first).await.unwrap();
        // During the client's first frame the server sends requests and floods, and doesn't read before it has
        // finished.
        for n in 0..200 {
            let asked =
                framed(&format!(r#"{{"id":"q{n}","method":"workspace/configuration","params":{{"items":[{{}}]}}}}"#));
            to_client.write_all(&asked).await.unwrap();
            to_client
                .write_all(&framed(&format!(r#"{{"method":"noise","params":"{}"}}"#, "y".repeat(500))))
                .await
                .unwrap();
        }
        for id in 1..=20 {
            to_client.write_all(&framed(&format!(r#"{{"id":{id},"result":{id}}}"#))).await.unwrap();
        }
        let mut rest = first;
        let mut chunk = vec![0; 4_096];
        while count(&rest, b"\"result\":[{") < 200 {
            let got = from_client.read(&mut chunk).await.unwrap();
            assert!(got > 0);
            rest.extend_from_slice(&chunk[..got]);
        }
        rest
    });
    for (at, reply) in replies.into_iter().enumerate() {
        let reply = tokio::time::timeout(Duration::from_secs(60), reply).await.expect("deadlock").unwrap();
        assert_eq!(reply.get(), (at + 1).to_string());
    }
    let written = tokio::time::timeout(Duration::from_secs(60), serving).await.expect("deadlock").unwrap();
    assert_whole_frames(&written);
}

fn count(bytes: &[u8], part: &[u8]) -> usize {
    bytes.windows(part.len()).filter(|window| *window == part).count()
}

/// Checks that frames don't overlap: each header is followed by exactly its JSON. The last frame may be truncated.
fn assert_whole_frames(mut bytes: &[u8]) {
    let mut frames = 0;
    while !bytes.is_empty() {
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { break };
        let header = std::str::from_utf8(&bytes[..end]).unwrap();
        let length: usize = header.strip_prefix("Content-Length: ").expect("a length").parse().unwrap();
        let Some(body) = bytes[end + 4..].get(..length) else { break };
        serde_json::from_slice::<Value>(body).expect("whole JSON");
        bytes = &bytes[end + 4 + length..];
        frames += 1;
    }
    assert!(frames >= 199);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_reads_is_disconnected() {
    let (client, _events, mut server) = bare(1_024, options());
    let request = tokio::spawn(async move {
        let ask = framed(r#"{"id":1,"method":"workspace/workspaceFolders"}"#);
        while server.write_all(&ask).await.is_ok() {}
    });
    assert_eq!(client.closed().await, CloseReason::NotReading);
    request.await.unwrap();
    settle().await;
}

#[tokio::test(start_paused = true)]
async fn too_many_globs_become_one_for_all_files() {
    let fake = FakeServer::new().launcher();
    let connected = connect(&fake).await;
    let watchers = |pattern: String, count: usize| json!({"watchers": vec![json!({"globPattern": pattern}); count]});
    let long = "a".repeat(limits::MAX_WATCH_PATTERN_BYTES / 2);
    for (number, (options, expected)) in [
        (watchers("**/*.py".into(), limits::MAX_WATCH_PATTERNS), limits::MAX_WATCH_PATTERNS),
        (watchers("**/*.py".into(), limits::MAX_WATCH_PATTERNS + 1), 1),
        (watchers(long, 3), 1),
    ]
    .into_iter()
    .enumerate()
    {
        fake.push([register("globs", "workspace/didChangeWatchedFiles", options)]);
        fake.record().wait_for_answers("client/registerCapability", number + 1).await;
        let patterns = connected.client.capabilities().watch_patterns();
        assert_eq!(patterns.len(), expected);
        assert_eq!(patterns[0] == WatchPattern::all_files(), number > 0, "more than it wanted, not less");
    }
}

/// The settings of the test's host are small; those of a real server may be large, and one request may name them often.
#[tokio::test(start_paused = true)]
async fn answers_to_a_servers_requests_are_bounded_in_bytes() {
    let mut options = options();
    let host = StaticClientHost { settings: json!({"s": "x".repeat(100_000)}), ..StaticClientHost::default() };
    options.host = Arc::new(host);
    let fake = FakeServer::new().launcher();
    let _connected = connect_with(&fake, options).await;
    for (items, refused) in [(10, false), (1_000, true)] {
        fake.push([ask("workspace/configuration", json!({"items": vec![json!({"section": "s"}); items]}))]);
        fake.record().wait_for_answers("workspace/configuration", if refused { 2 } else { 1 }).await;
        let answers = fake.record().answers("workspace/configuration");
        assert_eq!(answers.last().unwrap().get("error").is_some(), refused);
    }
}
