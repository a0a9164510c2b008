//! Asks a language model behind an API of OpenAI's form.
//!
//! It doesn't judge what the model writes. Invariants: a call ends soon after the run's stop flag is set; time, tries and the size of an answer are
//! bounded; no redirect is followed, so the key goes to the listed service alone; no text of the service is in a failure.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use codeyard_runs::stage::StopFlag;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::Value;

use crate::http_client::{ContentError, Waits, asked_wait, bounded, client, run_until_stopped};
use crate::limits::{MAX_ANSWER_BYTES, MAX_RETRY_DELAY_S};

/// Further requests after one that has failed for a reason that may pass.
const MAX_LLM_RETRIES: usize = 3;

/// A model and where it is.
pub(super) struct Endpoint<'e> {
    /// The beginning of its address.
    pub(super) base_url: &'e str,
    pub(super) key: Option<&'e str>,
    /// The time of one request.
    pub(super) request_limit: Duration,
    /// The time between requests.
    pub(super) waits: Waits,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) text: String,
    /// Whether the service says that the text is cut off.
    pub(super) is_cut: bool,
    /// The tokens of the prompt, as the service counts them.
    pub(super) prompt_tokens: Option<u64>,
    pub(super) completion_tokens: Option<u64>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallFailure {
    /// A word of `docs/internals/reference/contract-launch.md#writers`.
    pub(super) reason: &'static str,
    /// The status of the last response.
    pub(super) status: Option<u16>,
}

/// How a request ended without an answer.
struct Failed {
    failure: CallFailure,
    is_transient: bool,
    /// The wait that the service asks for.
    asked_wait: Option<Duration>,
}

impl CallFailure {
    /// A failure without a status.
    pub(super) fn of(reason: &'static str) -> Self {
        Self { reason, status: None }
    }
}

impl Failed {
    fn lasting(reason: &'static str) -> Self {
        Self { failure: CallFailure::of(reason), is_transient: false, asked_wait: None }
    }

    fn transport(error: &reqwest::Error) -> Self {
        if error.is_builder() {
            return Self::lasting("address");
        }
        let reason = if error.is_timeout() { "timeout" } else { "network" };
        Self { is_transient: true, ..Self::lasting(reason) }
    }
}

/// Sends `body` until there is an answer or no further try is worth it. Also how many requests were sent.
pub(super) fn ask(endpoint: &Endpoint<'_>, body: &Value, stop: &StopFlag) -> (Result<Answer, CallFailure>, u32) {
    let mut requests = 0;
    let answer = run_until_stopped(ask_again(endpoint, body, &mut requests), stop);
    let answer = match answer {
        Ok(Some(answer)) => answer,
        Ok(None) => Err(CallFailure::of("cancelled")),
        Err(_) => Err(CallFailure::of("network")),
    };
    (answer, requests)
}

async fn ask_again(endpoint: &Endpoint<'_>, body: &Value, requests: &mut u32) -> Result<Answer, CallFailure> {
    let client = client(endpoint.request_limit).map_err(|_| CallFailure::of("network"))?;
    let mut waits = ExponentialBuilder::default()
        .with_min_delay(endpoint.waits.first)
        .with_max_delay(Duration::from_secs(MAX_RETRY_DELAY_S))
        .with_max_times(MAX_LLM_RETRIES)
        .build();
    loop {
        *requests += 1;
        let failed = match ask_once(request(&client, endpoint, body)).await {
            Ok(answer) => return Ok(answer),
            Err(failed) => failed,
        };
        match waits.next().filter(|_| failed.is_transient) {
            Some(wait) => {
                let asked = failed.asked_wait.unwrap_or_default().min(endpoint.waits.longest_asked);
                tokio::time::sleep(wait.max(asked)).await;
            }
            None => return Err(failed.failure),
        }
    }
}

fn request(client: &Client, endpoint: &Endpoint<'_>, body: &Value) -> RequestBuilder {
    let url = format!("{}/chat/completions", endpoint.base_url.trim_end_matches('/'));
    let request = client.post(url).header(CONTENT_TYPE, "application/json").body(body.to_string());
    match endpoint.key {
        Some(key) => request.bearer_auth(key),
        None => request,
    }
}

async fn ask_once(request: RequestBuilder) -> Result<Answer, Failed> {
    let response = request.send().await.map_err(|error| Failed::transport(&error))?;
    let status = response.status();
    if !status.is_success() {
        let is_transient =
            status.is_server_error() || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT);
        let failure = CallFailure { reason: "http_status", status: Some(status.as_u16()) };
        return Err(Failed { failure, is_transient, asked_wait: asked_wait(&response) });
    }
    let content = bounded(response, MAX_ANSWER_BYTES).await.map_err(|error| match error {
        ContentError::TooLarge => Failed::lasting("too_large"),
        ContentError::Transport(error) => Failed::transport(&error),
    })?;
    parsed(&content).map_err(Failed::lasting)
}

/// The answer in a response, or the reason why there is none.
fn parsed(content: &[u8]) -> Result<Answer, &'static str> {
    let response: Value = serde_json::from_slice(content).map_err(|_| "unusable_answer")?;
    let choice = response.pointer("/choices/0").ok_or("unusable_answer")?;
    let message = &choice["message"];
    let is_refusal = message["refusal"].as_str().is_some_and(|text| !text.is_empty());
    if is_refusal || choice["finish_reason"] == "content_filter" {
        return Err("refused");
    }
    let text = match &message["content"] {
        Value::String(text) => text.trim(),
        Value::Null => "",
        _ => return Err("unusable_answer"),
    };
    if text.is_empty() {
        return Err("empty_answer");
    }
    Ok(Answer {
        text: text.to_owned(),
        is_cut: choice["finish_reason"] == "length",
        prompt_tokens: response["usage"]["prompt_tokens"].as_u64(),
        completion_tokens: response["usage"]["completion_tokens"].as_u64(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(response: &Value) -> Result<Answer, &'static str> {
        parsed(response.to_string().as_bytes())
    }

    #[test]
    fn an_answer_is_read_with_its_tokens() {
        let response = json!({
            "choices": [{"message": {"content": " text\n"}, "finish_reason": "length"}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 2},
        });
        let text = "text".to_owned();
        let expected = Answer { text, is_cut: true, prompt_tokens: Some(7), completion_tokens: Some(2) };
        assert_eq!(of(&response), Ok(expected));
    }

    #[test]
    fn whatever_is_no_answer_has_its_reason() {
        let message = |message: Value| json!({"choices": [{"message": message}]});
        for (response, reason) in [
            (json!([]), "unusable_answer"),
            (json!({"choices": []}), "unusable_answer"),
            (json!({"error": "no"}), "unusable_answer"),
            (message(json!({"content": ["x"]})), "unusable_answer"),
            (message(json!({"content": null})), "empty_answer"),
            (message(json!({"content": " \n"})), "empty_answer"),
            (message(json!("x")), "empty_answer"),
            (message(json!({"content": "x", "refusal": "no"})), "refused"),
            (json!({"choices": [{"message": {"content": "x"}, "finish_reason": "content_filter"}]}), "refused"),
        ] {
            assert_eq!(of(&response), Err(reason), "{response}");
        }
        assert_eq!(parsed(b"<html>"), Err("unusable_answer"));
        assert_eq!(parsed("[".repeat(100_000).as_bytes()), Err("unusable_answer"));
    }
}
