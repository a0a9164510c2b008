//! The folder of one index: its database, its symbols, its segments. Working trees of one repository share it.
//!
//! Invariant: a file of another layout or a damaged one is told as that; it is removed only when somebody asked to begin anew.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::lock::WriterLock;
use super::ranked::{SymbolIndexError, SymbolIndex, SymbolWriter};
use super::store::{FILE, IndexStore, StoreError, is_full};
use super::text::Segment;
use codeyard_base::digest::sha256hex;
use codeyard_git::GitRepository;

/// Connections that are kept for the next question.
const IDLE_READERS: usize = 8;

/// Where there is no room for so many bytes there is none.
const ROOM_BYTES: usize = 1 << 20;

/// Why an index can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum IndexOpenError {
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The symbols.
    #[error(transparent)]
    Symbols(#[from] SymbolIndexError),
    /// A segment.
    #[error("the text index is damaged; run `codeyard index --force`")]
    Segment,
}

/// See the module.
pub(super) struct IndexDir {
    folder: PathBuf,
    readers: Mutex<Vec<(u64, IndexStore)>>,
    symbols: Mutex<Option<(u64, Arc<SymbolIndex>)>>,
    /// By the incarnation and the file's name: an index that was begun anew uses the same names for other segments.
    segments: Mutex<HashMap<(u64, String), Weak<Segment>>>,
}

impl IndexDir {
    /// The index of the repository that `root` lies in, below `folder`. Nothing is read yet.
    pub(crate) fn of(folder: &Path, root: &Path) -> std::io::Result<Self> {
        let place = GitRepository::containing(root).map_or_else(|| root.to_owned(), |git| git.common_dir());
        let name = sha256hex(place.as_os_str().as_encoded_bytes());
        let folder = folder.join(&name[..16]);
        let (readers, symbols, segments) = (Mutex::default(), Mutex::default(), Mutex::default());
        let repository = Self { folder, readers, symbols, segments };
        repository.make_folder()?;
        Ok(repository)
    }

    /// Makes the folder, also where somebody has removed it since it was there.
    fn make_folder(&self) -> std::io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(self.folder.join(SEGMENTS))
    }

    /// The lock of who writes; `None`: somebody else has it.
    pub(crate) fn lock(&self) -> std::io::Result<Option<WriterLock>> {
        self.make_folder()?;
        WriterLock::take(&self.folder)
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether anything was ever written.
    pub(crate) fn exists(&self) -> bool {
        self.folder.join(FILE).exists()
    }

    /// Another number after the folder was begun anew, by whichever process.
    fn incarnation(&self) -> u64 {
        fs::metadata(self.folder.join(FILE)).map_or(0, |found| found.ino())
    }

    /// A connection that writes. Whoever uses it holds the lock, or writes only about jobs.
    pub(crate) fn writer(&self) -> Result<IndexStore, StoreError> {
        self.make_folder()?;
        IndexStore::open(&self.folder)
    }

    /// A connection for one question.
    pub(crate) fn reader(&self) -> Result<Reader<'_>, StoreError> {
        let incarnation = self.incarnation();
        let mut readers = self.readers.lock();
        readers.retain(|(of, _)| *of == incarnation);
        let store = match readers.pop() {
            Some((_, store)) => store,
            None => {
                drop(readers);
                IndexStore::open_to_read(&self.folder)?
            }
        };
        Ok(Reader { repository: self, incarnation, store: Some(store) })
    }

    /// The symbols.
    pub(crate) fn symbols(&self) -> Result<Arc<SymbolIndex>, SymbolIndexError> {
        let incarnation = self.incarnation();
        let mut symbols = self.symbols.lock();
        if let Some((of, open)) = &*symbols
            && *of == incarnation
        {
            return Ok(open.clone());
        }
        let open = Arc::new(SymbolIndex::open(&self.folder.join(SYMBOLS))?);
        *symbols = Some((incarnation, open.clone()));
        Ok(open)
    }

    /// Who writes symbols. Its user holds the lock.
    pub(crate) fn symbol_writer(&self) -> Result<SymbolWriter, IndexOpenError> {
        Ok(self.symbols()?.writer()?)
    }

    /// Where a segment is.
    pub(crate) fn segment_path(&self, file: &str) -> PathBuf {
        self.folder.join(SEGMENTS).join(file)
    }

    /// The segment in this file, opened once for all who use it.
    pub(crate) fn segment(&self, file: &str) -> Result<Arc<Segment>, IndexOpenError> {
        let key = (self.incarnation(), file.to_owned());
        let mut segments = self.segments.lock();
        segments.retain(|_, segment| segment.strong_count() > 0);
        if let Some(segment) = segments.get(&key).and_then(Weak::upgrade) {
            return Ok(segment);
        }
        let segment = Segment::open(&self.segment_path(file)).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof | io::ErrorKind::NotFound => IndexOpenError::Segment,
            _ => IndexOpenError::Store(error.into()),
        })?;
        let segment = Arc::new(segment);
        segments.insert(key, Arc::downgrade(&segment));
        Ok(segment)
    }

    /// Removes files of segments that the database doesn't name. Its user holds the lock.
    pub(crate) fn remove_unused_segments(&self, store: &IndexStore) -> Result<(), StoreError> {
        let known: Vec<String> = store.segments()?.into_iter().map(|row| row.file).collect();
        for entry in fs::read_dir(self.folder.join(SEGMENTS))?.flatten() {
            if !known.iter().any(|file| **file == *entry.file_name()) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Removes everything, so that the next job begins anew. Its user holds the lock.
    pub(crate) fn reset(&self) -> Result<(), StoreError> {
        self.readers.lock().clear();
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

    /// Whether nothing more can be written into the folder. Found out by trying: not everybody who fails to write says why.
    pub(crate) fn is_full(&self) -> bool {
        let path = self.folder.join("room");
        let tried = fs::write(&path, vec![0; ROOM_BYTES]);
        // It may never have been there.
        drop(fs::remove_file(&path));
        tried.is_err_and(|error| is_full(error.kind()))
    }

    /// Bytes that the folder takes on disk.
    pub(crate) fn bytes_on_disk(&self) -> u64 {
        let size = |dir: &Path| -> u64 {
            let entries = fs::read_dir(dir).into_iter().flatten().flatten();
            entries
                .filter_map(|entry| entry.metadata().ok())
                .filter(|found| found.is_file())
                .map(|found| found.len())
                .sum()
        };
        [self.folder.clone(), self.folder.join(SYMBOLS), self.folder.join(SEGMENTS)].iter().map(|dir| size(dir)).sum()
    }
}

const SYMBOLS: &str = "symbols";
const SEGMENTS: &str = "text";

/// A connection on loan.
pub(super) struct Reader<'r> {
    repository: &'r IndexDir,
    incarnation: u64,
    store: Option<IndexStore>,
}

impl std::ops::Deref for Reader<'_> {
    type Target = IndexStore;

    fn deref(&self) -> &IndexStore {
        self.store.as_ref().unwrap_or_else(|| unreachable!("it is given back when this is dropped"))
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        let mut readers = self.repository.readers.lock();
        if let Some(store) = self.store.take()
            && readers.len() < IDLE_READERS
        {
            store.release();
            readers.push((self.incarnation, store));
        }
    }
}
