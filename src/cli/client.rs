//! A small MCP client, for `call` and `quickstart`: initialize, list tools, call one. Over HTTP, or over a stream of lines.
//!
//! It asks one question at a time. Invariants: an answer is bounded in size and time; nothing is retried but what the
//! server itself asked to retry.

mod http;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};

use self::http::HttpWire;
use crate::limits::CLIENT_TIMEOUT_MS;
use codeyard_base::clock::Instant;
use codeyard_gateway::limits::RESPONSE_ENVELOPE_BYTES;
use codeyard_model::limits::{MAX_RESPONSE_BYTES, RETRY_AFTER_MS};
use codeyard_protocol::names::{JSONRPC, REVISION, SERVER_VERSION};
use codeyard_server::transport::lines::{Line, Lines};

/// Room for an answer: a payload at its cap, or the list of all tools.
const MAX_ANSWER_BYTES: usize = 2 * MAX_RESPONSE_BYTES + RESPONSE_ENVELOPE_BYTES;

/// A stream of lines both ways.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum Error {
    /// The tool answered with an error.
    #[error("{code}: {message}")]
    Tool {
        /// The catalog's code, or the JSON-RPC number.
        code: String,
        /// One sentence.
        message: String,
        /// Particulars.
        details: Value,
    },
    /// The tool answered with an error in words of its own, which say what to do.
    #[error("{message}")]
    Said {
        /// The words.
        message: String,
        /// When to ask again.
        retry_after: Option<Duration>,
    },
    /// The server can't be reached, refuses, or says what can't be understood.
    #[error("{0}")]
    Connection(String),
}

/// An answer, and how long the call took that brought it.
#[derive(Debug, Clone)]
pub(crate) struct Answered {
    /// `structuredContent`.
    pub content: Value,
    /// The last attempt's time.
    pub took: Duration,
    /// Attempts before it.
    pub retries: u32,
}

/// A session with a server.
pub(crate) struct Client {
    wire: Wire,
    next_id: u64,
}

enum Wire {
    Http(HttpWire),
    Lines { reader: Lines<ReadHalf<Box<dyn Stream>>>, writer: WriteHalf<Box<dyn Stream>> },
}

impl Client {
    /// A session at an `http://` endpoint.
    ///
    /// # Errors
    /// [`Error::Connection`].
    pub(crate) async fn over_http(url: &str, token: Option<&str>) -> Result<Self, Error> {
        let wire = HttpWire::new(url, token).map_err(Error::Connection)?;
        Self { wire: Wire::Http(wire), next_id: 0 }.initialized().await
    }

    /// A session over a stream.
    ///
    /// # Errors
    /// [`Error::Connection`].
    pub(crate) async fn over_stream(stream: Box<dyn Stream>) -> Result<Self, Error> {
        let (reader, writer) = tokio::io::split(stream);
        let reader = Lines::new(reader, MAX_ANSWER_BYTES);
        Self { wire: Wire::Lines { reader, writer }, next_id: 0 }.initialized().await
    }

    /// The names of the tools there are.
    ///
    /// # Errors
    /// [`Error::Connection`].
    pub(crate) async fn tools(&mut self) -> Result<Vec<String>, Error> {
        let listed = self.request("tools/list", json!({})).await?;
        let tools = listed["tools"].as_array().into_iter().flatten();
        Ok(tools.filter_map(|tool| Some(tool["name"].as_str()?.to_owned())).collect())
    }

    /// Calls a tool; the answer is its `structuredContent`.
    ///
    /// # Errors
    /// Both.
    pub(crate) async fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, Error> {
        let mut result = self.request("tools/call", json!({"name": tool, "arguments": arguments})).await?;
        if result["isError"] == true {
            let message =
                result["content"][0]["text"].as_str().unwrap_or("the tool failed and doesn't say why").to_owned();
            let wait = result["structuredContent"]["metadata"]["error"]["retryAfterMs"].as_u64();
            return Err(Error::Said { message, retry_after: wait.map(Duration::from_millis) });
        }
        match result.get_mut("structuredContent") {
            Some(content) => Ok(content.take()),
            None => Err(Error::Connection("the answer has no structuredContent".to_owned())),
        }
    }

    /// Calls a tool, again and again for at most `patience` while the server says when to come back.
    ///
    /// # Errors
    /// Both; the last one.
    pub(crate) async fn call_patiently(
        &mut self,
        tool: &str,
        arguments: &Value,
        patience: Duration,
    ) -> Result<Answered, Error> {
        let end = Instant::now() + patience;
        let mut retries = 0;
        loop {
            let asked = Instant::now();
            match self.call(tool, arguments).await {
                Ok(content) => return Ok(Answered { content, took: asked.elapsed(), retries }),
                Err(error) => match error.retry_after() {
                    Some(wait) if Instant::now() + wait < end => tokio::time::sleep(wait).await,
                    _ => return Err(error),
                },
            }
            retries += 1;
        }
    }

