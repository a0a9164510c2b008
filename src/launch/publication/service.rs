//! Requests to a commit service, in JSON.
//!
//! It knows neither service. Invariants: a request that may have changed something is only repeated by this module if the caller says that a
//! repetition changes nothing more; the token goes to the listed address alone and is in no error. Source:
//! `docs/internals/reference/commit-services.md#failures`.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use codeyard_runs::stage::{StageError, StopFlag};
use reqwest::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use reqwest::{Client, Method, StatusCode};
use serde_json::Value;

use super::service_error;
use crate::http_client::{ContentError, Waits, asked_wait, bounded, client, run_until_stopped};
use crate::limits::{MAX_ANSWER_BYTES, MAX_RETRY_DELAY_S};

/// Tries of a request to a commit service: the first one, and further ones after failures that may pass.
const MAX_SERVICE_TRIES: usize = 3;

/// How a request names its sender.
const AGENT: &str = concat!("codeyard/", env!("CARGO_PKG_VERSION"));
/// Characters of a service's own message that an error shows.
const SHOWN_CHARS: usize = 300;

pub(super) struct Service<'s> {
    client: Client,
    base_url: &'s str,
    token: Option<String>,
    headers: Vec<(&'static str, String)>,
    waits: Waits,
    stop: &'s StopFlag,
}

#[derive(Debug, Clone)]
pub(super) struct ServiceRequest<'r> {
    /// `GET` or `POST`.
    pub(super) method: Method,
    /// The path below the base address, with its query.
    pub(super) path: &'r str,
    pub(super) body: Option<&'r Value>,
    /// The `Idempotency-Key`.
    pub(super) key: Option<&'r str>,
}

#[derive(Debug, Clone)]
pub(super) struct ServiceResponse {
    pub(super) status: StatusCode,
    /// The content; null if it isn't JSON.
    pub(super) body: Value,
    /// Whether the service says that it was asked too often.
    pub(super) is_rate_limited: bool,
    asked_wait: Option<Duration>,
}

/// Why there is no response.
#[derive(Debug)]
pub(super) struct NoResponse {
    error: StageError,
    is_transient: bool,
}

/// The tries of one request or of one change.
pub(super) struct Tries {
    waits: ExponentialBackoff,
    longest_asked: Duration,
}

impl<'s> Service<'s> {
    /// A service at `base_url`.
    ///
    /// # Errors
    /// If no client can be made.
    pub(super) fn new(
        base_url: &'s str,
        token: Option<String>,
        request_limit: Duration,
        waits: Waits,
        stop: &'s StopFlag,
    ) -> Result<Self, StageError> {
        let client = client(request_limit).map_err(|error| {
            let message = format!("no connection can be made: {error}; see the certificates of this machine");
            service_error(message, "network")
        })?;
        let base_url = base_url.trim_end_matches('/');
        Ok(Self { client, base_url, token, headers: Vec::new(), waits, stop })
    }

    /// The same with a header in each request.
    #[must_use]
    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// The response to a `GET`, tried again after what may pass.
    ///
    /// # Errors
    /// If there is none, or the service says that it can't answer now.
    pub(super) fn get(&self, path: &str) -> Result<ServiceResponse, StageError> {
        self.send(&ServiceRequest { method: Method::GET, path, body: None, key: None })
    }

