//! Publishes the working copy of a run: one commit on one branch, and one pull request.
//!
//! What is published was validated before; the paths are checked once more. Invariants: a repetition makes no second commit, branch or pull
//! request; equal working copies make equal commits; a token is read from the variable that the operator lists and is never shown. Source:
//! `docs/internals/reference/contract-launch.md#commit-services`.

mod changed_files;
mod commit;
mod github;
mod http;
mod local;
mod pull_request_text;
mod service;

use std::path::Path;
use std::time::Duration;

use codeyard_runs::run_id::RunId;
use codeyard_runs::stage::{StageError, StopFlag};

use crate::artifacts::facts::{EvidenceMap, ProductFacts};
use crate::artifacts::issue::ValidationReport;
use crate::artifacts::page_claims::PageClaims;
use crate::artifacts::page_plan::PagePlan;
use crate::artifacts::pull_request::PullRequest;
use crate::http_client::Waits;
use crate::repository::checkout::{CheckedOut, CheckoutSettings};
use crate::request::allowed_paths::AllowedPaths;
use crate::request::run_config::{CommitServiceConfig, RunConfig, Writer};
use service::Service;

/// The version of GitHub's API.
const GITHUB_API_VERSION: &str = "2022-11-28";

/// What the operator allows runs to publish to, and to let write.
#[derive(Debug, Clone)]
pub struct PublicationSettings {
    pub services: Vec<AllowedService>,
    /// The time of one request to a service.
    pub request_limit: Duration,
}

/// A service that runs may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedService {
    /// The beginning of its address.
    pub base_url: String,
    /// The environment variable of this process that holds its token.
    pub token_env: Option<String>,
}

/// What is published.
pub struct PublishRequest<'p> {
    pub config: &'p RunConfig,
    pub run: &'p RunId,
    /// The working copy of the site.
    pub site: &'p Path,
    /// What the working copy was cloned from.
    pub checkout: &'p CheckedOut,
    /// What the product was cloned from.
    pub product_checkout: &'p CheckedOut,
    /// The files that the run may write.
    pub allowed: &'p AllowedPaths,
    /// Where repositories are.
    pub checkout_settings: &'p CheckoutSettings,
    /// What the operator allows.
    pub settings: &'p PublicationSettings,
    pub plan: &'p PagePlan,
    /// The last report.
    pub report: &'p ValidationReport,
    pub evidence: &'p EvidenceMap,
    pub claims: &'p PageClaims,
    /// What is known of the product.
    pub facts: &'p ProductFacts,
}

impl PublicationSettings {
    /// Whether the services that a configuration names are listed.
    ///
    /// # Errors
    /// `COMMIT_SERVICE_ERROR` or `INVALID_INPUT` with the reason `service_not_allowed`.
    pub fn check(&self, config: &RunConfig) -> Result<(), StageError> {
        match &config.commit_service {
            CommitServiceConfig::Local => {}
            CommitServiceConfig::Http { base_url, token_env } | CommitServiceConfig::Github { base_url, token_env } => {
                self.allowed(base_url, token_env.as_deref(), "COMMIT_SERVICE_ERROR")?;
            }
        }
        match &config.writer {
            Writer::Template => Ok(()),
            Writer::Openai { base_url, api_key_env, .. } => {
                self.allowed(base_url, api_key_env.as_deref(), "INVALID_INPUT").map(drop)
            }
        }
    }

    /// The token for a service; `None` if it needs none.
    ///
    /// # Errors
    /// If the service isn't listed, or its variable isn't set. The error has `code`.
    pub fn token(
        &self,
        base_url: &str,
        token_env: Option<&str>,
        code: &'static str,
    ) -> Result<Option<String>, StageError> {
        let service = self.allowed(base_url, token_env, code)?;
        let Some(name) = token_env.or(service.token_env.as_deref()) else { return Ok(None) };
        match std::env::var(name) {
            Ok(token) if !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Some(token)),
            _ => {
                let message = format!(
                    "the environment variable {name} of the server doesn't hold a token; set it and start codeyard again"
                );
                Err(StageError::new(code, message).with("reason", "token_missing").with("variable", name))
            }
        }
    }

    fn allowed(
        &self,
        base_url: &str,
        token_env: Option<&str>,
        code: &'static str,
    ) -> Result<&AllowedService, StageError> {
        let is_listed = |service: &&AllowedService| {
            let rest = base_url.strip_prefix(service.base_url.trim_end_matches('/'));
            let is_below = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            is_below && token_env.is_none_or(|name| service.token_env.as_deref() == Some(name))
        };
        // Escapes could stand for the components of a path that lead elsewhere.
        let is_plain = base_url.bytes().all(|byte| byte.is_ascii_graphic())
            && !base_url.contains(['?', '#', '@', '\\', '%'])
            && !base_url.split('/').any(|part| matches!(part, "." | ".."));
        self.services.iter().find(is_listed).filter(|_| is_plain).ok_or_else(|| {
            let with = token_env.map(|name| format!(" with the variable {name}")).unwrap_or_default();
            let message = format!(
                "this server's runs may not use {base_url}{with}; an operator can add it to `services` in the section `[runs]` of the \
                 configuration"
            );
            StageError::new(code, message).with("reason", "service_not_allowed").with("setting", "runs.services")
        })
    }
}

/// Publishes the working copy.
///
/// # Errors
/// `ALLOWED_PATHS_VIOLATION` if it changes a file that the run may not write; `COMMIT_SERVICE_ERROR` if the service refuses or fails, retryable
/// if a repetition may succeed.
pub fn publish(request: &PublishRequest<'_>, stop: &StopFlag) -> Result<PullRequest, StageError> {
    publish_with(request, Waits::default(), stop)
}

fn publish_with(request: &PublishRequest<'_>, waits: Waits, stop: &StopFlag) -> Result<PullRequest, StageError> {
    let change = commit::prepare(request, stop)?;
    let service_at = |base_url, token_env: &Option<String>| {
        let token = request.settings.token(base_url, token_env.as_deref(), "COMMIT_SERVICE_ERROR")?;
        Service::new(base_url, token, request.settings.request_limit, waits, stop)
    };
    match &request.config.commit_service {
        CommitServiceConfig::Local => local::publish(request, &change, stop),
        CommitServiceConfig::Http { base_url, token_env } => {
            http::publish(request, &change, &service_at(base_url, token_env)?, stop)
        }
        CommitServiceConfig::Github { base_url, token_env } => {
            let service = service_at(base_url, token_env)?;
            github::publish(request, &change, &service.header("X-GitHub-Api-Version", GITHUB_API_VERSION), stop)
        }
    }
}

fn branch_of(request: &PublishRequest<'_>) -> String {
    format!("launch/{}/{}", request.run, request.config.product_slug)
}

/// A branch of the run's name has another commit.
fn branch_exists(branch: &str, found: &str) -> StageError {
    let message =
        format!("the site's repository has a branch {branch} with another commit, {found}; remove it and try again");
    service_error(message, "branch_exists").with("commit", found)
}

/// Whether a text is the full name of a commit.
fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a text is an address for a browser, without a name or a password.
fn is_web_address(text: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(text) else { return false };
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>' | b'"' | b'`'));
    is_plain && matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none()
}

/// A `COMMIT_SERVICE_ERROR`.
fn service_error(message: impl Into<String>, reason: &str) -> StageError {
    StageError::new("COMMIT_SERVICE_ERROR", message).with("reason", reason)
}

#[cfg(test)]
mod tests;
