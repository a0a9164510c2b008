//! The bearer tokens that are valid now, and the principals that they name.
//!
//! Other processes add and remove tokens (`codeyard token`); a running server follows. Invariants: a removed token is refused from the next
//! request on, and one with an end from that second on; a minted token allows no more than the one that it was minted from, and ends with it;
//! a store that can't be read accepts no token; a check writes nothing itself.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::cached_records::CachedRecords;
use crate::known_tokens::{KnownTokens, infos};
use crate::limits::{MAX_MINTED, MAX_TOKENS, TOKEN_USE_INTERVAL_S};
use crate::state_store::{Namespace, Record, Snapshot, StateError, StoreHandle, Write};
use crate::token::{Token, TokenHash, TokenId};
use crate::token_record::{TokenGrant, TokenInfo, TokenValue};
use crate::token_uses::TokenUses;
use codeyard_access::{OperationSet, Principal, Scope};
use codeyard_base::clock::wall_s;
use codeyard_base::ids::PrincipalId;
use codeyard_base::words;

/// Tokens of callers of tools. The key is the SHA-256 of a token's text, in hexadecimal.
pub(crate) const TOKENS: Namespace = Namespace::new("tokens");
/// Tokens of operators, in the same form.
pub(crate) const ADMIN_TOKENS: Namespace = Namespace::new("admin-tokens");

/// Tokens of programs that read probes and metrics, in the same form.
pub(crate) const PROBE_TOKENS: Namespace = Namespace::new("probe-tokens");

words! {
    /// What the tokens give access to.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum TokenAudience {
        /// `/mcp`: callers of tools.
        Mcp => "mcp",
        /// `/admin/v1`: operators.
        Admin => "admin",
        /// `/livez`, `/readyz` and `/metrics`: process supervisors and scrapers.
        Probes => "probes",
    }
    /// The word for people: the kind of a token.
    fn as_str;
}

impl TokenAudience {
    fn namespace(self) -> Namespace {
        match self {
            Self::Mcp => TOKENS,
            Self::Admin => ADMIN_TOKENS,
            Self::Probes => PROBE_TOKENS,
        }
    }

    /// What a token may that names no operations.
    pub fn operations(self) -> OperationSet {
        match self {
            Self::Mcp => OperationSet::CALLS,
            Self::Admin => OperationSet::ADMIN,
            Self::Probes => OperationSet::NONE,
        }
    }
}

/// Why the tokens can't be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The store can't be read or written.
    #[error("the tokens can't be used: {0}")]
    Store(#[from] StateError),
    /// The operating system gives no randomness.
    #[error("no token can be generated: {0}")]
    Random(io::Error),
    /// The first token can't be shown.
    #[error("the first token can't be shown: {0}")]
    NotShown(io::Error),
    /// There are as many tokens as there may be.
    #[error("there are {MAX_TOKENS} tokens already; remove one first")]
    Full,
    /// The name is empty, overlong, not printable ASCII, or looks like one of a tenant.
    #[error(
        "a principal's name is 1 to 64 printable ascii characters without spaces and `/`; a tenant is named with --tenant"
    )]
    Name,
    /// The token may not mint, or has minted as many as it may.
    #[error(
        "a minted token makes no tokens, and another one has at most {MAX_MINTED}; remove some, or wait until they end"
    )]
    Minted,
    /// A pattern of workspaces is wrong.
    #[error("{0}; write names of workspaces, or patterns such as `svc-*` or `!svc-old`")]
    Workspaces(String),
}

/// The valid tokens of one audience.
#[derive(Debug)]
pub struct TokenStore {
    store: StoreHandle,
    audience: TokenAudience,
    known: Mutex<Known>,
    uses: Arc<TokenUses>,
}

#[derive(Debug)]
struct Known {
    tokens: CachedRecords<KnownTokens>,
    /// When the use of a token was last noted, in seconds since 1970. No larger than the number of tokens.
    noted: HashMap<TokenId, u64>,
}

impl TokenStore {
    /// Opens the tokens of `audience`. There may be none.
    ///
    /// # Errors
    /// [`TokenError::Store`].
    pub fn open(store: StoreHandle, audience: TokenAudience) -> Result<Self, TokenError> {
        let namespace = audience.namespace();
        let known = Known { tokens: CachedRecords::new(namespace), noted: HashMap::new() };
        let uses = Arc::new(TokenUses::new(store.clone(), namespace));
        let tokens = Self { store, audience, known: Mutex::new(known), uses };
        tokens.try_refresh()?;
        Ok(tokens)
    }

    /// Opens the tokens of `audience`. If there never was one, makes one for the principal `local`.
    ///
    /// The token made is returned: it can't be read again.
    ///
    /// # Errors
    /// [`TokenError::Store`], [`TokenError::Random`].
    pub fn open_or_create(store: StoreHandle, audience: TokenAudience) -> Result<(Self, Option<Token>), TokenError> {
        let mut made = None;
        let store = Self::open_or_show(store, audience, |token| {
            made = Some(token.clone());
            Ok(())
        })?;
        Ok((store, made))
    }

