//! A minimal LSP client that only handles frames.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp::until;
use crate::syntactic::sources::uri;

/// Longest wait for one message.
const PATIENCE: Duration = Duration::from_secs(60);

/// A conversation.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    next: i64,
    pub capabilities: Value,
    /// Received notifications and requests.
    pub received: Vec<Value>,
}

impl Client {
    /// Starts and initializes the server.
    pub(crate) fn start(root: &Path, indexes: &Path, encodings: &[&str]) -> Self {
        let mut client = Self::spawn(indexes);
        let capabilities = json!({
            "general": {"positionEncodings": encodings},
            "window": {"workDoneProgress": true},
            "workspace": {"didChangeWatchedFiles": {"dynamicRegistration": true}},
        });
        let folders = json!([{"uri": uri(root), "name": "root"}]);
        let params = json!({"processId": std::process::id(), "rootUri": null, "workspaceFolders": folders,
            "capabilities": capabilities});
        let said = client.request("initialize", &params).expect("it begins");
        client.capabilities = said["capabilities"].clone();
        client.notify("initialized", &json!({}));
        client
    }

    /// Starts the server without a message.
    pub(crate) fn spawn(indexes: &Path) -> Self {
        #[expect(clippy::disallowed_methods, reason = "the binary under test")]
        let mut command = Command::new(env!("CARGO_BIN_EXE_codeyard"));
        command.arg("syntactic").arg("--index-dir").arg(indexes);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let input = child.stdin.take();
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self { child, input, messages, next: 0, capabilities: Value::Null, received: Vec::new() }
    }

    /// Sends a request without waiting; returns its id.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> i64 {
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.next
    }

    /// Sends a request and waits for the result or the error.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        let id = self.ask(method, params);
        self.answer(id)
    }

    pub(crate) fn answer(&mut self, id: i64) -> Result<Value, Value> {
        loop {
            let message = match self.messages.recv_timeout(PATIENCE) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => panic!("no answer to {id}; {:?}", self.received),
                Err(RecvTimeoutError::Disconnected) => panic!("the server ended; {:?}", self.received),
            };
            if message.get("method").is_some() {
                if let Some(id) = message.get("id") {
                    self.send(&json!({"jsonrpc": "2.0", "id": id, "result": null}));
                }
                self.received.push(message);
            } else if message["id"] == id {
                return match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].clone()),
                };
            }
        }
    }

    /// Sends a notification.
    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        let input = self.input.as_mut().expect("an open pipe");
        write!(input, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("it reads");
        input.flush().expect("it reads");
    }

    /// Shuts down regularly.
    pub(crate) fn leave(mut self) -> ExitStatus {
        self.request("shutdown", &Value::Null).expect("it agrees");
        self.notify("exit", &Value::Null);
        self.ended()
    }

    /// Closes the pipe without `shutdown`.
    pub(crate) fn hang_up(mut self) -> ExitStatus {
        self.input = None;
        self.ended()
    }

    fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        until(20_000, || {
            status = self.child.try_wait().expect("our child");
            status.is_some()
        });
        status.expect("it ends")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn read(from: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        from.read_line(&mut line).ok().filter(|read| *read > 0)?;
        match line.trim().split_once(": ") {
            Some(("Content-Length", number)) => length = number.parse().ok()?,
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}