    /// Ends the session.
    pub(crate) async fn close(self) {
        if let Wire::Http(wire) = self.wire {
            wire.close().await;
        }
    }

    async fn initialized(mut self) -> Result<Self, Error> {
        let params = json!({
            "protocolVersion": REVISION,
            "capabilities": {},
            "clientInfo": {"name": "codeyard", "version": SERVER_VERSION},
        });
        self.request("initialize", params).await?;
        self.exchange(json!({"jsonrpc": JSONRPC, "method": "notifications/initialized"}), None).await?;
        Ok(self)
    }

    async fn request(&mut self, method: &str, params: Value) -> Result<Value, Error> {
        self.next_id += 1;
        let message = json!({"jsonrpc": JSONRPC, "id": self.next_id, "method": method, "params": params});
        let mut response = self.exchange(message, Some(self.next_id)).await?;
        match response.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => Err(Error::of(&response["error"])),
        }
    }

    async fn exchange(&mut self, message: Value, id: Option<u64>) -> Result<Value, Error> {
        let limit = Duration::from_millis(CLIENT_TIMEOUT_MS);
        let exchanged = async {
            match &mut self.wire {
                Wire::Http(wire) => wire.post(message.to_string(), MAX_ANSWER_BYTES).await,
                Wire::Lines { reader, writer } => exchange_lines(reader, writer, &message, id).await,
            }
        };
        match tokio::time::timeout(limit, exchanged).await {
            Ok(done) => done.map_err(Error::Connection),
            Err(_) => Err(Error::Connection(format!("the server said nothing for {} s", limit.as_secs()))),
        }
    }
}

async fn exchange_lines<S: Stream + ?Sized>(
    reader: &mut Lines<ReadHalf<Box<S>>>,
    writer: &mut WriteHalf<Box<S>>,
    message: &Value,
    id: Option<u64>,
) -> Result<Value, String>
where
    Box<S>: AsyncRead + AsyncWrite,
{
    let broken = |error: std::io::Error| format!("the connection broke: {error}");
    writer.write_all(format!("{message}\n").as_bytes()).await.map_err(broken)?;
    writer.flush().await.map_err(broken)?;
    let Some(id) = id else { return Ok(Value::Null) };
    loop {
        match reader.next().await.map_err(broken)? {
            Line::Text(line) => {
                let said: Value =
                    serde_json::from_slice(&line).map_err(|_| "the server's line is no JSON".to_owned())?;
                if said["id"] == id {
                    return Ok(said);
                }
            }
            Line::TooLong => return Err("the answer is too large".to_owned()),
            Line::End => return Err("the server ended the connection".to_owned()),
        }
    }
}

impl Error {
    /// From the `error` of a JSON-RPC response.
    fn of(error: &Value) -> Self {
        let Some(number) = error["code"].as_i64() else {
            return Self::Connection("the answer has neither result nor error".to_owned());
        };
        let data = &error["data"];
        let code = data["code"].as_str().map_or_else(|| number.to_string(), str::to_owned);
        let message = data["message"].as_str().or(error["message"].as_str()).unwrap_or_default().to_owned();
        Self::Tool { code, message, details: data["details"].clone() }
    }

    /// When the server wants to be asked again; `None` if asking again is of no use.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Tool { code, details, .. } if code.ends_with("CAP_EXCEEDED") => {
                let hint = details["retryAfterMs"].as_u64()?;
                Some(Duration::from_millis(hint.clamp(1, 10 * RETRY_AFTER_MS)))
            }
            Self::Said { retry_after, .. } => {
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
    fn only_a_cap_with_a_hint_is_retried() {
        let error = |code: &str, details: Value| {
            Error::of(&json!({"code": -32603, "message": "m", "data": {"code": code, "details": details}}))
                .retry_after()
        };
        assert_eq!(error("X/CAP_EXCEEDED", json!({"retryAfterMs": 500})), Some(Duration::from_millis(500)));
        assert_eq!(error("X/CAP_EXCEEDED", json!({"retryAfterMs": 9_999_999})), Some(Duration::from_secs(5)));
        assert_eq!(error("X/CAP_EXCEEDED", json!({"reason": "response_bytes"})), None);
        assert_eq!(error("X/PROVIDER_UNAVAILABLE", json!({"retryAfterMs": 500})), None);
    }

    #[test]
    fn errors_without_data_keep_their_number() {
        let error = Error::of(&json!({"code": -32601, "message": "no such method"}));
        assert_eq!(error.to_string(), "-32601: no such method");
        assert!(matches!(Error::of(&Value::Null), Error::Connection(_)));
    }
}
