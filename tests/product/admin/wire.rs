//! Hand-written HTTP over the local socket and over TCP.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::harness::Sandbox;
use crate::mcp::until;

/// Target of requests.
pub(crate) enum Way {
    Local(PathBuf),
    Tcp(String),
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// A subscription of the revision without sessions, which stays open.
#[derive(Debug)]
pub(crate) struct Subscription {
    stream: TcpStream,
    /// What came.
    text: String,
}

impl Subscription {
    /// Opens one, and waits until it is acknowledged.
    pub(crate) fn open(address: &str, path: &str, token: &str) -> Self {
        let version = "io.modelcontextprotocol/protocolVersion";
        let capabilities = "io.modelcontextprotocol/clientCapabilities";
        let params = json!({"notifications": {}, "_meta": {version: "2026-07-28", capabilities: {}}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}).to_string();
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n\
             Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let mut opened = Self { stream, text: String::new() };
        let is_open = until(10_000, || {
            assert!(!opened.has_ended(), "{opened:?}");
            opened.text.contains("subscriptions/acknowledged")
        });
        assert!(is_open, "{opened:?}");
        opened
    }

    /// Whether the server has ended it.
    pub(crate) fn has_ended(&mut self) -> bool {
        let mut bytes = [0; 4_096];
        match self.stream.read(&mut bytes) {
            Ok(0) => true,
            Ok(length) => {
                self.text.push_str(&String::from_utf8_lossy(&bytes[..length]));
                false
            }
            Err(_) => false,
        }
    }
}

impl Way {
    /// The admin socket of a state directory.
    pub(crate) fn local(sandbox: &Sandbox) -> Self {
        Self::Local(sandbox.path("state/run/admin.sock"))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "")
    }

    /// A request with a JSON body.
    pub(crate) fn json(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.send(method, path, &["Content-Type: application/json"], &body.to_string())
    }

    /// A request with these header lines; `Host` defaults to the address.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|line| line.starts_with("Host:")) {
            let host = match self {
                Self::Local(_) => "localhost",
                Self::Tcp(address) => address,
            };
            head.push_str(&format!("Host: {host}\r\n"));
        }
        for line in headers {
            head.push_str(&format!("{line}\r\n"));
        }
        if !headers.iter().any(|line| line.starts_with("Content-Length:")) {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        self.raw(&format!("{head}\r\n{body}"))
    }

    /// These bytes as a request.
    pub(crate) fn raw(&self, request: &str) -> Answer {
        match self {
            Self::Local(path) => exchange(UnixStream::connect(path).unwrap(), request.as_bytes()),
            Self::Tcp(address) => exchange(TcpStream::connect(address).unwrap(), request.as_bytes()),
        }
    }
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let of = |line: &&str| line.split_once(':').is_some_and(|(found, _)| found.eq_ignore_ascii_case(name));
        self.head.lines().find(of).and_then(|line| line.split_once(':')).map(|(_, value)| value.trim())
    }

    /// Asserts this status; an error must name the next step.
    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        if status >= 400 && self.header("content-type") == Some("application/problem+json") {
            let problem = self.json();
            assert_eq!(problem["status"], status);
            assert!(!problem["detail"].as_str().unwrap().is_empty() && !problem["remedy"].as_str().unwrap().is_empty());
        }
        self
    }

    /// Asserts a problem document with this status.
    #[track_caller]
    pub(crate) fn problem(self, status: u16) -> Value {
        let answer = self.is(status);
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{answer:?}");
        answer.json()
    }
}

fn exchange(mut stream: impl Read + Write, bytes: &[u8]) -> Answer {
    // The server may close a refused request before it is complete.
    let _ = stream.write_all(bytes);
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    let text = String::from_utf8(text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}
