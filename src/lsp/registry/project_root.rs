//! Finds the project root of a file by the registry's rule, going upwards from the file's folder.
//!
//! Invariant: the root lies in the workspace root, nothing above the workspace root is looked at, and no file is read
//! through a link that leads outside it.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use globset::{Glob, GlobSet};

use super::manifests::ManifestContext;
use super::marker_files::MarkerFiles;
use super::schema::{RootPick, RootRule};

/// Folders of installed dependencies. They belong to the project that they were installed for, and no marker in them
/// counts.
const DEPENDENCIES: [&str; 2] = ["node_modules", "site-packages"];

/// The result of a rule for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectRoot {
    At {
        root: PathBuf,
        /// Why this folder is the root.
        by: RootReason,
    },
    /// A marker shows that the file belongs to another server.
    Excluded { by: PathBuf },
    /// The rule needs a marker and there is none, or the file isn't in the workspace root.
    NoMarker,
}

/// Why a folder is the project root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootReason {
    /// This manifest in it lists the file's project.
    Manifest(PathBuf),
    Marker(PathBuf),
    /// It is the workspace root, and no folder below it has a marker.
    Unmarked,
    /// It is the workspace root, where servers of this kind always run.
    Always,
}

/// The workspace root that is searched.
#[derive(Clone, Copy)]
struct MarkerSearch<'a> {
    files: &'a dyn MarkerFiles,
    top: &'a Path,
}

/// The project root of a file, or of the workspace root itself when `file` is the workspace root.
pub fn project_root(file: &Path, workspace_root: &Path, rule: &RootRule, files: &dyn MarkerFiles) -> ProjectRoot {
    let start = if file == workspace_root { file } else { file.parent().unwrap_or(file) };
    let Ok(below) = start.strip_prefix(workspace_root) else { return ProjectRoot::NoMarker };
    let start = start_above_dependencies(workspace_root, below);
    let search = MarkerSearch { files, top: workspace_root };
    let folders: Vec<&Path> = start.ancestors().take_while(|folder| folder.starts_with(workspace_root)).collect();
    if let Some(by) = folders.iter().find_map(|folder| search.find_marker(folder, &rule.excluded_by)) {
        return ProjectRoot::Excluded { by };
    }
    let at = |root: &Path, by: RootReason| ProjectRoot::At { root: root.into(), by };
    let marked = search.build_workspace(&folders, rule).or_else(|| search.pick(&folders, &rule.markers, rule.pick));
    match (marked, rule.pick) {
        (None, _) if rule.required => ProjectRoot::NoMarker,
        (_, RootPick::Workspace) => at(workspace_root, RootReason::Always),
        (None, _) => at(workspace_root, RootReason::Unmarked),
        (Some((folder, by)), _) => at(&folder, by),
    }
}

impl RootRule {
    /// Whether the existence of this file may decide where a project root is.
    pub fn marks(&self, file: &Path) -> bool {
        let name = file.file_name().unwrap_or_default();
        let all = self.markers.iter().chain(&self.workspace_markers).chain(&self.excluded_by);
        let mut paths = all.map(|marker| marker.split_once(" ~ ").map_or(marker.as_str(), |(path, _)| path));
        let is_looked_for = |name: &str| self.manifests.iter().any(|manifest| manifest.looks_for(name));
        name.to_str().is_some_and(is_looked_for)
            || paths.any(|path| {
                let last = Path::new(path).file_name().and_then(|last| last.to_str()).unwrap_or_default();
                let matches = || compiled(last).is_some_and(|glob| glob.is_match(name));
                file.ends_with(path) || is_glob(path) && matches()
            })
    }

    /// Whether the content of this file, not only its existence, may decide where a project root is.
    pub fn reads(&self, file: &Path) -> bool {
        let Some(name) = file.file_name().and_then(|name| name.to_str()) else { return false };
        let texts = self.markers.iter().chain(&self.workspace_markers).chain(&self.excluded_by);
        let mut paths = texts.filter_map(|marker| Some(marker.split_once(" ~ ")?.0));
        self.manifests.iter().any(|manifest| manifest.reads(name)) || paths.any(|path| file.ends_with(path))
    }
}

