//! The storage interface: records in namespaces, compare-and-set, and counters that only rise.
//!
//! The interface knows nothing of tokens or workspaces; the types of this crate encode those as JSON text. Invariants: a change is
//! durable before its call returns; a change is seen whole or not at all; a counter never returns a number twice.
//! All calls block, except that [`StateStore::stamp`] touches no disk in the normal case. Call the others from a thread that may
//! block, never from an actor's handler.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A shared handle of the store that a process uses.
pub type StoreHandle = Arc<dyn StateStore>;

/// The name of one set of records.
///
/// A key and a version are unique within their namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Namespace(&'static str);

/// A value under a key.
#[derive(Clone, PartialEq, Eq)]
pub struct Record {
    pub key: String,
    /// Rises with every change of the namespace. A record gets a new one whenever it is written.
    pub version: u64,
    /// The value, JSON text.
    pub value: String,
}

/// All records of a namespace at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// The version of the last change; 0 if the namespace was never written.
    pub version: u64,
    /// The records by rising version: the one that was written last is last.
    pub records: Vec<Record>,
}

/// One change of a namespace.
#[derive(Clone, PartialEq, Eq)]
pub enum Write {
    /// Stores a value under a key, in place of an older value.
    Put {
        key: String,
        /// The value, JSON text.
        value: String,
    },
    /// Removes a key. No error if it is absent.
    Remove { key: String },
}

/// Differs from an earlier stamp if any record changed meanwhile, through whichever process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeStamp {
    /// Counts the times that the store was opened. Versions are those of one opened store.
    pub(crate) connection: u64,
    /// The store's own number, meaningful within one connection.
    pub(crate) data_version: i64,
}

/// Durable storage for what codeyard keeps besides code indexes.
///
/// SQLite is the embedded implementation ([`crate::SqliteStore`]). `docs/internals/decisions/state-store.md` says how another one fits.
pub trait StateStore: fmt::Debug + Send + Sync {
    /// Where the store lies, for errors.
    fn location(&self) -> &Path;

    /// The present stamp. Cheap enough for every call of a tool.
    ///
    /// # Errors
    /// If the store can't be read.
    fn stamp(&self) -> Result<ChangeStamp, StateError>;

    /// One record; `None` if there is none.
    ///
    /// # Errors
    /// If the store can't be read.
    fn get(&self, namespace: Namespace, key: &str) -> Result<Option<Record>, StateError>;

    /// The version of the last change of a namespace; 0 if it was never written.
    ///
    /// # Errors
    /// If the store can't be read.
    fn version(&self, namespace: Namespace) -> Result<u64, StateError>;

    /// All records of a small namespace.
    ///
    /// # Errors
    /// If the store can't be read.
    fn list(&self, namespace: Namespace) -> Result<Snapshot, StateError>;

    /// Reads a small namespace, lets `change` decide, and applies its writes in their order, all or none.
    ///
    /// No other writer changes the namespace meanwhile. `change` runs once at most.
    ///
    /// # Errors
    /// If the store can't be read or written. Then nothing has changed.
    fn update(&self, namespace: Namespace, change: &mut dyn FnMut(&Snapshot) -> Vec<Write>) -> Result<(), StateError>;

    /// Stores `value` if the record's version is still `expected` (`None`: there is no such record), and returns the new version.
    /// Returns `None` if it isn't. For namespaces that are too large for [`StateStore::update`].
    ///
    /// # Errors
    /// If the store can't be read or written. Then nothing has changed.
    fn compare_and_set(
        &self,
        namespace: Namespace,
        key: &str,
        expected: Option<u64>,
        value: &str,
    ) -> Result<Option<u64>, StateError>;

    /// The next number of a counter: `first` for a new counter, otherwise one more than the last number.
    ///
    /// # Errors
    /// If the number can't be stored durably. Then it isn't used.
    fn next(&self, namespace: Namespace, key: &str, first: u64) -> Result<u64, StateError>;
}

/// Why the state store can't be used. The text names the file and the next step.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The content is not what codeyard wrote.
    #[error(
        "{} is damaged ({reason}); stop codeyard, then restore {files} from a backup that was made while codeyard was stopped, \
         or move them away and run `codeyard token add NAME`: all tokens and permissions start over then",
        file.display(), files = all_files(file)
    )]
    Damaged { file: PathBuf, reason: String },
    /// A newer version of codeyard wrote it.
    #[error(
        "{} was written by a newer version of codeyard (schema {found}, this version reads up to {known}); \
         run the newer version, or use another --state-dir",
        file.display()
    )]
    Newer {
        file: PathBuf,
        found: u32,
        /// The last schema that this version reads.
        known: u32,
    },
    /// The file belongs to another user, or is no regular file.
    #[error(
        "{} belongs to another user, or is not a regular file; run the command as its owner, or chown it to this user \
         (if you move it away, all its tokens and permissions are lost)",
        file.display()
    )]
    NotPrivate { file: PathBuf },
    #[error(
        "{} is missing; stop codeyard, then restore {files} from a backup that was made while codeyard was stopped, or run \
         `codeyard token add NAME`, which makes a new database: all tokens and permissions start over then",
        file.display(), files = all_files(file)
    )]
    Missing { file: PathBuf },
    /// Another process wrote for too long.
    #[error("{} is locked by another process; run the command again in a moment", file.display())]
    Busy { file: PathBuf },
    /// The disk is full, or a quota is used up.
    #[error("the disk of {} is full; free space, then run the command again", file.display())]
    Full { file: PathBuf },
    /// This user can't write into the state directory.
    #[error(
        "state directory {} can't be written by this user; run the command as its owner, give it mode 0700, and check that its \
         file system is not mounted read-only",
        folder.display()
    )]
    NotWritable { folder: PathBuf },
    /// The mode of a file keeps its owner out.
    #[error("{0} can't be read and written by this user; run `chmod 600 {0}`, then run the command again", file.display())]
    FileMode { file: PathBuf },
    /// A server of an earlier version runs, and may not know the schema to which the database would be migrated.
    #[error(
        "state directory {} is in use by codeyard of an earlier version{}; stop it, then run the command again",
        folder.display(), pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
    )]
    InUse {
        folder: PathBuf,
        /// The process id of the server; `None` if it is not known.
        pid: Option<u32>,
    },
    #[error("{} can't be read or written: {source}; check the permissions of its folder", file.display())]
    Io { file: PathBuf, source: io::Error },
}

impl Namespace {
    /// The namespace of this name: lower-case words with `-` between them.
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

/// Values and keys of tokens are no secrets, but they don't belong into logs.
impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record").field("version", &self.version).finish_non_exhaustive()
    }
}

impl fmt::Debug for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Put { .. } => "Put(..)",
            Self::Remove { .. } => "Remove(..)",
        })
    }
}

impl Record {
    /// The value as `T`; `None` if it has another form.
    pub(crate) fn decode<T: serde::de::DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(&self.value).ok()
    }
}

/// The names of the files that make up the database.
fn all_files(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    format!("all three files ({name}, {name}-wal and {name}-shm)")
}
