//! The tokens of a store as a server uses them: by their hashes, with what they open.
//!
//! Invariant: a minted token opens no more than the token that it was minted from, and is refused with it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::state_store::Record;
use crate::token::{TokenHash, TokenId};
use crate::token_record::TokenInfo;
use codeyard_access::{Credential, OperationSet, Principal, Scope};

/// The tokens of a store. Their hashes are those of random bits, so the time of a look-up tells nothing about another token.
#[derive(Debug, Default)]
pub(crate) struct KnownTokens(pub(crate) HashMap<TokenHash, KnownToken>);

#[derive(Debug)]
pub(crate) struct KnownToken {
    /// What it says, with the end of its minter if that comes earlier.
    pub(crate) info: TokenInfo,
    /// `None` if its minter is gone: then it is refused.
    pub(crate) holder: Option<Principal>,
}

impl KnownTokens {
    /// The tokens of these records. `operations` is what one may that names none.
    pub(crate) fn decode(records: &[Record], operations: OperationSet) -> Result<Self, String> {
        let infos = infos(records)?;
        let minters: HashMap<&TokenId, &TokenInfo> = infos.values().map(|info| (&info.id, info)).collect();
        let token = |info: &TokenInfo| {
            let mut info = info.clone();
            let scope = match &info.grant.minter {
                None => scope(&info, operations),
                // A minted token mints none.
                Some(id) => minters.get(id).filter(|minter| minter.grant.minter.is_none()).and_then(|minter| {
                    info.grant.ends = info.grant.ends.into_iter().chain(minter.ends()).min();
                    Some(scope(&info, operations)?.intersection(&scope(minter, operations)?))
                }),
            };
            let holder = scope.map(|scope| Principal {
                tenant: info.grant.tenant.clone(),
                id: info.grant.principal.clone(),
                scope: Arc::new(scope),
                credential: Some(Credential::token(info.id.as_str(), info.grant.minter.is_some())),
            });
            KnownToken { info, holder }
        };
        let tokens = infos.iter().map(|(hash, info)| (*hash, token(info))).collect();
        Ok(Self(tokens))
    }
}

/// What a token alone allows; `None` if its patterns don't compile, which a token that was added excludes.
fn scope(info: &TokenInfo, operations: OperationSet) -> Option<Scope> {
    Scope::new(&info.grant.workspaces, info.grant.operations.unwrap_or(operations)).ok()
}

/// What records of tokens say, by the hashes.
pub(crate) fn infos(records: &[Record]) -> Result<HashMap<TokenHash, TokenInfo>, String> {
    let token = |record: &Record| {
        let hash = TokenHash::from_hex(&record.key)?;
        Some((hash, TokenInfo::of(record, hash)?))
    };
    let tokens: Option<_> = records.iter().map(token).collect();
    tokens.ok_or_else(|| "a record of a token is not of the expected form".to_owned())
}