/// The folder `below` the root, or the folder whose dependencies it belongs to.
fn start_above_dependencies(root: &Path, below: &Path) -> PathBuf {
    let is_own = |part: &Component<'_>| !DEPENDENCIES.iter().any(|name| part.as_os_str() == *name);
    root.components().chain(below.components().take_while(is_own)).collect()
}

impl MarkerSearch<'_> {
    /// The outermost build workspace of the file's project, among those of manifests and of markers.
    fn build_workspace(self, folders: &[&Path], rule: &RootRule) -> Option<(PathBuf, RootReason)> {
        let marked = folders.iter().find(|folder| self.find_marker(folder, &rule.markers).is_some()).copied();
        let context = ManifestContext { folders, marked, files: self.files };
        let mut candidates = Vec::new();
        let mut not_listed_in = BTreeSet::new();
        for manifest in &rule.manifests {
            let membership = manifest.membership(&context);
            candidates.extend(membership.build_workspace.map(|(folder, by)| (folder, RootReason::Manifest(by))));
            not_listed_in.extend(membership.not_listed_in);
        }
        let eligible: Vec<&Path> = folders.iter().filter(|folder| !not_listed_in.contains(**folder)).copied().collect();
        candidates.extend(self.pick(&eligible, &rule.workspace_markers, rule.pick));
        // Of equal ones the first is taken: manifests come before markers.
        candidates.into_iter().min_by_key(|(folder, _)| folder.components().count())
    }

    /// The nearest or outermost of `folders` (nearest first) that holds one of the markers, with the marker.
    fn pick(self, folders: &[&Path], markers: &[String], pick: RootPick) -> Option<(PathBuf, RootReason)> {
        let mut marked = folders.iter().filter_map(|folder| Some((folder, self.find_marker(folder, markers)?)));
        let (folder, by) = match pick {
            RootPick::Nearest | RootPick::Workspace => marked.next(),
            RootPick::Outermost => marked.next_back(),
        }?;
        Some((folder.to_path_buf(), RootReason::Marker(by)))
    }

    /// The first of the markers that this folder holds.
    fn find_marker(self, folder: &Path, markers: &[String]) -> Option<PathBuf> {
        markers.iter().find_map(|marker| {
            let (path, text) =
                marker.split_once(" ~ ").map_or((marker.as_str(), None), |(path, text)| (path, Some(text)));
            let at = if is_glob(path) { first_match(folder, path, self.files)? } else { folder.join(path) };
            let exists = match text {
                None => self.files.exists(&at),
                Some(text) => {
                    self.files.exists(&at)
                        && self.files.read_text(&at, self.top).lines().any(|line| line.trim_start().starts_with(text))
                }
            };
            exists.then_some(at)
        })
    }
}

/// Whether a marker's path has a glob in its last part.
fn is_glob(path: &str) -> bool {
    path.contains(['*', '?', '[', '{'])
}

/// A glob. A set of one compiles an extension or a prefix without a regular expression, which would cost more than reading the folder.
fn compiled(glob: &str) -> Option<GlobSet> {
    GlobSet::builder().add(Glob::new(glob).ok()?).build().ok()
}

/// The first name by order that a glob in the last part of a path matches.
fn first_match(folder: &Path, path: &str, files: &dyn MarkerFiles) -> Option<PathBuf> {
    let path = Path::new(path);
    let folder = folder.join(path.parent()?);
    let matcher = compiled(path.file_name()?.to_str()?)?;
    let entries = files.entries(&folder);
    let name = entries.iter().filter(|name| matcher.is_match(name)).min()?;
    Some(folder.join(name))
}

#[cfg(test)]
mod tests;
