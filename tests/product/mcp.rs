//! A small blocking MCP client over HTTP, for tests that compare many answers from several threads.
//!
//! It shares no code with the product's transport: it writes requests by hand and reads bodies by their length.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

/// A connection with a session.
pub(crate) struct Mcp {
    stream: BufReader<TcpStream>,
    pub(crate) address: String,
    pub(crate) path: String,
    /// The header lines of each request, the session's included.
    pub(crate) headers: String,
    next_id: u64,
}

/// A JSON-RPC error of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    /// The code without its prefix, such as `CAP_EXCEEDED`.
    pub code: String,
    /// `error.data.details`, or null.
    pub details: Value,
    pub message: String,
}

impl Failure {
    /// Whether a later retry can succeed.
    pub(crate) fn is_timeout(&self) -> bool {
        self.code == "CAP_EXCEEDED" && self.details["reason"] == "timeout"
    }
}

impl Mcp {
    /// Connects and initializes a session. `path` is the path of the endpoint.
    pub(crate) fn connect(address: &str, path: &str, token: Option<&str>) -> Self {
        let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let accept = "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n";
        let headers = format!("Host: {address}\r\n{accept}{authorization}");
        let mut client =
            Self { stream: dial(address), address: address.into(), path: path.into(), headers, next_id: 0 };
        let info = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        let (head, _) = client.post(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        let session = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
        });
        let session = session.expect("a session");
        client.headers.push_str(&format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n"));
        client.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, Failure> {
        let body = self.call_text(tool, arguments);
        let response: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"));
        if let Some(error) = response.get("error") {
            let code = error["data"]["code"].as_str().unwrap_or_default();
            return Err(Failure {
                code: code.strip_prefix("MCP_LSP_GATEWAY/").unwrap_or(code).to_owned(),
                details: error["data"]["details"].clone(),
                message: error["message"].as_str().unwrap_or_default().to_owned(),
            });
        }
        assert_eq!(response["result"]["isError"], false, "{body}");
        Ok(response["result"]["structuredContent"].clone())
    }

    /// The tools of the endpoint.
    pub(crate) fn tools(&mut self) -> Value {
        let (_, body) = self.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
        let response: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"));
        response["result"]["tools"].clone()
    }

    /// Unparsed body of the answer to a call. All calls have the id 1.
    pub(crate) fn call_text(&mut self, tool: &str, arguments: &Value) -> String {
        self.call_params(&json!({"name": tool, "arguments": arguments}))
    }

    /// Same with these parameters of `tools/call`.
    pub(crate) fn call_params(&mut self, params: &Value) -> String {
        self.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})).1
    }

    /// The head of the answer to a call, and its unparsed body.
    pub(crate) fn call_head_and_text(&mut self, tool: &str, arguments: &Value) -> (String, String) {
        let params = json!({"name": tool, "arguments": arguments});
        self.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
    }

    /// Retries after timeouts until there is an answer, at most 40 times.
    pub(crate) fn ask(&mut self, tool: &str, arguments: &Value) -> Result<Value, Failure> {
        for _ in 0..40 {
            match self.call(tool, arguments) {
                Err(failure) if failure.is_timeout() => {
                    pause(failure.details["retryAfterMs"].as_u64().expect("a hint").min(2_000));
                }
                outcome => return outcome,
            }
        }
        panic!("{tool} {arguments}: no answer after 40 attempts");
    }

    /// Fetches all pages, with these page sizes in turn.
    pub(crate) fn pages(&mut self, tool: &str, arguments: &Value, sizes: &[usize]) -> Result<Vec<Value>, Failure> {
        let mut items = Vec::new();
        let mut arguments = arguments.clone();
        for size in sizes.iter().cycle() {
            arguments["pageSize"] = json!(size);
            let mut page = self.ask(tool, &arguments)?;
            let Value::Array(next) = page["items"].take() else { panic!("no items: {page}") };
            assert!(next.len() <= *size);
            items.extend(next);
            arguments["cursor"] = page["nextCursor"].take();
            if arguments["cursor"].is_null() {
                break;
            }
        }
        Ok(items)
    }

    pub(crate) fn end(mut self) {
        self.open_again();
        let request = format!("DELETE {} HTTP/1.1\r\n{}\r\n", self.path, self.headers);
        self.stream.get_mut().write_all(request.as_bytes()).expect("the server reads");
        let (head, _) = self.read();
        assert!(head.starts_with("HTTP/1.1 204"), "{head}");
    }

    fn post(&mut self, message: &Value) -> (String, String) {
        self.next_id += 1;
        self.open_again();
        let body = message.to_string();
        let head = format!("POST {} HTTP/1.1\r\n{}Content-Length: {}\r\n\r\n", self.path, self.headers, body.len());
        self.stream.get_mut().write_all((head + &body).as_bytes()).expect("the server reads");
        let (head, body) = self.read();
        let status = head.split(' ').nth(1).unwrap_or_default();
        // An overload has a body like every other error.
        assert!(status.starts_with('2') || matches!(status, "429" | "503"), "{head}{body}");
        (head, body)
    }

    /// The server closes connections after a long idle time; the session continues on a new one.
    fn open_again(&mut self) {
        if self.is_closed() {
            self.stream = dial(&self.address);
        }
    }

    fn is_closed(&self) -> bool {
        let stream = self.stream.get_ref();
        stream.set_nonblocking(true).expect("a mode");
        let seen = stream.peek(&mut [0]);
        stream.set_nonblocking(false).expect("a mode");
        seen.map_or_else(|error| error.kind() != ErrorKind::WouldBlock, |bytes| bytes == 0)
    }

    fn read(&mut self) -> (String, String) {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let read = self.stream.read_line(&mut head).expect("an answer in time");
            assert!(read > 0, "the connection ended: {head}");
        }
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().expect("a length"))
        });
        let mut body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut body).expect("a whole body");
        (head, String::from_utf8(body).expect("UTF-8"))
    }
}

fn dial(address: &str) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(address).expect("the server accepts");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time limit");
    stream.set_nodelay(true).expect("no delay");
    BufReader::new(stream)
}

/// Waits between two attempts.
pub(crate) fn pause(ms: u64) {
    #[expect(clippy::disallowed_methods, reason = "the pause between two looks at another process")]
    std::thread::sleep(Duration::from_millis(ms));
}

/// Checks every 20 ms, at most `limit_ms` in total, until `done`.
pub(crate) fn until(limit_ms: u64, mut done: impl FnMut() -> bool) -> bool {
    (0..=limit_ms / 20).any(|step| {
        if step > 0 {
            pause(20);
        }
        done()
    })
}
