//! The files below a project root, and the look-up of a file by the end of its path.
//!
//! Ignored files count: a generated header is usually ignored. Directories of version control systems, of dependencies of other languages
//! and of caches aren't entered. A symbolic link to a file counts as that file. A link to a directory below the root makes the files in
//! that directory reachable by the link's path too; links inside of it are not followed further. Invariants: the list is sorted by path;
//! it has at most [`MAX_TREE_FILES`] files; nothing outside the root is read through a link.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder, WalkState};
use parking_lot::Mutex;

use crate::limits::MAX_LINKED_FILES;

/// Files of one project root that are looked at to resolve includes.
const MAX_TREE_FILES: usize = 1_000_000;

/// Directories that never hold sources or headers of the project.
const NEVER_ENTERED: [&str; 14] = [
    ".git", ".hg", ".svn", ".jj", ".sl", ".codeyard", ".cache", ".ccls-cache", ".venv", "__pycache__", "node_modules",
    "site-packages", ".tox", ".mypy_cache",
];
/// Files that mark a directory as the build output of Cargo, which holds one copy of the same headers for each configuration.
const OUTPUT_MARKS: [&str; 1] = ["CACHEDIR.TAG"];

/// The files below a root.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// Relative paths with `/`, sorted.
    paths: Vec<Box<str>>,
    /// Positions in `paths` by the last component of the path, in order.
    by_name: HashMap<Box<str>, Vec<u32>>,
    /// The number of files that were left out: over the limit, or with a name that isn't UTF-8.
    pub(crate) skipped: usize,
}

/// What the threads of a walk found.
#[derive(Default)]
struct Walked {
    paths: Vec<Box<str>>,
    /// Links to directories: the link and its target, both relative to the root.
    links: Vec<(String, String)>,
    skipped: usize,
}

impl Tree {
    /// Reads the tree at `root`, which is a real path.
    pub(crate) fn read(root: &Path) -> Self {
        let all = Mutex::new(Walked::default());
        let mut builder = WalkBuilder::new(root);
        builder.standard_filters(false).follow_links(false).filter_entry(is_entered);
        builder.build_parallel().run(|| {
            let mut batch = Batch { all: &all, own: Walked::default() };
            Box::new(move |entry| {
                if let Ok(entry) = entry {
                    batch.own.add(root, &entry);
                }
                WalkState::Continue
            })
        });
        let mut walked = all.into_inner();
        walked.paths.sort_unstable();
        let skipped = walked.skipped + walked.paths.len().saturating_sub(MAX_TREE_FILES);
        walked.paths.truncate(MAX_TREE_FILES);
        walked.links.sort();
        let linked = linked_files(&walked);
        walked.paths.extend(linked);
        Self { skipped, ..Self::of(walked.paths) }
    }

    /// A tree of these relative paths.
    pub(crate) fn of(mut paths: Vec<Box<str>>) -> Self {
        paths.sort_unstable();
        paths.dedup();
        let mut by_name: HashMap<Box<str>, Vec<u32>> = HashMap::with_capacity(paths.len());
        for (at, path) in paths.iter().enumerate() {
            let name = file_name(path);
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            match by_name.get_mut(name) {
                Some(known) => known.push(at),
                None => drop(by_name.insert(name.into(), vec![at])),
            }
        }
        Self { paths, by_name, skipped: 0 }
    }

    /// All paths, sorted.
    pub(crate) fn paths(&self) -> &[Box<str>] {
        &self.paths
    }

    /// Whether there is a file at this relative path.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.position(path).is_some()
    }

    /// The position of a path in [`Tree::paths`].
    pub(crate) fn position(&self, path: &str) -> Option<usize> {
        self.paths.binary_search_by(|known| (**known).cmp(path)).ok()
    }

    /// Whether there is a file below this relative directory; the root is `""`.
    pub(crate) fn has_dir(&self, dir: &str) -> bool {
        if dir.is_empty() {
            return !self.paths.is_empty();
        }
        let prefix = format!("{dir}/");
        let at = self.paths.partition_point(|path| **path < *prefix);
        self.paths.get(at).is_some_and(|path| path.starts_with(&prefix))
    }

    /// The files called `name`, sorted by path.
    pub(crate) fn named(&self, name: &str) -> impl Iterator<Item = &str> {
        self.by_name.get(name).into_iter().flatten().map(|at| &*self.paths[*at as usize])
    }

    /// The directories in which `suffix` (such as `net/socket.h`) names a file, sorted. The root is `""`.
    pub(crate) fn dirs_with<'a>(&'a self, suffix: &'a str) -> impl Iterator<Item = &'a str> {
        self.named(file_name(suffix)).filter_map(move |path| {
            let dir = path.strip_suffix(suffix)?;
            if dir.is_empty() { Some("") } else { dir.strip_suffix('/') }
        })
    }
}

