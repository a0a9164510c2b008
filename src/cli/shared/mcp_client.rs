//! A small MCP client for `call` and `quickstart`: initialize, list tools, call a tool. Over HTTP, or over a stream of lines.
//! It reads `structuredContent`, so its sessions ask for both copies of a result, whatever the configuration says.
//!
//! It sends one request at a time. Invariants: an answer is bounded in size and time; a call is retried only where the server sends a
//! retry hint.

mod http;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};

use self::http::HttpConnection;
use crate::limits::CLIENT_TIMEOUT_MS;
use codeyard_base::clock::Instant;
use codeyard_gateway::limits::RESPONSE_ENVELOPE_BYTES;
use codeyard_model::limits::{MAX_RESPONSE_BYTES, RETRY_AFTER_MS};
use codeyard_protocol::names::{JSONRPC, SERVER_VERSION};
use codeyard_protocol::revision::Revision;
use codeyard_server::transport::lines::{LineFrame, LineReader};

/// Time after which `codeyard call` says that it waits, in milliseconds.
const SILENT_CALL_MS: u64 = 2_000;

/// Largest answer in bytes: a payload at its cap, or the list of all tools.
const MAX_ANSWER_BYTES: usize = 2 * MAX_RESPONSE_BYTES + RESPONSE_ENVELOPE_BYTES;

/// A stream of lines in both directions.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum ClientError {
    /// The tool returned an error with a code.
    #[error("{code}: {message}")]
    Tool {
        /// The catalog's code, or the JSON-RPC number.
        code: String,
        /// The message, one sentence.
        message: String,
        /// The details object of the error.
        details: Value,
    },
    /// The tool returned an error as text (`isError`), which says what to do.
    #[error("{message}")]
    ToolText {
        message: String,
        retry_after: Option<Duration>,
        /// What the call waits for.
        progress: Option<String>,
    },
    /// The server wants a token, or another one.
    #[error("{0}")]
    Unauthorized(String),
    /// The server is unreachable, refuses the request for another reason, or sends an invalid response.
    #[error("{0}")]
    Connection(String),
}

/// An answer with the duration of its call.
#[derive(Debug, Clone)]
pub(crate) struct TimedAnswer {
    /// `structuredContent`.
    pub content: Value,
    /// Duration of the last attempt.
    pub took: Duration,
    /// Number of earlier attempts.
    pub retries: u32,
}

/// A session with a server.
pub(crate) struct Client {
    connection: Connection,
    next_id: u64,
    /// Longest time until an answer.
    limit: Duration,
}

enum Connection {
    Http(HttpConnection),
    Lines { reader: LineReader<ReadHalf<Box<dyn Stream>>>, writer: WriteHalf<Box<dyn Stream>> },
}

impl Client {
    /// Opens a session at an `http://` or `https://` endpoint.
    ///
    /// # Errors
    /// [`ClientError::Unauthorized`] and [`ClientError::Connection`].
    pub(crate) async fn over_http(url: &str, token: Option<&str>) -> Result<Self, ClientError> {
        let connection = HttpConnection::new(url, token)?;
        Self { connection: Connection::Http(connection), next_id: 0, limit: Duration::from_millis(CLIENT_TIMEOUT_MS) }
            .initialize()
            .await
    }

    /// Opens a session over a stream.
    ///
    /// # Errors
    /// [`ClientError::Connection`].
    pub(crate) async fn over_stream(stream: Box<dyn Stream>) -> Result<Self, ClientError> {
        let (reader, writer) = tokio::io::split(stream);
        let reader = LineReader::new(reader, MAX_ANSWER_BYTES);
        Self {
            connection: Connection::Lines { reader, writer },
            next_id: 0,
            limit: Duration::from_millis(CLIENT_TIMEOUT_MS),
        }
        .initialize()
        .await
    }

