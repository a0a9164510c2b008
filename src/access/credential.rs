//! What a caller shows to be let in.

use std::sync::Arc;

/// A credential that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// Its id, which opens nothing: audit lines have it.
    pub id: Arc<str>,
    pub kind: CredentialKind,
}

/// The kind of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialKind {
    /// A token of codeyard.
    Token,
    /// A token that was minted from another one.
    Minted,
    /// An access token of an authorization server.
    SignedOn {
        /// When it ends, in seconds since 1970.
        ends: u64,
        /// The version of the configuration that opened something to it.
        configured: u64,
        /// The version of the issuer's keys that it was checked with.
        keys: u64,
    },
}

impl Credential {
    /// A token of codeyard.
    pub fn token(id: &str, is_minted: bool) -> Self {
        Self { id: id.into(), kind: if is_minted { CredentialKind::Minted } else { CredentialKind::Token } }
    }

    /// An access token of an authorization server.
    pub fn signed_on(id: &str, ends: u64, configured: u64, keys: u64) -> Self {
        Self { id: id.into(), kind: CredentialKind::SignedOn { ends, configured, keys } }
    }
}
