//! The files that held this state before the database: `tokens`, `admin-tokens`, `permissions`, `warmset` and the folder `epochs`.
//!
//! This module only reads and parses them. Invariant: an entry that the earlier version refused isn't returned.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::limits::{MAX_IMPORTED_FILE_BYTES, MAX_PERMISSIONS, MAX_TOKENS};
use crate::permission_store::Grant;
use crate::token::TokenHash;
use codeyard_base::digest::sha256hex;
use codeyard_base::ids::WorkspaceName;
use codeyard_model::limits::MAX_WARMSET;

/// A file of an earlier version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LegacyFile {
    Tokens,
    AdminTokens,
    Permissions,
    Epochs,
    Warmset,
}

/// What one file held.
#[derive(Debug)]
pub(super) enum Content {
    /// Hashes in hexadecimal and their principals, oldest first.
    Tokens(Vec<(String, String)>),
    /// Oldest first.
    Permissions(Vec<Grant>),
    /// The last number of each workspace.
    Epochs(BTreeMap<String, u64>),
    /// Roots, the last used first.
    Warmset(Vec<Vec<PathBuf>>),
}

/// A file that was read.
#[derive(Debug)]
pub(super) struct Loaded {
    /// Tells this content from another one.
    pub(super) digest: String,
    /// The content, or why it has another form.
    pub(super) content: Result<Content, &'static str>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenFile {
    tokens: Vec<TokenEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenEntry {
    principal: String,
    sha256: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GrantFile {
    grants: Vec<Grant>,
}

impl LegacyFile {
    /// All of them.
    pub(super) const ALL: [Self; 5] = [Self::Tokens, Self::AdminTokens, Self::Permissions, Self::Epochs, Self::Warmset];

    /// The name in the state directory.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::AdminTokens => "admin-tokens",
            Self::Permissions => "permissions",
            Self::Epochs => "epochs",
            Self::Warmset => "warmset",
        }
    }

    /// The lock under which the earlier version changed the file, if it used one.
    pub(super) fn lock_name(self) -> Option<String> {
        matches!(self, Self::Tokens | Self::AdminTokens | Self::Permissions).then(|| format!("{}.lock", self.name()))
    }

    /// Reads the file in `folder`; `None` if it doesn't exist.
    ///
    /// # Errors
    /// If it can't be read, or is a symbolic link.
    pub(super) fn load(self, folder: &Path) -> io::Result<Option<Loaded>> {
        let path = folder.join(self.name());
        if self == Self::Epochs {
            return load_epochs(&path);
        }
        let Some(text) = read(&path)? else { return Ok(None) };
        let content = match self {
            _ if text.len() as u64 > MAX_IMPORTED_FILE_BYTES => Err("it is too large"),
            Self::Tokens | Self::AdminTokens => parse(&text).and_then(tokens),
            Self::Permissions => parse(&text).and_then(permissions),
            _ => parse(&text).map(warmset),
        };
        Ok(Some(Loaded { digest: sha256hex(&text), content }))
    }
}

fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, &'static str> {
    serde_json::from_slice(text).map_err(|_| "it is not of the expected form")
}

fn tokens(file: TokenFile) -> Result<Content, &'static str> {
    if file.tokens.len() > MAX_TOKENS {
        return Err("it holds too many tokens");
    }
    // The earlier version ignored hashes of another form.
    let entries = file.tokens.into_iter().filter(|entry| TokenHash::from_hex(&entry.sha256).is_some());
    Ok(Content::Tokens(entries.map(|entry| (entry.sha256.to_lowercase(), entry.principal)).collect()))
}

fn permissions(file: GrantFile) -> Result<Content, &'static str> {
    if file.grants.len() > MAX_PERMISSIONS {
        return Err("it holds too many permissions");
    }
    Ok(Content::Permissions(file.grants))
}

fn warmset(mut recent: Vec<Vec<PathBuf>>) -> Content {
    recent.truncate(MAX_WARMSET);
    Content::Warmset(recent)
}

/// The file's bytes, one more than allowed at most; `None` if it doesn't exist.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut options = OpenOptions::new();
    options.custom_flags((OFlags::NOFOLLOW | OFlags::CLOEXEC).bits().cast_signed());
    let file = match options.read(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = Vec::new();
    file.take(MAX_IMPORTED_FILE_BYTES + 1).read_to_end(&mut text)?;
    Ok(Some(text))
}

/// A number that can't be read is left out: the clock, with which a counter starts, is ahead of it.
fn load_epochs(folder: &Path) -> io::Result<Option<Loaded>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut epochs = BTreeMap::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(workspace) = name.to_str().and_then(WorkspaceName::new) else { continue };
        let mut text = String::new();
        let read = File::open(entry.path()).and_then(|file| file.take(32).read_to_string(&mut text));
        let number = text.strip_suffix('\n').and_then(|digits| digits.parse().ok());
        match (read, number) {
            (Ok(_), Some(number)) if i64::try_from(number).is_ok() => {
                epochs.insert(workspace.to_string(), number);
            }
            _ => tracing::warn!(workspace = %workspace, "roots epoch unreadable, starting from the clock"),
        }
    }
    Ok(Some(Loaded { digest: sha256hex(format!("{epochs:?}")), content: Ok(Content::Epochs(epochs)) }))
}
