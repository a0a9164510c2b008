//! The bearer tokens that are valid now, and the principals that they name.
//!
//! Other processes add and remove tokens (`codeyard token`); a running server follows. Invariants: an offered token is compared with
//! every known hash; a removed token is refused after `TOKEN_RELOAD_MS` at the latest; a store that can't be read accepts no token.

use std::io;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::cached_records::CachedRecords;
use crate::limits::{MAX_TOKENS, TOKEN_RELOAD_MS};
use crate::state_store::{Namespace, Record, StateError, StoreHandle, Write};
use crate::token::{Token, TokenHash};
use codeyard_base::clock::Instant;
use codeyard_base::ids::PrincipalId;

/// Tokens of callers of tools. The key is the SHA-256 of a token's text, in hexadecimal.
pub(crate) const TOKENS: Namespace = Namespace::new("tokens");
/// Tokens of operators, in the same form.
pub(crate) const ADMIN_TOKENS: Namespace = Namespace::new("admin-tokens");

/// Tokens of programs that read probes and metrics, in the same form.
pub(crate) const PROBE_TOKENS: Namespace = Namespace::new("probe-tokens");

/// What the tokens give access to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenAudience {
    /// `/mcp`: callers of tools.
    Mcp,
    /// `/admin/v1`: operators.
    Admin,
    /// `/livez`, `/readyz` and `/metrics`: process supervisors and scrapers.
    Probes,
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

/// A record's value.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenValue {
    principal: String,
}

/// The record's value of a token of `principal`.
pub(crate) fn encode(principal: &str) -> String {
    serde_json::json!({ "principal": principal }).to_string()
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
}

type Tokens = Vec<(TokenHash, PrincipalId)>;

#[derive(Debug)]
struct Known {
    tokens: CachedRecords<Tokens>,
    refreshed: Instant,
}

