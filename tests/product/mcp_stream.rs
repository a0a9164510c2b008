//! One request on a connection of its own, whose messages are read as they come: progress first, then the answer.
//!
//! It belongs to the session of an [`Mcp`] and, like that, shares no code with the product's transport. Dropping it closes its connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::mcp::Mcp;

/// A request that is in progress.
pub(crate) struct StreamedCall {
    stream: BufReader<TcpStream>,
    framing: Framing,
    /// What was read of an event stream and isn't a whole event yet.
    rest: String,
}

/// How the response is written.
#[derive(Clone, Copy)]
enum Framing {
    /// Its head hasn't been read.
    Unread,
    /// Events in chunks.
    Events,
    /// Everything was read.
    Ended,
}

impl StreamedCall {
    /// Calls a tool; its progress is asked for with `token`.
    pub(crate) fn begin(client: &Mcp, tool: &str, arguments: &Value, token: &str) -> Self {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": token}});
        Self::request(client, "tools/call", &params)
    }

    /// Sends a request of any method.
    pub(crate) fn request(client: &Mcp, method: &str, params: &Value) -> Self {
        let stream = TcpStream::connect(&client.address).expect("the server accepts");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let head = format!("POST {} HTTP/1.1\r\n{}Content-Length: {}\r\n\r\n", client.path, client.headers, body.len());
        (&stream).write_all((head + &body).as_bytes()).expect("the server reads");
        Self { stream: BufReader::new(stream), framing: Framing::Unread, rest: String::new() }
    }

    /// The next message; `None` after the last one.
    pub(crate) fn next_message(&mut self) -> Option<Value> {
        if let Framing::Unread = self.framing {
            let head = self.head();
            if !head.contains("text/event-stream") {
                self.framing = Framing::Ended;
                let length = header(&head, "content-length").expect("a length").parse().expect("a number");
                return Some(serde_json::from_slice(&self.bytes(length)).expect("JSON"));
            }
            assert_eq!(header(&head, "transfer-encoding").as_deref(), Some("chunked"), "{head}");
            self.framing = Framing::Events;
        }
        loop {
            if let Some((event, rest)) = self.rest.split_once("\n\n") {
                let data = event.lines().find_map(|line| line.strip_prefix("data: ")).expect("data");
                let message = serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"));
                self.rest = rest.to_owned();
                return Some(message);
            }
            if let Framing::Ended = self.framing {
                assert_eq!(self.rest, "", "an event is cut short");
                return None;
            }
            self.chunk();
        }
    }

    /// The answer, after all other messages.
    pub(crate) fn answer(mut self) -> Value {
        let mut last = None;
        while let Some(message) = self.next_message() {
            last = Some(message);
        }
        last.expect("an answer")
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line).expect("a response in time");
        assert!(read > 0, "the connection ended");
        line
    }

    fn head(&mut self) -> String {
        let mut head = self.line();
        while !head.ends_with("\r\n\r\n") {
            head.push_str(&self.line());
        }
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        head.to_ascii_lowercase()
    }

    fn chunk(&mut self) {
        let size = self.line();
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or_else(|error| panic!("{error}: {size}"));
        let text = String::from_utf8(self.bytes(size)).expect("UTF-8");
        self.rest.push_str(&text);
        assert_eq!(self.line(), "\r\n");
        if size == 0 {
            self.framing = Framing::Ended;
        }
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).expect("a whole body");
        bytes
    }
}

/// The value of a header in a head of lower case.
fn header(head: &str, name: &str) -> Option<String> {
    head.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim().to_owned()))
}
