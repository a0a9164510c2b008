//! The projects that one language server handles: their roots, each with the documents that are kept open for it.
//!
//! The workspace actor changes the set. The server's actor compares [`ProjectFolders::revision`] before each request and passes changes to
//! its process, so no request reaches a process that doesn't know the request's project. A process that handles one project root only has
//! one entry that never changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;

use crate::limits;

/// Finds the projects of a server and the anchors of each, given the project roots that calls were about. It reads the disk.
pub type FindProjects = Arc<dyn Fn(BTreeSet<PathBuf>) -> BTreeMap<PathBuf, Vec<PathBuf>> + Send + Sync>;

/// The projects of one language server, by project root. Clones share one set.
#[derive(Debug, Clone, Default)]
pub struct ProjectFolders(Arc<RwLock<FolderSet>>);

#[derive(Debug, Default)]
struct FolderSet {
    /// The documents that are kept open, by project root.
    anchors: BTreeMap<PathBuf, Vec<PathBuf>>,
    revision: u64,
}

impl ProjectFolders {
    /// These projects, each with its anchors.
    pub fn new(anchors: BTreeMap<PathBuf, Vec<PathBuf>>) -> Self {
        Self(Arc::new(RwLock::new(FolderSet { anchors, revision: 0 })))
    }

    /// These projects, without anchors until [`ProjectFolders::find`].
    pub fn unexplored(roots: BTreeSet<PathBuf>) -> Self {
        Self::new(roots.into_iter().map(|root| (root, vec![])).collect())
    }

    /// Adds the projects that `find` finds, and sets the anchors of all. Blocks.
    pub fn find(&self, find: &FindProjects) {
        let known: BTreeSet<PathBuf> = self.roots().into_iter().collect();
        for (root, anchors) in find(known.clone()) {
            // One that has left meanwhile doesn't come back.
            if self.contains(&root) || !known.contains(&root) {
                self.join(root, anchors);
            }
        }
    }

    /// Rises with every change.
    pub fn revision(&self) -> u64 {
        self.0.read().revision
    }

    /// The project roots, sorted.
    pub fn roots(&self) -> Vec<PathBuf> {
        self.0.read().anchors.keys().cloned().collect()
    }

    /// Number of projects.
    pub fn count(&self) -> usize {
        self.0.read().anchors.len()
    }

    /// Whether this is one of the project roots.
    pub fn contains(&self, root: &Path) -> bool {
        self.0.read().anchors.contains_key(root)
    }

    /// The anchors of all projects, sorted, at most [`limits::MAX_SERVER_ANCHORS`].
    pub fn anchors(&self) -> Vec<PathBuf> {
        let set = self.0.read();
        let all: BTreeSet<&PathBuf> = set.anchors.values().flatten().collect();
        all.into_iter().take(limits::MAX_SERVER_ANCHORS).cloned().collect()
    }

    /// The innermost project root that contains `path`.
    pub fn root_of(&self, path: &Path) -> Option<PathBuf> {
        let set = self.0.read();
        path.ancestors().find(|folder| set.anchors.contains_key(*folder)).map(Path::to_path_buf)
    }

    /// Adds a project.
    pub fn join(&self, root: PathBuf, anchors: Vec<PathBuf>) {
        let mut set = self.0.write();
        if set.anchors.get(&root) != Some(&anchors) {
            set.anchors.insert(root, anchors);
            set.revision += 1;
        }
    }

    /// Removes the projects whose roots `keep` rejects.
    pub fn retain(&self, mut keep: impl FnMut(&Path) -> bool) {
        let mut set = self.0.write();
        let before = set.anchors.len();
        set.anchors.retain(|root, _| keep(root));
        if set.anchors.len() != before {
            set.revision += 1;
        }
    }

    /// Replaces all projects.
    pub fn replace(&self, anchors: BTreeMap<PathBuf, Vec<PathBuf>>) {
        let mut set = self.0.write();
        if set.anchors != anchors {
            set.anchors = anchors;
            set.revision += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_change_raises_the_revision_and_clones_share_it() {
        let folders = ProjectFolders::new(BTreeMap::from([("/w".into(), vec!["/w/b".into()])]));
        let clone = folders.clone();
        folders.join("/w".into(), vec!["/w/b".into()]);
        folders.retain(|_| true);
        folders.replace(BTreeMap::from([("/w".into(), vec!["/w/b".into()])]));
        assert_eq!(clone.revision(), 0);
        folders.join("/w/a".into(), vec!["/w/a/x".into(), "/w/b".into()]);
        assert_eq!((clone.revision(), clone.count()), (1, 2));
        assert_eq!(clone.anchors(), ["/w/a/x", "/w/b"].map(PathBuf::from), "each once");
        folders.retain(|root| root != Path::new("/w/a"));
        assert_eq!((clone.revision(), clone.roots()), (2, vec![PathBuf::from("/w")]));
        folders.replace(BTreeMap::new());
        assert_eq!((clone.revision(), clone.count()), (3, 0));
    }

    #[test]
    fn found_projects_join_and_one_that_left_stays_away() {
        let folders = ProjectFolders::unexplored(["/w", "/w/gone"].map(PathBuf::from).into());
        assert_eq!((folders.count(), folders.anchors().len()), (2, 0));
        let other = folders.clone();
        let find: FindProjects = Arc::new(move |known| {
            assert_eq!(known, ["/w", "/w/gone"].map(PathBuf::from).into());
            other.retain(|root| root != Path::new("/w/gone"));
            ["/w", "/w/gone", "/w/new"].map(|root| (root.into(), vec![Path::new(root).join("x")])).into()
        });
        folders.find(&find);
        assert_eq!(folders.roots(), ["/w", "/w/new"].map(PathBuf::from));
        assert_eq!(folders.anchors(), ["/w/new/x", "/w/x"].map(PathBuf::from));
    }

    #[test]
    fn the_innermost_project_has_a_file() {
        let folders = ProjectFolders::new(["/w", "/w/a/b"].map(|root| (root.into(), vec![])).into());
        let root_of = |path: &str| folders.root_of(Path::new(path));
        assert_eq!(root_of("/w/a/b/c.py"), Some("/w/a/b".into()));
        assert_eq!(root_of("/w/a/bc.py"), Some("/w".into()));
        assert_eq!(root_of("/wa/b.py"), None);
    }
}
