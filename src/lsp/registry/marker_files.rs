//! The files that project root rules read, from the disk or from a cache.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::limits::{MAX_MARKER_BYTES, MAX_MARKER_ENTRIES};

/// The view of the file system that the rules need.
pub trait MarkerFiles {
    /// Whether a file or folder exists.
    fn exists(&self, path: &Path) -> bool;
    /// The names in a folder; empty if it can't be read.
    fn entries(&self, folder: &Path) -> Vec<String>;
    /// The text of a file; empty if it can't be read, or if a link leads outside `top`.
    fn read_text(&self, file: &Path, top: &Path) -> String;
    /// The folders that a TypeScript configuration references, as `follow` computes them. The result may be cached.
    fn cached_references(&self, _config: &Path, follow: &dyn Fn() -> Rc<[PathBuf]>) -> Rc<[PathBuf]> {
        follow()
    }
}

/// The real file system. Reads of folders and files are bounded.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiskFiles;

/// The real file system, read once per path: for many files in a row. Later changes of the disk stay unseen.
#[derive(Debug, Default)]
pub struct CachedFiles {
    exists: RefCell<HashMap<PathBuf, bool>>,
    entries: RefCell<HashMap<PathBuf, Vec<String>>>,
    texts: RefCell<HashMap<PathBuf, String>>,
    references: RefCell<HashMap<PathBuf, Rc<[PathBuf]>>>,
}

impl MarkerFiles for CachedFiles {
    fn exists(&self, path: &Path) -> bool {
        cached(&self.exists, path, || DiskFiles.exists(path))
    }

    fn entries(&self, folder: &Path) -> Vec<String> {
        cached(&self.entries, folder, || DiskFiles.entries(folder))
    }

    fn read_text(&self, file: &Path, top: &Path) -> String {
        cached(&self.texts, file, || DiskFiles.read_text(file, top))
    }

    fn cached_references(&self, config: &Path, follow: &dyn Fn() -> Rc<[PathBuf]>) -> Rc<[PathBuf]> {
        cached(&self.references, config, follow)
    }
}

fn cached<T: Clone>(cache: &RefCell<HashMap<PathBuf, T>>, path: &Path, read: impl FnOnce() -> T) -> T {
    if let Some(known) = cache.borrow().get(path) {
        return known.clone();
    }
    let value = read();
    cache.borrow_mut().insert(path.to_path_buf(), value.clone());
    value
}

impl MarkerFiles for DiskFiles {
    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn entries(&self, folder: &Path) -> Vec<String> {
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let entries = entries.take(MAX_MARKER_ENTRIES).filter_map(Result::ok);
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    fn read_text(&self, file: &Path, top: &Path) -> String {
        let mut bytes = Vec::new();
        if !file.canonicalize().is_ok_and(|file| file.starts_with(top)) {
            return String::new();
        }
        // Opening a pipe would wait for a writer, so only regular files are read.
        if fs::metadata(file).is_ok_and(|meta| meta.is_file())
            && let Ok(open) = fs::File::open(file)
        {
            let _ = open.take(MAX_MARKER_BYTES).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
