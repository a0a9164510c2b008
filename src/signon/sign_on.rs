//! All issuers, and the tokens that were checked.
//!
//! Invariants: a token that was checked is checked again when the keys of its issuer or the configuration have changed; what a configuration
//! takes away ends within the next look at the credential.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use jsonwebtoken::{Header, decode_header};
use lru::LruCache;
use parking_lot::{Mutex, RwLock};
use serde_json::Value;

use crate::issuer::{CheckedToken, Issuer, TokenProblem, named_issuer};
use crate::issuer_keys::{IssuerKeys, KeySource};
use crate::limits::{MAX_ACCESS_TOKEN_BYTES, MAX_CHECKED_TOKENS};
use crate::refusal_log::RefusalLog;
use crate::resource::{Challenge, ServerUrl};
use crate::signature;
use codeyard_access::{CredentialKind, OperationSet, Principal};
use codeyard_base::clock::wall_s;
use codeyard_base::digest::sha256;
use codeyard_config::{Config, IssuerSection, scope_words};

/// The issuers of a service.
#[derive(Debug)]
pub struct SignOn {
    issuers: RwLock<Arc<Issuers>>,
    /// By the SHA-256 of their texts.
    checked: Mutex<LruCache<[u8; 32], Arc<Checked>>>,
    refusals: RefusalLog,
}

#[derive(Debug, Default)]
struct Issuers {
    server: ServerUrl,
    by_url: BTreeMap<String, Arc<Issuer>>,
    /// What they were made from.
    sections: BTreeMap<String, IssuerSection>,
    /// Grows with each change.
    version: u64,
}

#[derive(Debug)]
struct Checked {
    token: CheckedToken,
    issuer: Arc<Issuer>,
    /// The version of the configuration that it was checked by.
    version: u64,
    /// Whether it has opened something.
    has_opened: AtomicBool,
}

/// A caller that has signed on.
#[derive(Debug, Clone)]
pub struct SignedOn {
    pub principal: Principal,
    /// Whether its token comes for the first time.
    pub is_new: bool,
}

impl Default for SignOn {
    fn default() -> Self {
        signature::install();
        let most = NonZero::new(MAX_CHECKED_TOKENS).unwrap_or(NonZero::<usize>::MIN);
        Self { issuers: RwLock::default(), checked: Mutex::new(LruCache::new(most)), refusals: RefusalLog::default() }
    }
}

impl SignOn {
    /// The issuers of a configuration.
    pub fn new(config: &Config) -> Self {
        let sign_on = Self::default();
        sign_on.configure(config);
        sign_on
    }

    /// Takes over the issuers of another configuration. Keys stay known.
    pub fn configure(&self, config: &Config) {
        let mut issuers = self.issuers.write();
        let server = ServerUrl::new(config.server.public_url().unwrap_or_default());
        // Open answers of callers who have signed on end with a change, and with no other reload.
        if issuers.sections == config.issuers && issuers.server == server {
            return;
        }
        let by_url: HashMap<&str, &Arc<Issuer>> =
            issuers.by_url.iter().map(|(url, issuer)| (url.as_str(), issuer)).collect();
        let issuer = |(name, section): (&String, &IssuerSection)| {
            let source = KeySource {
                issuer: section.url.clone(),
                keys_url: section.keys_url.clone(),
                authorities: section.authorities.clone(),
            };
            let known = by_url.get(section.url.as_str()).map(|known| &known.keys);
            let keys = known.filter(|keys| keys.source == source).cloned();
            let keys = keys.unwrap_or_else(|| Arc::new(IssuerKeys::new(source)));
            (section.url.clone(), Arc::new(Issuer::new(name, section, keys)))
        };
        let next = Issuers {
            server,
            by_url: config.issuers.iter().map(issuer).collect(),
            sections: config.issuers.clone(),
            version: issuers.version + 1,
        };
        *issuers = Arc::new(next);
    }

    /// Whether there are issuers. Without them nothing of OAuth is answered.
    pub fn is_on(&self) -> bool {
        !self.issuers.read().by_url.is_empty()
    }

    /// The caller of a request to `path` with this access token.
    ///
    /// # Errors
    /// Why the token doesn't count.
    pub async fn principal(&self, token: &str, path: &str) -> Result<SignedOn, TokenProblem> {
        let issuers = self.issuers.read().clone();
        let checked = match self.checked(token, &issuers) {
            Some(checked) => checked,
            None => self.check(token, &issuers).await?,
        };
        // The configuration may have changed while keys were fetched.
        if self.issuers.read().version != issuers.version {
            return Err(TokenProblem::Unavailable);
        }
        let opened = checked.open(&issuers, path).inspect_err(|problem| {
            let found = || format!("aud: {}", checked.token.audiences.join(", "));
            self.refusals.refused(Some(checked.issuer.name()), problem, found);
        });
        opened.map(|principal| SignedOn { principal, is_new: !checked.has_opened.swap(true, Relaxed) })
    }

