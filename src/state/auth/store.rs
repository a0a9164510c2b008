//! The tokens that are valid now, and who they name.
//!
//! Other processes change the file (`token add`, `token remove`); this one follows. Invariants: every hash is looked at
//! for every token offered; a removed token is refused after `TOKEN_RELOAD_MS` at the latest; a file that can't be read
//! any more lets nobody in.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::file::{self, Stamp};
use super::token::{Token, TokenHash};
use crate::limits::{MAX_TOKEN_FILE_BYTES, MAX_TOKENS, TOKEN_RELOAD_MS};
use codeyard_base::clock::Instant;
use codeyard_base::ids::PrincipalId;

/// The token file's content.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenFile {
    /// The entries, oldest first.
    tokens: Vec<TokenEntry>,
}

/// One token, without the token.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenEntry {
    /// The principal it names.
    principal: String,
    /// The SHA-256 of its text, in hexadecimal.
    sha256: String,
}

impl std::fmt::Debug for TokenEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenEntry").field("principal", &self.principal).finish_non_exhaustive()
    }
}

/// Why the tokens can't be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file can't be read or written.
    #[error("the token file can't be used: {0}")]
    File(#[from] io::Error),
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

/// The valid tokens of one token file.
#[derive(Debug)]
pub struct TokenStore {
    path: PathBuf,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    tokens: Vec<(TokenHash, PrincipalId)>,
    stamp: Option<Stamp>,
    looked: Instant,
}

impl TokenStore {
    /// Opens the tokens at `path`. If there is no file yet, makes it with one token for the principal `local`.
    ///
    /// The token made is returned: it can't be read again.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn open_or_create(path: &Path) -> Result<(Self, Option<Token>), Error> {
        let mut made = None;
        let store = Self::open_or_show(path, |token| {
            made = Some(token.clone());
            Ok(())
        })?;
        Ok((store, made))
    }

    /// The same, but the token made is shown before it is stored: one that nobody could see doesn't come to be.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::NotShown`].
    pub fn open_or_show(path: &Path, show: impl FnOnce(&Token) -> io::Result<()>) -> Result<Self, Error> {
        let lock = file::lock(path)?;
        match read(path)? {
            Some(_) => {}
            None => {
                let token = Token::generate()?;
                show(&token).map_err(Error::NotShown)?;
                let content = TokenFile { tokens: vec![entry(PrincipalId::local().as_str(), &token)] };
                file::write(path, &content, &lock)?;
            }
        }
        let known = Known { tokens: Vec::new(), stamp: None, looked: Instant::now() };
        let store = Self { path: path.to_owned(), known: Mutex::new(known) };
        store.known.lock().load(path)?;
        Ok(store)
    }

    /// The principal that `offered` names, if it is valid now.
    pub fn principal(&self, offered: &str) -> Option<PrincipalId> {
        let hash = TokenHash::of(offered);
        let mut known = self.known.lock();
        if known.looked.elapsed() >= Duration::from_millis(TOKEN_RELOAD_MS) {
            known.follow(&self.path);
        }
        known.find(&hash).or_else(|| {
            // It may have been added a moment ago.
            known.follow(&self.path);
            known.find(&hash)
        })
    }

    /// Makes one more token for `principal`. It can't be read again.
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::Full`], [`Error::File`].
    pub fn add(&self, principal: &str) -> Result<Token, Error> {
        if !PrincipalId::is_well(principal) {
            return Err(Error::Name);
        }
        let token = Token::generate()?;
        self.change(|tokens| {
            if tokens.len() >= MAX_TOKENS {
                return Err(Error::Full);
            }
            tokens.push(entry(principal, &token));
            Ok(())
        })?;
        Ok(token)
    }

    /// Removes all tokens of `principal`; how many there were.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn remove(&self, principal: &str) -> Result<usize, Error> {
        let mut removed = 0;
        self.change(|tokens| {
            let before = tokens.len();
            tokens.retain(|entry| entry.principal != principal);
            removed = before - tokens.len();
            Ok(())
        })?;
        Ok(removed)
    }

    /// The principals with a token, in the order the tokens were made.
    pub fn principals(&self) -> Vec<PrincipalId> {
        self.known.lock().tokens.iter().map(|(_, principal)| principal.clone()).collect()
    }

    fn change(&self, change: impl FnOnce(&mut Vec<TokenEntry>) -> Result<(), Error>) -> Result<(), Error> {
        let lock = file::lock(&self.path)?;
        let mut content = read(&self.path)?.map(|(content, _)| content).unwrap_or_default();
        change(&mut content.tokens)?;
        file::write(&self.path, &content, &lock)?;
        self.known.lock().load(&self.path)
    }
}

impl Known {
    /// Reads the file again if it looks different.
    fn follow(&mut self, path: &Path) {
        self.looked = Instant::now();
        if file::stamp(path) == self.stamp && self.stamp.is_some() {
            return;
        }
        if let Err(error) = self.load(path) {
            tracing::warn!(%error, "token file can't be read, all tokens are refused");
        }
    }

    fn load(&mut self, path: &Path) -> Result<(), Error> {
        self.tokens.clear();
        self.stamp = None;
        if let Some((content, stamp)) = read(path)? {
            let entries = content.tokens.iter();
            self.tokens = entries
                .filter_map(|entry| Some((TokenHash::from_hex(&entry.sha256)?, PrincipalId::new(&entry.principal))))
                .collect();
            self.stamp = Some(stamp);
        }
        Ok(())
    }

    fn find(&self, hash: &TokenHash) -> Option<PrincipalId> {
        // No early end: how long it takes says nothing about which one matched.
        self.tokens
            .iter()
            .fold(None, |found, (known, principal)| if known.matches(hash) { Some(principal) } else { found })
            .cloned()
    }
}

/// Reads the token file; `None` if it isn't there.
fn read(path: &Path) -> io::Result<Option<(TokenFile, Stamp)>> {
    let found = file::read::<TokenFile>(path, MAX_TOKEN_FILE_BYTES)?;
    let too_many = found.as_ref().is_some_and(|(content, _)| content.tokens.len() > MAX_TOKENS);
    if too_many { Err(file::malformed()) } else { Ok(found) }
}

fn entry(principal: &str, token: &Token) -> TokenEntry {
    TokenEntry { principal: principal.to_owned(), sha256: token.hash().to_hex() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn named(store: &TokenStore, token: &str) -> Option<String> {
        store.principal(token).map(|principal| principal.as_str().to_owned())
    }

    #[tokio::test]
    async fn the_first_token_is_shown_once_and_kept_as_a_hash() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens.json");
        let (store, made) = TokenStore::open_or_create(&path).unwrap();
        let token = made.unwrap();
        assert_eq!(named(&store, token.reveal()).as_deref(), Some("local"));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(token.reveal()) && !text.contains(&token.reveal()[4..]));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!format!("{store:?}").contains(&token.hash().to_hex()));
        let (again, none) = TokenStore::open_or_create(&path).unwrap();
        assert!(none.is_none() && named(&again, token.reveal()).is_some());
        for wrong in ["", "cyd_", "x", &token.reveal()[1..], &format!("{} ", token.reveal())] {
            assert_eq!(named(&store, wrong), None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn changes_by_another_process_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens.json");
        let (server, first) = TokenStore::open_or_create(&path).unwrap();
        let (tool, _) = TokenStore::open_or_create(&path).unwrap();
        let second = tool.add("ci").unwrap();
        assert_eq!(named(&server, second.reveal()).as_deref(), Some("ci"), "an unknown token looks at once");
        assert_eq!(tool.remove("local").unwrap(), 1);
        tokio::time::advance(Duration::from_millis(TOKEN_RELOAD_MS)).await;
        assert_eq!(named(&server, first.unwrap().reveal()), None);
        assert_eq!(named(&server, second.reveal()).as_deref(), Some("ci"));
        std::fs::write(&path, "garbage").unwrap();
        tokio::time::advance(Duration::from_millis(TOKEN_RELOAD_MS)).await;
        assert_eq!(named(&server, second.reveal()), None, "fails closed");
    }

    #[tokio::test]
    async fn loose_modes_are_tightened_links_and_bad_names_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens.json");
        let (store, _) = TokenStore::open_or_create(&path).unwrap();
        for bad in ["", "a b", "ä", &"x".repeat(65)] {
            assert!(matches!(store.add(bad), Err(Error::Name)), "{bad}");
        }
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        TokenStore::open_or_create(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let link = dir.path().join("link.json");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(matches!(TokenStore::open_or_create(&link), Err(Error::File(_))));
    }
}
