//! A stdio client sharing a running server.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codeyard_model::limits::Limits;
use codeyard_server::transport::attach::{Hello, ResolveEndpoint, VERSION, attach, listen, pipe, serve_attach};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio_util::sync::CancellationToken;

use crate::transport::fake::{Fake, endpoint};

struct Shared {
    path: PathBuf,
    fake: Arc<Fake>,
    stop: CancellationToken,
    _dir: tempfile::TempDir,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn shared() -> Shared {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("attach.sock");
    let fake = Arc::new(Fake::default());
    let stop = CancellationToken::new();
    let resolve: ResolveEndpoint = Arc::new(|hello: &Hello| {
        let known = hello.roots == [PathBuf::from("/known")] || hello.workspace.as_deref() == Some("main");
        known.then(|| endpoint("main", hello.catalogs.as_deref().unwrap_or("lsp-v1")))
    });
    let listener = listen(&path).unwrap();
    tokio::spawn(serve_attach(listener, fake.clone(), resolve, Limits::default(), stop.clone()));
    Shared { path, fake, stop, _dir: dir }
}

fn hello(root: &str) -> Hello {
    Hello {
        version: VERSION,
        roots: vec![root.into()],
        workspace: None,
        catalogs: Some("agent".to_owned()),
        content: None,
    }
}

#[tokio::test]
async fn messages_pass_through_the_socket() {
    let shared = shared();
    assert_eq!(std::fs::metadata(&shared.path).unwrap().permissions().mode() & 0o777, 0o600);
    let stream = attach(&shared.path, &hello("/known")).await.unwrap();
    let (mut input, reader) = tokio::io::duplex(1024);
    let (writer, output) = tokio::io::duplex(1024);
    let piping = tokio::spawn(pipe(reader, writer, stream));
    let mut output = BufReader::new(output);
    let mut line = String::new();
    input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n").await.unwrap();
    output.read_line(&mut line).await.unwrap();
    let list: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(list["result"]["tools"][0]["name"], "agent.echo");
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "hang"}});
    input.write_all(format!("{call}\n").as_bytes()).await.unwrap();
    shared.fake.until_running(1).await;
    drop(input);
    let mut rest = String::new();
    output.read_to_string(&mut rest).await.unwrap();
    assert_eq!(rest, "", "the end of input went through and cancelled");
    piping.await.unwrap().unwrap();
    shared.fake.until_running(0).await;
}

#[tokio::test]
async fn an_unknown_user_gets_its_own_process() {
    let shared = shared();
    assert!(attach(&shared.path, &hello("/unknown")).await.is_none());
    assert!(attach(&shared.path, &Hello { version: VERSION + 1, ..hello("/known") }).await.is_none());
    assert!(attach(&shared.path.with_extension("gone"), &hello("/known")).await.is_none());
    // Garbage instead of a handshake is refused, and the next one is served.
    let mut stream = tokio::net::UnixStream::connect(&shared.path).await.unwrap();
    stream.write_all(b"{\"jsonrpc\":\"2.0\"}\n").await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["ok"], false);
    assert!(attach(&shared.path, &hello("/known")).await.is_some());
}

#[tokio::test]
async fn a_silent_server_is_not_awaited() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mute.sock");
    let _mute = listen(&path).unwrap();
    let asked = tokio::time::timeout(Duration::from_secs(10), attach(&path, &hello("/known"))).await;
    assert!(asked.expect("bounded").is_none());
}

#[tokio::test]
async fn a_dead_servers_socket_is_replaced_and_a_shutdown_ends_clients() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.sock");
    drop(listen(&path).unwrap());
    assert!(attach(&path, &hello("/known")).await.is_none());
    let _again = listen(&path).unwrap();
    let shared = shared();
    let mut stream = attach(&shared.path, &hello("/known")).await.unwrap();
    shared.stop.cancel();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "");
}
