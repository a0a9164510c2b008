//! The folder of one index: its database, symbol index and text segments. All working trees of a repository share it.
//!
//! Invariant: damaged files and files of another format are reported, and deleted only by a forced job.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::lock::WriterLock;
use super::ranked::{SymbolIndex, SymbolIndexError, SymbolWriter};
use super::store::{FILE, IndexStore, StoreError, is_full};
use super::text::Segment;
use codeyard_base::digest::sha256hex;
use codeyard_git::GitRepository;

/// The least and the most connections that are kept open for later queries; in between, one for each processor. More queries than that
/// don't make progress at once, and each connection keeps its own statements.
const IDLE_READERS: std::ops::RangeInclusive<usize> = 2..=8;

/// If this many bytes can't be written, the disk counts as full.
const FULL_DISK_PROBE_BYTES: usize = 1 << 20;

/// Why an index can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum IndexOpenError {
    /// The database can't be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The symbol index can't be opened.
    #[error(transparent)]
    Symbols(#[from] SymbolIndexError),
    /// A text segment can't be opened.
    #[error("the text index is damaged; run `codeyard index --force`")]
    Segment,
}

/// The index of one repository, with its open files.
pub(super) struct IndexDir {
    folder: PathBuf,
    readers: Mutex<Vec<(u64, IndexStore)>>,
    symbols: Mutex<Option<(u64, Arc<SymbolIndex>)>>,
    /// Open segments by the inode of the database and the file name. After a reset the same names mean other segments.
    segments: Mutex<HashMap<(u64, String), Weak<Segment>>>,
}

impl IndexDir {
    /// The index of the repository that contains `root`, below `folder`. `git_dirs`: where git directories may lie outside of the root.
    pub(crate) fn of(folder: &Path, root: &Path, git_dirs: &[PathBuf]) -> std::io::Result<Self> {
        let repository = GitRepository::containing(root, git_dirs);
        let identity = repository.map_or_else(|_| root.to_owned(), |git| git.common_dir().to_owned());
        let name = sha256hex(identity.as_os_str().as_encoded_bytes());
        let folder = folder.join(&name[..16]);
        let segments = Mutex::default();
        let index_dir = Self { folder, readers: Mutex::default(), symbols: Mutex::default(), segments };
        index_dir.create_folder()?;
        Ok(index_dir)
    }

