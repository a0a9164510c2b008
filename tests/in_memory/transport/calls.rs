//! Calls over HTTP: answers, progress, cancellation, disconnects, overload, sizes, shutdown.

use std::time::Duration;

use codeyard_model::limits::MAX_RESPONSE_BYTES;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::transport::fake::until;
use crate::transport::wire::{Answer, read_answer, server};

#[tokio::test]
async fn a_call_carries_the_request_context() {
    let server = server().await;
    let session = server.session().await;
    let message = json!({"jsonrpc": "2.0", "id": "\u{e9}", "method": "tools/call", "params": {
        "name": "echo", "arguments": {"x": [1, 2]}, "_meta": {"traceparent": "00-a"}}});
    let ask = server.post(&message).in_session(&session).add("traceparent", "00-b");
    let answer = server.send(&ask).await;
    assert_eq!(answer.json()["result"]["structuredContent"]["echo"], json!({"x": [1, 2]}));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let seen = server.fake.seen.lock()[0].clone();
    let expected = json!({"principal": "local", "workspace": "main", "id": "\"\u{e9}\"", "session": session,
        "traceparent": "00-a", "header": "00-b", "transport": "Tcp", "peer": "127.0.0.1", "workspaces": true});
    assert_eq!(seen, expected);
    let failed = server.send(&server.call(&json!(2), "fail", &json!({})).in_session(&session)).await;
    assert_eq!((failed.status, &failed.json()["error"]["data"]["code"]), (200, &json!("MCP_LSP_GATEWAY/NOT_FOUND")));
    for params in [json!({}), json!([]), json!({"name": 7}), json!({"name": "echo", "_meta": {"progressToken": []}})] {
        let message = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params});
        let answer = server.send(&server.post(&message).in_session(&session)).await;
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (200, &json!(-32602)), "{params}");
    }
}

#[tokio::test]
async fn ids_are_returned_byte_for_byte() {
    let server = server().await;
    let session = server.session().await;
    for id in ["7", "-1", "184467440737095516150", "\"a\\u0062\"", "\"\""] {
        let body =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\"}}}}");
        let answer = server.send(&server.post(&Value::Null).in_session(&session).body(body)).await;
        assert!(String::from_utf8(answer.body).unwrap().contains(&format!("\"id\":{id},")), "{id}");
    }
}

#[tokio::test]
async fn only_slow_calls_that_requested_progress_use_an_event_stream() {
    let server = server().await;
    let session = server.session().await;
    let message = |ms: u64, meta: Value| json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "slow", "arguments": {"ms": ms}, "_meta": meta}});
    let asks = [
        message(2_200, json!({"progressToken": "t"})),
        message(100, json!({"progressToken": "t"})),
        message(1_300, json!({})),
    ];
    let asks = asks.map(|message| server.post(&message).in_session(&session));
    let (slow, quick, silent) = tokio::join!(server.send(&asks[0]), server.send(&asks[1]), server.send(&asks[2]));
    for answer in [quick, silent] {
        assert_eq!((answer.header("content-type"), answer.events().len()), (Some("application/json"), 0));
        assert_eq!(answer.json()["result"]["isError"], false);
    }
    assert_eq!((slow.status, slow.header("content-type")), (200, Some("text/event-stream")));
    let events = slow.events();
    let (last, updates) = events.split_last().unwrap();
    assert_eq!((&last["id"], &last["result"]["isError"]), (&json!(1), &json!(false)));
    assert!(updates.len() >= 2, "{events:?}");
    let numbers: Vec<f64> = updates.iter().map(|event| event["params"]["progress"].as_f64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    assert!(
        updates
            .iter()
            .all(|event| event["method"] == "notifications/progress" && event["params"]["progressToken"] == "t")
    );
    assert_eq!((&updates[0]["params"]["total"], &updates[0]["params"]["message"]), (&json!(100.0), &json!("indexing")));
}

#[tokio::test]
async fn a_disconnected_client_drops_its_call() {
    let server = server().await;
    let session = server.session().await;
    let ask = server.call(&json!(1), "hang", &json!({})).in_session(&session);
    let stream = server.open(&ask.bytes()).await;
    server.fake.until_running(1).await;
    drop(stream);
    server.fake.until_running(0).await;
    // Same while the answer is an event stream.
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "hang", "_meta": {"progressToken": 1}}});
    let mut stream = server.open(&server.post(&message).in_session(&session).bytes()).await;
    let mut start = [0_u8; 64];
    assert!(stream.read(&mut start).await.unwrap() > 0);
    server.fake.until_running(1).await;
    drop(stream);
    server.fake.until_running(0).await;
}

/// A cancelled request has a response, but no answer.
fn assert_unanswered(response: &Answer) {
    assert_eq!((response.status, response.header("content-type")), (200, Some("text/event-stream")));
    assert!(response.events().is_empty(), "{response:?}");
}

