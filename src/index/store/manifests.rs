//! Manifests: one per working tree, and one per branch, tag or commit that was indexed.

use std::path::Path;

use rusqlite::{OptionalExtension, Row, params};

use super::listing::{ListedFile, decode, encode};
use super::{IndexStore, StoreError, StoreTransaction};
use crate::codec::{pack, unpack};
use codeyard_git::GitRepository;

/// Encoded file list of a manifest, in bytes; more counts as damage.
const MAX_PACKED_LISTING_BYTES: usize = 1024 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ManifestKey {
    /// The root of a working tree; for commits, the repository's shared git directory, `//`, and the root's prefix below the top of the
    /// working tree. The same folder of all working trees has the same place. Real paths don't contain `//`.
    pub place: String,
    /// [`LIVE`], or the branch, tag or commit as the job named it.
    pub reference: String,
}

/// A manifest without its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManifestHead {
    /// Its id in the database.
    pub id: i64,
    pub key: ManifestKey,
    /// The commit that it lists, or that the working tree was checked out from.
    pub commit: Option<String>,
    /// The time of the last scan, in seconds since 1970.
    pub published_at: u64,
    /// The number of searched files.
    pub files: u64,
    pub symbols: u64,
    /// Whether all of them are parsed.
    pub is_whole: bool,
}

/// The reference of working trees.
pub(crate) const LIVE: &str = "live";

/// Separates the git directory and the prefix in the place of a commit.
const BEFORE_PREFIX: &str = "//";

impl ManifestKey {
    /// The key of a branch, tag or commit; of the working tree at `root`, if `reference` is none. `None`: a branch, tag or commit was
    /// requested, and the root has no repository.
    pub(crate) fn of(root: &Path, reference: Option<&str>, git: Option<&GitRepository>) -> Option<Self> {
        match reference {
            None | Some(LIVE) => Some(Self::live(&root.to_string_lossy())),
            Some(reference) => git.map(|git| Self::commit(git, reference)),
        }
    }

    /// The key of the working tree at `root`.
    pub(crate) fn live(root: &str) -> Self {
        Self { place: root.to_owned(), reference: LIVE.to_owned() }
    }

    /// The key of a branch, tag or commit, for the root from which `git` was opened.
    fn commit(git: &GitRepository, reference: &str) -> Self {
        let place = format!("{}{BEFORE_PREFIX}{}", git.common_dir().to_string_lossy(), git.prefix());
        Self { place, reference: reference.to_owned() }
    }

    /// The shared git directory of a branch, tag or commit; `None` for a working tree.
    pub(crate) fn git_dir(&self) -> Option<&str> {
        self.place.split_once(BEFORE_PREFIX).map(|(git_dir, _)| git_dir)
    }

    /// The name of the manifest for operators: the root of a working tree, or the reference, followed by a colon and the prefix if there
    /// is one, as git spells it.
    pub(crate) fn name(&self) -> String {
        match self.place.split_once(BEFORE_PREFIX) {
            None => self.place.clone(),
            Some((_, "")) => self.reference.clone(),
            Some((_, prefix)) => format!("{}:{prefix}", self.reference),
        }
    }
}

const HEAD: &str = "id, place, reference, commit_id, published_at, files, symbols, is_whole";

fn head(row: &Row<'_>) -> rusqlite::Result<ManifestHead> {
    let files: i64 = row.get(5)?;
    let symbols: i64 = row.get(6)?;
    Ok(ManifestHead {
        id: row.get(0)?,
        key: ManifestKey { place: row.get(1)?, reference: row.get(2)? },
        commit: row.get(3)?,
        published_at: row.get::<_, i64>(4)?.cast_unsigned(),
        files: files.cast_unsigned(),
        symbols: symbols.cast_unsigned(),
        is_whole: row.get(7)?,
    })
}

impl IndexStore {
    /// The manifest with this key, without its files.
    pub(crate) fn manifest(&self, key: &ManifestKey) -> Result<Option<ManifestHead>, StoreError> {
        let sql = format!("SELECT {HEAD} FROM manifests WHERE place = ? AND reference = ?");
        let mut statement = self.0.prepare_cached(&sql)?;
        Ok(statement.query_row(params![key.place, key.reference], head).optional()?)
    }

    /// A manifest of this place that lists this commit, under any name.
    pub(crate) fn manifest_of_commit(&self, place: &str, commit: &str) -> Result<Option<ManifestHead>, StoreError> {
        let sql = format!("SELECT {HEAD} FROM manifests WHERE place = ? AND commit_id = ? ORDER BY reference LIMIT 1");
        Ok(self.0.prepare_cached(&sql)?.query_row([place, commit], head).optional()?)
    }

    /// All manifests, ordered by key.
    pub(crate) fn manifests(&self) -> Result<Vec<ManifestHead>, StoreError> {
        let sql = format!("SELECT {HEAD} FROM manifests ORDER BY place, reference");
        let mut statement = self.0.prepare(&sql)?;
        Ok(statement.query_map([], head)?.collect::<Result<_, _>>()?)
    }

    pub(crate) fn listing(&self, id: i64) -> Result<Vec<ListedFile>, StoreError> {
        let mut statement = self.0.prepare_cached("SELECT packed FROM manifests WHERE id = ?")?;
        let mut rows = statement.query([id])?;
        let row = rows.next()?.ok_or(StoreError::Damaged)?;
        let packed = row.get_ref(0)?.as_blob().map_err(|_| StoreError::Damaged)?;
        Ok(decode(&unpack(packed, MAX_PACKED_LISTING_BYTES)?)?)
    }
}

impl StoreTransaction<'_> {
    /// Publishes a manifest in place of its predecessor, and with it everything that was written since the last
    /// publication.
    pub(crate) fn put_manifest(&self, head: &ManifestHead, listing: &[ListedFile]) -> Result<(), StoreError> {
        let upsert = "INSERT OR REPLACE INTO manifests
            (place, reference, commit_id, published_at, files, symbols, is_whole, packed) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
        self.0.prepare_cached(upsert)?.execute(params![
            head.key.place,
            head.key.reference,
            head.commit,
            head.published_at.cast_signed(),
            head.files.cast_signed(),
            head.symbols.cast_signed(),
            head.is_whole,
            pack(&encode(listing)),
        ])?;
        self.publish()
    }

    /// Marks all files of a manifest as parsed, and stores their number of symbols.
    pub(crate) fn mark_complete(&self, key: &ManifestKey, symbols: u64) -> Result<(), StoreError> {
        let update = "UPDATE manifests SET symbols = ?, is_whole = TRUE WHERE place = ? AND reference = ?";
        self.0.execute(update, params![symbols.cast_signed(), key.place, key.reference])?;
        self.publish()
    }

    /// Stores the time of a scan that found no change. Publishes nothing, because answers stay the same.
    pub(crate) fn mark_checked(&self, key: &ManifestKey, at: u64) -> Result<(), StoreError> {
        let update = "UPDATE manifests SET published_at = ? WHERE place = ? AND reference = ?";
        self.0.execute(update, params![at.cast_signed(), key.place, key.reference])?;
        Ok(())
    }

    pub(crate) fn drop_manifest(&self, id: i64) -> Result<(), StoreError> {
        self.0.execute("DELETE FROM manifests WHERE id = ?", [id])?;
        self.publish()
    }
}
