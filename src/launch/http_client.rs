//! HTTP to services that runs may use: language models and commit services, and to the servers of links.
//!
//! It knows no service. Invariants: a request ends soon after the run's stop flag is set; time and size are bounded; no redirect is followed and no
//! proxy of the environment is used, so a token goes to the listed service alone.

use std::time::Duration;

use codeyard_runs::stage::StopFlag;
use reqwest::header::RETRY_AFTER;
use reqwest::{Client, ClientBuilder, Response};

/// Longest wait that a service can ask for with `Retry-After`, in seconds.
const MAX_RETRY_AFTER_S: u64 = 60;

/// Time between two looks at the stop flag.
const STOP_POLL: Duration = Duration::from_millis(20);
/// Wait before the first retry. The next ones wait twice as long each.
const FIRST_RETRY_DELAY: Duration = Duration::from_millis(500);

/// How long a call waits before it tries again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waits {
    /// The first time.
    pub(crate) first: Duration,
    /// The longest time that a service can ask for.
    pub(crate) longest_asked: Duration,
}

/// Why a response's content can't be had.
#[derive(Debug)]
pub(crate) enum ContentError {
    /// It is larger than allowed.
    TooLarge,
    Transport(reqwest::Error),
}

impl Default for Waits {
    fn default() -> Self {
        Self { first: FIRST_RETRY_DELAY, longest_asked: Duration::from_secs(MAX_RETRY_AFTER_S) }
    }
}

/// A client whose requests take at most `limit` each.
///
/// # Errors
/// If the system gives no random numbers or certificates.
pub(crate) fn client(limit: Duration) -> reqwest::Result<Client> {
    builder(limit).build()
}

/// What all clients have in common.
pub(crate) fn builder(limit: Duration) -> ClientBuilder {
    // Without it, the HTTP client has no implementation of TLS. An error means that one is installed already.
    rustls::crypto::ring::default_provider().install_default().ok();
    Client::builder().timeout(limit).redirect(reqwest::redirect::Policy::none()).no_proxy()
}

/// Does `work` on a runtime of its own, in which it can be dropped at once. `None` if it was stopped.
///
/// # Errors
/// If the system gives no runtime.
pub(crate) fn run_until_stopped<T>(work: impl Future<Output = T>, stop: &StopFlag) -> std::io::Result<Option<T>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        tokio::select! {
            biased;
            () = stopped(stop) => None,
            outcome = work => Some(outcome),
        }
    });
    // A look-up of a host name may still wait.
    runtime.shutdown_background();
    Ok(outcome)
}

/// Ends when the flag is set.
async fn stopped(stop: &StopFlag) {
    while !stop.is_set() {
        tokio::time::sleep(STOP_POLL).await;
    }
}

/// The seconds of `Retry-After`. A date counts as nothing: the wait doesn't depend on the clock.
pub(crate) fn asked_wait(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The content of a response, of at most `max_bytes`.
///
/// # Errors
/// [`ContentError`].
pub(crate) async fn bounded(mut response: Response, max_bytes: usize) -> Result<Vec<u8>, ContentError> {
    let mut content = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(ContentError::Transport)? {
        if content.len() + chunk.len() > max_bytes {
            return Err(ContentError::TooLarge);
        }
        content.extend_from_slice(&chunk);
    }
    Ok(content)
}
