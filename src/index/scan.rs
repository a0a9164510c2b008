//! Which files a working tree holds: what git would not ignore, in the order of their paths.
//!
//! Ignored is what `.gitignore`, `.ignore`, `.codeyardignore` and the repository's `info/exclude` say, never a user's global excludes:
//! what is found must not hang on whose machine it is. As for git and ripgrep, a `.gitignore` counts in a repository only: a package of
//! sources may bring one that names nearly everything it holds. Hidden files count. Links are never followed, and no link is a file.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use ignore::{DirEntry, WalkBuilder, WalkState};
use parking_lot::Mutex;

use super::job::StopSignal;
use crate::limits::MAX_INDEXED_FILES;
use codeyard_files::gate::{RootReader, FileStamp};

/// The product's own ignore file.
pub(super) const IGNORE_FILE: &str = ".codeyardignore";

/// One file found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScannedFile {
    /// Relative to the root, with `/` between.
    pub path: Box<str>,
    /// What it looks like.
    pub stamp: FileStamp,
}

/// What a walk found.
#[derive(Debug, Default)]
pub(super) struct ScanResult {
    /// Ordered by path.
    pub files: Vec<ScannedFile>,
    /// Files beyond the most that are indexed, or whose paths aren't UTF-8, and folders that may not be read.
    pub skipped: usize,
    /// Why not all could be looked at.
    pub failure: Option<ScanFailure>,
}

/// Why a walk didn't see everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScanFailure {
    /// The root itself can't be read.
    Root,
    /// The system fails, for all that is known, for the moment.
    Io(io::ErrorKind),
}

impl ScanResult {
    /// Notes what a walk met in place of an entry.
    fn record_error(&mut self, error: &ignore::Error) {
        let kind = error.io_error().map(io::Error::kind);
        match kind {
            _ if error.depth() == Some(0) => self.failure = Some(ScanFailure::Root),
            // It went meanwhile.
            None | Some(io::ErrorKind::NotFound) => {}
            Some(io::ErrorKind::PermissionDenied) => self.skipped += 1,
            Some(kind) => self.failure = self.failure.or(Some(ScanFailure::Io(kind))),
        }
    }
}

/// Walks the tree at `root` with so many threads. `None`: it was stopped.
pub(super) fn scan_tree(root: &Path, threads: usize, stop: &StopSignal) -> Option<ScanResult> {
    let scanned = Mutex::new(ScanResult::default());
    let walker = builder(root).threads(threads).build_parallel();
    walker.run(|| {
        let beneath = RootReader::open(root);
        let mut batch = ThreadBatch { to: &scanned, own: ScanResult::default() };
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
                    if let Some(stamp) = beneath.glance(below) {
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

/// Of these paths below `root` those that a walk would find, in order. Only folders on the way to them are read.
pub(super) fn scan_paths(root: &Path, paths: &BTreeSet<String>, stop: &StopSignal) -> Option<ScanResult> {
    let wanted = Arc::new(paths.clone());
    let (top, on_the_way) = (root.to_owned(), wanted.clone());
    let mut builder = builder(root);
    builder.filter_entry(move |entry| {
        let Some(below) = entry.path().strip_prefix(&top).ok().and_then(Path::to_str) else { return false };
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        below.is_empty()
            || is_entered(entry) && (on_the_way.contains(below) || is_folder && leads_to(&on_the_way, below))
    });
    let beneath = RootReader::open(root);
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
            && let Some(stamp) = beneath.stat(Path::new(path))
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

fn is_entered(entry: &DirEntry) -> bool {
    !VCS_FOLDERS.contains(&entry.file_name().to_string_lossy().as_ref())
}

fn builder(root: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    builder
        .hidden(false)
        .git_global(false)
        .follow_links(false)
        .add_custom_ignore_filename(IGNORE_FILE)
        .filter_entry(|entry| entry.depth() == 0 || is_entered(entry));
    builder
}

/// What belongs to version control itself.
const VCS_FOLDERS: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".sl"];

/// What one thread found; handed over when the thread ends.
struct ThreadBatch<'w> {
    to: &'w Mutex<ScanResult>,
    own: ScanResult,
}

impl Drop for ThreadBatch<'_> {
    fn drop(&mut self) {
        let mut scanned = self.to.lock();
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
        // Where there is no repository nothing is ignored by git.
        fs::remove_dir_all(root.join(".git")).unwrap();
        let without = scan_tree(&root, 2, &StopSignal::default()).unwrap();
        assert_eq!(without.files.len(), expected.len() + 3, "{without:?}");
    }

    #[test]
    fn a_look_at_some_paths_finds_what_a_walk_finds_of_them() {
        let (_dir, root) = tree();
        let whole = scan_tree(&root, 2, &StopSignal::default()).unwrap();
        let asked = [
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
        let asked: BTreeSet<String> = asked.map(str::to_owned).into();
        let looked = scan_paths(&root, &asked, &StopSignal::default()).unwrap();
        assert_eq!(paths(&looked), ["a.rs", "src/b.rs", "src/deep/keep.log"]);
        assert!(looked.files.iter().all(|found| whole.files.contains(found)));
    }
}
