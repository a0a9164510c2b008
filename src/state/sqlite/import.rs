//! Moves the files of earlier versions into the database, once.
//!
//! One transaction takes in all files and notes the digest of each; then the files are renamed to `NAME.imported`. A crash before
//! the commit leaves the files as they were. A crash after it leaves files whose digest is noted: the next run only renames them.
//! Invariants: nothing is taken in twice; a record that is in the database wins over one of a file; a counter never gets lower; a
//! token that was removed stays removed; no file is deleted or overwritten; nothing is taken from a server that runs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::connection::{error_of, io_error};
use super::legacy::{Content, LegacyFile, Loaded};
use super::{counter, put, raise_version, record, remove, set_counter, snapshot};
use crate::limits::{MAX_BACKUP_NAMES, MAX_PERMISSIONS, MAX_TOKENS};
use crate::permission_store::{self, Grant};
use crate::serve_lock::ServeLock;
use crate::state_store::{Namespace, StateError};
use crate::token_record::TokenValue;
use crate::{roots_epochs, token_store, warmset};
use codeyard_base::file_lock::FileLock;

/// The digests of the files that were imported.
const IMPORTS: Namespace = Namespace::new("imports");

/// The hashes of the tokens that were imported, with those that were removed later.
const IMPORTED_TOKENS: Namespace = Namespace::new("imported-tokens");
const IMPORTED_ADMIN_TOKENS: Namespace = Namespace::new("imported-admin-tokens");

/// Refuses while a server of an earlier version needs the files. A server of this version has imported them when it starts.
pub(super) fn check_unused(file: &Path) -> Result<(), StateError> {
    let folder = file.parent().unwrap_or(Path::new("."));
    if present(folder).is_empty() {
        return Ok(());
    }
    match ServeLock::other_holder(folder).map_err(|source| io_error(file, source))? {
        Some(holder) => Err(StateError::InUse { folder: folder.to_owned(), pid: holder.pid }),
        None => Ok(()),
    }
}

fn present(folder: &Path) -> Vec<LegacyFile> {
    let is_there = |legacy: &LegacyFile| fs::symlink_metadata(folder.join(legacy.name())).is_ok();
    LegacyFile::ALL.into_iter().filter(is_there).collect()
}

/// Imports what lies in the folder of the database `file`.
pub(super) fn run(connection: &mut Connection, file: &Path) -> Result<(), StateError> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let present = present(folder);
    if present.is_empty() {
        return Ok(());
    }
    let locks = present.iter().filter_map(|legacy| legacy.lock_name()).map(|name| lock(folder.join(name)));
    let locks: Vec<(PathBuf, FileLock)> = locks.collect::<Result<_, _>>()?;
    let imported = store(connection, file, folder, &present)?;
    for (legacy, suffix) in imported {
        move_beside(folder, legacy, suffix)?;
    }
    for (path, _) in &locks {
        // Without its file the lock protects nothing any more.
        drop(fs::remove_file(path));
    }
    Ok(())
}

/// Takes the files in, in one transaction. Returns those that are done with, and the suffix that they get.
fn store(
    connection: &mut Connection,
    file: &Path,
    folder: &Path,
    present: &[LegacyFile],
) -> Result<Vec<(LegacyFile, &'static str)>, StateError> {
    let failed = |error| error_of(file, error);
    let mut done = Vec::new();
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    for &legacy in present {
        let path = folder.join(legacy.name());
        let loaded = legacy.load(folder).map_err(|error| refused(&path, error.to_string()))?;
        // Another process may have imported and renamed it meanwhile.
        let Some(Loaded { digest, content }) = loaded else { continue };
        let noted = record(&transaction, IMPORTS, legacy.name()).map_err(failed)?;
        if noted.is_some_and(|noted| noted.value == digest) {
            done.push((legacy, "imported"));
            continue;
        }
        match content {
            Ok(content) => {
                insert(&transaction, legacy, &path, file, content)?;
                put(&transaction, IMPORTS, legacy.name(), &digest).map_err(failed)?;
                done.push((legacy, "imported"));
            }
            // A permission that is lost is asked for again, and the warm set only saves time. A lost token locks its owner out.
            Err(reason) if matches!(legacy, LegacyFile::Permissions | LegacyFile::Warmset) => {
                tracing::warn!(path = %path.display(), reason, "a damaged file of an earlier version is not imported");
                done.push((legacy, "damaged"));
            }
            Err(reason) => return Err(refused(&path, reason)),
        }
    }
    transaction.commit().map_err(failed)?;
    Ok(done)
}

