//! Publishes the prepared projects of a server: how many of their files it will know, for answers and operators.
//!
//! Invariants: paths are relative to the workspace's roots, so that no answer names a path outside; where the files aren't listed, a server
//! that needs to be told of them isn't published as complete.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use actix::prelude::*;

use crate::server::actor::LanguageServer;
use crate::server::context::ServerContext;
use crate::server::projects::prepared_projects::Preparation;
use crate::server::registry::IndexedRegistry;
use crate::status::project_cell::PublishedProject;
use codeyard_base::blocking;
use codeyard_base::ids::ServerKind;
use codeyard_lsp::registry::{ProjectView, ServerRole, ServerSpec};
use codeyard_model::coverage::ServerCoverage;
use codeyard_model::roots::RootSet;
use codeyard_projects::{CoverageOwner, ProjectInfo, ProjectSource};

/// The workspace's files are listed now; before that, a server that finds its project by itself may have been started.
#[derive(Message)]
#[rtype(result = "()")]
pub struct FilesListed;

/// One prepared project.
pub(in crate::server) struct PreparedCoverage {
    /// Its root.
    pub root: PathBuf,
    /// The files of the server's languages in it.
    pub files: Vec<PathBuf>,
    /// What the preparation found.
    pub info: ProjectInfo,
}

/// What is published of the projects that the server's process knows or will know, by root.
pub(in crate::server) fn publication(
    context: &ServerContext,
    projects: Vec<PreparedCoverage>,
) -> BTreeMap<PathBuf, PublishedProject> {
    let roots = context.gate.root_set();
    let is_listed = context.project.watched.get().is_some();
    let publish = |project: PreparedCoverage| {
        let mut published = published(&context.kind, &context.server, &context.servers, roots, &project);
        if !is_listed {
            published.coverage = published.coverage.filter(|_| context.server.project.is_some()).map(unlisted);
        }
        (project.root, published)
    };
    projects.into_iter().map(publish).collect()
}

fn published(
    kind: &ServerKind,
    server: &ServerSpec,
    servers: &IndexedRegistry,
    roots: &RootSet,
    project: &PreparedCoverage,
) -> PublishedProject {
    let PreparedCoverage { root, files, info } = project;
    let present: BTreeSet<&str> = files.iter().filter_map(|file| servers.index.language_of(file)).collect();
    let languages = server.languages.iter().map(String::as_str).filter(|language| present.contains(language));
    let owner = CoverageOwner {
        server: kind.clone(),
        inference: server.project,
        project: relative(roots, root),
        languages: servers.registry.language_names(languages),
    };
    let has_coverage = server.role == ServerRole::Primary && server.view != ProjectView::OneDocument;
    let coverage = has_coverage.then(|| Arc::new(info.coverage(owner)));
    let is_open_only = info.source == ProjectSource::Missing && info.files_known.is_none();
    PublishedProject { info: info.clone(), coverage, is_open_only }
}

/// The coverage where the workspace's files can't be listed.
fn unlisted(coverage: Arc<ServerCoverage>) -> Arc<ServerCoverage> {
    Arc::new(ServerCoverage {
        known: None,
        reason: "the files of the workspace can't be listed".into(),
        remedy: Some("run `codeyard doctor`".into()),
        ..ServerCoverage::clone(&coverage)
    })
}

impl Handler<FilesListed> for LanguageServer {
    type Result = ();

    fn handle(&mut self, _: FilesListed, _: &mut Self::Context) {
        if self.context.server.project.is_none() {
            let context = self.context.clone();
            // Only the published numbers are needed: such a server is started without a prepared project.
            drop(blocking::spawn(move || {
                Preparation::begin(&context, &context.workspace_folders().current())
                    .map(|prepared| prepared.accept(&context))
            }));
        }
    }
}

/// The path of a project root below its workspace root; `.` for that root itself.
fn relative(roots: &RootSet, root: &Path) -> String {
    let below = roots.root_of(root).and_then(|top| root.strip_prefix(top).ok()).unwrap_or(Path::new(""));
    if below.as_os_str().is_empty() { ".".to_owned() } else { below.display().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_lsp::registry::Registry;

    fn clangd(info: ProjectInfo) -> PublishedProject {
        let servers = IndexedRegistry::new(Registry::builtin());
        let server = servers.by_kind["clangd"].clone();
        let roots = RootSet::of_real_paths(vec!["/w".into()], vec![]);
        let files = ["/w/lib/a.c", "/w/lib/b.cpp", "/w/lib/c.h"].map(PathBuf::from).to_vec();
        let project = PreparedCoverage { root: "/w/lib".into(), files, info };
        published(&ServerKind::new("clangd"), &server, &servers, &roots, &project)
    }

    #[test]
    fn a_project_is_published_with_its_languages_and_its_path_in_the_workspace() {
        let info = ProjectInfo {
            source: ProjectSource::Found { path: "compile_commands.json".into() },
            files_total: 3,
            files_known: Some(1),
            ..ProjectInfo::default()
        };
        let project = clangd(info);
        let coverage = project.coverage.unwrap();
        assert_eq!((coverage.project.as_str(), coverage.languages.as_str()), ("lib", "C and C++"));
        let wanted = "1 of 3 C and C++ files in lib are known to clangd: compile_commands.json leaves the others out.";
        assert_eq!(coverage.sentence(), wanted);
        assert!(!project.is_open_only);
    }

    #[test]
    fn only_a_missing_project_without_a_number_depends_on_open_documents() {
        let missing = |files_known| {
            let source = ProjectSource::Missing;
            clangd(ProjectInfo { source, files_total: 3, files_known, ..ProjectInfo::default() }).is_open_only
        };
        assert_eq!([missing(None), missing(Some(2))], [true, false]);
    }

    #[test]
    fn the_root_of_the_workspace_is_a_dot() {
        let roots = RootSet::of_real_paths(vec!["/w".into(), "/w/in".into()], vec![]);
        let path = |root: &str| relative(&roots, Path::new(root));
        assert_eq!(
            [path("/w"), path("/w/in"), path("/w/in/x"), path("/w/x/y")],
            [".", ".", "x", "x/y"].map(String::from)
        );
    }
}
