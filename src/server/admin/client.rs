//! The other end of the admin socket, for our own commands: one request, one answer.
//!
//! Invariants: an answer is bounded in size and time; the other end must be a process of our own user.

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
use crate::limits::{ADMIN_LOOK_TIMEOUT_MS, ADMIN_REQUEST_TIMEOUT_MS, MAX_ADMIN_ANSWER_BYTES};
use crate::transport::attach::is_ours;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody is there.
    #[error("no server runs here; `codeyard serve --root .` starts one")]
    Nobody,
    /// Somebody is there, but can't be understood, or isn't ours.
    #[error("the running server can't be asked: {0}")]
    Broken(String),
    /// The server refuses.
    #[error("{}; {}", .0.detail, .0.remedy)]
    Refused(Box<ProblemDocument>),
}

/// A way to the running server of a state directory.
#[derive(Debug, Clone)]
pub struct AdminClient {
    socket: PathBuf,
}

impl AdminClient {
    /// By the socket at this path.
    pub fn new(socket: &Path) -> Self {
        Self { socket: socket.to_owned() }
    }

    /// A document.
    ///
    /// # Errors
    /// All of them.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.send(Method::GET, path, None).await
    }

    /// A text, such as `/metrics`.
    ///
    /// # Errors
    /// All of them.
    pub async fn text(&self, path: &str) -> Result<String, Error> {
        let (_, bytes) = self.exchange(Method::GET, path, None).await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// What comes of a request with a method and perhaps a body.
    ///
    /// # Errors
    /// All of them.
    pub async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, Error> {
        let (_, bytes) = self.exchange(method, path, body).await?;
        serde_json::from_slice(&bytes).map_err(|_| Error::Broken("its answer is not of the expected form".to_owned()))
    }

    async fn exchange(&self, method: Method, path: &str, body: Option<&Value>) -> Result<(StatusCode, Vec<u8>), Error> {
        // Longer than the server takes at most, so that it is the one to say what is wrong: a look asks its actors for
        // `OPERATOR_PATIENCE_MS` each, all at once.
        let limit_ms = if method == Method::GET { ADMIN_LOOK_TIMEOUT_MS } else { ADMIN_REQUEST_TIMEOUT_MS + 1_000 };
        let exchanged = self.exchange_now(method, path, body);
        timeout(Duration::from_millis(limit_ms), exchanged).await.map_err(|_| {
            let advice = "look whether its process is stopped or overloaded, then try again or restart it";
            Error::Broken(format!("it did not answer within {} s; {advice}", limit_ms / 1_000))
        })?
    }

    async fn exchange_now(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Vec<u8>), Error> {
        let broken = |error: &dyn std::error::Error| Error::Broken(error.to_string());
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
        let bytes = collected.map_err(|error| Error::Broken(error.to_string()))?.to_bytes().to_vec();
        if status.is_success() {
            return Ok((status, bytes));
        }
        match serde_json::from_slice::<ProblemDocument>(&bytes) {
            Ok(problem) => Err(Error::Refused(Box::new(problem))),
            Err(_) => Err(Error::Broken(format!("it answers {status}"))),
        }
    }

    async fn connect(&self) -> Result<UnixStream, Error> {
        let stream = match UnixStream::connect(&self.socket).await {
            Ok(stream) => stream,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                return Err(Error::Nobody);
            }
            Err(error) => return Err(Error::Broken(error.to_string())),
        };
        match is_ours(&stream) {
            Ok(true) => Ok(stream),
            Ok(false) => Err(Error::Broken("the socket belongs to another user".to_owned())),
            Err(error) => Err(Error::Broken(error.to_string())),
        }
    }
}
