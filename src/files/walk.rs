//! The walk of the code index: the files of a tree that no ignore rule leaves out.
//!
//! `.gitignore`, `.ignore`, `.codeyardignore` and the repository's `info/exclude` apply, a user's global excludes don't: the result must
//! not depend on the user. As in git and ripgrep, a `.gitignore` applies in a repository only: a source package may contain one that
//! ignores nearly all its files. Hidden files are included. Symbolic links are neither followed nor included.
//!
//! It sets no watch and keeps nothing. Invariants: every directory is opened below the root without following a link; a path longer than
//! [`MAX_PATH_BYTES`] costs only itself; the memory of the rules is bounded by the depth of the tree, not by its size.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Condvar, Mutex};

use crate::dir_listing::{DirListing, DirListingEntry};
use crate::gate::{DirOpenError, FileStamp, open_listing};
use crate::ignores::Rules;
use crate::limits::MAX_PATH_BYTES;

/// Files that the walk of the code index lists, before its own limit applies.
const MAX_WALKED_FILES: usize = 4_000_000;

/// One file of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkedFile {
    /// The path relative to the root, with `/` separators.
    pub path: Box<str>,
    /// Its size, times and inode.
    pub stamp: FileStamp,
}

/// The result of a walk.
#[derive(Debug, Default)]
pub struct Walk {
    /// The files, sorted by path.
    pub files: Vec<WalkedFile>,
    /// Entries that were left out: names that aren't UTF-8, paths that are too long, folders that may not be read or have too many
    /// entries.
    pub skipped: usize,
    /// Why the walk is incomplete; `None` if it is complete.
    pub failure: Option<WalkFailure>,
}

/// Why a walk is incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalkFailure {
    /// The root can't be read.
    Root,
    /// Reading below the root failed. The error may be temporary.
    Busy,
}

/// Whose files a walk lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// Those of the code index, as the module says.
    Index,
    /// Those that language servers are started for: hidden ones aren't listed, and a `.gitignore` applies without a repository too.
    Servers,
}

/// A walk over the tree at a root.
pub struct Walker<'w> {
    /// The root, a real path.
    pub root: &'w Path,
    /// Whose files are listed.
    pub listing: Listing,
    pub threads: usize,
    /// If set, only these paths are listed, and only the folders on their way are read.
    pub only: Option<&'w BTreeSet<String>>,
    /// Whether the walk should end early.
    pub is_stopped: &'w (dyn Fn() -> bool + Sync),
}

/// A directory that waits for its turn.
struct Waiting {
    /// Relative to the root.
    path: PathBuf,
    /// The rules of the directory above it. `None` for the root.
    above: Option<Arc<Rules>>,
}

/// What the threads of a walk share.
struct Queue {
    /// The last one is next, so that few rules are in memory at the same time.
    waiting: Vec<Waiting>,
    /// Threads that read a directory and may add others.
    busy: usize,
}

