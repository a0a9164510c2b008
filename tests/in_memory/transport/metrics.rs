//! Metrics of transports: requests other than tool calls, sessions, refusals, rejected connections.

use serde_json::json;
use tokio::io::AsyncReadExt;

use crate::transport::fake::until;
use crate::transport::wire::{initialize, server, server_with};

#[tokio::test]
async fn http_requests_sessions_and_refusals_are_counted() {
    let server = server().await;
    let session = server.session().await;
    let send = async |method: &str| {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"cursor": "mine"}});
        server.send(&server.post(&message).in_session(&session)).await
    };
    send("ping").await;
    send("tools/list").await;
    send("odd/one").await;
    send("odd/two").await;
    server.send(&server.post(&initialize()).without("authorization")).await;
    server.send(&server.post(&initialize()).body("nonsense")).await;
    let counted = server.fake.counted.clone();
    for (what, times) in [
        ("initialize tcp 0", 1),
        ("ping tcp 0", 1),
        ("tools/list tcp -32602", 1),
        ("_OTHER tcp -32601", 2),
        ("rejected bearer_required", 1),
        ("rejected not_json", 1),
        ("session tcp", 0),
    ] {
        assert_eq!(counted.times(what), times, "{what}: {:?}", counted.all());
    }
    let ended = server.send(&server.post(&json!(null)).method("DELETE").in_session(&session)).await;
    assert_eq!(ended.status, 204);
    assert_eq!(counted.times("session tcp"), 1);
    server.call(&json!(1), "echo", &json!({}));
    assert!(
        !counted.all().iter().any(|counted| counted.starts_with("tools/call")),
        "the gateway counts calls, not the transport"
    );
}

#[tokio::test]
async fn expired_sessions_and_excess_connections_are_counted() {
    let server = server_with(|options| {
        options.connections.sessions = 1;
        options.connections.connections = 1;
    })
    .await;
    server.session().await;
    until(|| server.fake.counted.times("initialize tcp 0") == 1).await;
    // The first connection may not be closed yet.
    let counted = server.fake.counted.clone();
    let second = async {
        loop {
            let answer = server.send(&server.post(&initialize())).await;
            if answer.status == 200 {
                return;
            }
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), second).await.unwrap();
    assert_eq!(counted.times("session tcp"), 1, "the older session was forgotten");
    let before = counted.times("shed connection");
    let whole = server.post(&initialize()).without("connection").bytes();
    let held = loop {
        let mut held = server.open(&whole).await;
        held.read_exact(&mut [0_u8; 12]).await.unwrap();
        let other = server.send(&server.post(&initialize())).await;
        if other.status == 503 {
            break held;
        }
    };
    assert!(counted.times("shed connection") > before);
    drop(held);
}

#[tokio::test]
async fn invalid_lines_and_the_pipe_length_are_counted() {
    let mut pipe = crate::transport::stdio::pipe();
    let counted = pipe.fake.counted.clone();
    pipe.send("nonsense\n[]\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").await;
    for _ in 0..3 {
        pipe.next().await;
    }
    pipe.send("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"odd\"}\n").await;
    pipe.next().await;
    assert_eq!(
        counted.all(),
        ["rejected not_json", "rejected batch", "ping pipe 0", "rejected unknown_method", "_OTHER pipe -32601"]
    );
    pipe.end().await;
    assert_eq!(counted.times("session pipe"), 1);
}
