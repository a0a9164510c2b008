//! Connections without a token, in large numbers: they lock nobody out, neither clients with a token nor the probes.

use std::sync::Arc;
use std::time::Duration;

use codeyard_server::limits::{MAX_UNAUTHENTICATED_CONNECTIONS, MAX_UNAUTHENTICATED_PER_CLIENT};
use codeyard_server::transport::http::HttpOptions;
use codeyard_server::transport::http::probes::{ProbeAccess, Probes, Readiness};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::transport::wire::{Server, initialize, read_answer, server_with};

const FLOOD: usize = 2_000;

fn with_probes(options: &mut HttpOptions) {
    options.probes = Some(Probes {
        checks: Arc::new(|| Box::pin(async { Readiness { ready: true, failing: vec![], degraded: vec![] } })),
        exposition: Arc::new(String::new),
        access: ProbeAccess::default(),
    });
}

/// Lets this process open as many files as the system allows. How many connections fit beside the server's own files.
fn most_connections() -> usize {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    let files = maximum.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    files.saturating_sub(2 * MAX_UNAUTHENTICATED_CONNECTIONS).min(FLOOD)
}

/// Waits until the server has closed the connection.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut rest)).await.is_ok()
}

async fn livez(server: &Server) -> u16 {
    let host = format!("127.0.0.1:{}", server.address.port());
    server
        .send_bytes(format!("GET /livez HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").as_bytes())
        .await
        .status
}

/// A connection that is kept after a first request with a token.
async fn kept_connection(server: &Server) -> TcpStream {
    let ask = server.post(&initialize()).without("connection");
    let mut kept = server.open(&ask.bytes()).await;
    assert_eq!(status_of_next(&mut kept).await, 200);
    kept
}

/// The status of the next response, whose body is read.
async fn status_of_next(kept: &mut TcpStream) -> u16 {
    let mut text = Vec::new();
    loop {
        let mut more = [0_u8; 4096];
        let count = kept.read(&mut more).await.unwrap();
        assert!(count > 0, "it was closed");
        text.extend_from_slice(&more[..count]);
        let whole = String::from_utf8_lossy(&text);
        let Some((head, body)) = whole.split_once("\r\n\r\n") else { continue };
        let length =
            head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if body.len() >= length.unwrap_or(0) {
            return read_answer(&text).status;
        }
    }
}

#[tokio::test]
async fn two_thousand_connections_without_a_token_lock_nobody_out() {
    let server = server_with(with_probes).await;
    let mut kept = kept_connection(&server).await;
    let without_token = server.post(&initialize()).without("authorization").without("connection").bytes();
    let starts: [&[u8]; 4] = [b"", b"POST /mcp HTTP/1.1\r\nhost: local", &without_token, b"GET /livez HTTP/1.1\r\n"];
    let mut flood = Vec::new();
    for at in 0..most_connections() {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        // The server may have closed it already.
        stream.write_all(starts[at % starts.len()]).await.ok();
        flood.push(stream);
    }
    assert_eq!(livez(&server).await, 200, "a supervisor sees a living process");
    assert_eq!(server.send(&server.post(&initialize())).await.status, 200, "a new client with a token");
    let ping = server.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).without("connection");
    kept.write_all(&ping.bytes()).await.unwrap();
    assert_eq!(status_of_next(&mut kept).await, 200, "a connection that has authenticated stays");
    let beyond = flood.len().saturating_sub(MAX_UNAUTHENTICATED_PER_CLIENT);
    for stream in &mut flood[..beyond] {
        assert!(is_closed(stream).await, "the oldest ones are closed first");
    }
}

#[tokio::test]
async fn a_connection_without_a_token_has_a_short_life() {
    let server = server_with(|options| {
        with_probes(options);
        options.connections.unauthenticated_life = Duration::from_millis(300);
    })
    .await;
    let mut kept = kept_connection(&server).await;
    let without_token = server.post(&initialize()).without("authorization").without("connection").bytes();
    for start in [&b""[..], b"POST /mcp HTTP/1.1\r\n", &without_token] {
        let mut stream = server.open(start).await;
        assert!(is_closed(&mut stream).await, "long before the timeout of an idle connection");
    }
    let ping = server.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).without("connection");
    kept.write_all(&ping.bytes()).await.unwrap();
    assert_eq!(status_of_next(&mut kept).await, 200);
}

#[tokio::test]
async fn clients_that_connect_in_one_instant_are_all_answered() {
    // Fewer than usual: a listener queues 128 connections.
    let server = server_with(|options| options.connections.unauthenticated_per_client = 32).await;
    let request = server.post(&initialize()).bytes();
    // The server runs on this thread, so it sees none of them before all have connected.
    let streams: Vec<_> = (0..96)
        .map(|_| {
            let mut stream = std::net::TcpStream::connect(server.address).unwrap();
            std::io::Write::write_all(&mut stream, &request).unwrap();
            stream.set_nonblocking(true).unwrap();
            TcpStream::from_std(stream).unwrap()
        })
        .collect();
    for mut stream in streams {
        let mut text = Vec::new();
        stream.read_to_end(&mut text).await.unwrap();
        assert_eq!(read_answer(&text).status, 200);
    }
}
