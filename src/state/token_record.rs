//! The stored form of a token, and what people may know of it.
//!
//! Invariant: nothing here lets anyone compute the token: the key of a record is the SHA-256 of 256 random bits.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::state_store::Record;
use crate::token::{TokenHash, TokenId};
use codeyard_access::OperationSet;
use codeyard_base::ids::{PrincipalId, TenantId};

/// What a token is made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenGrant {
    /// The tenant whose workspaces it may open.
    pub tenant: TenantId,
    /// The principal that it names.
    pub principal: PrincipalId,
    /// Patterns of the workspaces, by their names in the tenant. Without patterns: all.
    pub workspaces: Vec<String>,
    /// What it allows there. `None`: all that tokens of its audience may.
    pub operations: Option<OperationSet>,
    /// From when on it is refused, in seconds since 1970; `None` if it has no end.
    pub ends: Option<u64>,
    /// The token that it was minted from. It allows no more than that one and ends with it.
    pub minter: Option<TokenId>,
}

/// What is known of a stored token. Times are in seconds since 1970.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenInfo {
    /// Its id, by which it is removed and rotated.
    pub id: TokenId,
    /// What it is made for.
    pub grant: TokenGrant,
    /// When it was made; `None` for one that an earlier version of codeyard made.
    pub created: Option<u64>,
    /// When it was last used, at most `TOKEN_USE_INTERVAL_S` too early; `None` if it never was since this is stored.
    pub last_used: Option<u64>,
    /// From when on it is refused because another one was made in its place.
    pub replaced: Option<u64>,
    /// The key of its record.
    pub(crate) key: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenValue {
    principal: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    workspaces: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operations: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    used: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ends: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replaced: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    minter: Option<String>,
}

impl TokenGrant {
    /// All of the tenant `default`, without an end.
    pub fn of(principal: PrincipalId) -> Self {
        let tenant = TenantId::default_tenant();
        Self { tenant, principal, workspaces: Vec::new(), operations: None, ends: None, minter: None }
    }
}

/// Hashes don't belong into logs.
impl fmt::Debug for TokenInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("TokenInfo");
        shown.field("id", &self.id).field("grant", &self.grant).field("created", &self.created);
        shown.field("last_used", &self.last_used).finish_non_exhaustive()
    }
}

impl TokenInfo {
    /// What `record`, whose key is `hash`, says; `None` if it has another form.
    pub(crate) fn of(record: &Record, hash: TokenHash) -> Option<Self> {
        let value: TokenValue = record.decode()?;
        let tenant = value.tenant.as_deref().map_or_else(|| Some(TenantId::default_tenant()), TenantId::new)?;
        let words = value.operations.as_ref().map(|words| OperationSet::parse(words.iter().map(String::as_str)));
        let grant = TokenGrant {
            tenant,
            principal: PrincipalId::new(&value.principal),
            workspaces: value.workspaces,
            operations: words.transpose().ok()?,
            ends: value.ends,
            minter: value.minter.as_deref().map_or(Some(None), |id| TokenId::parse(id).map(Some))?,
        };
        Some(Self {
            id: hash.id(),
            grant,
            created: value.created,
            last_used: value.used,
            replaced: value.replaced,
            key: record.key.clone(),
        })
    }

    /// From when on it is refused; `None` if it has no end.
    pub fn ends(&self) -> Option<u64> {
        self.grant.ends.into_iter().chain(self.replaced).min()
    }

    /// Whether it is refused at `now`.
    pub(crate) fn has_ended(&self, now: u64) -> bool {
        self.ends().is_some_and(|ends| ends <= now)
    }
}

impl TokenValue {
    /// The value of a token that is made now.
    pub(crate) fn new(grant: &TokenGrant, now: u64) -> Self {
        let words = |set: OperationSet| set.iter().map(|operation| operation.as_str().to_owned()).collect();
        Self {
            principal: grant.principal.to_string(),
            tenant: (!grant.tenant.is_default()).then(|| grant.tenant.to_string()),
            workspaces: grant.workspaces.clone(),
            operations: grant.operations.map(words),
            created: Some(now),
            used: None,
            ends: grant.ends,
            replaced: None,
            minter: grant.minter.as_ref().map(ToString::to_string),
        }
    }

    /// The value that says `info`.
    pub(crate) fn of(info: &TokenInfo) -> Self {
        Self { created: info.created, used: info.last_used, replaced: info.replaced, ..Self::new(&info.grant, 0) }
    }

    /// The value with a use at `now`.
    pub(crate) fn used_at(self, now: u64) -> Self {
        Self { used: Some(now), ..self }
    }

    /// The JSON text.
    pub(crate) fn encode(&self) -> String {
        let text = serde_json::to_string(self);
        // Texts and numbers can always be written.
        text.unwrap_or_default()
    }
}
