//! A folder of files that a test serves.

use std::fs;
use std::path::{Path, PathBuf};

/// A temporary folder with these files in its folder `code`, and the path of that.
pub(crate) fn folder_of<'f>(files: impl IntoIterator<Item = &'f (&'f str, &'f str)>) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a path").join("code");
    for (path, text) in files {
        write(&root.join(path), text);
    }
    (folder, root)
}

/// Writes a file, with the folders above it.
pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}