impl Walker<'_> {
    /// Walks the tree. `None` if it was stopped.
    pub fn walk(&self) -> Option<Walk> {
        self.walk_until(MAX_WALKED_FILES)
    }

    /// Whether the walk finds more than `most` files. Ends soon after it has.
    pub fn finds_more_than(&self, most: usize) -> bool {
        self.walk_until(most).is_some_and(|walk| walk.files.len() > most)
    }

    /// Walks until more than `most` files are found.
    fn walk_until(&self, most: usize) -> Option<Walk> {
        let queue = Mutex::new(Queue { waiting: vec![Waiting { path: PathBuf::new(), above: None }], busy: 0 });
        let changed = Condvar::new();
        let found = AtomicUsize::new(0);
        let total = Mutex::new(Walk::default());
        std::thread::scope(|scope| {
            for _ in 0..self.threads.max(1) {
                scope.spawn(|| {
                    let own = self.run_thread(&queue, &changed, &found, most);
                    let mut total = total.lock();
                    total.files.extend(own.files);
                    total.skipped += own.skipped;
                    total.failure = total.failure.or(own.failure);
                });
            }
        });
        if (self.is_stopped)() {
            return None;
        }
        let mut walk = total.into_inner();
        walk.files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        Some(walk)
    }

    /// Reads directories until none is left.
    fn run_thread(&self, queue: &Mutex<Queue>, changed: &Condvar, found: &AtomicUsize, most: usize) -> Walk {
        let mut own = Walk::default();
        loop {
            let mut locked = queue.lock();
            let next = loop {
                if let Some(next) = locked.waiting.pop() {
                    break next;
                }
                if locked.busy == 0 {
                    changed.notify_all();
                    return own;
                }
                changed.wait(&mut locked);
            };
            locked.busy += 1;
            drop(locked);
            let before = own.files.len();
            let children = if (self.is_stopped)() { Vec::new() } else { self.read_dir(&next, &mut own) };
            let new = own.files.len() - before;
            let is_full = found.fetch_add(new, Ordering::Relaxed) + new > most;
            let mut locked = queue.lock();
            locked.busy -= 1;
            match is_full {
                true => own.skipped += children.len(),
                false => locked.waiting.extend(children),
            }
            changed.notify_all();
        }
    }

    /// Adds the files of a directory, and returns the directories in it.
    fn read_dir(&self, dir: &Waiting, own: &mut Walk) -> Vec<Waiting> {
        let opened = open_listing(self.root, &dir.path);
        let listing = match opened.and_then(|opened| DirListing::of(opened).map_err(|_| DirOpenError::Busy)) {
            Ok(listing) => listing,
            Err(error) => {
                own.record(error, dir.above.is_none());
                return Vec::new();
            }
        };
        let full = self.root.join(&dir.path);
        let rules = match &dir.above {
            Some(above) => Rules::among(above, &full, |name| listing.holds(name)),
            None => Rules::of_root(self.root),
        };
        own.skipped += usize::from(listing.is_cut);
        let mut children = Vec::new();
        for entry in &listing.entries {
            if !entry.is_dir && !entry.is_file {
                continue;
            }
            let path = dir.path.join(&entry.name);
            if !self.is_wanted(&path, entry.is_dir) || self.leaves_out(&rules, &full.join(&entry.name), entry.is_dir) {
                continue;
            }
            if is_too_long(self.root, &path) {
                own.skipped += 1;
            } else if entry.is_dir {
                children.push(Waiting { path, above: Some(rules.clone()) });
            } else {
                own.add_file(&path, &listing, entry);
            }
        }
        children
    }

    fn leaves_out(&self, rules: &Rules, path: &Path, is_dir: bool) -> bool {
        match self.listing {
            Listing::Index => rules.leaves_out(path, is_dir),
            Listing::Servers => is_hidden(path) || rules.ignores(path, is_dir),
        }
    }

    fn is_wanted(&self, path: &Path, is_dir: bool) -> bool {
        let Some(only) = self.only else { return true };
        let Some(path) = path.to_str() else { return false };
        if !is_dir {
            return only.contains(path);
        }
        let below = format!("{path}/");
        only.range(below.clone()..).next().is_some_and(|path| path.starts_with(&below))
    }
}

impl Walk {
    fn add_file(&mut self, path: &Path, listing: &DirListing, entry: &DirListingEntry) {
        match path.to_str() {
            Some(path) => {
                let stamp = listing.file_stamp(entry);
                self.files.extend(stamp.map(|stamp| WalkedFile { path: path.into(), stamp }));
            }
            None => self.skipped += 1,
        }
    }

    fn record(&mut self, error: DirOpenError, is_root: bool) {
        match error {
            _ if is_root => self.failure = Some(WalkFailure::Root),
            // It was deleted or replaced by a link during the walk.
            DirOpenError::Missing => {}
            DirOpenError::Denied => self.skipped += 1,
            DirOpenError::Busy => self.failure = self.failure.or(Some(WalkFailure::Busy)),
        }
    }
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Whether ignore files at or below `root`, a real path, ignore `file`, a path below it.
pub fn is_ignored(root: &Path, file: &Path) -> bool {
    let Ok(below) = file.strip_prefix(root) else { return false };
    let mut rules = Rules::of_root(root);
    let mut path = root.to_owned();
    for part in below.iter() {
        path.push(part);
        let is_dir = path != file;
        if rules.ignores(&path, is_dir) {
            return true;
        }
        if is_dir {
            rules = Rules::among(&rules, &path, |name| path.join(name).symlink_metadata().is_ok());
        }
    }
    false
}

fn is_too_long(root: &Path, path: &Path) -> bool {
    let bytes = |path: &Path| OsStr::as_encoded_bytes(path.as_os_str()).len();
    // The separator and the terminating zero byte count.
    bytes(root) + bytes(path) + 2 > MAX_PATH_BYTES
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn walk(root: &Path) -> Walk {
        Walker { root, listing: Listing::Index, threads: 2, only: None, is_stopped: &|| false }.walk().unwrap()
    }

    fn paths(walk: &Walk) -> Vec<&str> {
        walk.files.iter().map(|file| &*file.path).collect()
    }

    fn root() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        fs::write(root.join("kept.rs"), "").unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(root.join("sub/kept.rs"), "").unwrap();
        (dir, root)
    }

