//! Requests: matching, dropping, limits, errors.

use std::time::Duration;

use codeyard_lsp::client::events::CloseReason;
use codeyard_lsp::client::frame::FrameError;
use codeyard_lsp::client::pending_requests::RequestError;
use codeyard_lsp::limits;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::fake_server::*;
use crate::lsp_client::support::{bare, connect, connect_with, framed, options, settle};

#[tokio::test(start_paused = true)]
async fn out_of_order_replies_reach_their_requests() {
    let fake = FakeServer::new().on("m", [reorder(50), reply_with(|params, nth| json!([params["n"], nth]))]).launcher();
    let connected = connect(&fake).await;
    let replies: Vec<_> = (1..=50).map(|n| connected.client.request("m", &json!({"n": n})).unwrap()).collect();
    for (at, reply) in replies.into_iter().enumerate() {
        assert_eq!(reply.await.unwrap().decode::<[usize; 2]>().unwrap(), [at + 1, at + 1]);
    }
    assert_eq!(connected.client.pending(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_request_is_cancelled_and_its_late_reply_discarded() {
    let fake =
        FakeServer::new().on("slow", [until_cancelled(), reply(json!("late"))]).answer("fast", json!(1)).launcher();
    let connected = connect(&fake).await;
    let client = &connected.client;
    let slow = client.request("slow", &json!({})).unwrap();
    fake.wait_for("slow", 1).await;
    assert_eq!(client.pending(), 1);
    drop(slow);
    assert_eq!(client.pending(), 0, "the slot is free at once");
    fake.wait_for("$/cancelRequest", 1).await;
    assert_eq!(fake.record().cancelled(), ["slow"]);
    assert_eq!(client.request("fast", &json!({})).unwrap().await.unwrap().get(), "1");
    let counters = client.counters();
    assert_eq!((counters.late_replies, counters.unknown_replies, counters.cancels), (1, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn only_requests_without_an_answer_are_cancelled() {
    let fake = FakeServer::new().never("slow").answer("fast", json!(1)).launcher();
    let connected = connect(&fake).await;
    let slow = connected.client.request("slow", &Value::Null).unwrap();
    assert!(tokio::time::timeout(Duration::from_secs(2), slow).await.is_err());
    let fast = connected.client.request("fast", &Value::Null).unwrap();
    settle().await;
    drop(fast);
    connected.client.request("fast", &Value::Null).unwrap().await.unwrap();
    assert_eq!(fake.record().cancelled(), ["slow"]);
}

#[tokio::test(start_paused = true)]
async fn uncancellable_methods_are_dropped_without_a_cancel() {
    let fake = FakeServer::new().never("fragile").never("sound").answer("end", Value::Null).launcher();
    let mut options = options();
    options.no_cancel = vec!["fragile".into()];
    let connected = connect_with(&fake, options).await;
    let replies = ["fragile", "sound"].map(|method| connected.client.request(method, &json!({})).unwrap());
    fake.wait_for("sound", 1).await;
    drop(replies);
    assert!(connected.client.request("end", &json!({})).unwrap().await.unwrap().is_null());
    assert_eq!(fake.record().cancelled(), ["sound"]);
    assert_eq!(connected.client.pending(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_dropped_before_it_was_written_is_never_sent() {
    let fake = FakeServer::new().answer("kept", json!(1)).launcher();
    let connected = connect(&fake).await;
    drop(connected.client.request("dropped", &json!({})).unwrap());
    connected.client.request("kept", &json!({})).unwrap().await.unwrap();
    assert_eq!(fake.record().methods(), ["kept"]);
}

#[tokio::test(start_paused = true)]
async fn pending_requests_are_bounded() {
    let fake = FakeServer::new().never("m").launcher();
    let connected = connect(&fake).await;
    let client = &connected.client;
    let mut held: Vec<_> =
        (0..limits::MAX_PENDING_REQUESTS).map(|_| client.request("m", &json!({})).unwrap()).collect();
    assert_eq!(client.request("m", &json!({})).err(), Some(RequestError::TooManyPending));
    held.pop();
    assert!(client.request("m", &json!({})).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_read_fills_the_queue() {
    let (client, _events, _server) = bare(1_024, options());
    let mut sent = 0;
    let error = loop {
        match client.notify("n", &json!({"text": "x".repeat(100)})) {
            Ok(()) => sent += 1,
            Err(error) => break error,
        }
        assert!(sent <= 2 * limits::MAX_OUTGOING_QUEUE, "the queue has no bound");
        settle().await;
    };
    assert_eq!(error, RequestError::QueueFull);
    assert_eq!(client.request("m", &json!({})).err(), Some(RequestError::QueueFull));
    assert_eq!(client.pending(), 0, "a request that was not sent holds no slot");
    assert!(sent >= limits::MAX_OUTGOING_QUEUE);
}

#[tokio::test(start_paused = true)]
async fn the_queue_is_bounded_in_bytes_and_takes_one_large_message() {
    let (client, _events, _server) = bare(1_024, options());
    let text = "x".repeat(limits::MAX_OUTGOING_QUEUE_BYTES / 2);
    for _ in 0..2 {
        // The writer holds the first frame; the second is in the queue.
        client.notify("n", &json!({ "text": text })).unwrap();
        settle().await;
    }
    client.notify("n", &Value::Null).unwrap();
    assert_eq!(client.notify("n", &json!({ "text": text })).err(), Some(RequestError::QueueFull));
}

#[tokio::test(start_paused = true)]
async fn errors_are_classified() {
    let fake = FakeServer::new()
        .on("modified", [fail(-32801, "content modified")])
        .on("broken", [fail(-32603, "x: this._token.cancel is not a function")])
        .on("long", [fail(1, &"é".repeat(limits::MAX_SERVER_ERROR_BYTES))])
        .launcher();
    let mut options = options();
    options.restart_on_error = Some("cancel is not a function".into());
    let connected = connect_with(&fake, options).await;
    let client = &connected.client;
    let modified = client.request("modified", &json!({})).unwrap().await.unwrap_err();
    assert_eq!(modified, RequestError::Server { code: -32801, message: "content modified".into() });
    assert_eq!(client.request("broken", &json!({})).unwrap().await.unwrap_err(), RequestError::Broken);
    match client.request("long", &json!({})).unwrap().await.unwrap_err() {
        RequestError::Server { message, .. } => assert_eq!(message.len(), limits::MAX_SERVER_ERROR_BYTES),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn odd_replies_are_classified() {
    let table: [(&str, Result<&str, RequestError>); 8] = [
        (r#"{"jsonrpc":"2.0","id":1}"#, Ok("null")),
        (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, Ok("null")),
        (r#"{"jsonrpc":"2.0","result":[1, 2],"id":1,"error":null}"#, Ok("[1, 2]")),
        (r#"{"id":1,"result":{"a":"\ud800"},"extra":[[]]}"#, Ok(r#"{"a":"\ud800"}"#)),
        (r#"{"id":1,"error":{"code":-5}}"#, Err(RequestError::Server { code: -5, message: String::new() })),
        (r#"{"id":1,"error":{"code":"x"}}"#, Err(RequestError::Malformed)),
        (r#"{"id":1,"error":"bad"}"#, Err(RequestError::Malformed)),
        (
            r#" {"id" : 1, "error": {"code": 7, "message": "m\n", "data": {}} } "#,
            Err(RequestError::Server { code: 7, message: "m\n".into() }),
        ),
    ];
    for (body, expected) in table {
        let (client, _events, mut server) = bare(1 << 16, options());
        let reply = client.request("x", &Value::Null).unwrap();
        server.write_all(&framed(body)).await.unwrap();
        let outcome = reply.await;
        assert_eq!(outcome.as_ref().map(|reply| reply.get()).map_err(Clone::clone), expected, "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn invalid_utf8_costs_only_its_own_message() {
    let (client, _events, mut server) = bare(1 << 16, options());
    let reply = client.request("x", &Value::Null).unwrap();
    server.write_all(b"Content-Length: 21\r\n\r\n{\"id\":1,\"result\":\"\xff\"}").await.unwrap();
    assert_eq!(reply.await.unwrap().get(), "\"\u{fffd}\"");
}

#[tokio::test(start_paused = true)]
async fn unmatched_replies_are_counted_and_never_end_the_connection() {
    let (client, _events, mut server) = bare(1 << 16, options());
    let strays = [
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}"#,
        r#"{"jsonrpc":"2.0","id":77,"result":1}"#,
        r#"{"jsonrpc":"2.0","id":"1","result":1}"#,
        r#"{"jsonrpc":"2.0","id":-1,"result":1}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"result":1}"#,
        r#"{"jsonrpc":"2.0","id":99999999999999999999,"result":1}"#,
    ];
    let ignored = [r#"{"jsonrpc":"2.0","method":"$/unheard-of","params":{}}"#, r#"{"method":"telemetry/event"}"#];
    let malformed = ["", "{}", "[]", "null", "{\"id\":1", r#"{"id":{},"method":"m"}"#, r#"{"method":7}"#];
    for body in strays.iter().chain(&ignored).chain(&malformed) {
        server.write_all(&framed(body)).await.unwrap();
    }
    let reply = client.request("x", &Value::Null).unwrap();
    server.write_all(&framed(r#"{"jsonrpc":"2.0","id":1,"result":1}"#)).await.unwrap();
    server.write_all(&framed(r#"{"jsonrpc":"2.0","id":1,"result":2}"#)).await.unwrap();
    assert_eq!(reply.await.unwrap().get(), "1", "the first of two answers counts");
    settle().await;
    let counters = client.counters();
    assert_eq!(counters.unknown_replies, strays.len() as u64);
    assert_eq!(counters.ignored_notifications, ignored.len() as u64);
    assert_eq!(counters.malformed, malformed.len() as u64);
    assert_eq!(counters.late_replies, 1);
    assert!(!client.is_closed());
}

#[tokio::test(start_paused = true)]
async fn endless_malformed_messages_end_the_connection() {
    let (client, _events, mut server) = bare(1 << 16, options());
    for _ in 0..limits::MAX_MALFORMED_MESSAGES {
        assert!(!client.is_closed());
        server.write_all(&framed("{}")).await.unwrap();
    }
    assert_eq!(client.closed().await, CloseReason::Malformed);
}

#[tokio::test(start_paused = true)]
async fn deep_nesting_does_not_overflow_the_stack() {
    let (client, _events, mut server) = bare(1 << 16, options());
    let reply = client.request("x", &Value::Null).unwrap();
    let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let frame = framed(&format!(r#"{{"id":1,"result":{deep}}}"#));
    let writing = tokio::spawn(async move { server.write_all(&frame).await.map(|()| server) });
    let reply = reply.await.unwrap();
    assert_eq!(reply.len(), 2_000_000);
    assert!(reply.decode::<Value>().is_err(), "decoding has a bound of its own");
    writing.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn null_params_are_omitted_only_where_configured() {
    for omit in [false, true] {
        let fake = FakeServer::new().answer("m", Value::Null).launcher();
        let mut options = options();
        options.omit_null_params = omit;
        let connected = connect_with(&fake, options).await;
        let client = &connected.client;
        client.notify("n", &()).unwrap();
        client.notify("object", &json!({"a": null})).unwrap();
        client.request("m", &Value::Null).unwrap().await.unwrap();
        let seen: Vec<_> = fake.record().all().iter().map(|seen| seen.has_params).collect();
        assert_eq!(seen, [!omit, true, !omit]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_in_the_middle_of_a_reply_ends_all_requests() {
    let fake = FakeServer::new().never("a").on("b", [half_reply(), exit(3)]).launcher();
    let connected = connect(&fake).await;
    let a = connected.client.request("a", &json!({})).unwrap();
    let b = connected.client.request("b", &json!({})).unwrap();
    let truncated = RequestError::Closed(CloseReason::Frame(FrameError::Truncated));
    assert_eq!(a.await.unwrap_err(), truncated);
    assert_eq!(b.await.unwrap_err(), truncated);
    assert_eq!(connected.process.exited().await.code, Some(3));
    assert_eq!(connected.client.pending(), 0);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_closes_the_connection() {
    let (client, _events, mut server) = bare(1 << 16, options());
    let clone = client.clone();
    let reply = client.request("x", &Value::Null).unwrap();
    drop(client);
    settle().await;
    assert!(!clone.is_closed());
    drop(clone);
    assert_eq!(reply.await.unwrap_err(), RequestError::Closed(CloseReason::Ours));
    let mut rest = Vec::new();
    server.read_to_end(&mut rest).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_time_of_the_last_byte_is_recorded() {
    let fake = FakeServer::new().on("m", [wait_ms(700), reply(json!(1))]).launcher();
    let connected = connect(&fake).await;
    let client = &connected.client;
    let began = tokio::time::Instant::now();
    client.request("m", &json!({})).unwrap().await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(client.last_byte_at() - began, Duration::from_millis(700));
}
