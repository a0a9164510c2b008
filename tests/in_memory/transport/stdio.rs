//! Stdio framing over in-memory pipes.

use std::sync::Arc;
use std::time::Duration;

use codeyard_model::limits::{Limits, MAX_REQUEST_BYTES};
use codeyard_server::limits::MAX_STDIO_IN_FLIGHT;
use codeyard_server::transport::stdio::serve_stdio;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::transport::fake::{Fake, endpoint, until};

pub(crate) struct Pipe {
    pub fake: Arc<Fake>,
    input: Option<DuplexStream>,
    output: BufReader<DuplexStream>,
    stop: CancellationToken,
    task: JoinHandle<std::io::Result<()>>,
}

pub(crate) fn pipe() -> Pipe {
    pipe_to("lsp-v1")
}

/// A pipe to an endpoint with these catalogs.
pub(crate) fn pipe_to(catalogs: &str) -> Pipe {
    let endpoint = endpoint("main", catalogs);
    let fake = Arc::new(Fake::default());
    let (input, reader) = tokio::io::duplex(64 * 1024);
    let (writer, output) = tokio::io::duplex(64 * 1024);
    let stop = CancellationToken::new();
    let service = fake.clone();
    let token = stop.clone();
    let task =
        tokio::spawn(async move { serve_stdio(reader, writer, service, endpoint, &Limits::default(), token).await });
    Pipe { fake, input: Some(input), output: BufReader::new(output), stop, task }
}

impl Pipe {
    pub(crate) async fn send(&mut self, text: impl AsRef<[u8]>) {
        self.input.as_mut().unwrap().write_all(text.as_ref()).await.unwrap();
    }

    pub(crate) async fn call(&mut self, id: u64, tool: &str, arguments: Value, meta: Value) {
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        self.send(format!("{message}\n")).await;
    }

    pub(crate) async fn next(&mut self) -> Value {
        let mut line = String::new();
        let read = tokio::time::timeout(Duration::from_secs(20), self.output.read_line(&mut line));
        read.await.expect("no answer").unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not one message a line: {line:?}"))
    }

    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    pub(crate) async fn end(mut self) -> String {
        self.input.take();
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).await.unwrap();
        self.task.await.unwrap().unwrap();
        rest
    }
}

