//! Where a file's project root is, by the registry's rule.
//!
//! It walks upwards from the file's folder. Invariant: the answer lies in the workspace root, nothing above the workspace root is
//! looked at, and no text is read that a link leads out of it.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use globset::Glob;

use super::manifests::Ground;
use super::{RootPick, RootRule};
use crate::limits::{MAX_MARKER_BYTES, MAX_MARKER_ENTRIES};

/// Folders of installed dependencies: they belong to the project that they were installed for, and nothing in them marks one.
const DEPENDENCIES: [&str; 2] = ["node_modules", "site-packages"];

/// What the rule says of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectRoot {
    /// The server runs here.
    At {
        /// The folder.
        root: PathBuf,
        /// What says so.
        by: Marked,
    },
    /// This marker says that another server is meant.
    Excluded {
        /// The marker found.
        by: PathBuf,
    },
    /// The rule wants a marker and there is none; or the file is not in the workspace root.
    NoMarker,
}

/// What makes a folder the project root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marked {
    /// A manifest in it names the file's project among its own.
    ByManifest(PathBuf),
    /// A marker in it.
    By(PathBuf),
    /// It is the workspace root, and nothing below it is marked.
    ByNothing,
    /// It is the workspace root, where servers of this kind always run.
    Always,
}

/// What the rule must see of a file system.
pub trait Look {
    /// Whether there is a file or folder.
    fn exists(&self, path: &Path) -> bool;
    /// Names in a folder; empty if it can't be read.
    fn names(&self, folder: &Path) -> Vec<String>;
    /// Text of a file; empty if it can't be read, or if a link leads out of `top`.
    fn text(&self, file: &Path, top: &Path) -> String;
    /// Where a configuration leads, as `follow` finds it. It may be remembered.
    fn kept(&self, _config: &Path, follow: &dyn Fn() -> Rc<[PathBuf]>) -> Rc<[PathBuf]> {
        follow()
    }
}

/// The real file system. Folders and files are read up to a limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

/// The real file system, looked at once for each path: for many files in a row. What it has seen it sees for good.
#[derive(Debug, Default)]
pub struct Glance {
    exists: RefCell<HashMap<PathBuf, bool>>,
    names: RefCell<HashMap<PathBuf, Vec<String>>>,
    texts: RefCell<HashMap<PathBuf, String>>,
    led_to: RefCell<HashMap<PathBuf, Rc<[PathBuf]>>>,
}

/// How a workspace root is seen.
#[derive(Clone, Copy)]
struct Sight<'a> {
    look: &'a dyn Look,
    top: &'a Path,
}

/// The project root of a file, or of the workspace root itself when that is passed as the file.
pub fn project_root(file: &Path, workspace_root: &Path, rule: &RootRule, look: &dyn Look) -> ProjectRoot {
    let start = if file == workspace_root { file } else { file.parent().unwrap_or(file) };
    let Ok(below) = start.strip_prefix(workspace_root) else { return ProjectRoot::NoMarker };
    let start = start_above_dependencies(workspace_root, below);
    let sight = Sight { look, top: workspace_root };
    let folders: Vec<&Path> = start.ancestors().take_while(|folder| folder.starts_with(workspace_root)).collect();
    if let Some(by) = folders.iter().find_map(|folder| sight.found(folder, &rule.excluded_by)) {
        return ProjectRoot::Excluded { by };
    }
    let at = |root: &Path, by: Marked| ProjectRoot::At { root: root.into(), by };
    let marked = sight.whole(&folders, rule).or_else(|| sight.pick(&folders, &rule.markers, rule.pick));
    match (marked, rule.pick) {
        (None, _) if rule.required => ProjectRoot::NoMarker,
        (_, RootPick::Workspace) => at(workspace_root, Marked::Always),
        (None, _) => at(workspace_root, Marked::ByNothing),
        (Some((folder, by)), _) => at(&folder, by),
    }
}

impl RootRule {
    /// Whether the text of this file, and not only that it is there, may decide where a project root is.
    pub fn reads(&self, file: &Path) -> bool {
        let Some(name) = file.file_name().and_then(|name| name.to_str()) else { return false };
        let texts = self.markers.iter().chain(&self.workspace_markers).chain(&self.excluded_by);
        let mut paths = texts.filter_map(|marker| Some(marker.split_once(" ~ ")?.0));
        self.manifests.iter().any(|manifest| manifest.reads(name)) || paths.any(|path| file.ends_with(path))
    }
}

