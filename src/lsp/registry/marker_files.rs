//! The files that project root rules read, from the disk or from a cache.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::limits::{MAX_MARKER_BYTES, MAX_MARKER_ENTRIES};
use codeyard_files::gate::read_start_below;

/// The view of the file system that the rules need.
pub trait MarkerFiles {
    /// Whether a file or folder exists.
    fn exists(&self, path: &Path) -> bool;
    /// The names in a folder; empty if it can't be read.
    fn entries(&self, folder: &Path) -> Rc<[String]>;
    /// The text of a file; empty if it can't be read, isn't a regular file, or a link leads outside `top`.
    fn read_text(&self, file: &Path, top: &Path) -> String;
    /// What `read` finds in a file. The result, of the type `kind`, may be cached.
    fn parsed(&self, _file: &Path, _kind: TypeId, read: &dyn Fn() -> Rc<dyn Any>) -> Rc<dyn Any> {
        read()
    }
}

/// The real file system. Reads of folders and files are bounded.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiskFiles;

/// The real file system, read once per path: for many files in a row. Later changes of the disk stay unseen.
#[derive(Debug, Default)]
pub struct CachedFiles {
    exists: RefCell<HashMap<PathBuf, bool>>,
    entries: RefCell<HashMap<PathBuf, Rc<[String]>>>,
    texts: RefCell<HashMap<PathBuf, String>>,
    parsed: RefCell<HashMap<(PathBuf, TypeId), Rc<dyn Any>>>,
}

impl MarkerFiles for CachedFiles {
    fn exists(&self, path: &Path) -> bool {
        cached(&self.exists, path.to_path_buf(), || DiskFiles.exists(path))
    }

    fn entries(&self, folder: &Path) -> Rc<[String]> {
        cached(&self.entries, folder.to_path_buf(), || DiskFiles.entries(folder))
    }

    fn read_text(&self, file: &Path, top: &Path) -> String {
        cached(&self.texts, file.to_path_buf(), || DiskFiles.read_text(file, top))
    }

    fn parsed(&self, file: &Path, kind: TypeId, read: &dyn Fn() -> Rc<dyn Any>) -> Rc<dyn Any> {
        cached(&self.parsed, (file.to_path_buf(), kind), read)
    }
}

fn cached<K: Eq + Hash, T: Clone>(cache: &RefCell<HashMap<K, T>>, key: K, read: impl FnOnce() -> T) -> T {
    if let Some(known) = cache.borrow().get(&key) {
        return known.clone();
    }
    // Reading may use the same cache.
    let value = read();
    cache.borrow_mut().insert(key, value.clone());
    value
}

impl MarkerFiles for DiskFiles {
    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn entries(&self, folder: &Path) -> Rc<[String]> {
        let Ok(entries) = fs::read_dir(folder) else { return Rc::default() };
        let entries = entries.take(MAX_MARKER_ENTRIES).filter_map(Result::ok);
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    fn read_text(&self, file: &Path, top: &Path) -> String {
        let bytes = read_start_below(top, file, MAX_MARKER_BYTES).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