#[tokio::test]
async fn each_line_is_one_message() {
    let mut pipe = pipe();
    pipe.send(format!("{}\r\n\r\n   \n", crate::transport::wire::initialize())).await;
    let first = pipe.next().await;
    assert_eq!((&first["id"], &first["result"]["protocolVersion"]), (&json!(0), &json!("2025-11-25")));
    pipe.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n").await;
    pipe.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n").await;
    assert_eq!(pipe.next().await, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    assert_eq!(pipe.next().await["result"]["tools"][0]["name"], "lsp-v1.echo");
    pipe.call(3, "pretty", json!({}), json!({})).await;
    assert_eq!(pipe.next().await["result"]["structuredContent"]["a"], "x\ny");
    let seen = pipe.fake.seen.lock()[0].clone();
    assert_eq!(
        (&seen["principal"], &seen["transport"], &seen["session"]),
        (&json!("local"), &json!("Pipe"), &Value::Null)
    );
    pipe.send("{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}").await;
    assert_eq!(pipe.end().await.trim(), r#"{"jsonrpc":"2.0","id":4,"result":{}}"#, "a last line without a line break");
}

#[tokio::test]
async fn an_invalid_message_is_answered_and_the_session_continues() {
    let mut pipe = pipe();
    let long = vec![b'x'; MAX_REQUEST_BYTES + 1];
    let rows: [(&[u8], i32, &str, Value); 6] = [
        (b"nonsense", -32700, "not_json", Value::Null),
        (b"\xff\xfe", -32700, "not_json", Value::Null),
        (b"[]", -32600, "batch", Value::Null),
        (&long, -32600, "too_long", Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600, "bad_id", Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"server/discover\"}", -32601, "unknown_method", json!(7)),
    ];
    for (line, code, reason, id) in rows {
        pipe.send(line).await;
        pipe.send("\n").await;
        let error = pipe.next().await;
        assert_eq!((&error["id"], &error["error"]["code"]), (&id, &json!(code)), "{reason}");
        assert_eq!(error["error"]["data"]["reason"], reason);
    }
    let mut longest = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}".to_vec();
    longest.resize(MAX_REQUEST_BYTES, b' ');
    longest.push(b'\n');
    pipe.send(longest).await;
    assert_eq!(pipe.next().await["id"], 1);
    assert_eq!(pipe.end().await, "");
}

#[tokio::test(start_paused = true)]
async fn answers_are_sent_as_they_complete() {
    let mut pipe = pipe();
    pipe.call(1, "slow", json!({"ms": 500}), json!({})).await;
    pipe.call(2, "echo", json!({}), json!({})).await;
    assert_eq!((pipe.next().await["id"].clone(), pipe.next().await["id"].clone()), (json!(2), json!(1)));
    assert_eq!(pipe.end().await, "");
}

#[tokio::test(start_paused = true)]
async fn progress_after_a_second_and_never_after_the_answer() {
    let mut pipe = pipe();
    pipe.call(1, "slow", json!({"ms": 2600}), json!({"progressToken": 5})).await;
    let mut last = f64::NEG_INFINITY;
    for _ in 0..3 {
        let update = pipe.next().await;
        assert_eq!(
            (&update["method"], &update["params"]["progressToken"]),
            (&json!("notifications/progress"), &json!(5))
        );
        assert!(update["params"]["progress"].as_f64().unwrap() > last);
        last = update["params"]["progress"].as_f64().unwrap();
    }
    assert_eq!(pipe.next().await["id"], 1);
    pipe.call(2, "slow", json!({"ms": 900}), json!({"progressToken": 6})).await;
    assert_eq!(pipe.next().await["id"], 2);
    assert_eq!(pipe.end().await, "");
}

#[tokio::test]
async fn a_cancelled_request_is_never_answered() {
    let mut pipe = pipe();
    for id in [1, 1, 2] {
        pipe.call(id, "hang", json!({}), json!({})).await;
    }
    pipe.fake.until_running(3).await;
    pipe.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n").await;
    pipe.fake.until_running(1).await;
    pipe.call(3, "echo", json!({}), json!({})).await;
    assert_eq!(pipe.next().await["id"], 3);
    let fake = Arc::clone(&pipe.fake);
    assert_eq!(pipe.end().await, "", "the end of input cancels calls without answers");
    assert_eq!(fake.running(), 0);
}

#[tokio::test]
async fn requests_above_the_in_flight_limit_are_refused() {
    let mut pipe = pipe();
    for id in 0..=MAX_STDIO_IN_FLIGHT as u64 {
        pipe.call(id, "hang", json!({}), json!({})).await;
    }
    let refused = pipe.next().await;
    assert_eq!(refused["id"], MAX_STDIO_IN_FLIGHT);
    assert_eq!(refused["error"]["data"]["details"], json!({"reason": "overloaded", "retryAfterMs": 500}));
    assert_eq!(pipe.fake.running(), MAX_STDIO_IN_FLIGHT);
    pipe.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_stalled_reader_stops_input() {
    let mut pipe = pipe();
    let mut input = pipe.input.take().unwrap();
    let feeding = tokio::spawn(async move {
        for id in 0..200 {
            let params = json!({"name": "huge", "arguments": {"bytes": 400_000}});
            let message =
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params, "pad": "y".repeat(2_000)});
            input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        }
        input
    });
    let fake = Arc::clone(&pipe.fake);
    until(|| fake.started.load(std::sync::atomic::Ordering::SeqCst) > 3).await;
    // Paused time advances only when every task waits: by then the server has started all calls that it admits.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(fake.started.load(std::sync::atomic::Ordering::SeqCst) < 120, "output isn't read, so few calls start");
    for _ in 0..200 {
        assert!(pipe.next().await["result"].is_object());
    }
    drop(feeding.await.unwrap());
    pipe.task.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn stopping_finishes_calls_in_flight() {
    let mut pipe = pipe();
    pipe.call(1, "slow", json!({"ms": 400}), json!({})).await;
    pipe.call(2, "hang", json!({}), json!({})).await;
    pipe.fake.until_running(2).await;
    pipe.stop.cancel();
    assert_eq!(pipe.next().await["id"], 1);
    let fake = Arc::clone(&pipe.fake);
    pipe.task.await.unwrap().unwrap();
    assert_eq!(fake.running(), 0);
}
