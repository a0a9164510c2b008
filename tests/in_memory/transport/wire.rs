//! A server on a free port, and hand-written HTTP: the test controls every byte of a request.

use std::net::SocketAddr;
use std::sync::Arc;

use codeyard_base::ids::PrincipalId;
use codeyard_gateway::service::Service;
use codeyard_server::transport::http::{self, HttpOptions};
use codeyard_state::{StateDir, TokenAudience, TokenGrant, TokenStore};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::transport::fake::Fake;

pub(crate) struct Server {
    pub address: SocketAddr,
    pub fake: Arc<Fake>,
    pub token: String,
    pub bob: String,
    pub stop: CancellationToken,
    pub task: JoinHandle<Result<(), http::HttpServerError>>,
    _dir: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
        self.task.abort();
    }
}

/// A server that requires tokens.
pub(crate) async fn server() -> Server {
    server_with(|_| {}).await
}

pub(crate) async fn server_with(change: impl FnOnce(&mut HttpOptions)) -> Server {
    let dir = tempfile::tempdir().unwrap();
    let state = StateDir::open(&dir.path().join("state")).unwrap();
    let (tokens, first) = TokenStore::open_or_create(state.store().unwrap(), TokenAudience::Mcp).unwrap();
    let bob = tokens.add(&TokenGrant::of(PrincipalId::new("bob"))).unwrap().reveal().to_owned();
    let mut options = HttpOptions::new(Some(Arc::new(tokens)));
    change(&mut options);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let fake = Arc::new(Fake::default());
    let stop = CancellationToken::new();
    let service: Arc<dyn Service> = fake.clone();
    let task = tokio::spawn(http::serve(listener, service, options, stop.clone()));
    Server { address, fake, token: first.unwrap().reveal().to_owned(), bob, stop, task, _dir: dir }
}

/// A request that tests can change before they send it.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Ask {
    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self = self.without(name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn add(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    pub(crate) fn at(mut self, target: &str) -> Self {
        self.target = target.to_owned();
        self
    }

    pub(crate) fn method(mut self, method: &str) -> Self {
        self.method = method.to_owned();
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn in_session(self, id: &str) -> Self {
        self.set("mcp-session-id", id)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        let chunked = self.headers.iter().any(|(name, _)| name == "transfer-encoding" || name == "content-length");
        if !chunked {
            text.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        text.push_str("\r\n");
        [text.as_bytes(), &self.body].concat()
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    pub(crate) fn reason(&self) -> String {
        self.json()["error"]["data"]["reason"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let find = |line: &&str| line.to_ascii_lowercase().starts_with(&format!("{name}:"));
        self.head.lines().find(find).and_then(|line| line.split_once(':')).map(|(_, value)| value.trim())
    }

    /// The messages of an event stream.
    pub(crate) fn events(&self) -> Vec<Value> {
        let text = String::from_utf8(self.body.clone()).unwrap();
        text.lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .map(|data| serde_json::from_str(data).unwrap())
            .collect()
    }
}

impl Server {
    /// A well-formed POST of `message`, without a session.
    pub(crate) fn post(&self, message: &Value) -> Ask {
        let headers = [
            ("host", format!("127.0.0.1:{}", self.address.port())),
            ("authorization", format!("Bearer {}", self.token)),
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json, text/event-stream".to_owned()),
            ("mcp-protocol-version", "2025-11-25".to_owned()),
            ("connection", "close".to_owned()),
        ];
        Ask {
            method: "POST".to_owned(),
            target: "/mcp".to_owned(),
            headers: headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            body: serde_json::to_vec(message).unwrap(),
        }
    }

    /// A `tools/call`.
    pub(crate) fn call(&self, id: &Value, tool: &str, arguments: &Value) -> Ask {
        self.post(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}))
    }

    pub(crate) async fn session(&self) -> String {
        let answer = self.send(&self.post(&initialize())).await;
        answer.header("mcp-session-id").unwrap().to_owned()
    }

    /// A session of `revision` at the endpoint of the catalog `agent`, of a client that can show forms.
    pub(crate) async fn session_of(&self, revision: &str) -> String {
        let mut message = initialize();
        message["params"]["protocolVersion"] = json!(revision);
        message["params"]["capabilities"] = json!({"elicitation": {}});
        let answer = self.send(&self.post(&message).at(AGENT)).await;
        assert_eq!(answer.json()["result"]["protocolVersion"], revision);
        answer.header("mcp-session-id").unwrap().to_owned()
    }

    /// A session of a client that can show forms.
    pub(crate) async fn session_with_forms(&self) -> String {
        let mut message = initialize();
        message["params"]["capabilities"] = json!({"elicitation": {}});
        self.send(&self.post(&message)).await.header("mcp-session-id").unwrap().to_owned()
    }

    pub(crate) async fn send(&self, ask: &Ask) -> Answer {
        self.send_bytes(&ask.bytes()).await
    }

    pub(crate) async fn send_bytes(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.open(bytes).await;
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text).await;
        read_answer(&text)
    }

    /// Sends the request without reading the answer.
    pub(crate) async fn open(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // A server that refuses early may close before the request is complete.
        let _ = stream.write_all(bytes).await;
        stream
    }
}

/// The endpoint of the catalog `agent`, which speaks every revision.
pub(crate) const AGENT: &str = "/mcp/main/agent";

pub(crate) fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})
}

pub(crate) fn read_answer(text: &[u8]) -> Answer {
    let end =
        text.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or_else(|| panic!("no answer: {}", text.len()));
    let head = String::from_utf8(text[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let body = text[end + 4..].to_vec();
    let body = if head.to_ascii_lowercase().contains("transfer-encoding: chunked") { unchunked(&body) } else { body };
    Answer { status, head, body }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(at) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..at]).unwrap(), 16).unwrap();
        let start = at + 2;
        if size == 0 || rest.len() < start + size + 2 {
            break;
        }
        all.extend_from_slice(&rest[start..start + size]);
        rest = &rest[start + size + 2..];
    }
    all
}