    /// The same, which waits for an answer for at most `limit`.
    pub(crate) fn patient(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// The names of all tools.
    ///
    /// # Errors
    /// [`ClientError::Connection`].
    pub(crate) async fn tools(&mut self) -> Result<Vec<String>, ClientError> {
        let listed = self.request("tools/list", json!({})).await?;
        let tools = listed["tools"].as_array().into_iter().flatten();
        Ok(tools.filter_map(|tool| Some(tool["name"].as_str()?.to_owned())).collect())
    }

    /// Calls a tool and returns its `structuredContent`.
    ///
    /// # Errors
    /// Every [`ClientError`].
    pub(crate) async fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, ClientError> {
        let mut result = self.request("tools/call", json!({"name": tool, "arguments": arguments})).await?;
        if result["isError"] == true {
            let failed = &result["structuredContent"]["error"];
            if let (Some(code), Some(message)) = (failed["code"].as_str(), failed["message"].as_str()) {
                let message = message.to_owned();
                return Err(ClientError::Tool { code: code.to_owned(), message, details: failed["details"].clone() });
            }
            let message =
                result["content"][0]["text"].as_str().unwrap_or("the tool failed without a message").to_owned();
            let error = &result["structuredContent"]["metadata"]["error"];
            let retry_after = error["retryAfterMs"].as_u64().map(Duration::from_millis);
            let progress = error["progress"].as_str().map(str::to_owned);
            return Err(ClientError::ToolText { message, retry_after, progress });
        }
        match result.get_mut("structuredContent") {
            Some(content) => Ok(content.take()),
            None => Err(ClientError::Connection("the answer has no structuredContent".to_owned())),
        }
    }

    /// Calls a tool. Retries for at most `patience` while the server sends a retry hint. Passes to `note` what a long call waits for, each
    /// text once in a row.
    ///
    /// # Errors
    /// The [`ClientError`] of the last attempt.
    pub(crate) async fn call_with_retry(
        &mut self,
        tool: &str,
        arguments: &Value,
        patience: Duration,
        note: &mut dyn FnMut(&str),
    ) -> Result<TimedAnswer, ClientError> {
        let end = Instant::now() + patience;
        let mut retries = 0;
        let mut noted = String::new();
        loop {
            let asked = Instant::now();
            let called = {
                let mut call = std::pin::pin!(self.call(tool, arguments));
                match tokio::time::timeout(Duration::from_millis(SILENT_CALL_MS), &mut call).await {
                    Err(_) if noted.is_empty() => {
                        "waiting for the language server".clone_into(&mut noted);
                        note(&noted);
                        call.await
                    }
                    Err(_) => call.await,
                    Ok(called) => called,
                }
            };
            match called {
                Ok(content) => return Ok(TimedAnswer { content, took: asked.elapsed(), retries }),
                Err(error) => match error.retry_after() {
                    Some(wait) if Instant::now() + wait < end => {
                        if noted != error.progress() {
                            error.progress().clone_into(&mut noted);
                            note(&noted);
                        }
                        tokio::time::sleep(wait).await;
                    }
                    _ => return Err(error),
                },
            }
            retries += 1;
        }
    }

    pub(crate) async fn close(self) {
        if let Connection::Http(connection) = self.connection {
            connection.close().await;
        }
    }

    async fn initialize(mut self) -> Result<Self, ClientError> {
        let params = json!({
            "protocolVersion": Revision::DEFAULT.as_str(),
            "capabilities": {},
            "clientInfo": {"name": "codeyard", "version": SERVER_VERSION},
        });
        self.request("initialize", params).await?;
        self.exchange(json!({"jsonrpc": JSONRPC, "method": "notifications/initialized"}), None).await?;
        Ok(self)
    }

    async fn request(&mut self, method: &str, params: Value) -> Result<Value, ClientError> {
        self.next_id += 1;
        let message = json!({"jsonrpc": JSONRPC, "id": self.next_id, "method": method, "params": params});
        let mut response = self.exchange(message, Some(self.next_id)).await?;
        match response.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => Err(ClientError::from_response(&response["error"])),
        }
    }

    async fn exchange(&mut self, message: Value, id: Option<u64>) -> Result<Value, ClientError> {
        let limit = self.limit;
        let exchanged = async {
            match &mut self.connection {
                Connection::Http(connection) => connection.post(message.to_string(), MAX_ANSWER_BYTES).await,
                Connection::Lines { reader, writer } => Ok(exchange_lines(reader, writer, &message, id).await?),
            }
        };
        match tokio::time::timeout(limit, exchanged).await {
            Ok(done) => done,
            Err(_) => Err(ClientError::Connection(format!("the server did not answer within {} s", limit.as_secs()))),
        }
    }
}

async fn exchange_lines<S: Stream + ?Sized>(
    reader: &mut LineReader<ReadHalf<Box<S>>>,
    writer: &mut WriteHalf<Box<S>>,
    message: &Value,
    id: Option<u64>,
) -> Result<Value, String>
where
    Box<S>: AsyncRead + AsyncWrite,
{
    let broken = |error: std::io::Error| format!("the connection failed: {error}");
    writer.write_all(format!("{message}\n").as_bytes()).await.map_err(broken)?;
    writer.flush().await.map_err(broken)?;
    let Some(id) = id else { return Ok(Value::Null) };
    loop {
        match reader.next().await.map_err(broken)? {
            LineFrame::Text(line) => {
                let message: Value =
                    serde_json::from_slice(&line).map_err(|_| "the server sent a line that is not JSON".to_owned())?;
                if message["id"] == id {
                    return Ok(message);
                }
            }
            LineFrame::TooLong => return Err("the answer is too large".to_owned()),
            LineFrame::End => return Err("the server closed the connection".to_owned()),
        }
    }
}

impl From<String> for ClientError {
    /// The sentence of a failed connection.
    fn from(sentence: String) -> Self {
        Self::Connection(sentence)
    }
}

