//! The database: which contents there are, what is known of them, which manifests show them, and what jobs did.
//!
//! SQLite, in one file of the index's folder. Writers hold the folder's lock; readers need none. Invariants: a content's number is
//! never given twice; a manifest that can be read names only contents that are there; what one transaction wrote is seen whole or
//! not at all, whenever the process ends.

mod contents;
mod facts_codec;
mod jobs;
pub(super) mod listing;
mod manifests;

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};

pub(super) use contents::{KnownBlob, ContentKey, NewContent, PackedFacts, SegmentRow};
pub(super) use facts_codec::LazyFacts;
pub(super) use jobs::StoredJob;
pub(super) use listing::{FileState, ExclusionReason, ListedFile, FileOrigin};
pub(super) use manifests::{LIVE, ManifestHead, ManifestKey};

use super::codec::DamagedBytes;
use codeyard_base::clock::Deadline;

/// The number of the layout: of the database and of the segments that it names. Another one is never read.
pub(crate) const FORMAT: u32 = 2;
/// How long a connection waits for another one.
const BUSY: Duration = Duration::from_secs(5);
/// Between two attempts where it doesn't wait by itself.
const BUSY_STEP: Duration = Duration::from_millis(10);

/// Why the database can't be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another build wrote it.
    #[error("the index was written by another version of codeyard; run `codeyard index --force`")]
    OtherFormat {
        /// What it is of.
        found: u32,
    },
    /// It is damaged.
    #[error("the index is damaged; run `codeyard index --force`")]
    Damaged,
    /// The disk is full, or what may be written on it.
    #[error(
        "the disk of the state directory is full, or a limit of what may be written there is reached; free some space, then run `codeyard index`"
    )]
    Full,
    /// Another process held it for too long.
    #[error("another process is writing the index; try again in a moment")]
    Busy,
    /// The system refused.
    #[error(
        "the index can't be read or written ({0}); look at the disk of the state directory, then run `codeyard index`"
    )]
    Io(String),
}

/// One connection.
#[derive(Debug)]
pub(super) struct IndexStore(Connection);

impl IndexStore {
    /// Opens the database in `folder`, making it if it isn't there.
    pub(crate) fn open(folder: &Path) -> Result<Self, StoreError> {
        patiently(|| {
            let connection = Connection::open(folder.join(FILE))?;
            connection.busy_timeout(BUSY)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            let store = Self(connection);
            match store.format()? {
                0 => store.create()?,
                FORMAT => {}
                found => return Err(StoreError::OtherFormat { found }),
            }
            Ok(store)
        })
    }

    /// Opens a database that is there for reading.
    pub(crate) fn open_to_read(folder: &Path) -> Result<Self, StoreError> {
        let read = || {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(folder.join(FILE), flags)?;
            connection.busy_timeout(BUSY)?;
            let store = Self(connection);
            match store.format()? {
                FORMAT => Ok(Some(store)),
                // Another process is just making it.
                0 => Ok(None),
                found => Err(StoreError::OtherFormat { found }),
            }
        };
        patiently(read)?.map_or_else(|| Self::open(folder), Ok)
    }

    /// The number of the layout, also where it's another build's; 0: nothing was written.
    fn format(&self) -> Result<u32, StoreError> {
        Ok(self.0.query_row("PRAGMA user_version", [], |row| row.get(0))?)
    }

    /// Makes the tables, unless another process has made them meanwhile.
    fn create(&self) -> Result<(), StoreError> {
        let immediate = rusqlite::TransactionBehavior::Immediate;
        let transaction = rusqlite::Transaction::new_unchecked(&self.0, immediate)?;
        if self.format()? == 0 {
            self.0.execute_batch(include_str!("schema.sql"))?;
            // Tells this database from one that lay here before.
            let begun = i64::from_be_bytes(rand::random());
            self.0.execute("INSERT INTO meta VALUES ('begun', ?)", [begun])?;
            self.0.pragma_update(None, "user_version", FORMAT)?;
        }
        Ok(transaction.commit()?)
    }

