//! The bearer tokens that are valid now, and the principals that they name.
//!
//! Other processes add and remove tokens (`codeyard token`); a running server follows. Invariants: an offered token is compared with
//! every known hash; a removed token is refused after `TOKEN_RELOAD_MS` at the latest, and one with an end from that second on; a
//! store that can't be read accepts no token; a check writes nothing itself.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::cached_records::CachedRecords;
use crate::limits::{MAX_TOKENS, TOKEN_RELOAD_MS, TOKEN_USE_INTERVAL_S};
use crate::state_store::{Namespace, Record, Snapshot, StateError, StoreHandle, Write};
use crate::token::{Token, TokenHash, TokenId};
use crate::token_record::{TokenInfo, TokenValue};
use crate::token_uses::TokenUses;
use codeyard_base::clock::{Instant, wall_s};
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
    /// The name is empty, overlong or not printable ASCII.
    #[error("a principal's name is 1 to 64 printable ascii characters without spaces")]
    Name,
}

/// The valid tokens of one audience.
#[derive(Debug)]
pub struct TokenStore {
    store: StoreHandle,
    namespace: Namespace,
    known: Mutex<Known>,
    uses: Arc<TokenUses>,
}

#[derive(Debug)]
struct Known {
    tokens: CachedRecords<Vec<KnownToken>>,
    refreshed: Instant,
    /// When the use of a token was last noted, in seconds since 1970. No larger than the number of tokens.
    noted: HashMap<TokenId, u64>,
}

#[derive(Debug)]
struct KnownToken {
    hash: TokenHash,
    info: TokenInfo,
}

