//! Where a file's project root is, by the registry's rule.
//!
//! It walks upwards from the file's folder. Invariant: the answer lies in the workspace root, nothing above the workspace root is
//! looked at, and no text is read that a link leads out of it.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use globset::Glob;

use super::manifests::ManifestContext;
use super::marker_files::MarkerFiles;
use super::schema::{RootPick, RootRule};

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
        by: RootReason,
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
pub enum RootReason {
    /// A manifest in it names the file's project among its own.
    Manifest(PathBuf),
    /// A marker in it.
    Marker(PathBuf),
    /// It is the workspace root, and nothing below it is marked.
    Unmarked,
    /// It is the workspace root, where servers of this kind always run.
    Always,
}

/// How a workspace root is seen.
#[derive(Clone, Copy)]
struct MarkerSearch<'a> {
    files: &'a dyn MarkerFiles,
    top: &'a Path,
}

/// The project root of a file, or of the workspace root itself when that is passed as the file.
pub fn project_root(file: &Path, workspace_root: &Path, rule: &RootRule, files: &dyn MarkerFiles) -> ProjectRoot {
    let start = if file == workspace_root { file } else { file.parent().unwrap_or(file) };
    let Ok(below) = start.strip_prefix(workspace_root) else { return ProjectRoot::NoMarker };
    let start = start_above_dependencies(workspace_root, below);
    let sight = MarkerSearch { files, top: workspace_root };
    let folders: Vec<&Path> = start.ancestors().take_while(|folder| folder.starts_with(workspace_root)).collect();
    if let Some(by) = folders.iter().find_map(|folder| sight.found(folder, &rule.excluded_by)) {
        return ProjectRoot::Excluded { by };
    }
    let at = |root: &Path, by: RootReason| ProjectRoot::At { root: root.into(), by };
    let marked = sight.whole(&folders, rule).or_else(|| sight.pick(&folders, &rule.markers, rule.pick));
    match (marked, rule.pick) {
        (None, _) if rule.required => ProjectRoot::NoMarker,
        (_, RootPick::Workspace) => at(workspace_root, RootReason::Always),
        (None, _) => at(workspace_root, RootReason::Unmarked),
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

impl MarkerSearch<'_> {
    /// The whole that the file's project is a part of: of those that manifests and markers tell of, the outermost.
    fn whole(self, folders: &[&Path], rule: &RootRule) -> Option<(PathBuf, RootReason)> {
        let marked = folders.iter().find(|folder| self.found(folder, &rule.markers).is_some()).copied();
        let context = ManifestContext { folders, marked, files: self.files };
        let (mut wholes, mut without) = (Vec::new(), BTreeSet::new());
        for manifest in &rule.manifests {
            let word = manifest.membership(&context);
            wholes.extend(word.whole.map(|(folder, by)| (folder, RootReason::Manifest(by))));
            without.extend(word.without);
        }
        let of_it: Vec<&Path> = folders.iter().filter(|folder| !without.contains(**folder)).copied().collect();
        wholes.extend(self.pick(&of_it, &rule.workspace_markers, rule.pick));
        // Of equal ones the first: a manifest's word is told before a marker.
        wholes.into_iter().min_by_key(|(folder, _)| folder.components().count())
    }

    /// The nearest or outermost of `folders` (nearest first) that holds one of the markers, with the marker.
    fn pick(self, folders: &[&Path], markers: &[String], pick: RootPick) -> Option<(PathBuf, RootReason)> {
        let mut marked = folders.iter().filter_map(|folder| Some((folder, self.found(folder, markers)?)));
        let (folder, by) = match pick {
            RootPick::Nearest | RootPick::Workspace => marked.next(),
            RootPick::Outermost => marked.next_back(),
        }?;
        Some((folder.to_path_buf(), RootReason::Marker(by)))
    }

    /// The first of the markers that this folder holds.
    fn found(self, folder: &Path, markers: &[String]) -> Option<PathBuf> {
        markers.iter().find_map(|marker| {
            let (path, text) =
                marker.split_once(" ~ ").map_or((marker.as_str(), None), |(path, text)| (path, Some(text)));
            let is_glob = path.contains(['*', '?', '[', '{']);
            let at = if is_glob { globbed(folder, path, self.files)? } else { folder.join(path) };
            let there = match text {
                None => self.files.exists(&at),
                Some(text) => {
                    self.files.exists(&at)
                        && self.files.read_text(&at, self.top).lines().any(|line| line.trim_start().starts_with(text))
                }
            };
            there.then_some(at)
        })
    }
}

/// The first name by order that a glob in the last part of a path matches.
fn globbed(folder: &Path, path: &str, files: &dyn MarkerFiles) -> Option<PathBuf> {
    let path = Path::new(path);
    let folder = folder.join(path.parent()?);
    let matcher = Glob::new(path.file_name()?.to_str()?).ok()?.compile_matcher();
    let name = files.names(&folder).into_iter().filter(|name| matcher.is_match(name)).min()?;
    Some(folder.join(name))
}

#[cfg(test)]
mod tests;