    /// Creates the folder, also if it was deleted in the meantime.
    fn create_folder(&self) -> std::io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(self.folder.join(SEGMENTS))
    }

    /// Takes the writer's lock; `None`: another process has it.
    pub(crate) fn lock(&self) -> std::io::Result<Option<WriterLock>> {
        self.create_folder()?;
        WriterLock::take(&self.folder)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn exists(&self) -> bool {
        self.folder.join(FILE).exists()
    }

    /// A number that changes when any process resets the index.
    fn database_inode(&self) -> u64 {
        fs::metadata(self.folder.join(FILE)).map_or(0, |found| found.ino())
    }

    /// A connection for writing. The caller holds the lock, or writes job records only.
    pub(crate) fn writer(&self) -> Result<IndexStore, StoreError> {
        self.create_folder()?;
        IndexStore::open(&self.folder)
    }

    /// A connection for one query, from the pool.
    pub(crate) fn reader(self: &Arc<Self>) -> Result<PooledStore, StoreError> {
        let database_inode = self.database_inode();
        // Connections are closed without the lock.
        let (outdated, idle) = {
            let mut readers = self.readers.lock();
            let outdated: Vec<_> = readers.extract_if(.., |(of, _)| *of != database_inode).collect();
            (outdated, readers.pop())
        };
        drop(outdated);
        let store = match idle {
            Some((_, store)) => store,
            None => IndexStore::open_for_queries(&self.folder)?,
        };
        Ok(PooledStore { index_dir: self.clone(), database_inode, store: Some(store) })
    }

    pub(crate) fn symbols(&self) -> Result<Arc<SymbolIndex>, SymbolIndexError> {
        let database_inode = self.database_inode();
        let mut symbols = self.symbols.lock();
        if let Some((of, open)) = &*symbols
            && *of == database_inode
        {
            return Ok(open.clone());
        }
        let open = Arc::new(SymbolIndex::open(&self.folder.join(SYMBOLS))?);
        *symbols = Some((database_inode, open.clone()));
        Ok(open)
    }

    /// The writer of the symbol index. The caller holds the lock.
    pub(crate) fn symbol_writer(&self) -> Result<SymbolWriter, IndexOpenError> {
        Ok(self.symbols()?.writer()?)
    }

    pub(crate) fn segment_path(&self, file: &str) -> PathBuf {
        self.folder.join(SEGMENTS).join(file)
    }

    /// The segment in this file. All callers share one open segment.
    pub(crate) fn segment(&self, file: &str) -> Result<Arc<Segment>, IndexOpenError> {
        let key = (self.database_inode(), file.to_owned());
        let mut segments = self.segments.lock();
        segments.retain(|_, segment| segment.strong_count() > 0);
        if let Some(segment) = segments.get(&key).and_then(Weak::upgrade) {
            return Ok(segment);
        }
        let segment = Segment::open(&self.segment_path(file)).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof | io::ErrorKind::NotFound => {
                IndexOpenError::Segment
            }
            _ => IndexOpenError::Store(error.into()),
        })?;
        let segment = Arc::new(segment);
        segments.insert(key, Arc::downgrade(&segment));
        Ok(segment)
    }

    /// Deletes segment files that the database doesn't name. The caller holds the lock.
    pub(crate) fn remove_unused_segments(&self, store: &IndexStore) -> Result<(), StoreError> {
        let known: Vec<String> = store.segments()?.into_iter().map(|row| row.file).collect();
        for entry in fs::read_dir(self.folder.join(SEGMENTS))?.flatten() {
            if !known.iter().any(|file| **file == *entry.file_name()) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Deletes the whole index, so that the next job builds it from scratch. The caller holds the lock.
    pub(crate) fn reset(&self) -> Result<(), StoreError> {
        let readers = std::mem::take(&mut *self.readers.lock());
        drop(readers);
        *self.symbols.lock() = None;
        for name in [FILE, "index.sqlite-wal", "index.sqlite-shm"] {
            match fs::remove_file(self.folder.join(name)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        for name in [SYMBOLS, SEGMENTS] {
            match fs::remove_dir_all(self.folder.join(name)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        fs::DirBuilder::new().mode(0o700).create(self.folder.join(SEGMENTS))?;
        Ok(())
    }

    /// Whether the disk is full. Tries a write, because not every failed write says why it failed.
    pub(crate) fn is_full(&self) -> bool {
        let path = self.folder.join("room");
        let tried = fs::write(&path, vec![0; FULL_DISK_PROBE_BYTES]);
        // The write may have failed before it created the file.
        drop(fs::remove_file(&path));
        tried.is_err_and(|error| is_full(error.kind()))
    }

    /// The size of the folder on disk, and that of the text index in it, in bytes.
    pub(crate) fn bytes_on_disk(&self) -> (u64, u64) {
        let size = |dir: &Path| -> u64 {
            let entries = fs::read_dir(dir).into_iter().flatten().flatten();
            entries
                .filter_map(|entry| entry.metadata().ok())
                .filter(|found| found.is_file())
                .map(|found| found.len())
                .sum()
        };
        let text = size(&self.folder.join(SEGMENTS));
        (size(&self.folder) + size(&self.folder.join(SYMBOLS)) + text, text)
    }
}

const SYMBOLS: &str = "symbols";
const SEGMENTS: &str = "text";

/// How many connections are kept open for later queries.
fn idle_readers() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    processors.clamp(*IDLE_READERS.start(), *IDLE_READERS.end())
}

/// A pooled connection. Dropping it returns it to the pool.
pub(super) struct PooledStore {
    index_dir: Arc<IndexDir>,
    database_inode: u64,
    store: Option<IndexStore>,
}

impl std::ops::Deref for PooledStore {
    type Target = IndexStore;

    fn deref(&self) -> &IndexStore {
        self.store.as_ref().unwrap_or_else(|| unreachable!("only `drop` takes the connection"))
    }
}

impl Drop for PooledStore {
    fn drop(&mut self) {
        let Some(store) = self.store.take() else { return };
        store.end_read();
        store.release_pages();
        let mut readers = self.index_dir.readers.lock();
        if readers.len() < idle_readers() {
            readers.push((self.database_inode, store));
        }
    }
}