#[tokio::test]
async fn a_cancellation_applies_to_its_own_session() {
    let server = server().await;
    let session = server.session().await;
    let other = server.session().await;
    let cancel = |id: Value| {
        server.post(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}))
    };
    let ask = server.call(&json!("x"), "hang", &json!({})).in_session(&session);
    let (hanging, ()) = tokio::join!(server.send(&ask), async {
        server.fake.until_running(1).await;
        for strange in [
            cancel(json!("x")).in_session(&other),
            cancel(json!("y")).in_session(&session),
            cancel(json!({})).in_session(&session),
        ] {
            assert_eq!(server.send(&strange).await.status, 202);
        }
        assert_eq!(server.fake.running(), 1);
        assert_eq!(server.send(&cancel(json!("x")).in_session(&session)).await.status, 202);
        server.fake.until_running(0).await;
    });
    assert_unanswered(&hanging);
    let late = server.send(&cancel(json!("x")).in_session(&session)).await;
    assert_eq!(late.status, 202, "cancelling what has ended is no error");
}

#[tokio::test]
async fn ending_a_session_cancels_its_calls() {
    let server = server().await;
    let session = server.session().await;
    let ask = server.call(&json!(1), "hang", &json!({})).in_session(&session);
    let (hanging, ()) = tokio::join!(server.send(&ask), async {
        server.fake.until_running(1).await;
        assert_eq!(server.send(&ask.clone().method("DELETE").body("")).await.status, 204);
    });
    assert_unanswered(&hanging);
    assert_eq!(server.fake.running(), 0);
}

#[tokio::test]
async fn two_requests_with_one_id_are_both_answered() {
    let server = server().await;
    let session = server.session().await;
    let asks = [300, 100].map(|ms| server.call(&json!(1), "slow", &json!({"ms": ms})).in_session(&session));
    let (one, two) = tokio::join!(server.send(&asks[0]), server.send(&asks[1]));
    assert_eq!(one.json()["result"]["structuredContent"]["echo"]["ms"], 300);
    assert_eq!(two.json()["result"]["structuredContent"]["echo"]["ms"], 100);
}

#[tokio::test]
async fn overload_is_503_with_the_hint_twice() {
    let server = server().await;
    let session = server.session().await;
    let answer = server.send(&server.call(&json!(1), "busy", &json!({})).in_session(&session)).await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")));
    assert_eq!(answer.json()["error"]["data"]["details"], json!({"reason": "overloaded", "retryAfterMs": 500}));
    let answer = server.send(&server.call(&json!(2), "occupied", &json!({})).in_session(&session)).await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("2")), "a tool result may say so too");
    assert_eq!(answer.json()["result"]["isError"], true);
}

#[tokio::test]
async fn no_answer_exceeds_the_byte_cap() {
    let server = server().await;
    let session = server.session().await;
    for (bytes, fits) in
        [(MAX_RESPONSE_BYTES - 2_000, true), (MAX_RESPONSE_BYTES, false), (4 * MAX_RESPONSE_BYTES, false)]
    {
        let answer = server.send(&server.call(&json!(1), "huge", &json!({"bytes": bytes})).in_session(&session)).await;
        assert_eq!((answer.status, answer.json().get("result").is_some()), (200, fits));
        assert!(answer.body.len() <= MAX_RESPONSE_BYTES);
        if !fits {
            assert_eq!(answer.json()["error"]["code"], -32603);
            assert_eq!(answer.json()["error"]["data"]["code"], "MCP_LSP_GATEWAY/CAP_EXCEEDED");
        }
    }
}

#[tokio::test]
async fn one_connection_serves_many_requests() {
    let server = server().await;
    let session = server.session().await;
    let ask = |id: i32| server.call(&json!(id), "echo", &json!({})).in_session(&session);
    let all = [ask(1).without("connection").bytes(), ask(2).without("connection").bytes(), ask(3).bytes()].concat();
    let mut stream = server.open(&all).await;
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let order: Vec<_> = (1..=3).map(|id| text.find(&format!("\"id\":{id},")).unwrap()).collect();
    assert!(order.is_sorted());
}

#[tokio::test]
async fn stopping_finishes_calls_in_flight() {
    let mut server = server().await;
    let session = server.session().await;
    let ask = server.call(&json!(1), "slow", &json!({"ms": 400})).in_session(&session).without("connection");
    let mut stream = server.open(&ask.bytes()).await;
    let mut idle = server.open(b"").await;
    server.fake.until_running(1).await;
    server.stop.cancel();
    let mut text = Vec::new();
    stream.read_to_end(&mut text).await.unwrap();
    assert_eq!(read_answer(&text).json()["result"]["isError"], false);
    let ended = tokio::time::timeout(Duration::from_secs(5), &mut server.task).await;
    assert!(matches!(ended, Ok(Ok(Ok(())))), "{ended:?}");
    let _ = idle.write_all(b"x").await;
    let mut rest = Vec::new();
    let _ = idle.read_to_end(&mut rest).await;
    assert!(rest.is_empty());
    until(|| std::net::TcpStream::connect(server.address).is_err()).await;
}
