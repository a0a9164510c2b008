//! Sessions and versions, and requests that need neither.

use serde_json::{Value, json};

use crate::transport::wire::{initialize, server, server_with};

#[tokio::test]
async fn initialize_answers_with_our_revision_and_a_session() {
    let server = server().await;
    let mut ids = Vec::new();
    for asked in ["2025-11-25", "2024-11-05", "2026-07-28", "?"] {
        let mut message = initialize();
        message["params"]["protocolVersion"] = json!(asked);
        // Before a revision is negotiated, no version header can be wrong.
        let answer = server.send(&server.post(&message).set("mcp-protocol-version", asked)).await;
        let result = answer.json()["result"].clone();
        assert_eq!((answer.status, &result["protocolVersion"]), (200, &json!("2025-11-25")));
        assert_eq!(result["capabilities"], json!({"tools": {"listChanged": false}}));
        assert_eq!((&result["serverInfo"]["name"], &result["instructions"]), (&json!("codeyard"), &json!("be kind")));
        ids.push(answer.header("mcp-session-id").unwrap().to_owned());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);
    assert!(ids.iter().all(|id| id.len() >= 32 && id.bytes().all(|byte| byte.is_ascii_graphic())));
    for params in [json!([]), json!({}), json!({"protocolVersion": null}), json!({"capabilities": {}})] {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let bad = server.send(&server.post(&message)).await;
        assert_eq!((bad.status, &bad.json()["error"]["code"]), (200, &json!(-32602)), "{params}");
        assert_eq!(bad.header("mcp-session-id"), None);
    }
}

#[tokio::test]
async fn unknown_methods_are_answered_before_sessions_and_versions() {
    let server = server().await;
    for method in ["server/discover", "resources/list", "logging/setLevel", "prompts/list", "completion/complete", "x"]
    {
        let message = json!({"jsonrpc": "2.0", "id": "d", "method": method, "params": {"_meta": {}}});
        for ask in [
            server.post(&message).without("mcp-protocol-version"),
            server.post(&message).set("mcp-protocol-version", "2026-07-28"),
            server.post(&message).in_session("nonesuch"),
        ] {
            let answer = server.send(&ask).await;
            let body = answer.json();
            assert_eq!(
                (answer.status, &body["id"], &body["error"]["code"]),
                (200, &json!("d"), &json!(-32601)),
                "{method}"
            );
            assert_eq!(answer.reason(), "unknown_method");
        }
    }
    // A notification gets no answer, so an unknown one is accepted.
    let notice =
        server.post(&json!({"jsonrpc": "2.0", "method": "notifications/strange"})).without("mcp-protocol-version");
    assert_eq!(server.send(&notice).await.status, 202);
}

#[tokio::test]
async fn session_and_version_headers_are_required_where_specified() {
    let server = server().await;
    let session = server.session().await;
    let message = |method: &str| json!({"jsonrpc": "2.0", "id": 1, "method": method});
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let response = json!({"jsonrpc": "2.0", "id": 9, "result": {}});
    let bare = |message: &Value| server.post(message).without("mcp-protocol-version");
    let rows = [
        (server.post(&message("ping")), 200, ""),
        (bare(&message("ping")), 400, "missing_protocol_version"),
        (server.post(&message("ping")).set("mcp-protocol-version", "2025-06-18"), 400, "wrong_protocol_version"),
        (server.post(&message("ping")).add("mcp-protocol-version", "2025-11-25"), 400, "wrong_protocol_version"),
        (server.post(&message("ping")).in_session("nonesuch"), 404, "unknown_session"),
        (bare(&message("ping")).in_session(&session), 200, ""),
        (server.post(&message("tools/list")), 400, "session_required"),
        (bare(&message("tools/list")), 400, "missing_protocol_version"),
        (bare(&message("tools/list")).in_session(&session), 200, ""),
        (bare(&message("tools/list")).in_session("nonesuch"), 404, "unknown_session"),
        (server.post(&notice), 400, "session_required"),
        (server.post(&notice).in_session(&session), 202, ""),
        (server.post(&response), 400, "session_required"),
        (server.post(&response).in_session(&session), 202, ""),
        (
            server.post(&message("tools/list")).in_session(&session).add("mcp-session-id", &session),
            404,
            "unknown_session",
        ),
    ];
    for (ask, status, reason) in rows {
        let answer = server.send(&ask).await;
        let said = if reason.is_empty() { String::new() } else { answer.reason() };
        assert_eq!((answer.status, &*said), (status, reason), "{ask:?}");
        if status == 202 {
            assert!(answer.body.is_empty());
        }
    }
    let list =
        server.send(&server.post(&message("tools/list")).at("/mcp/main/lsp-v1+agent").in_session(&session)).await;
    let tools = list.json()["result"]["tools"].as_array().unwrap().len();
    assert_eq!(tools, 2, "a session isn't bound to an endpoint");
    let paged = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "x"}});
    let paged = server.send(&server.post(&paged).in_session(&session)).await;
    assert_eq!((paged.status, &paged.json()["error"]["code"]), (200, &json!(-32602)));
}

#[tokio::test]
async fn one_principal_with_many_sessions_ends_no_other_principals_session() {
    let server = server_with(|options| options.connections.sessions = 8).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let first = server.session().await;
    let of_bob = |ask: crate::transport::wire::Ask| ask.set("authorization", &format!("Bearer {}", server.bob));
    let mut last = String::new();
    for _ in 0..40 {
        let answer = server.send(&of_bob(server.post(&crate::transport::wire::initialize()))).await;
        last = answer.header("mcp-session-id").unwrap().to_owned();
    }
    assert_eq!(server.send(&server.post(&ping).in_session(&first)).await.status, 200, "the session of the other one");
    assert_eq!(server.send(&of_bob(server.post(&ping)).in_session(&last)).await.status, 200);
}

#[tokio::test]
async fn sessions_end_and_are_private_and_bounded() {
    let server = server_with(|options| options.connections.sessions = 2).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let status = async |id: &str| server.send(&server.post(&ping).in_session(id)).await.status;
    let first = server.session().await;
    let second = server.session().await;
    assert_eq!((status(&first).await, status(&second).await), (200, 200));
    let bob = server.post(&ping).in_session(&first).set("authorization", &format!("Bearer {}", server.bob));
    assert_eq!(server.send(&bob).await.status, 404, "another principal's session");
    let third = server.session().await;
    assert_eq!(
        (status(&first).await, status(&second).await, status(&third).await),
        (404, 200, 200),
        "the oldest is gone"
    );
    let delete = server.post(&ping).method("DELETE").body("").without("content-type").without("accept");
    let rows = [
        (delete.clone(), 400, "session_required"),
        (delete.clone().without("mcp-protocol-version"), 400, "missing_protocol_version"),
        (delete.clone().in_session(&first), 404, "unknown_session"),
        (delete.clone().in_session(&second).set("mcp-protocol-version", "1"), 400, "wrong_protocol_version"),
    ];
    for (ask, status, reason) in rows {
        let answer = server.send(&ask).await;
        assert_eq!((answer.status, &*answer.reason()), (status, reason));
    }
    let gone = server.send(&delete.clone().in_session(&second)).await;
    assert_eq!((gone.status, gone.body.len()), (204, 0));
    assert_eq!((status(&second).await, server.send(&delete.in_session(&second)).await.status), (404, 404));
}
