//! The files that project root rules look at, read from the disk or from a cache.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::limits::{MAX_MARKER_BYTES, MAX_MARKER_ENTRIES};

/// What the rule must see of a file system.
pub trait MarkerFiles {
    /// Whether there is a file or folder.
    fn exists(&self, path: &Path) -> bool;
    /// Names in a folder; empty if it can't be read.
    fn names(&self, folder: &Path) -> Vec<String>;
    /// Text of a file; empty if it can't be read, or if a link leads out of `top`.
    fn read_text(&self, file: &Path, top: &Path) -> String;
    /// Where a configuration leads, as `follow` finds it. It may be remembered.
    fn cached_references(&self, _config: &Path, follow: &dyn Fn() -> Rc<[PathBuf]>) -> Rc<[PathBuf]> {
        follow()
    }
}

/// The real file system. Folders and files are read up to a limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiskFiles;

/// The real file system, looked at once for each path: for many files in a row. What it has seen it sees for good.
#[derive(Debug, Default)]
pub struct CachedFiles {
    exists: RefCell<HashMap<PathBuf, bool>>,
    names: RefCell<HashMap<PathBuf, Vec<String>>>,
    texts: RefCell<HashMap<PathBuf, String>>,
    led_to: RefCell<HashMap<PathBuf, Rc<[PathBuf]>>>,
}

impl MarkerFiles for CachedFiles {
    fn exists(&self, path: &Path) -> bool {
        once(&self.exists, path, || DiskFiles.exists(path))
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        once(&self.names, folder, || DiskFiles.names(folder))
    }

    fn read_text(&self, file: &Path, top: &Path) -> String {
        once(&self.texts, file, || DiskFiles.read_text(file, top))
    }

    fn cached_references(&self, config: &Path, follow: &dyn Fn() -> Rc<[PathBuf]>) -> Rc<[PathBuf]> {
        once(&self.led_to, config, follow)
    }
}

fn once<T: Clone>(seen: &RefCell<HashMap<PathBuf, T>>, path: &Path, read: impl FnOnce() -> T) -> T {
    if let Some(known) = seen.borrow().get(path) {
        return known.clone();
    }
    let now = read();
    seen.borrow_mut().insert(path.to_path_buf(), now.clone());
    now
}

impl MarkerFiles for DiskFiles {
    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let entries = entries.take(MAX_MARKER_ENTRIES).filter_map(Result::ok);
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    fn read_text(&self, file: &Path, top: &Path) -> String {
        let mut bytes = Vec::new();
        if !file.canonicalize().is_ok_and(|file| file.starts_with(top)) {
            return String::new();
        }
        // Opening a pipe would wait for a writer, so only plain files are read.
        if fs::metadata(file).is_ok_and(|meta| meta.is_file())
            && let Ok(open) = fs::File::open(file)
        {
            let _ = open.take(MAX_MARKER_BYTES).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
