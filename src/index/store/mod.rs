//! The database of an index: contents, facts, manifests, segments and jobs.
//!
//! It is one SQLite file in the index's folder. Writers hold the folder's lock; readers need none. Invariants: a
//! content number is never reused; a readable manifest refers to existing contents only; a transaction is visible as a
//! whole or not at all, even if the process ends in it.

mod contents;
mod facts_codec;
mod jobs;
pub(super) mod listing;
mod manifests;

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};

pub(super) use contents::{BlobFacts, ContentKey, NewContent, PackedFacts, ParsedContent, SegmentRow};
pub(super) use facts_codec::LazyFacts;
pub(super) use jobs::StoredJob;
pub(super) use listing::{FileOrigin, FileState, ListedFile};
pub(super) use manifests::{LIVE, ManifestHead, ManifestKey};

use super::codec::DamagedBytes;
use codeyard_base::clock::Deadline;

/// The format version of the database and of the segments that it names. Other versions are never read.
pub(crate) const FORMAT: u32 = 7;
/// How long a connection waits for another one.
const BUSY: Duration = Duration::from_secs(5);
/// Time between two attempts of an operation that SQLite itself doesn't retry.
const BUSY_STEP: Duration = Duration::from_millis(10);

/// Why the database can't be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another build wrote it.
    #[error("the index was written by another version of codeyard; run `codeyard index --force`")]
    OtherFormat {
        /// Its format version.
        found: u32,
    },
    #[error("the index is damaged; run `codeyard index --force`")]
    Damaged,
    /// The disk or a quota is full.
    #[error(
        "the disk of the state directory is full or has reached its quota; free some space, then run `codeyard index`"
    )]
    Full,
    /// Another process had it locked for too long.
    #[error("another process is writing the index; try again in a few seconds")]
    Busy,
    /// The operating system reported another error.
    #[error(
        "could not read or write the index ({0}); check the disk of the state directory, then run `codeyard index`"
    )]
    Io(String),
}

/// Identifies a state of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreStamp {
    generation: u64,
    /// The database's random id.
    pub(crate) database: u64,
}

#[derive(Debug)]
pub(super) struct IndexStore(Connection);