impl ClientError {
    /// Converts the `error` of a JSON-RPC response.
    fn from_response(error: &Value) -> Self {
        let Some(number) = error["code"].as_i64() else {
            return Self::Connection("the answer has neither result nor error".to_owned());
        };
        let data = &error["data"];
        let code = data["code"].as_str().map_or_else(|| number.to_string(), str::to_owned);
        let message = data["message"].as_str().or(error["message"].as_str()).unwrap_or_default().to_owned();
        Self::Tool { code, message, details: data["details"].clone() }
    }

    /// What the call waits for, else the message.
    fn progress(&self) -> &str {
        match self {
            Self::Tool { message, details, .. } => details["progress"].as_str().unwrap_or(message),
            Self::ToolText { message, progress, .. } => progress.as_ref().unwrap_or(message),
            Self::Unauthorized(message) | Self::Connection(message) => message,
        }
    }

    /// The pause before a retry; `None` if the server sent no retry hint. Clamped to ten times the usual hint.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Tool { code, details, .. } if code.ends_with("CAP_EXCEEDED") => {
                let hint = details["retryAfterMs"].as_u64()?;
                Some(Duration::from_millis(hint.clamp(1, 10 * RETRY_AFTER_MS)))
            }
            Self::ToolText { retry_after, .. } => {
                let hint = (*retry_after)?;
                Some(hint.clamp(Duration::from_millis(1), Duration::from_millis(10 * RETRY_AFTER_MS)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_cap_error_with_a_hint_is_retried() {
        let error = |code: &str, details: Value| {
            ClientError::from_response(
                &json!({"code": -32603, "message": "m", "data": {"code": code, "details": details}}),
            )
            .retry_after()
        };
        assert_eq!(error("X/CAP_EXCEEDED", json!({"retryAfterMs": 500})), Some(Duration::from_millis(500)));
        assert_eq!(error("X/CAP_EXCEEDED", json!({"retryAfterMs": 9_999_999})), Some(Duration::from_secs(5)));
        assert_eq!(error("X/CAP_EXCEEDED", json!({"reason": "response_bytes"})), None);
        assert_eq!(error("X/PROVIDER_UNAVAILABLE", json!({"retryAfterMs": 500})), None);
    }

    /// A server that answers the n-th call of a tool after the delay with the error text, or with a result.
    async fn scripted(stream: tokio::io::DuplexStream, script: Vec<(u64, Option<&'static str>)>) {
        let (reader, mut writer) = tokio::io::split(stream);
        let mut reader = LineReader::new(reader, MAX_ANSWER_BYTES);
        let mut script = script.into_iter();
        while let Ok(LineFrame::Text(line)) = reader.next().await {
            let message: Value = serde_json::from_slice(&line).unwrap();
            let mut answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": {"structuredContent": {}}});
            if message["method"] == "tools/call" {
                let (seconds, progress) = script.next().unwrap();
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                if let Some(progress) = progress {
                    let details = json!({"retryAfterMs": 1000, "progress": progress});
                    let data = json!({"code": "X/CAP_EXCEEDED", "message": "m", "details": details});
                    answer = json!({"id": message["id"], "error": {"code": -1, "message": "m", "data": data}});
                }
            }
            if !message["id"].is_null() {
                writer.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_call_says_what_it_waits_for() {
        let notes = async |script: Vec<(u64, Option<&'static str>)>, patience: u64| {
            let (here, there) = tokio::io::duplex(4096);
            let server = tokio::spawn(scripted(there, script));
            let mut client = Client::over_stream(Box::new(here)).await.unwrap();
            let mut noted = Vec::new();
            let mut note = |text: &str| noted.push(text.to_owned());
            let patience = Duration::from_secs(patience);
            let answered = client.call_with_retry("t", &json!({}), patience, &mut note).await;
            client.close().await;
            server.await.unwrap();
            (answered.is_ok(), noted)
        };
        assert_eq!(notes(vec![(1, None)], 60).await, (true, vec![]));
        let script = vec![(8, Some("indexing 10%")), (8, Some("indexing 10%")), (0, Some("indexing 90%")), (8, None)];
        let said = ["waiting for the language server", "indexing 10%", "indexing 90%"].map(str::to_owned);
        assert_eq!(notes(script, 60).await, (true, said.into()));
        let said = vec!["waiting for the language server".to_owned()];
        assert_eq!(notes(vec![(8, Some("indexing 10%"))], 5).await, (false, said), "the error says the rest");
    }

    #[test]
    fn errors_without_data_keep_their_json_rpc_code() {
        let error = ClientError::from_response(&json!({"code": -32601, "message": "no such method"}));
        assert_eq!(error.to_string(), "-32601: no such method");
        assert!(matches!(ClientError::from_response(&Value::Null), ClientError::Connection(_)));
    }
}
