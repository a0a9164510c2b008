//! The stored form of a token, and what people may know of it.
//!
//! Invariant: nothing here lets anyone compute the token: the key of a record is the SHA-256 of 256 random bits.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::state_store::Record;
use crate::token::{TokenHash, TokenId};
use codeyard_base::ids::PrincipalId;

/// What is known of a stored token. Times are in seconds since 1970.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenInfo {
    /// Its id, by which it is removed and rotated.
    pub id: TokenId,
    /// The principal that it names.
    pub principal: PrincipalId,
    /// When it was made; `None` for one that an earlier version of codeyard made.
    pub created: Option<u64>,
    /// When it was last used, at most `TOKEN_USE_INTERVAL_S` too early; `None` if it never was since this is stored.
    pub last_used: Option<u64>,
    /// From when on it is refused; `None` if it has no end.
    pub ends: Option<u64>,
    /// The key of its record.
    pub(crate) key: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenValue {
    principal: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    used: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ends: Option<u64>,
}

/// Hashes don't belong into logs.
impl fmt::Debug for TokenInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("TokenInfo");
        shown.field("id", &self.id).field("principal", &self.principal).field("created", &self.created);
        shown.field("last_used", &self.last_used).field("ends", &self.ends).finish_non_exhaustive()
    }
}

impl TokenInfo {
    /// What `record`, whose key is `hash`, says; `None` if it has another form.
    pub(crate) fn of(record: &Record, hash: TokenHash) -> Option<Self> {
        let TokenValue { principal, created, used, ends } = record.decode()?;
        let principal = PrincipalId::new(&principal);
        Some(Self { id: hash.id(), principal, created, last_used: used, ends, key: record.key.clone() })
    }

    /// Whether it is refused at `now`.
    pub(crate) fn has_ended(&self, now: u64) -> bool {
        self.ends.is_some_and(|ends| ends <= now)
    }
}

impl TokenValue {
    /// The value of a token of `principal` that is made now.
    pub(crate) fn new(principal: &str, now: u64) -> Self {
        Self { principal: principal.to_owned(), created: Some(now), used: None, ends: None }
    }

    /// The value that says `info`.
    pub(crate) fn of(info: &TokenInfo) -> Self {
        let TokenInfo { principal, created, last_used, ends, .. } = info;
        Self { principal: principal.as_str().to_owned(), created: *created, used: *last_used, ends: *ends }
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