    /// The same, if the token was checked before.
    pub fn known(&self, token: &str, path: &str) -> Option<Principal> {
        let issuers = self.issuers.read().clone();
        self.checked(token, &issuers)?.open(&issuers, path).ok()
    }

    /// Whether the credential of a principal that has signed on still counts.
    pub fn is_valid(&self, principal: &Principal) -> bool {
        match principal.credential.as_ref().map(|credential| &credential.kind) {
            Some(CredentialKind::SignedOn { ends, configured, keys }) => {
                let issuers = self.issuers.read().clone();
                // The name of a caller ends with its issuer's.
                let name = principal.id.as_str().rsplit('@').next();
                let issuer = issuers.by_url.values().find(|issuer| Some(issuer.name()) == name);
                let is_signed = issuer.is_some_and(|issuer| issuer.keys.version() == Some(*keys));
                wall_s() < *ends && *configured == issuers.version && is_signed
            }
            _ => true,
        }
    }

    fn checked(&self, token: &str, issuers: &Issuers) -> Option<Arc<Checked>> {
        if issuers.by_url.is_empty() {
            return None;
        }
        let checked = self.checked.lock().get(&sha256(token)).cloned()?;
        checked.issuer.keys.refresh_stale();
        let is_current =
            checked.version == issuers.version && checked.issuer.keys.version() == Some(checked.token.keys_version);
        is_current.then_some(checked)
    }

    async fn check(&self, token: &str, issuers: &Issuers) -> Result<Arc<Checked>, TokenProblem> {
        let (header, issuer) =
            issuers.of(token).inspect_err(|problem| self.refusals.refused(None, problem, String::new))?;
        let token_of = issuer.check(token, &header, issuers.version).await.map_err(|refused| {
            self.refusals.refused(Some(issuer.name()), &refused.problem, || refused.found);
            refused.problem
        })?;
        let checked =
            Arc::new(Checked { token: token_of, issuer, version: issuers.version, has_opened: AtomicBool::new(false) });
        self.checked.lock().put(sha256(token), checked.clone());
        Ok(checked)
    }

    /// The path of the resource whose metadata are asked for at `path`; `None` if there are no issuers, or it is no place of metadata.
    pub fn resource_path<'p>(&self, path: &'p str) -> Option<&'p str> {
        let issuers = self.issuers.read().clone();
        if issuers.by_url.is_empty() { None } else { issuers.server.resource_path(path) }
    }

    /// The metadata of the resource at `path`, for which callers need these operations.
    pub fn metadata(&self, path: &str, operations: OperationSet) -> Value {
        let issuers = self.issuers.read().clone();
        let urls: Vec<&str> = issuers.by_url.values().map(|issuer| issuer.url()).collect();
        issuers.server.metadata(path, &urls, &issuers.scope(operations))
    }

    /// The value of `WWW-Authenticate` in a refusal of a request that needs these operations; `None` if there are no issuers.
    pub fn challenge(
        &self,
        path: &str,
        error: Option<(&'static str, &str)>,
        operations: OperationSet,
    ) -> Option<String> {
        let issuers = self.issuers.read().clone();
        if issuers.by_url.is_empty() {
            return None;
        }
        Some(issuers.server.challenge(&Challenge { path, error, scope: &issuers.scope(operations) }))
    }
}

impl Issuers {
    /// The header of a token, and the issuer that it names.
    fn of(&self, token: &str) -> Result<(Header, Arc<Issuer>), TokenProblem> {
        if token.len() > MAX_ACCESS_TOKEN_BYTES {
            return Err(TokenProblem::Malformed);
        }
        let header = decode_header(token).map_err(|_| TokenProblem::Malformed)?;
        let issuer = self.by_url.get(&named_issuer(token)?).ok_or(TokenProblem::Issuer)?;
        Ok((header, issuer.clone()))
    }

    /// The scopes of these operations, if tokens of an issuer have scopes.
    fn scope(&self, operations: OperationSet) -> String {
        let has_scopes = self.by_url.values().any(|issuer| issuer.has_scopes());
        if has_scopes { scope_words(operations) } else { String::new() }
    }
}

impl Checked {
    /// The principal, if the token counts now, for a request to `path`.
    fn open(&self, issuers: &Issuers, path: &str) -> Result<Principal, TokenProblem> {
        if wall_s() >= self.token.ends {
            return Err(TokenProblem::Expired);
        }
        let server = &issuers.server;
        if !self.issuer.accepts(&self.token.audiences, &server.of(path), &server.of("")) {
            return Err(TokenProblem::Audience);
        }
        Ok(self.token.principal.clone())
    }
}