    #[test]
    fn an_ignore_file_of_another_kind_costs_nothing() {
        let outside = tempfile::NamedTempFile::new().unwrap();
        fs::write(&outside, "kept.rs\n").unwrap();
        for name in [".gitignore", ".ignore", ".codeyardignore", "sub/.gitignore", ".git/info/exclude"] {
            for kind in ["device", "endless link", "fifo", "sparse", "link outside", "folder"] {
                let (_dir, root) = root();
                let file = root.join(name);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                match kind {
                    "device" => symlink("/dev/zero", &file).unwrap(),
                    "endless link" => symlink(&file, &file).unwrap(),
                    "link outside" => symlink(outside.path(), &file).unwrap(),
                    "folder" => fs::create_dir(&file).unwrap(),
                    "sparse" => fs::File::create(&file).unwrap().set_len(50 << 30).unwrap(),
                    _ => {
                        let fifo = rustix::fs::FileType::Fifo;
                        rustix::fs::mknodat(rustix::fs::CWD, &file, fifo, rustix::fs::Mode::RUSR, 0).unwrap();
                    }
                }
                let found = walk(&root);
                let listed: Vec<&str> = paths(&found).into_iter().filter(|path| path.ends_with("kept.rs")).collect();
                assert_eq!(listed, ["kept.rs", "sub/kept.rs"], "{name} {kind}");
                assert_eq!(found.failure, None, "{name} {kind}");
            }
        }
    }

    #[test]
    fn rules_over_the_bound_do_not_apply_and_the_others_do() {
        let (_dir, root) = root();
        let names: String = (0..40_000).map(|nth| format!("name{nth}\n")).collect();
        fs::write(root.join(".ignore"), names + "kept.rs\n").unwrap();
        fs::write(root.join(".gitignore"), "sub/\n").unwrap();
        assert_eq!(paths(&walk(&root)), [".gitignore", ".ignore", "kept.rs"]);
        let globs: String = (0..9_000).map(|nth| format!("a*{nth}?b*\n")).collect();
        fs::write(root.join(".ignore"), globs + "kept.rs\n").unwrap();
        assert_eq!(paths(&walk(&root)), [".gitignore", ".ignore", "kept.rs"]);
        fs::write(root.join(".ignore"), "x".repeat(5_000) + "\nkept.rs\n").unwrap();
        assert_eq!(paths(&walk(&root)), [".gitignore", ".ignore"]);
    }

    #[test]
    fn a_long_path_costs_only_itself() {
        let (_dir, root) = root();
        let mut dir = rustix::fs::open(&root, rustix::fs::OFlags::PATH, rustix::fs::Mode::empty()).unwrap();
        let name = "n".repeat(200);
        for _ in 0..30 {
            rustix::fs::mkdirat(&dir, &*name, rustix::fs::Mode::RWXU).unwrap();
            dir = rustix::fs::openat(&dir, &*name, rustix::fs::OFlags::PATH, rustix::fs::Mode::empty()).unwrap();
        }
        let found = walk(&root);
        assert_eq!(paths(&found), ["kept.rs", "sub/kept.rs"]);
        assert_eq!((found.skipped, found.failure), (1, None));
        // For the removal of the folder.
        let all = codeyard_process::tool::Tool::new("rm").args(["-rf"]).args([&root]);
        all.run(std::time::Duration::from_secs(60), &|| {}).unwrap();
    }

    #[test]
    fn a_missing_root_is_a_failure_and_a_stopped_walk_has_no_result() {
        let (_dir, root) = root();
        let gone =
            Walker { root: &root.join("gone"), listing: Listing::Index, threads: 2, only: None, is_stopped: &|| false }
                .walk();
        assert_eq!(gone.unwrap().failure, Some(WalkFailure::Root));
        assert!(
            Walker { root: &root, listing: Listing::Index, threads: 3, only: None, is_stopped: &|| true }
                .walk()
                .is_none()
        );
        let all = Walker { root: &root, listing: Listing::Index, threads: 2, only: None, is_stopped: &|| false };
        let files = all.walk().unwrap().files.len();
        assert!(all.finds_more_than(files - 1) && !all.finds_more_than(files));
        let only = BTreeSet::from(["sub/kept.rs".to_owned(), "none".to_owned()]);
        let found =
            Walker { root: &root, listing: Listing::Index, threads: 1, only: Some(&only), is_stopped: &|| false }
                .walk()
                .unwrap();
        assert_eq!(paths(&found), ["sub/kept.rs"]);
    }
}
