//! Scans a working tree for the files to index: those that git doesn't ignore, sorted by path.
//!
//! `.gitignore`, `.ignore`, `.codeyardignore` and the repository's `info/exclude` apply. A user's global excludes don't, because the
//! result must not depend on the user. As in git and ripgrep, a `.gitignore` applies in a repository only: a source package may contain
//! one that ignores nearly all its files. Hidden files are included. Symbolic links are neither followed nor included.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use ignore::{DirEntry, WalkBuilder, WalkState};
use parking_lot::Mutex;

use super::job::StopSignal;
use crate::limits::MAX_INDEXED_FILES;
use codeyard_files::gate::{FileStamp, RootReader};

/// The product's own ignore file.
pub(super) const IGNORE_FILE: &str = ".codeyardignore";

/// One file of the working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScannedFile {
    /// The path relative to the root, with `/` separators.
    pub path: Box<str>,
    /// Its size, times and inode.
    pub stamp: FileStamp,
}

/// The result of a scan.
#[derive(Debug, Default)]
pub(super) struct ScanResult {
    /// The files, sorted by path.
    pub files: Vec<ScannedFile>,
    /// The number of files over [`MAX_INDEXED_FILES`], files whose paths aren't UTF-8, and folders that may not be read.
    pub skipped: usize,
    /// Why the scan is incomplete; `None` if it is complete.
    pub failure: Option<ScanFailure>,
}

/// Why a scan is incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScanFailure {
    /// The root can't be read.
    Root,
    /// Reading below the root failed; the error may be temporary.
    Io(io::ErrorKind),
}

impl ScanResult {
    /// Records an error of the walk.
    fn record_error(&mut self, error: &ignore::Error) {
        let kind = error.io_error().map(io::Error::kind);
        match kind {
            _ if error.depth() == Some(0) => self.failure = Some(ScanFailure::Root),
            // The entry was deleted during the scan.
            None | Some(io::ErrorKind::NotFound) => {}
            Some(io::ErrorKind::PermissionDenied) => self.skipped += 1,
            Some(kind) => self.failure = self.failure.or(Some(ScanFailure::Io(kind))),
        }
    }
}

/// Scans the tree at `root` with `threads` threads. `None` if it was stopped.
pub(super) fn scan_tree(root: &Path, threads: usize, stop: &StopSignal) -> Option<ScanResult> {
    let scanned = Mutex::new(ScanResult::default());
    let walker = builder(root).threads(threads).build_parallel();
    walker.run(|| {
        let reader = RootReader::open(root);
        let mut batch = ThreadBatch { total: &scanned, own: ScanResult::default() };
        Box::new(move |entry| {
            if stop.is_set() {
                return WalkState::Quit;
            }
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    batch.own.record_error(&error);
                    return WalkState::Continue;
                }
            };
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                return WalkState::Continue;
            }
            let Ok(below) = entry.path().strip_prefix(root) else { return WalkState::Continue };
            match below.to_str() {
                Some(path) => {
                    if let Some(stamp) = reader.stat_listed(below) {
                        batch.own.files.push(ScannedFile { path: path.into(), stamp });
                    }
                }
                None => batch.own.skipped += 1,
            }
            WalkState::Continue
        })
    });
    if stop.is_set() {
        return None;
    }
    let mut scanned = scanned.into_inner();
    scanned.files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    scanned.skipped += scanned.files.len().saturating_sub(MAX_INDEXED_FILES);
    scanned.files.truncate(MAX_INDEXED_FILES);
    Some(scanned)
}

/// Those of `paths` that a scan of the tree would find, sorted. Reads only the folders on their paths. `None` if it was stopped.
pub(super) fn scan_paths(root: &Path, paths: &BTreeSet<String>, stop: &StopSignal) -> Option<ScanResult> {
    let wanted = Arc::new(paths.clone());
    let (top, filtered) = (root.to_owned(), wanted.clone());
    let mut builder = builder(root);
    builder.filter_entry(move |entry| {
        let Some(below) = entry.path().strip_prefix(&top).ok().and_then(Path::to_str) else { return false };
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        below.is_empty() || is_not_vcs(entry) && (filtered.contains(below) || is_folder && leads_to(&filtered, below))
    });
    let reader = RootReader::open(root);
    let mut scanned = ScanResult::default();
    for entry in builder.build() {
        if stop.is_set() {
            return None;
        }
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                scanned.record_error(&error);
                continue;
            }
        };
        let below = entry.path().strip_prefix(root).ok().and_then(Path::to_str);
        if let Some(path) = below.filter(|path| wanted.contains(*path))
            && let Some(stamp) = reader.stat(Path::new(path))
        {
            scanned.files.push(ScannedFile { path: path.into(), stamp });
        }
    }
    scanned.files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    Some(scanned)
}

fn leads_to(wanted: &BTreeSet<String>, folder: &str) -> bool {
    let below = format!("{folder}/");
    wanted.range(below.clone()..).next().is_some_and(|path| path.starts_with(&below))
}

fn is_not_vcs(entry: &DirEntry) -> bool {
    !VCS_FOLDERS.contains(&entry.file_name().to_string_lossy().as_ref())
}

fn builder(root: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    builder
        .hidden(false)
        .git_global(false)
        .follow_links(false)
        .add_custom_ignore_filename(IGNORE_FILE)
        .filter_entry(|entry| entry.depth() == 0 || is_not_vcs(entry));
    builder
}

/// Folders of version control systems. They are never entered.
const VCS_FOLDERS: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".sl"];

/// The results of one thread, added to the whole when the thread ends.
struct ThreadBatch<'w> {
    total: &'w Mutex<ScanResult>,
    own: ScanResult,
}

impl Drop for ThreadBatch<'_> {
    fn drop(&mut self) {
        let mut scanned = self.total.lock();
        scanned.files.append(&mut self.own.files);
        scanned.skipped += self.own.skipped;
        scanned.failure = scanned.failure.or(self.own.failure);
    }
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

    fn paths(scanned: &ScanResult) -> Vec<&str> {
        scanned.files.iter().map(|found| &*found.path).collect()
    }

    #[test]
    fn ignored_files_and_links_are_not_found() {
        let (_dir, root) = tree();
        let expected = [
            ".codeyardignore",
            ".gitignore",
            "a.rs",
            "src/.hidden",
            "src/b.rs",
            "src/deep/.gitignore",
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
            "a.rs",
            "build/out.rs",
            "gone.rs",
            "link.rs",
            "link/b.rs",
            "src/b.rs",
            "src/c.log",
            "src/deep/keep.log",
            ".git/config",
        ];
        let requested: BTreeSet<String> = requested.map(str::to_owned).into();
        let found = scan_paths(&root, &requested, &StopSignal::default()).unwrap();
        assert_eq!(paths(&found), ["a.rs", "src/b.rs", "src/deep/keep.log"]);
        assert!(found.files.iter().all(|file| whole.files.contains(file)));
    }
}