    /// The same, but the token made is shown before it is stored: a token that nobody could see isn't stored.
    ///
    /// # Errors
    /// [`TokenError::Store`], [`TokenError::Random`], [`TokenError::NotShown`].
    pub fn open_or_show(
        store: StoreHandle,
        audience: TokenAudience,
        mut show: impl FnMut(&Token) -> io::Result<()>,
    ) -> Result<Self, TokenError> {
        let namespace = audience.namespace();
        if store.list(namespace)?.version == 0 {
            let token = Token::generate().map_err(TokenError::Random)?;
            let mut shown = Ok(());
            store.update(namespace, &mut |before| {
                if before.version != 0 {
                    return Vec::new();
                }
                shown = show(&token);
                shown.iter().map(|()| put(&TokenGrant::of(PrincipalId::local()), &token)).collect()
            })?;
            shown.map_err(TokenError::NotShown)?;
        }
        Self::open(store, audience)
    }

    /// The principal that `offered` names, if it is valid now. The use is noted in the background.
    pub fn principal(&self, offered: &str) -> Option<Principal> {
        let hash = TokenHash::of(offered);
        let now = wall_s();
        let mut known = self.known.lock();
        self.refresh(&mut known);
        let (principal, is_first_use) = known.find(&hash, now)?;
        drop(known);
        if is_first_use {
            self.uses.note(hash.to_hex(), now);
        }
        Some(principal)
    }

    /// Whether the credential of a principal is still valid.
    pub fn is_valid(&self, principal: &Principal) -> bool {
        let Some(id) = principal.credential.as_ref().map(|credential| &credential.id) else { return true };
        let now = wall_s();
        let mut known = self.known.lock();
        self.refresh(&mut known);
        let mut own = known.tokens.value().0.values().filter(|token| token.info.id.as_str() == &**id);
        own.any(|token| token.holder.is_some() && !token.info.has_ended(now))
    }

    /// Makes one more token. It can't be read again.
    ///
    /// # Errors
    /// [`TokenError::Name`], [`TokenError::Workspaces`], [`TokenError::Minted`], [`TokenError::Full`], [`TokenError::Store`], [`TokenError::Random`].
    pub fn add(&self, grant: &TokenGrant) -> Result<Token, TokenError> {
        let name = grant.principal.as_str();
        if !PrincipalId::is_well(name) || name.contains('/') {
            return Err(TokenError::Name);
        }
        Scope::new(&grant.workspaces, OperationSet::NONE).map_err(TokenError::Workspaces)?;
        let token = Token::generate().map_err(TokenError::Random)?;
        let mut is_full = false;
        let mut may_mint = true;
        self.change(|before| {
            is_full = before.len() >= MAX_TOKENS;
            may_mint = grant.minter.as_ref().is_none_or(|minter| {
                let may_mint = before.iter().any(|info| info.id == *minter && info.grant.minter.is_none());
                let minted = before.iter().filter(|info| info.grant.minter.as_ref() == Some(minter)).count();
                may_mint && minted < MAX_MINTED
            });
            if is_full || !may_mint { Vec::new() } else { vec![put(grant, &token)] }
        })?;
        match (is_full, may_mint) {
            (true, _) => Err(TokenError::Full),
            (_, false) => Err(TokenError::Minted),
            _ => Ok(token),
        }
    }

    /// Removes all tokens of the principal `name` of the tenant `default`. Returns how many there were.
    ///
    /// # Errors
    /// [`TokenError::Store`].
    pub fn remove(&self, name: &str) -> Result<usize, TokenError> {
        self.remove_matching(|info| info.grant.tenant.is_default() && info.grant.principal.as_str() == name)
    }

    /// Removes the token `id`. Returns whether there was one.
    ///
    /// # Errors
    /// [`TokenError::Store`].
    pub fn remove_one(&self, id: &TokenId) -> Result<bool, TokenError> {
        Ok(self.remove_matching(|info| info.id == *id)? > 0)
    }

    /// Makes a new token that allows what the token `id` does, to the same end. With `ends`, the old one is refused from that second since
    /// 1970 on; an earlier end that it has already stays. `None` if there is no token `id`.
    ///
    /// # Errors
    /// [`TokenError::Full`], [`TokenError::Store`], [`TokenError::Random`].
    pub fn rotate(&self, id: &TokenId, ends: Option<u64>) -> Result<Option<Token>, TokenError> {
        let token = Token::generate().map_err(TokenError::Random)?;
        let mut is_full = false;
        let mut is_done = false;
        self.change(|before| {
            let Some(old) = before.iter().find(|old| old.id == *id) else { return Vec::new() };
            is_full = before.len() >= MAX_TOKENS;
            if is_full {
                return Vec::new();
            }
            is_done = true;
            let mut ending = old.clone();
            ending.replaced = old.replaced.into_iter().chain(ends).min();
            let end_old =
                (ending != *old).then(|| Write::Put { key: old.key.clone(), value: TokenValue::of(&ending).encode() });
            end_old.into_iter().chain([put(&old.grant, &token)]).collect()
        })?;
        match (is_full, is_done) {
            (true, _) => Err(TokenError::Full),
            (_, done) => Ok(done.then_some(token)),
        }
    }