impl TokenStore {
    /// Opens the tokens of `audience`. There may be none.
    ///
    /// # Errors
    /// [`TokenError::Store`].
    pub fn open(store: StoreHandle, audience: TokenAudience) -> Result<Self, TokenError> {
        let namespace = audience.namespace();
        let known = Known { tokens: CachedRecords::new(namespace), refreshed: Instant::now() };
        let tokens = Self { store, namespace, known: Mutex::new(known) };
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

    /// The principal that `offered` names, if it is valid now.
    pub fn principal(&self, offered: &str) -> Option<PrincipalId> {
        let hash = TokenHash::of(offered);
        let mut known = self.known.lock();
        if known.refreshed.elapsed() >= Duration::from_millis(TOKEN_RELOAD_MS) {
            self.refresh(&mut known);
        }
        known.find(&hash).or_else(|| {
            // It may have been added a moment ago.
            self.refresh(&mut known);
            known.find(&hash)
        })
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
        self.store.update(self.namespace, &mut |before| {
            is_full = before.records.len() >= MAX_TOKENS;
            if is_full { Vec::new() } else { vec![put(principal, &token)] }
        })?;
        self.try_refresh()?;
        if is_full { Err(TokenError::Full) } else { Ok(token) }
    }

    /// Removes all tokens of `principal`. Returns how many there were.
    ///
    /// # Errors
    /// [`TokenError::Store`].
    pub fn remove(&self, principal: &str) -> Result<usize, TokenError> {
        let mut removed = 0;
        let is_theirs =
            |record: &&Record| record.decode::<TokenValue>().is_some_and(|value| value.principal == principal);
        self.store.update(self.namespace, &mut |before| {
            let theirs = before.records.iter().filter(is_theirs);
            let writes: Vec<Write> = theirs.map(|record| Write::Remove { key: record.key.clone() }).collect();
            removed = writes.len();
            writes
        })?;
        self.try_refresh()?;
        Ok(removed)
    }

    /// The principals with a token, in the order the tokens were made.
    pub fn principals(&self) -> Vec<PrincipalId> {
        self.known.lock().tokens.value().iter().map(|(_, principal)| principal.clone()).collect()
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
    fn find(&self, hash: &TokenHash) -> Option<PrincipalId> {
        // No early end: the time that this takes says nothing about which one matched.
        self.tokens
            .value()
            .iter()
            .fold(None, |found, (known, principal)| if known.matches(hash) { Some(principal) } else { found })
            .cloned()
    }
}

fn put(principal: &str, token: &Token) -> Write {
    Write::Put { key: token.hash().to_hex(), value: encode(principal) }
}

fn decode(records: &[Record]) -> Result<Tokens, String> {
    let token = |record: &Record| {
        let value: TokenValue = record.decode()?;
        Some((TokenHash::from_hex(&record.key)?, PrincipalId::new(&value.principal)))
    };
    let tokens: Option<Tokens> = records.iter().map(token).collect();
    tokens.ok_or_else(|| "a record of a token is not of the expected form".to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{STATE_FILE, SqliteStore};

    fn store(folder: &std::path::Path) -> StoreHandle {
        Arc::new(SqliteStore::open(folder).unwrap())
    }

    fn open_or_create(folder: &std::path::Path) -> (TokenStore, Option<Token>) {
        TokenStore::open_or_create(store(folder), TokenAudience::Mcp).unwrap()
    }

    fn named(store: &TokenStore, token: &str) -> Option<String> {
        store.principal(token).map(|principal| principal.as_str().to_owned())
    }

    #[tokio::test]
    async fn the_first_token_is_shown_once_and_kept_as_a_hash() {
        let dir = tempfile::tempdir().unwrap();
        let (store, made) = open_or_create(dir.path());
        let token = made.unwrap();
        assert_eq!(named(&store, token.reveal()).as_deref(), Some("local"));
        assert!(!format!("{store:?}").contains(&token.hash().to_hex()));
        let (again, none) = open_or_create(dir.path());
        assert!(none.is_none() && named(&again, token.reveal()).is_some());
        for wrong in ["", "cyd_", "x", &token.reveal()[1..], &format!("{} ", token.reveal())] {
            assert_eq!(named(&store, wrong), None);
        }
        let admin = TokenStore::open(again.store.clone(), TokenAudience::Admin).unwrap();
        assert_eq!(named(&admin, token.reveal()), None, "an audience accepts its own tokens only");
        // The log holds the last changes and the database the others.
        let files = [STATE_FILE.to_owned(), format!("{STATE_FILE}-wal")];
        let bytes = files.map(|file| std::fs::read(dir.path().join(file)).unwrap()).concat();
        let holds = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(!holds(&token.reveal()[4..]) && holds(&token.hash().to_hex()));
    }

    #[tokio::test]
    async fn a_token_that_is_not_shown_is_not_stored() {
        let dir = tempfile::tempdir().unwrap();
        let handle = store(dir.path());
        let failed =
            TokenStore::open_or_show(handle.clone(), TokenAudience::Mcp, |_| Err(io::ErrorKind::BrokenPipe.into()));
        assert!(matches!(failed, Err(TokenError::NotShown(_))));
        let (store, made) = TokenStore::open_or_create(handle, TokenAudience::Mcp).unwrap();
        assert!(made.is_some());
        assert_eq!(store.remove("local").unwrap(), 1);
        assert!(open_or_create(dir.path()).1.is_none(), "once its owner has removed it, it stays away");
    }

    #[tokio::test(start_paused = true)]
    async fn changes_by_another_process_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (server, first) = open_or_create(dir.path());
        let (tool, _) = open_or_create(dir.path());
        let second = tool.add("ci").unwrap();
        assert_eq!(named(&server, second.reveal()).as_deref(), Some("ci"), "an unknown token is looked up at once");
        assert_eq!(tool.remove("local").unwrap(), 1);
        tokio::time::advance(Duration::from_millis(TOKEN_RELOAD_MS)).await;
        assert_eq!(named(&server, first.unwrap().reveal()), None);
        assert_eq!(named(&server, second.reveal()).as_deref(), Some("ci"));
        let not_a_token = &mut |_: &crate::Snapshot| vec![Write::Put { key: "x".into(), value: "{}".into() }];
        tool.store.update(TOKENS, not_a_token).unwrap();
        tokio::time::advance(Duration::from_millis(TOKEN_RELOAD_MS)).await;
        assert_eq!(named(&server, second.reveal()), None, "fails closed");
        assert!(matches!(TokenStore::open(tool.store.clone(), TokenAudience::Mcp), Err(TokenError::Store(_))));
        tool.store.update(TOKENS, &mut |_| vec![Write::Remove { key: "x".into() }]).unwrap();
        tokio::time::advance(Duration::from_millis(TOKEN_RELOAD_MS)).await;
        assert_eq!(named(&server, second.reveal()).as_deref(), Some("ci"));
        for file in ["", "-wal", "-shm"] {
            std::fs::remove_file(dir.path().join(format!("{STATE_FILE}{file}"))).unwrap();
        }
        tokio::time::advance(Duration::from_millis(TOKEN_RELOAD_MS)).await;
        assert_eq!(named(&server, second.reveal()), None, "without the database nobody gets in");
        let (_, third) = open_or_create(dir.path());
        assert_eq!(named(&server, third.unwrap().reveal()).as_deref(), Some("local"), "the new database is followed");
    }

    #[tokio::test]
    async fn bad_names_and_too_many_tokens_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (store, _) = open_or_create(dir.path());
        for bad in ["", "a b", "ä", &"x".repeat(65)] {
            assert!(matches!(store.add(bad), Err(TokenError::Name)), "{bad}");
        }
        let token = Token::generate().unwrap().hash().to_hex();
        let many = &mut |before: &crate::Snapshot| {
            let free = MAX_TOKENS - before.records.len();
            (0..free).map(|n| Write::Put { key: format!("{n:04}{}", &token[4..]), value: encode("ci") }).collect()
        };
        store.store.update(TOKENS, many).unwrap();
        assert!(matches!(store.add("ci"), Err(TokenError::Full)));
        assert_eq!(store.remove("ci").unwrap(), MAX_TOKENS - 1);
        assert!(store.add("ci").is_ok());
    }
}
