//! The keys of an issuer as they change: fetched when a token needs them, again when they are old or a token names an unknown one.
//!
//! Invariants: the server of the issuer is asked at most once in [`FETCH_INTERVAL`], whatever tokens name; while it doesn't answer, known keys
//! are used for [`KEYS_KEPT`]; a fetch that a caller waits for goes on when the caller has gone.

use std::path::PathBuf;
use std::sync::Arc;

use jsonwebtoken::{Algorithm, DecodingKey};
use parking_lot::Mutex;
use tokio::time::Duration;

use crate::key_set::KeySet;
use crate::limits::{FETCH_INTERVAL, FETCH_TIMEOUT, KEYS_KEPT};
use crate::metadata;
use codeyard_base::clock::Instant;

/// Where the keys of an issuer come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeySource {
    pub(crate) issuer: String,
    pub(crate) keys_url: Option<String>,
    pub(crate) authorities: Option<PathBuf>,
}

/// The keys of one issuer.
#[derive(Debug)]
pub(crate) struct IssuerKeys {
    pub(crate) source: KeySource,
    known: Mutex<Known>,
    /// Held while keys are fetched.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Known {
    keys: Arc<KeySet>,
    /// Grows with each change of the keys: a token that was checked with other ones is checked again.
    version: u64,
    digest: [u8; 32],
    /// When they were fetched, and how long they are fresh.
    fetched: Option<(Instant, Duration)>,
    asked: Option<Instant>,
}

/// Keys that a token may be signed with.
#[derive(Debug)]
pub(crate) struct FoundKeys {
    pub(crate) keys: Vec<DecodingKey>,
    /// The version of the keys.
    pub(crate) version: u64,
}

/// The keys of the issuer can't be had for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeysUnavailable;

impl IssuerKeys {
    pub(crate) fn new(source: KeySource) -> Self {
        Self { source, known: Mutex::default(), fetching: tokio::sync::Mutex::default() }
    }

    /// The version of the keys that are used now; `None` if none are.
    pub(crate) fn version(&self) -> Option<u64> {
        let known = self.known.lock();
        known.is_usable().then_some(known.version)
    }

    /// The keys with this id that fit the algorithm. There are none if the issuer has no such key.
    ///
    /// # Errors
    /// The keys were never fetched, or too long ago.
    pub(crate) async fn find(
        self: &Arc<Self>,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<FoundKeys, KeysUnavailable> {
        self.refresh_stale();
        let found = self.known.lock().find(id, algorithm);
        if let Some(found) = found.filter(|found| !found.keys.is_empty()) {
            return Ok(found);
        }
        // Whoever waits here goes with its caller; the fetch goes on for the next one.
        let _one = self.fetching.lock().await;
        if self.may_ask() {
            drop(tokio::spawn(self.clone().fetch()).await);
        }
        self.known.lock().find(id, algorithm).ok_or(KeysUnavailable)
    }

    /// Fetches keys in the background that aren't fresh, unless that is going on or was tried just now.
    pub(crate) fn refresh_stale(self: &Arc<Self>) {
        let is_stale = {
            let known = self.known.lock();
            known.fetched.is_some() && !known.is_fresh()
        };
        if is_stale && self.may_ask() {
            let keys = self.clone();
            tokio::spawn(async move {
                let _one = keys.fetching.lock().await;
                if keys.may_ask() {
                    keys.clone().fetch().await;
                }
            });
        }
    }

    fn may_ask(&self) -> bool {
        self.known.lock().asked.is_none_or(|asked| asked.elapsed() >= FETCH_INTERVAL)
    }

    /// Fetches the keys.
    async fn fetch(self: Arc<Self>) {
        self.known.lock().asked = Some(Instant::now());
        let KeySource { issuer, keys_url, authorities } = &self.source;
        let work = async {
            let client = metadata::client(authorities.as_deref())?;
            metadata::keys(&client, issuer, keys_url.as_deref()).await
        };
        let late = || format!("{issuer} doesn't answer within {} s", FETCH_TIMEOUT.as_secs());
        let fetched = tokio::time::timeout(FETCH_TIMEOUT, work).await.unwrap_or_else(|_| Err(late()));
        self.known.lock().asked = Some(Instant::now());
        match fetched {
            Ok(fetched) => {
                let mut known = self.known.lock();
                if known.version == 0 || known.digest != fetched.digest {
                    known.keys = Arc::new(fetched.keys);
                    known.version += 1;
                }
                known.digest = fetched.digest;
                known.fetched = Some((Instant::now(), fetched.fresh));
            }
            Err(error) => {
                let is_usable = self.known.lock().is_usable();
                tracing::warn!(
                    issuer, %error, known_keys = is_usable,
                    "the keys of an issuer can't be fetched; check `url`, `keys_url` and `authorities` of its table in `[issuers]`"
                );
            }
        }
    }
}

impl Known {
    fn is_usable(&self) -> bool {
        self.fetched.is_some_and(|(at, _)| at.elapsed() < KEYS_KEPT)
    }

    fn is_fresh(&self) -> bool {
        self.fetched.is_some_and(|(at, fresh)| at.elapsed() < fresh)
    }

    fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<FoundKeys> {
        self.is_usable().then(|| FoundKeys { keys: self.keys.find(id, algorithm), version: self.version })
    }
}