    /// Does `work` in one transaction.
    pub(crate) fn write<T>(
        &mut self,
        work: impl FnOnce(&StoreTransaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let until = Deadline::after(BUSY);
        let behavior = rusqlite::TransactionBehavior::Immediate;
        let transaction = loop {
            match rusqlite::Transaction::new_unchecked(&self.0, behavior).map_err(StoreError::from) {
                Err(StoreError::Busy) if !until.passed() => std::thread::park_timeout(BUSY_STEP),
                begun => break StoreTransaction(begun?),
            }
        };
        let done = work(&transaction)?;
        transaction.0.commit()?;
        Ok(done)
    }

    /// From now on all that is read is of one moment, until [`Self::release`].
    pub(crate) fn hold(&self) -> Result<(), StoreError> {
        Ok(self.0.execute_batch("BEGIN")?)
    }

    /// CancelCheck what [`Self::hold`] began.
    pub(crate) fn release(&self) {
        if !self.0.is_autocommit() {
            // Nothing was written, so that nothing is lost if this fails.
            drop(self.0.execute_batch("ROLLBACK"));
        }
    }

    /// Numbers of contents that were given so far, and how many of them had been when contents that nobody shows were last forgotten.
    pub(crate) fn given(&self) -> Result<(u64, u64), StoreError> {
        Ok((self.meta("contents")?.unwrap_or(0), self.meta("swept")?.unwrap_or(0)))
    }

    /// Changes whenever anything was published, by whichever process.
    pub(crate) fn generation(&self) -> Result<u64, StoreError> {
        Ok(self.meta("generation")?.unwrap_or(0))
    }

    /// What tells one state of the index from another: the generation, and whether the database was begun anew.
    pub(crate) fn stamp(&self) -> Result<(u64, u64), StoreError> {
        Ok((self.generation()?, self.meta("begun")?.unwrap_or(0)))
    }

    /// The version of the facts that the index holds; `None`: it holds none yet.
    pub(crate) fn features(&self) -> Result<Option<u32>, StoreError> {
        Ok(self.meta("features")?.and_then(|value| u32::try_from(value).ok()))
    }

    fn meta(&self, key: &str) -> Result<Option<u64>, StoreError> {
        let mut statement = self.0.prepare_cached("SELECT value FROM meta WHERE key = ?")?;
        Ok(statement.query_row([key], |row| row.get::<_, i64>(0)).optional()?.map(i64::cast_unsigned))
    }

    /// Whether a question is answered at all.
    pub(crate) fn is_healthy(&self) -> bool {
        self.0.query_row("SELECT count(*) FROM meta", [], |row| row.get::<_, i64>(0)).is_ok()
    }

    /// Looks at every page of the database.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let said: String = self.0.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
        if said == "ok" { Ok(()) } else { Err(StoreError::Damaged) }
    }

    /// Gives space back to the file system.
    pub(crate) fn shrink(&self) -> Result<(), StoreError> {
        self.0.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")?;
        Ok(())
    }
}

/// Does `work` again while others are in its way: not every step waits for them by itself.
fn patiently<T>(work: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let until = Deadline::after(BUSY);
    loop {
        match work() {
            Err(StoreError::Busy) if !until.passed() => std::thread::park_timeout(BUSY_STEP),
            done => return done,
        }
    }
}

/// The database's file.
pub(super) const FILE: &str = "index.sqlite";

/// One transaction; it is undone unless it ends well.
pub(super) struct StoreTransaction<'c>(rusqlite::Transaction<'c>);

impl StoreTransaction<'_> {
    /// Says that something was published.
    pub(crate) fn publish(&self) -> Result<(), StoreError> {
        self.add_to("generation", 1).map(drop)
    }

    /// Sets the version of the facts.
    pub(crate) fn set_features(&self, features: u32) -> Result<(), StoreError> {
        self.0.execute("INSERT OR REPLACE INTO meta VALUES ('features', ?)", [features])?;
        Ok(())
    }

    /// Says that contents that nobody shows were looked for when so many numbers had been given.
    pub(crate) fn set_swept(&self, given: u64) -> Result<(), StoreError> {
        self.0.execute("INSERT OR REPLACE INTO meta VALUES ('swept', ?)", [given.cast_signed()])?;
        Ok(())
    }

    /// Adds to a number and says what it was.
    fn add_to(&self, key: &str, by: u32) -> Result<i64, StoreError> {
        let add = "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT(key) DO UPDATE SET value = value + ?2 RETURNING value";
        let after: i64 = self.0.query_row(add, rusqlite::params![key, by], |row| row.get(0))?;
        Ok(after - i64::from(by))
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged,
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            // What a file of another layout or of other bytes looks like to a statement.
            None => Self::Damaged,
            Some(code) => {
                let number = error.sqlite_error().map_or(0, |error| error.extended_code);
                Self::Io(format!("{code:?}, SQLite's number {number}"))
            }
        }
    }
}

/// Whether a failure says that no more can be written.
pub(super) fn is_full(kind: std::io::ErrorKind) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(kind, StorageFull | QuotaExceeded | FileTooLarge)
}

impl From<DamagedBytes> for StoreError {
    fn from(_: DamagedBytes) -> Self {
        Self::Damaged
    }
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            kind if is_full(kind) => Self::Full,
            std::io::ErrorKind::InvalidData => Self::Damaged,
            kind => Self::Io(kind.to_string()),
        }
    }
}