    /// The response to a `POST` that changes nothing more when it is repeated, tried again after what may pass.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub(super) fn post(&self, path: &str, body: &Value, key: Option<&str>) -> Result<ServiceResponse, StageError> {
        self.send(&ServiceRequest { method: Method::POST, path, body: Some(body), key })
    }

    fn send(&self, request: &ServiceRequest<'_>) -> Result<ServiceResponse, StageError> {
        let mut tries = self.tries();
        loop {
            let sent = self.send_once(request);
            if !tries.again(&sent, self.stop)? {
                return self.passed(sent);
            }
        }
    }

    pub(super) fn tries(&self) -> Tries {
        let waits = ExponentialBuilder::default()
            .with_min_delay(self.waits.first)
            .with_max_delay(Duration::from_secs(MAX_RETRY_DELAY_S))
            .with_max_times(MAX_SERVICE_TRIES - 1)
            .build();
        Tries { waits, longest_asked: self.waits.longest_asked }
    }

    /// A response that isn't one of those that may pass.
    ///
    /// # Errors
    /// If there is no response, or it is one of those.
    pub(super) fn passed(&self, sent: Result<ServiceResponse, NoResponse>) -> Result<ServiceResponse, StageError> {
        let response = sent.map_err(|failed| failed.error)?;
        if response.is_transient() { Err(self.refusal(&response, "answer")) } else { Ok(response) }
    }

    pub(super) fn send_once(&self, request: &ServiceRequest<'_>) -> Result<ServiceResponse, NoResponse> {
        match run_until_stopped(self.exchange(request), self.stop) {
            Ok(Some(exchanged)) => exchanged,
            Ok(None) => Err(NoResponse { error: StageError::cancelled(), is_transient: false }),
            Err(error) => Err(NoResponse {
                error: service_error(format!("no connection can be made: {error}; try again later"), "network")
                    .retryable(),
                is_transient: false,
            }),
        }
    }

    async fn exchange(&self, request: &ServiceRequest<'_>) -> Result<ServiceResponse, NoResponse> {
        let url = format!("{}{}", self.base_url, request.path);
        let mut sent = self.client.request(request.method.clone(), url).header(ACCEPT, "application/json");
        sent = sent.header(USER_AGENT, AGENT);
        for (name, value) in &self.headers {
            sent = sent.header(*name, value);
        }
        if let Some(token) = &self.token {
            sent = sent.bearer_auth(token);
        }
        if let Some(key) = request.key {
            sent = sent.header("Idempotency-Key", key);
        }
        if let Some(body) = request.body {
            sent = sent.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let response = sent.send().await.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        let asked_wait = asked_wait(&response);
        let left = response.headers().get("x-ratelimit-remaining").and_then(|left| left.to_str().ok());
        let is_rate_limited = status == StatusCode::TOO_MANY_REQUESTS
            || (status == StatusCode::FORBIDDEN && (left == Some("0") || asked_wait.is_some()));
        let content = bounded(response, MAX_ANSWER_BYTES).await.map_err(|error| match error {
            ContentError::Transport(error) => self.unreachable(&error),
            ContentError::TooLarge => NoResponse {
                error: service_error(
                    format!("{} answers with too much; check its address", self.base_url),
                    "too_large",
                ),
                is_transient: false,
            },
        })?;
        let body = serde_json::from_slice(&content).unwrap_or_default();
        Ok(ServiceResponse { status, body, is_rate_limited, asked_wait })
    }

    fn unreachable(&self, error: &reqwest::Error) -> NoResponse {
        let (reason, what) = match error {
            _ if error.is_builder() => ("address", "isn't an address that can be called"),
            _ if error.is_timeout() => ("timeout", "doesn't answer in time"),
            _ => ("network", "can't be reached"),
        };
        let is_transient = reason != "address";
        let next = if is_transient { "try again later" } else { "correct `commit_service.base_url`" };
        let error = service_error(format!("the commit service {} {what}; {next}", self.base_url), reason);
        NoResponse { error: if is_transient { error.retryable() } else { error }, is_transient }
    }

    /// The error for a response that isn't the wanted one. `doing` is what was asked for.
    pub(super) fn refusal(&self, response: &ServiceResponse, doing: &str) -> StageError {
        let status = response.status;
        let said = self.shown(&response.body);
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        let (reason, next) = match status {
            _ if response.is_rate_limited => ("rate_limited", "try again later"),
            StatusCode::UNAUTHORIZED => ("unauthorized", "give the server a valid token, see `runs.services`"),
            StatusCode::FORBIDDEN => {
                ("forbidden", "the token needs the permission to write contents and pull requests")
            }
            StatusCode::NOT_FOUND => ("not_found", "check the repository's name, and whether the token may see it"),
            _ if status.is_redirection() => ("redirected", "use the address that it redirects to"),
            _ if status.is_server_error() => ("service_failed", "try again later"),
            _ => ("refused", "mend what it says, then try again"),
        };
        let message = format!("the commit service {} doesn't {doing} ({status}{said}); {next}", self.base_url);
        let error = service_error(message, reason).with("http_status", status.as_u16());
        if response.is_rate_limited || status.is_server_error() { error.retryable() } else { error }
    }

    /// The error for a response of another form than the service's description says.
    pub(super) fn unusable(&self, what: &str) -> StageError {
        let message = format!(
            "the commit service {} answers with something else than its description says ({what}); check its address and version",
            self.base_url
        );
        service_error(message, "unusable_answer")
    }

    /// The message of a service, in one line, without the token.
    fn shown(&self, body: &Value) -> String {
        let mut texts: Vec<&str> = ["message", "error"].iter().filter_map(|name| body[*name].as_str()).collect();
        let more = body["errors"].as_array().into_iter().flatten();
        texts.extend(more.filter_map(|error| error["message"].as_str().or(error.as_str())));
        let text = texts.join("; ");
        let text = match self.token.as_deref().filter(|token| !token.is_empty()) {
            Some(token) => text.replace(token, "…"),
            None => text,
        };
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN_CHARS).collect()
    }
}

impl ServiceResponse {
    /// Whether the same request may succeed soon.
    fn is_transient(&self) -> bool {
        matches!(self.status, StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT)
    }

    pub(super) fn text(&self, pointer: &str) -> Option<&str> {
        self.body.pointer(pointer)?.as_str()
    }
}

impl NoResponse {
    pub(super) fn into_error(self) -> StageError {
        self.error
    }
}

impl Tries {
    /// Whether to try again after this; waits if so.
    ///
    /// # Errors
    /// `CANCELLED` if the run was stopped meanwhile.
    pub(super) fn again(
        &mut self,
        sent: &Result<ServiceResponse, NoResponse>,
        stop: &StopFlag,
    ) -> Result<bool, StageError> {
        let (is_transient, asked) = match sent {
            Ok(response) => (response.is_transient(), response.asked_wait),
            Err(failed) => (failed.is_transient, None),
        };
        let Some(wait) = self.waits.next().filter(|_| is_transient) else { return Ok(false) };
        let wait = wait.max(asked.unwrap_or_default().min(self.longest_asked));
        match run_until_stopped(async { tokio::time::sleep(wait).await }, stop) {
            Ok(Some(())) => Ok(true),
            _ => Err(StageError::cancelled()),
        }
    }
}
