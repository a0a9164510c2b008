//! The projects of one language server as they were last prepared: which files the server knows of each. Queries and operators read them
//! without asking the actor.
//!
//! They are written before each start, and the server's actor counts its open documents; they outlive a restart of the process.
//! Invariants: a reader never waits; a server that knows only open documents is never reported as complete while a file isn't open.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use parking_lot::RwLock;

use codeyard_model::coverage::ServerCoverage;
use codeyard_projects::{ProjectInfo, ProjectSource};

/// The published project of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedProject {
    /// What the preparation found.
    pub info: ProjectInfo,
    /// The same for answers. `None`: each answer of the server concerns one document only, so no file can be missing.
    pub coverage: Option<Arc<ServerCoverage>>,
    /// Whether the server knows only open documents.
    pub is_open_only: bool,
}

impl PublishedProject {
    /// What an inferred project was inferred from.
    pub fn inferred_from(&self) -> Option<&str> {
        match &self.info.source {
            ProjectSource::Inferred { from } => Some(from),
            _ => None,
        }
    }
}

/// The projects of one server, by project root. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct ProjectCell(Arc<CellContent>);

#[derive(Debug, Default)]
struct CellContent {
    published: RwLock<BTreeMap<PathBuf, Arc<PublishedProject>>>,
    open_documents: AtomicUsize,
}

impl ProjectCell {
    /// Publishes the projects that the process will know; projects that it won't know are removed.
    pub fn publish(&self, projects: BTreeMap<PathBuf, PublishedProject>) {
        let projects = projects.into_iter().map(|(root, project)| (root, Arc::new(project))).collect();
        *self.0.published.write() = projects;
    }

    /// Sets the number of documents that are open at the server.
    pub fn set_open_documents(&self, count: usize) {
        self.0.open_documents.store(count, Relaxed);
    }

    /// The published projects in the order of their roots, as the server knows them now; empty before the first start.
    pub fn current(&self) -> Vec<PublishedProject> {
        let published = self.0.published.read();
        let now = |project: &Arc<PublishedProject>| PublishedProject {
            coverage: self.coverage_of(project),
            ..PublishedProject::clone(project)
        };
        published.values().map(now).collect()
    }

    /// How much the server knows now of those of its projects whose roots `is_asked` accepts.
    pub fn coverage(&self, is_asked: impl Fn(&Path) -> bool) -> Vec<Arc<ServerCoverage>> {
        let published = self.0.published.read();
        let asked = published.iter().filter(|(root, _)| is_asked(root));
        asked.filter_map(|(_, project)| self.coverage_of(project)).collect()
    }

    fn coverage_of(&self, project: &PublishedProject) -> Option<Arc<ServerCoverage>> {
        let coverage = project.coverage.as_ref()?;
        if !project.is_open_only {
            return Some(coverage.clone());
        }
        let open = self.0.open_documents.load(Relaxed).min(coverage.files);
        Some(Arc::new(ServerCoverage { known: Some(open), ..ServerCoverage::clone(coverage) }))
    }

    /// Whether the file at `path` is one that the server knows as a part of its project.
    pub fn knows(&self, path: &Path) -> bool {
        let published = self.0.published.read();
        let Some(project) = path.ancestors().find_map(|folder| published.get(folder)) else { return false };
        // The document of a query is open while it is answered, but the files that it belongs to may not be.
        let is_partial = project.coverage.as_ref().is_some_and(|coverage| coverage.is_partial());
        !is_partial || !project.is_open_only && !project.info.unknown_files.iter().any(|unknown| unknown == path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_base::ids::ServerKind;
    use codeyard_model::coverage::ProjectFileSource;

    fn project(known: Option<usize>, is_open_only: bool) -> PublishedProject {
        let coverage = ServerCoverage {
            server: ServerKind::new("k"),
            project: ".".into(),
            languages: "C".into(),
            source: ProjectFileSource::Missing,
            files: 3,
            known,
            reason: String::new(),
            remedy: None,
            unresolved: vec![],
            undecided: None,
        };
        let info = ProjectInfo { unknown_files: vec!["/w/a/x.c".into()], ..ProjectInfo::default() };
        PublishedProject { info, coverage: Some(Arc::new(coverage)), is_open_only }
    }

    fn published(project: PublishedProject) -> ProjectCell {
        let cell = ProjectCell::default();
        cell.publish(BTreeMap::from([("/w/a".into(), project)]));
        cell
    }

    #[test]
    fn a_server_of_open_documents_knows_as_many_as_are_open() {
        let cell = published(project(None, true));
        let known = || cell.coverage(|_| true)[0].known;
        assert_eq!(known(), Some(0));
        cell.set_open_documents(2);
        assert_eq!((known(), cell.coverage(|_| true)[0].is_partial()), (Some(2), true));
        cell.set_open_documents(9);
        assert_eq!((known(), cell.coverage(|_| true)[0].is_partial()), (Some(3), false));
    }

    #[test]
    fn only_the_projects_asked_about_count() {
        let cell = published(project(Some(1), false));
        assert_eq!(cell.coverage(|root| root == Path::new("/w")).len(), 0);
        assert_eq!(cell.coverage(|root| root == Path::new("/w/a")).len(), 1);
        cell.publish(BTreeMap::new());
        assert_eq!(cell.coverage(|_| true).len(), 0);
    }

    #[test]
    fn a_file_is_known_unless_the_project_lacks_it() {
        let knows = |cell: &ProjectCell, path: &str| cell.knows(Path::new(path));
        let partial = published(project(Some(2), false));
        assert_eq!(
            [knows(&partial, "/w/a/x.c"), knows(&partial, "/w/a/y.c"), knows(&partial, "/w/y.c")],
            [false, true, false]
        );
        assert!(knows(&published(project(Some(3), false)), "/w/a/x.c"), "a complete project lacks no file");
        assert!(!knows(&published(project(None, true)), "/w/a/y.c"), "open documents don't know each other's projects");
    }
}