fn insert(
    transaction: &Transaction<'_>,
    legacy: LegacyFile,
    path: &Path,
    file: &Path,
    content: Content,
) -> Result<(), StateError> {
    let failed = |error| error_of(file, error);
    match content {
        Content::Tokens(tokens) => {
            let (namespace, imported) = match legacy {
                LegacyFile::AdminTokens => (token_store::ADMIN_TOKENS, IMPORTED_ADMIN_TOKENS),
                _ => (token_store::TOKENS, IMPORTED_TOKENS),
            };
            let was_renamed_back =
                fs::symlink_metadata(path.with_file_name(format!("{}.imported", legacy.name()))).is_err();
            insert_tokens(transaction, namespace, imported, &tokens, was_renamed_back).map_err(failed)?;
            if snapshot(transaction, namespace).map_err(failed)?.records.len() > MAX_TOKENS {
                return Err(refused(path, "there would be more tokens than allowed"));
            }
        }
        Content::Permissions(grants) => insert_grants(transaction, &grants).map_err(failed)?,
        Content::Epochs(epochs) => {
            for (workspace, last) in epochs {
                let known = counter(transaction, roots_epochs::ROOTS_EPOCHS, &workspace).map_err(failed)?;
                let last = known.unwrap_or(0).max(last).cast_signed();
                set_counter(transaction, roots_epochs::ROOTS_EPOCHS, &workspace, last).map_err(failed)?;
            }
        }
        Content::Warmset(recent) => {
            let value = warmset::encode(&recent).map_err(|error| refused(path, error.to_string()))?;
            put_new(transaction, warmset::WARMSET, warmset::RECENT, &value).map_err(failed)?;
        }
    }
    Ok(())
}

/// Adds the tokens of a file, and removes those of an earlier import that the same file doesn't list any more.
///
/// A file that lists none of the earlier tokens is a new one, unless the imported file was renamed back.
fn insert_tokens(
    transaction: &Transaction<'_>,
    namespace: Namespace,
    imported: Namespace,
    tokens: &[(String, String)],
    was_renamed_back: bool,
) -> rusqlite::Result<()> {
    // A file without tokens counts as well: its owner removed the first one.
    raise_version(transaction, namespace)?;
    let earlier = snapshot(transaction, imported)?.records;
    let is_listed = |hash: &str| tokens.iter().any(|(listed, _)| listed == hash);
    if was_renamed_back || earlier.iter().any(|record| is_listed(&record.key)) {
        for gone in earlier.iter().filter(|record| !is_listed(&record.key)) {
            remove(transaction, namespace, &gone.key)?;
        }
    }
    for (hash, principal) in tokens {
        if record(transaction, imported, hash)?.is_none() {
            put_new(transaction, namespace, hash, &TokenValue::of_unknown_age(principal).encode())?;
            put(transaction, imported, hash, "{}")?;
        }
    }
    Ok(())
}

/// Keeps the newest permissions if there are too many.
fn insert_grants(transaction: &Transaction<'_>, grants: &[Grant]) -> rusqlite::Result<()> {
    let namespace = permission_store::PERMISSIONS;
    let known = snapshot(transaction, namespace)?.records.len();
    let surplus = (known + grants.len()).saturating_sub(MAX_PERMISSIONS).min(grants.len());
    for grant in &grants[surplus..] {
        put_new(transaction, namespace, &permission_store::key(grant), &permission_store::encode(grant))?;
    }
    Ok(())
}

fn put_new(transaction: &Transaction<'_>, namespace: Namespace, key: &str, value: &str) -> rusqlite::Result<()> {
    if record(transaction, namespace, key)?.is_none() {
        put(transaction, namespace, key, value)?;
    }
    Ok(())
}

/// Waits for an earlier version that is changing the file.
fn lock(path: PathBuf) -> Result<(PathBuf, FileLock), StateError> {
    match FileLock::acquire(&path) {
        Ok(lock) => Ok((path, lock)),
        Err(source) => Err(io_error(&path, source)),
    }
}

/// Renames a file to `NAME.SUFFIX`, or `NAME.SUFFIX-2` and so on where that exists.
fn move_beside(folder: &Path, legacy: LegacyFile, suffix: &str) -> Result<(), StateError> {
    let path = folder.join(legacy.name());
    let name = |number: u32| match number {
        1 => format!("{}.{suffix}", legacy.name()),
        number => format!("{}.{suffix}-{number}", legacy.name()),
    };
    let mut names = (1..=MAX_BACKUP_NAMES).map(|number| folder.join(name(number)));
    let free = names.find(|name| fs::symlink_metadata(name).is_err());
    let free = free.ok_or_else(|| refused(&path, format!("too many files {}.{suffix}-N exist", legacy.name())))?;
    match fs::rename(&path, free) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        renamed => renamed.map_err(|source| io_error(&path, source)),
    }
}

fn refused(path: &Path, reason: impl Into<String>) -> StateError {
    StateError::Import { file: path.to_owned(), reason: reason.into() }
}