impl IndexStore {
    /// Opens the database in `folder`. Creates it if it doesn't exist.
    pub(crate) fn open(folder: &Path) -> Result<Self, StoreError> {
        retry_while_busy(|| {
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

    /// Opens an existing database for queries.
    pub(crate) fn open_for_queries(folder: &Path) -> Result<Self, StoreError> {
        let read = || {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(folder.join(FILE), flags)?;
            connection.busy_timeout(BUSY)?;
            let store = Self(connection);
            match store.format()? {
                FORMAT => Ok(Some(store)),
                // Another process is creating it right now.
                0 => Ok(None),
                found => Err(StoreError::OtherFormat { found }),
            }
        };
        retry_while_busy(read)?.map_or_else(|| Self::open(folder), Ok)
    }

    /// The format version, also one of another build; 0: the database is empty.
    fn format(&self) -> Result<u32, StoreError> {
        Ok(self.0.query_row("PRAGMA user_version", [], |row| row.get(0))?)
    }

    /// Creates the tables, unless another process has created them in the meantime.
    fn create(&self) -> Result<(), StoreError> {
        let immediate = rusqlite::TransactionBehavior::Immediate;
        let transaction = rusqlite::Transaction::new_unchecked(&self.0, immediate)?;
        if self.format()? == 0 {
            self.0.execute_batch(include_str!("schema.sql"))?;
            // Distinguishes this database from an earlier one in the same folder.
            let begun = i64::from_be_bytes(rand::random());
            self.0.execute("INSERT INTO meta VALUES ('begun', ?)", [begun])?;
            self.0.pragma_update(None, "user_version", FORMAT)?;
        }
        Ok(transaction.commit()?)
    }

    /// Runs `work` in one transaction.
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

    /// Starts a read transaction: until [`Self::end_read`], all reads see the same state.
    pub(crate) fn begin_read(&self) -> Result<(), StoreError> {
        Ok(self.0.execute_batch("BEGIN")?)
    }

    /// Ends the transaction of [`Self::begin_read`].
    pub(crate) fn end_read(&self) {
        if !self.0.is_autocommit() {
            // It wrote nothing, so a failure loses nothing.
            drop(self.0.execute_batch("ROLLBACK"));
        }
    }

    /// Frees the pages that the connection keeps, at most 2 MiB. The page cache of the operating system serves the next query, and a
    /// server with many indexes doesn't grow for hours.
    pub(crate) fn release_pages(&self) {
        // A failure keeps them.
        drop(self.0.release_memory());
    }

    /// The number of content numbers reserved so far, and what it was at the last garbage collection.
    pub(crate) fn reserved_numbers(&self) -> Result<(u64, u64), StoreError> {
        Ok((self.meta("contents")?.unwrap_or(0), self.meta("swept")?.unwrap_or(0)))
    }

    /// A number that grows with every publication by any process.
    pub(crate) fn generation(&self) -> Result<u64, StoreError> {
        Ok(self.meta("generation")?.unwrap_or(0))
    }

    /// The present state of the index.
    pub(crate) fn stamp(&self) -> Result<StoreStamp, StoreError> {
        Ok(StoreStamp { generation: self.generation()?, database: self.meta("begun")?.unwrap_or(0) })
    }

    /// The version of the stored facts; `None`: there are none.
    pub(crate) fn features(&self) -> Result<Option<u32>, StoreError> {
        Ok(self.meta("features")?.and_then(|value| u32::try_from(value).ok()))
    }

    fn meta(&self, key: &str) -> Result<Option<u64>, StoreError> {
        let mut statement = self.0.prepare_cached("SELECT value FROM meta WHERE key = ?")?;
        Ok(statement.query_row([key], |row| row.get::<_, i64>(0)).optional()?.map(i64::cast_unsigned))
    }

    /// Whether a query succeeds.
    pub(crate) fn is_healthy(&self) -> bool {
        self.0.query_row("SELECT count(*) FROM meta", [], |row| row.get::<_, i64>(0)).is_ok()
    }

    /// Checks the integrity of every page.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let result: String = self.0.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
        if result == "ok" { Ok(()) } else { Err(StoreError::Damaged) }
    }

    /// Returns free space to the file system.
    pub(crate) fn vacuum(&self) -> Result<(), StoreError> {
        self.0.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")?;
        Ok(())
    }
}

/// Repeats `work` while the database is busy. SQLite's busy timeout doesn't cover every statement.
fn retry_while_busy<T>(work: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let until = Deadline::after(BUSY);
    loop {
        match work() {
            Err(StoreError::Busy) if !until.passed() => std::thread::park_timeout(BUSY_STEP),
            done => return done,
        }
    }
}

/// The name of the database file.
pub(super) const FILE: &str = "index.sqlite";

/// One write transaction. It is rolled back unless it commits.
pub(super) struct StoreTransaction<'c>(rusqlite::Transaction<'c>);

impl StoreTransaction<'_> {
    /// Records a publication.
    pub(crate) fn publish(&self) -> Result<(), StoreError> {
        self.add_to("generation", 1).map(drop)
    }

    /// Stores the version of the facts.
    pub(crate) fn set_features(&self, features: u32) -> Result<(), StoreError> {
        self.0.execute("INSERT OR REPLACE INTO meta VALUES ('features', ?)", [features])?;
        Ok(())
    }

    /// Stores how many content numbers were reserved at this garbage collection.
    pub(crate) fn set_collected_at(&self, given: u64) -> Result<(), StoreError> {
        self.0.execute("INSERT OR REPLACE INTO meta VALUES ('swept', ?)", [given.cast_signed()])?;
        Ok(())
    }

    /// Adds to a number and returns its previous value.
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
            // A statement fails this way on a file with other tables or other bytes.
            None => Self::Damaged,
            Some(code) => {
                let number = error.sqlite_error().map_or(0, |error| error.extended_code);
                Self::Io(format!("{code:?}, SQLite's number {number}"))
            }
        }
    }
}

/// Whether an error means that the disk or a quota is full.
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