/// The folder `below` the root, or the one that its dependencies were put in.
fn start_above_dependencies(root: &Path, below: &Path) -> PathBuf {
    let is_own = |part: &Component<'_>| !DEPENDENCIES.iter().any(|name| part.as_os_str() == *name);
    root.components().chain(below.components().take_while(is_own)).collect()
}

impl Sight<'_> {
    /// The whole that the file's project is a part of: of those that manifests and markers tell of, the outermost.
    fn whole(self, folders: &[&Path], rule: &RootRule) -> Option<(PathBuf, Marked)> {
        let marked = folders.iter().find(|folder| self.found(folder, &rule.markers).is_some()).copied();
        let ground = Ground { folders, marked, look: self.look };
        let (mut wholes, mut without) = (Vec::new(), BTreeSet::new());
        for manifest in &rule.manifests {
            let word = manifest.word(&ground);
            wholes.extend(word.whole.map(|(folder, by)| (folder, Marked::ByManifest(by))));
            without.extend(word.without);
        }
        let of_it: Vec<&Path> = folders.iter().filter(|folder| !without.contains(**folder)).copied().collect();
        wholes.extend(self.pick(&of_it, &rule.workspace_markers, rule.pick));
        // Of equal ones the first: a manifest's word is told before a marker.
        wholes.into_iter().min_by_key(|(folder, _)| folder.components().count())
    }

    /// The nearest or outermost of `folders` (nearest first) that holds one of the markers, with the marker.
    fn pick(self, folders: &[&Path], markers: &[String], pick: RootPick) -> Option<(PathBuf, Marked)> {
        let mut marked = folders.iter().filter_map(|folder| Some((folder, self.found(folder, markers)?)));
        let (folder, by) = match pick {
            RootPick::Nearest | RootPick::Workspace => marked.next(),
            RootPick::Outermost => marked.next_back(),
        }?;
        Some((folder.to_path_buf(), Marked::By(by)))
    }

    /// The first of the markers that this folder holds.
    fn found(self, folder: &Path, markers: &[String]) -> Option<PathBuf> {
        markers.iter().find_map(|marker| {
            let (path, text) =
                marker.split_once(" ~ ").map_or((marker.as_str(), None), |(path, text)| (path, Some(text)));
            let is_glob = path.contains(['*', '?', '[', '{']);
            let at = if is_glob { globbed(folder, path, self.look)? } else { folder.join(path) };
            let there = match text {
                None => self.look.exists(&at),
                Some(text) => {
                    self.look.exists(&at)
                        && self.look.text(&at, self.top).lines().any(|line| line.trim_start().starts_with(text))
                }
            };
            there.then_some(at)
        })
    }
}

impl Look for Glance {
    fn exists(&self, path: &Path) -> bool {
        once(&self.exists, path, || Disk.exists(path))
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        once(&self.names, folder, || Disk.names(folder))
    }

    fn text(&self, file: &Path, top: &Path) -> String {
        once(&self.texts, file, || Disk.text(file, top))
    }

    fn kept(&self, config: &Path, follow: &dyn Fn() -> Rc<[PathBuf]>) -> Rc<[PathBuf]> {
        once(&self.led_to, config, follow)
    }
}

fn once<T: Clone>(seen: &RefCell<HashMap<PathBuf, T>>, path: &Path, look: impl FnOnce() -> T) -> T {
    if let Some(known) = seen.borrow().get(path) {
        return known.clone();
    }
    let now = look();
    seen.borrow_mut().insert(path.to_path_buf(), now.clone());
    now
}

impl Look for Disk {
    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let entries = entries.take(MAX_MARKER_ENTRIES).filter_map(Result::ok);
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    fn text(&self, file: &Path, top: &Path) -> String {
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

/// The first name by order that a glob in the last part of a path matches.
fn globbed(folder: &Path, path: &str, look: &dyn Look) -> Option<PathBuf> {
    let path = Path::new(path);
    let folder = folder.join(path.parent()?);
    let matcher = Glob::new(path.file_name()?.to_str()?).ok()?.compile_matcher();
    let name = look.names(&folder).into_iter().filter(|name| matcher.is_match(name)).min()?;
    Some(folder.join(name))
}

#[cfg(test)]
mod tests;
