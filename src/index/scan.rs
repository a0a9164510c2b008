//! Scans a working tree for the files to index: those that git doesn't ignore, sorted by path, at most [`MAX_INDEXED_FILES`].
//!
//! The walk is that of `codeyard_files`; this module knows the limits and errors of an index job.

use std::collections::BTreeSet;
use std::path::Path;

use super::stop_signal::StopSignal;
use crate::limits::MAX_INDEXED_FILES;
use codeyard_files::walk::{Listing, Walk, Walker};

/// The product's own ignore file.
pub(super) const IGNORE_FILE: &str = ".codeyardignore";

/// Scans the tree at `root` with `threads` threads. `None` if it was stopped.
pub(super) fn scan_tree(root: &Path, threads: usize, stop: &StopSignal) -> Option<Walk> {
    let mut scanned =
        Walker { root, listing: Listing::Index, threads, only: None, is_stopped: &|| stop.is_set() }.walk()?;
    scanned.skipped += scanned.files.len().saturating_sub(MAX_INDEXED_FILES);
    scanned.files.truncate(MAX_INDEXED_FILES);
    Some(scanned)
}

/// Those of `paths` that a scan of the tree would find, sorted. Reads only the folders on their paths. `None` if it was stopped.
pub(super) fn scan_paths(root: &Path, paths: &BTreeSet<String>, stop: &StopSignal) -> Option<Walk> {
    Walker { root, listing: Listing::Index, threads: 1, only: Some(paths), is_stopped: &|| stop.is_set() }.walk()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn tree() -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for (path, text) in [
            (".gitignore", "*.log\n/build/\n"),
            (".codeyardignore", "/docs/old/\n"),
            ("a.rs", ""),
            ("src/b.rs", ""),
            ("src/c.log", ""),
            ("src/.hidden", ""),
            ("src/deep/.gitignore", "!keep.log\nnone.rs\n"),
            ("src/deep/keep.log", ""),
            ("src/deep/none.rs", ""),
            ("build/out.rs", ""),
            ("docs/old/x.md", ""),
            (".git/config", ""),
        ] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        std::os::unix::fs::symlink(root.join("src"), root.join("link")).unwrap();
        std::os::unix::fs::symlink(root.join("a.rs"), root.join("link.rs")).unwrap();
        (dir, root)
    }

    fn paths(scanned: &Walk) -> Vec<&str> {
        scanned.files.iter().map(|found| &*found.path).collect()
    }

    #[test]
    fn ignored_files_and_links_are_not_found() {
        let (_dir, root) = tree();
        let expected = [
            ".codeyardignore", ".gitignore", "a.rs", "src/.hidden", "src/b.rs", "src/deep/.gitignore",
            "src/deep/keep.log",
        ];
        for threads in [1, 4] {
            assert_eq!(paths(&scan_tree(&root, threads, &StopSignal::default()).unwrap()), expected);
        }
        let stop = StopSignal::default();
        stop.set();
        assert!(scan_tree(&root, 1, &stop).is_none());
        // Outside a repository `.gitignore` doesn't apply.
        fs::remove_dir_all(root.join(".git")).unwrap();
        let without = scan_tree(&root, 2, &StopSignal::default()).unwrap();
        assert_eq!(without.files.len(), expected.len() + 3, "{without:?}");
    }

    #[test]
    fn scanning_paths_finds_what_a_full_scan_finds_of_them() {
        let (_dir, root) = tree();
        let whole = scan_tree(&root, 2, &StopSignal::default()).unwrap();
        let requested = [
            "a.rs", "build/out.rs", "gone.rs", "link.rs", "link/b.rs", "src/b.rs", "src/c.log", "src/deep/keep.log",
            ".git/config",
        ];
        let requested: BTreeSet<String> = requested.map(str::to_owned).into();
        let found = scan_paths(&root, &requested, &StopSignal::default()).unwrap();
        assert_eq!(paths(&found), ["a.rs", "src/b.rs", "src/deep/keep.log"]);
        assert!(found.files.iter().all(|file| whole.files.contains(file)));
    }
}
