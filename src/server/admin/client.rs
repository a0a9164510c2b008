//! A client of the admin socket for our own commands: one connection per request.
//!
//! Invariants: a response is bounded in size and time; the server must be a process of our own user.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::problem::ProblemDocument;
use crate::limits::ADMIN_REQUEST_TIMEOUT_MS;
use crate::transport::attach::is_ours;
use crate::transport::http::probes::Readiness;

/// Largest response of the admin API that our own commands accept, in bytes.
const MAX_ADMIN_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// Longest time that our own commands wait for the response to a GET, in milliseconds.
const ADMIN_GET_TIMEOUT_MS: u64 = 5_000;

/// Why a request to the admin socket failed.
#[derive(Debug, thiserror::Error)]
pub enum AdminClientError {
    /// No server listens on the socket.
    #[error("no server runs here; start one with `codeyard serve --root .`")]
    NotRunning,
    /// The server runs as another user, doesn't answer in time, or its answer can't be read.
    #[error("cannot query the running server: {0}")]
    Broken(String),
    /// The server rejected the request.
    #[error("{}; {}", .0.detail, .0.remedy)]
    Rejected(Box<ProblemDocument>),
}

/// A client of the running server of a state directory.
#[derive(Debug, Clone)]
pub struct AdminClient {
    socket: PathBuf,
}

impl AdminClient {
    /// A client of the socket at this path.
    pub fn new(socket: &Path) -> Self {
        Self { socket: socket.to_owned() }
    }

    /// Gets a JSON document.
    ///
    /// # Errors
    /// [`AdminClientError`].
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, AdminClientError> {
        self.send(Method::GET, path, None).await
    }

    /// Gets a text, such as `/metrics`.
    ///
    /// # Errors
    /// [`AdminClientError`].
    pub async fn text(&self, path: &str) -> Result<String, AdminClientError> {
        let (_, bytes) = self.exchange(Method::GET, path, None).await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The readiness checks that fail now.
    ///
    /// # Errors
    /// [`AdminClientError`].
    pub async fn readiness(&self) -> Result<Readiness, AdminClientError> {
        let (status, bytes) = self.exchange_bytes(Method::GET, "/readyz", None).await?;
        serde_json::from_slice(&bytes).map_err(|_| rejected(status, &bytes))
    }

    /// Sends a request and returns its JSON document.
    ///
    /// # Errors
    /// [`AdminClientError`].
    pub async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, AdminClientError> {
        let (_, bytes) = self.exchange(method, path, body).await?;
        serde_json::from_slice(&bytes)
            .map_err(|_| AdminClientError::Broken("its answer is not of the expected form".to_owned()))
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Vec<u8>), AdminClientError> {
        let (status, bytes) = self.exchange_bytes(method, path, body).await?;
        if status.is_success() { Ok((status, bytes)) } else { Err(rejected(status, &bytes)) }
    }

    /// The status and the body of the answer, whatever the status.
    async fn exchange_bytes(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Vec<u8>), AdminClientError> {
        // Longer than the server's own limit, so that the server reports the problem. A GET queries the actors in parallel.
        let limit_ms = if method == Method::GET { ADMIN_GET_TIMEOUT_MS } else { ADMIN_REQUEST_TIMEOUT_MS + 1_000 };
        let exchange = self.exchange_now(method, path, body);
        timeout(Duration::from_millis(limit_ms), exchange).await.map_err(|_| {
            let advice = "check whether its process is stopped or overloaded, then retry or restart it";
            AdminClientError::Broken(format!("it did not answer within {} s; {advice}", limit_ms / 1_000))
        })?
    }

    async fn exchange_now(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Vec<u8>), AdminClientError> {
        let broken = |error: &dyn std::error::Error| AdminClientError::Broken(error.to_string());
        let stream = self.connect().await?;
        let made = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = made.map_err(|error| broken(&error))?;
        let driving = tokio::spawn(connection);
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body))
            .map_err(|error| broken(&error))?;
        let response = sender.send_request(request).await.map_err(|error| broken(&error))?;
        let status = response.status();
        let collected = Limited::new(response.into_body(), MAX_ADMIN_ANSWER_BYTES).collect().await;
        driving.abort();
        let bytes = collected.map_err(|error| AdminClientError::Broken(error.to_string()))?.to_bytes().to_vec();
        Ok((status, bytes))
    }

    async fn connect(&self) -> Result<UnixStream, AdminClientError> {
        let stream = match UnixStream::connect(&self.socket).await {
            Ok(stream) => stream,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                return Err(AdminClientError::NotRunning);
            }
            Err(error) => return Err(AdminClientError::Broken(error.to_string())),
        };
        match is_ours(&stream) {
            Ok(true) => Ok(stream),
            Ok(false) => Err(AdminClientError::Broken("the socket belongs to another user".to_owned())),
            Err(error) => Err(AdminClientError::Broken(error.to_string())),
        }
    }
}

/// The error for an answer with a status that isn't success.
fn rejected(status: StatusCode, bytes: &[u8]) -> AdminClientError {
    match serde_json::from_slice::<ProblemDocument>(bytes) {
        Ok(problem) => AdminClientError::Rejected(Box::new(problem)),
        Err(_) => AdminClientError::Broken(format!("it answers {status}")),
    }
}