impl TokenStore {
    /// Opens the tokens of `audience`. There may be none.
    ///
    /// # Errors
    /// [`TokenError::Store`].
    pub fn open(store: StoreHandle, audience: TokenAudience) -> Result<Self, TokenError> {
        let namespace = audience.namespace();
        let known = Known { tokens: CachedRecords::new(namespace), refreshed: Instant::now(), noted: HashMap::new() };
        let uses = Arc::new(TokenUses::new(store.clone(), namespace));
        let tokens = Self { store, namespace, known: Mutex::new(known), uses };
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
                shown.iter().map(|()| put(PrincipalId::local().as_str(), &token)).collect()
            })?;
            shown.map_err(TokenError::NotShown)?;
        }
        Self::open(store, audience)
    }

    /// The principal that `offered` names, if it is valid now. The use is noted in the background.
    pub fn principal(&self, offered: &str) -> Option<PrincipalId> {
        let hash = TokenHash::of(offered);
        let now = wall_s();
        let mut known = self.known.lock();
        if known.refreshed.elapsed() >= Duration::from_millis(TOKEN_RELOAD_MS) {
            self.refresh(&mut known);
        }
        let mut found = known.find(&hash, now);
        if found.is_none() {
            // It may have been added a moment ago.
            self.refresh(&mut known);
            found = known.find(&hash, now);
        }
        let (principal, is_first_use) = found?;
        drop(known);
        if is_first_use {
            self.uses.note(hash.to_hex(), now);
        }
        Some(principal)
    }

    /// Makes one more token for `principal`. It can't be read again.
    ///
    /// # Errors
    /// [`TokenError::Name`], [`TokenError::Full`], [`TokenError::Store`], [`TokenError::Random`].
    pub fn add(&self, principal: &str) -> Result<Token, TokenError> {
        if !PrincipalId::is_well(principal) {
            return Err(TokenError::Name);
        }
        let token = Token::generate().map_err(TokenError::Random)?;
        let mut is_full = false;
        self.change(|before| {
            is_full = before.len() >= MAX_TOKENS;
            if is_full { Vec::new() } else { vec![put(principal, &token)] }
        })?;
        if is_full { Err(TokenError::Full) } else { Ok(token) }
    }

    /// Removes all tokens of `principal`. Returns how many there were.
    ///
    /// # Errors
    /// [`TokenError::Store`].
    pub fn remove(&self, principal: &str) -> Result<usize, TokenError> {
        self.remove_matching(|info| info.principal.as_str() == principal)
    }

    /// Removes the token `id`. Returns whether there was one.
    ///
    /// # Errors
    /// [`TokenError::Store`].
    pub fn remove_one(&self, id: &TokenId) -> Result<bool, TokenError> {
        Ok(self.remove_matching(|info| info.id == *id)? > 0)
    }

    /// Makes a new token for the principal of the token `id`. With `ends`, the old one is refused from that second since 1970 on;
    /// an earlier end that it has already stays. `None` if there is no token `id`.
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
            let ending = TokenInfo { ends: old.ends.into_iter().chain(ends).min(), ..old.clone() };
            let end_old =
                (ending != *old).then(|| Write::Put { key: old.key.clone(), value: TokenValue::of(&ending).encode() });
            end_old.into_iter().chain([put(old.principal.as_str(), &token)]).collect()
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
        let infos = known.tokens.value().iter().map(|token| token.info.clone());
        let mut infos: Vec<TokenInfo> = infos.filter(|info| !info.has_ended(now)).collect();
        infos.sort_by(|one, other| (one.created, one.id.as_str()).cmp(&(other.created, other.id.as_str())));
        infos
    }

    /// The principals with a valid token, in the order the tokens were made; one with several tokens comes several times.
    pub fn principals(&self) -> Vec<PrincipalId> {
        self.list().into_iter().map(|info| info.principal).collect()
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

    /// Applies the writes that `change` decides on, and removes the tokens that have ended. `change` sees the others.
    fn change(&self, mut change: impl FnMut(&[TokenInfo]) -> Vec<Write>) -> Result<(), TokenError> {
        let now = wall_s();
        let mut damage = None;
        self.store.update(self.namespace, &mut |before: &Snapshot| match decode(&before.records) {
            Ok(tokens) => {
                let (ended, valid): (Vec<_>, Vec<_>) =
                    tokens.into_iter().map(|token| token.info).partition(|info| info.has_ended(now));
                let gone = ended.iter().map(|info| Write::Remove { key: info.key.clone() });
                gone.chain(change(&valid)).collect()
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
        Ok(self.known.lock().tokens.try_refresh(&*self.store, decode)?)
    }

    fn refresh(&self, known: &mut Known) {
        known.refreshed = Instant::now();
        known.tokens.refresh(&*self.store, "all tokens are refused", decode);
    }
}

impl Known {
    /// The principal of the token, and whether its use is to be noted.
    fn find(&mut self, hash: &TokenHash, now: u64) -> Option<(PrincipalId, bool)> {
        // No early end: the time that this takes says nothing about which one matched.
        let found = self
            .tokens
            .value()
            .iter()
            .fold(None, |found, token| if token.hash.matches(hash) { Some(&token.info) } else { found })?;
        if found.has_ended(now) {
            return None;
        }
        let id = &found.id;
        let principal = found.principal.clone();
        let is_recent = |at: &u64| at.abs_diff(now) < TOKEN_USE_INTERVAL_S;
        if found.last_used.as_ref().is_some_and(is_recent) || self.noted.get(id).is_some_and(is_recent) {
            return Some((principal, false));
        }
        if self.noted.len() >= MAX_TOKENS {
            self.noted.clear();
        }
        self.noted.insert(id.clone(), now);
        Some((principal, true))
    }
}

fn put(principal: &str, token: &Token) -> Write {
    Write::Put { key: token.hash().to_hex(), value: TokenValue::new(principal, wall_s()).encode() }
}

fn decode(records: &[Record]) -> Result<Vec<KnownToken>, String> {
    let token = |record: &Record| {
        let hash = TokenHash::from_hex(&record.key)?;
        Some(KnownToken { hash, info: TokenInfo::of(record, hash)? })
    };
    let tokens: Option<_> = records.iter().map(token).collect();
    tokens.ok_or_else(|| "a record of a token is not of the expected form".to_owned())
}

#[cfg(test)]
mod tests;