impl Walked {
    fn add(&mut self, root: &Path, entry: &DirEntry) {
        let Some(kind) = entry.file_type() else { return };
        let Ok(below) = entry.path().strip_prefix(root) else { return };
        if kind.is_dir() || below.as_os_str().is_empty() {
            return;
        }
        let Some(path) = below.to_str() else {
            self.skipped += 1;
            return;
        };
        if !kind.is_symlink() {
            if kind.is_file() {
                self.paths.push(path.into());
            }
            return;
        }
        let Ok(target) = fs::canonicalize(entry.path()) else { return };
        let Some(inside) = target.strip_prefix(root).ok().and_then(Path::to_str) else { return };
        if target.is_dir() {
            let holds_itself = inside.is_empty() || format!("{path}/").starts_with(&format!("{inside}/"));
            if !holds_itself {
                self.links.push((path.to_owned(), inside.to_owned()));
            }
        } else if target.is_file() {
            self.paths.push(path.into());
        }
    }
}

/// Collects what one thread found and adds it to the rest when the thread ends.
struct Batch<'a> {
    all: &'a Mutex<Walked>,
    own: Walked,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        all.paths.append(&mut self.own.paths);
        all.links.append(&mut self.own.links);
        all.skipped += self.own.skipped;
    }
}

fn is_entered(entry: &DirEntry) -> bool {
    let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
    if !is_dir || entry.depth() == 0 {
        return true;
    }
    let name = entry.file_name().to_string_lossy();
    let is_output = || name == "target" && OUTPUT_MARKS.iter().any(|mark| entry.path().join(mark).exists());
    !NEVER_ENTERED.contains(&&*name) && !is_output()
}

/// The files that are reachable through links to directories, by the link's path.
fn linked_files(walked: &Walked) -> Vec<Box<str>> {
    let mut linked: Vec<Box<str>> = Vec::new();
    for (link, target) in &walked.links {
        let prefix = format!("{target}/");
        let start = walked.paths.partition_point(|path| **path < *prefix);
        let below = walked.paths[start..].iter().take_while(|path| path.starts_with(&prefix));
        let room = MAX_LINKED_FILES - linked.len();
        linked.extend(below.take(room).map(|path| format!("{link}/{}", &path[prefix.len()..]).into()));
    }
    linked
}

/// The folders at or below `top` that hold one of these files, or are above one.
pub(crate) fn folders_above<'a>(files: &'a [PathBuf], top: &Path) -> BTreeSet<&'a Path> {
    let mut found = BTreeSet::new();
    for file in files {
        for folder in file.ancestors().skip(1).take_while(|folder| folder.starts_with(top)) {
            if !found.insert(folder) {
                break;
            }
        }
    }
    found
}

/// The last component of a relative path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The directory of a relative path; `""` at the top.
pub(crate) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

/// `dir/name` with `.` and `..` resolved by their text; `None` if it leaves the root.
pub(crate) fn join(dir: &str, name: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in dir.split('/').chain(name.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// How far `to` is from `from`, both directories: steps up and down between them.
pub(crate) fn distance(from: &str, to: &str) -> usize {
    let parts = |dir: &'_ str| dir.split('/').filter(|part| !part.is_empty()).count();
    let common = from.split('/').zip(to.split('/')).take_while(|(one, other)| one == other && !one.is_empty()).count();
    parts(from) + parts(to) - 2 * common
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_the_end_of_their_path() {
        let paths = ["a/net/s.h", "net/s.h", "xnet/s.h", "s.h", "b/ü s.h"].map(Box::from).to_vec();
        let tree = Tree::of(paths);
        assert_eq!(tree.dirs_with("net/s.h").collect::<Vec<_>>(), ["a", ""]);
        assert_eq!(tree.dirs_with("s.h").collect::<Vec<_>>(), ["a/net", "net", "", "xnet"]);
        assert_eq!(tree.dirs_with("ü s.h").collect::<Vec<_>>(), ["b"]);
        assert!(tree.has("s.h") && !tree.has("net"));
        assert!(tree.has_dir("a/net") && tree.has_dir("") && !tree.has_dir("a/ne") && !tree.has_dir("s.h"));
    }

    #[test]
    fn links_are_read_inside_the_root_only() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret.h"), "").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("src/net")).unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::write(root.join(".git/x.h"), "").unwrap();
        fs::write(root.join("src/net/a.h"), "").unwrap();
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        link("src/net", "lib");
        link("src/net/a.h", "b.h");
        link("..", "src/loop");
        link(outside.path().to_str().unwrap(), "out");
        link(outside.path().join("secret.h").to_str().unwrap(), "s.h");
        link("nowhere.h", "gone.h");
        let tree = Tree::read(&root);
        assert_eq!(tree.paths().iter().map(|path| &**path).collect::<Vec<_>>(), ["b.h", "lib/a.h", "src/net/a.h"]);
    }

    #[test]
    fn paths_are_joined_and_compared_by_their_text() {
        assert_eq!(join("a/b", "../c.h").as_deref(), Some("a/c.h"));
        assert_eq!(join("", "./x//y.h").as_deref(), Some("x/y.h"));
        assert_eq!(join("a", "../../x"), None);
        assert_eq!((distance("", ""), distance("a/b", "a/c/d"), distance("a", "")), (0, 3, 1));
        assert_eq!((parent("a/b.h"), parent("b.h"), file_name("a/b.h")), ("a", "", "b.h"));
    }
}