    /// The stored tokens, oldest first. Those of an unknown age come first.
    pub fn list(&self) -> Vec<TokenInfo> {
        let now = wall_s();
        let known = self.known.lock();
        let valid = known.tokens.value().0.values().filter(|token| token.holder.is_some());
        let infos = valid.map(|token| token.info.clone());
        let mut infos: Vec<TokenInfo> = infos.filter(|info| !info.has_ended(now)).collect();
        infos.sort_by(|one, other| (one.created, one.id.as_str()).cmp(&(other.created, other.id.as_str())));
        infos
    }

    /// The principals with a valid token.
    pub fn principals(&self) -> HashSet<Principal> {
        let now = wall_s();
        let known = self.known.lock();
        let valid = known.tokens.value().0.values().filter(|token| !token.info.has_ended(now));
        valid.filter_map(|token| token.holder.clone()).collect()
    }

    fn remove_matching(&self, is_wanted: impl Fn(&TokenInfo) -> bool) -> Result<usize, TokenError> {
        let mut removed = 0;
        self.change(|before| {
            let wanted = before.iter().filter(|info| is_wanted(info));
            let writes: Vec<Write> = wanted.map(|info| Write::Remove { key: info.key.clone() }).collect();
            removed = writes.len();
            writes
        })?;
        Ok(removed)
    }

    /// Applies the writes that `change` decides on, and removes the tokens that have ended and those whose minter is gone. `change` sees the
    /// tokens that haven't ended.
    fn change(&self, mut change: impl FnMut(&[TokenInfo]) -> Vec<Write>) -> Result<(), TokenError> {
        let now = wall_s();
        let mut damage = None;
        self.store.update(self.audience.namespace(), &mut |before: &Snapshot| match infos(&before.records) {
            Ok(tokens) => {
                let (ended, valid): (Vec<_>, Vec<_>) = tokens.into_values().partition(|info| info.has_ended(now));
                let gone = ended.iter().map(|info| Write::Remove { key: info.key.clone() });
                let changed = change(&valid);
                let is_removed = |info: &TokenInfo| {
                    changed.iter().any(|write| matches!(write, Write::Remove { key } if *key == info.key))
                };
                let minters: HashSet<&TokenId> =
                    valid.iter().filter(|info| !is_removed(info)).map(|info| &info.id).collect();
                let is_orphan = |info: &&TokenInfo| info.grant.minter.as_ref().is_some_and(|id| !minters.contains(id));
                let orphans = valid.iter().filter(is_orphan).map(|info| Write::Remove { key: info.key.clone() });
                let orphans: Vec<Write> = orphans.collect();
                gone.chain(changed).chain(orphans).collect()
            }
            Err(reason) => {
                damage = Some(reason);
                Vec::new()
            }
        })?;
        if let Some(reason) = damage {
            return Err(StateError::Damaged { file: self.store.location().to_owned(), reason }.into());
        }
        self.try_refresh()
    }

    fn try_refresh(&self) -> Result<(), TokenError> {
        let decode = |records: &[Record]| KnownTokens::decode(records, self.audience.operations());
        Ok(self.known.lock().tokens.try_refresh(&*self.store, decode)?)
    }

    fn refresh(&self, known: &mut Known) {
        let decode = |records: &[Record]| KnownTokens::decode(records, self.audience.operations());
        known.tokens.refresh(&*self.store, "all tokens are refused", decode);
    }
}

impl Known {
    /// The principal of the token, and whether its use is to be noted.
    fn find(&mut self, hash: &TokenHash, now: u64) -> Option<(Principal, bool)> {
        let found = self.tokens.value().0.get(hash).filter(|token| !token.info.has_ended(now))?;
        let principal = found.holder.clone()?;
        let id = &found.info.id;
        let is_recent = |at: &u64| at.abs_diff(now) < TOKEN_USE_INTERVAL_S;
        if found.info.last_used.as_ref().is_some_and(is_recent) || self.noted.get(id).is_some_and(is_recent) {
            return Some((principal, false));
        }
        if self.noted.len() >= MAX_TOKENS {
            self.noted.clear();
        }
        self.noted.insert(id.clone(), now);
        Some((principal, true))
    }
}

fn put(grant: &TokenGrant, token: &Token) -> Write {
    Write::Put { key: token.hash().to_hex(), value: TokenValue::new(grant, wall_s()).encode() }
}

#[cfg(test)]
mod tests;
