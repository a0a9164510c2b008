//! Fetching what an authorization server publishes: where its keys are (RFC 8414, OpenID Connect Discovery), and the keys.
//!
//! Invariants: no redirect is followed, no proxy of the environment is used; times and sizes are bounded.

use std::path::Path;
use std::time::Duration;

use reqwest::header::{ACCEPT, CACHE_CONTROL};
use reqwest::{Client, Response, Url};
use serde_json::Value;

use crate::key_set::KeySet;
use crate::limits::{FETCH_TIMEOUT, KEYS_FRESH, MAX_DOCUMENT_BYTES, MAX_KEYS_FRESH};
use codeyard_base::digest::sha256;

/// The keys of an issuer as they were fetched.
pub(crate) struct FetchedKeys {
    pub(crate) keys: KeySet,
    /// Tells other keys from the same ones.
    pub(crate) digest: [u8; 32],
    /// How long they are used without asking again.
    pub(crate) fresh: Duration,
}

/// An HTTP client for one authorization server, which trusts these authorities in place of the system's.
///
/// # Errors
/// A sentence: the file can't be read, or has no certificate.
pub(crate) fn client(authorities: Option<&Path>) -> Result<Client, String> {
    // Without it, the HTTP client has no implementation of TLS. An error means that one is installed already.
    rustls::crypto::ring::default_provider().install_default().ok();
    let builder = Client::builder().timeout(FETCH_TIMEOUT).redirect(reqwest::redirect::Policy::none()).no_proxy();
    let builder = match authorities {
        None => builder,
        Some(path) => {
            let shown = path.display();
            let pem = std::fs::read(path).map_err(|error| format!("{shown} can't be read: {error}"))?;
            let parsed = reqwest::Certificate::from_pem_bundle(&pem).ok().filter(|parsed| !parsed.is_empty());
            builder.tls_certs_only(parsed.ok_or_else(|| format!("{shown} holds no PEM certificates"))?)
        }
    };
    builder.build().map_err(|error| format!("no HTTP client can be made: {error}"))
}

/// Fetches the keys of the issuer, from `keys_url` if it is known.
///
/// # Errors
/// A sentence for operators.
pub(crate) async fn keys(client: &Client, issuer: &str, keys_url: Option<&str>) -> Result<FetchedKeys, String> {
    let found;
    let url = match keys_url {
        Some(url) => url,
        None => {
            found = discover(client, issuer).await?;
            &found
        }
    };
    let response = get(client, url).await?;
    let fresh = fresh_time(&response);
    let document = document(response, url).await?;
    let keys = KeySet::parse(&document).map_err(|problem| format!("{url}: {problem}"))?;
    let digest = sha256(document.get("keys").map(Value::to_string).unwrap_or_default());
    Ok(FetchedKeys { keys, digest, fresh })
}

/// Where the keys are, by the metadata of the issuer.
async fn discover(client: &Client, issuer: &str) -> Result<String, String> {
    let mut problems = Vec::new();
    for url in metadata_urls(issuer)? {
        let fetched = async { document(get(client, &url).await?, &url).await };
        match fetched.await {
            Ok(metadata) => return keys_url(&metadata, issuer).map_err(|problem| format!("{url}: {problem}")),
            Err(problem) => problems.push(problem),
        }
    }
    Err(problems.join("; "))
}

/// Where an issuer may have its metadata: behind its URL, and between its host and its path.
fn metadata_urls(issuer: &str) -> Result<Vec<String>, String> {
    let url = Url::parse(issuer).map_err(|error| format!("{issuer}: {error}"))?;
    let path = url.path().trim_end_matches('/');
    let origin = url.origin().ascii_serialization();
    let mut urls = vec![
        format!("{origin}{path}/.well-known/openid-configuration"),
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
    ];
    if !path.is_empty() {
        urls.push(format!("{origin}/.well-known/openid-configuration{path}"));
    }
    Ok(urls)
}

fn keys_url(metadata: &Value, issuer: &str) -> Result<String, String> {
    let named = metadata.get("issuer").and_then(Value::as_str);
    if named != Some(issuer) {
        return Err(format!(
            "the document is of the issuer `{}`; write `url` in `[issuers]` exactly so",
            named.unwrap_or_default()
        ));
    }
    let url = metadata.get("jwks_uri").and_then(Value::as_str).ok_or("the document names no `jwks_uri`")?;
    let is_secure = url.starts_with("https://") || issuer.starts_with("http://");
    if is_secure { Ok(url.to_owned()) } else { Err("its `jwks_uri` isn't one of https".to_owned()) }
}

async fn get(client: &Client, url: &str) -> Result<Response, String> {
    let failed = |error: reqwest::Error| format!("{url} can't be fetched: {}", causes(&error.without_url()));
    let response = client.get(url).header(ACCEPT, "application/json").send().await.map_err(failed)?;
    match response.status() {
        status if status.is_success() => Ok(response),
        status => Err(format!("{url} answers {status}")),
    }
}

async fn document(mut response: Response, url: &str) -> Result<Value, String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| format!("{url} broke off: {}", causes(&error)))? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_DOCUMENT_BYTES {
            return Err(format!("{url} is larger than {MAX_DOCUMENT_BYTES} bytes"));
        }
    }
    serde_json::from_slice(&bytes).map_err(|error| format!("{url} is no JSON: {error}"))
}

/// How long a response may be used, by its `max-age`.
fn fresh_time(response: &Response) -> Duration {
    let text = response.headers().get(CACHE_CONTROL).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let seconds = text.split(',').find_map(|part| part.trim().strip_prefix("max-age=")?.parse().ok());
    seconds.map_or(KEYS_FRESH, Duration::from_secs).clamp(Duration::from_secs(60), MAX_KEYS_FRESH)
}

/// An error with its causes, which say what really happened.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_is_behind_the_issuer_and_between_host_and_path() {
        assert_eq!(
            metadata_urls("https://a.example/realms/x/").unwrap(),
            [
                "https://a.example/realms/x/.well-known/openid-configuration",
                "https://a.example/.well-known/oauth-authorization-server/realms/x",
                "https://a.example/.well-known/openid-configuration/realms/x",
            ]
        );
        assert_eq!(metadata_urls("https://a.example/").unwrap().len(), 2);
    }

    #[test]
    fn metadata_of_another_issuer_and_keys_without_tls_are_refused() {
        let of = |issuer: &str, keys: &str| keys_url(&json!({"issuer": issuer, "jwks_uri": keys}), "https://a.example");
        assert_eq!(of("https://a.example", "https://b.example/keys").as_deref(), Ok("https://b.example/keys"));
        assert!(of("https://a.example/", "https://a.example/keys").is_err());
        assert!(of("https://a.example", "http://a.example/keys").is_err());
        assert!(keys_url(&json!({"issuer": "https://a.example"}), "https://a.example").is_err());
    }
}
