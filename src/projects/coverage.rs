//! What answers say about a project: from what its preparation found to the value that answers carry.
//!
//! Invariants: a server that needs a project and has none is never complete; nothing names a path outside the workspace.

use codeyard_base::ids::ServerKind;
use codeyard_lsp::registry::ProjectInference;
use codeyard_model::coverage::{ProjectFileSource, ServerCoverage, UnresolvedImports};

use crate::info::{ProjectInfo, ProjectSource, UnresolvedNames};

/// Whose coverage it is.
#[derive(Debug, Clone)]
pub struct CoverageOwner {
    pub server: ServerKind,
    /// How its project is found. `None`: it finds its project by itself.
    pub inference: Option<ProjectInference>,
    /// The project root relative to the workspace root, `.` for the workspace root itself.
    pub project: String,
    /// The languages of the project's files, for people.
    pub languages: String,
}

impl ProjectInfo {
    /// The same for answers.
    pub fn coverage(&self, owner: CoverageOwner) -> ServerCoverage {
        let CoverageOwner { server, inference, project, languages } = owner;
        let known = match (&self.source, self.files_known) {
            (_, Some(known)) => Some(known.min(self.files_total)),
            (ProjectSource::Server, None) => Some(self.files_total),
            (ProjectSource::Found { .. } | ProjectSource::Inferred { .. } | ProjectSource::Missing, None) => None,
        };
        let is_partial = known.is_none_or(|known| known < self.files_total);
        ServerCoverage {
            server,
            source: self.file_source(&project),
            project,
            languages,
            files: self.files_total,
            known,
            reason: if is_partial { self.reason(inference) } else { String::new() },
            remedy: self.remedy.clone().filter(|_| is_partial),
            unresolved: self.unresolved.iter().map(UnresolvedNames::imports).collect(),
            undecided: None,
        }
    }

    fn file_source(&self, project: &str) -> ProjectFileSource {
        match &self.source {
            ProjectSource::Server => ProjectFileSource::NotNeeded,
            ProjectSource::Found { path } if project == "." => ProjectFileSource::Found(path.display().to_string()),
            ProjectSource::Found { path } => ProjectFileSource::Found(format!("{project}/{}", path.display())),
            ProjectSource::Inferred { .. } => ProjectFileSource::Inferred,
            ProjectSource::Missing => ProjectFileSource::Missing,
        }
    }

    /// Why the server doesn't know all files, without a full stop.
    fn reason(&self, inference: Option<ProjectInference>) -> String {
        if let Some(problem) = self.problems.first() {
            return problem.trim_end_matches('.').to_owned();
        }
        match &self.source {
            ProjectSource::Server => String::new(),
            ProjectSource::Found { path } => format!("{} leaves the others out", path.display()),
            ProjectSource::Inferred { from } => format!("they are inferred from {from}"),
            ProjectSource::Missing => format!("no {}", inference.map_or("project file", ProjectInference::file)),
        }
    }
}

impl UnresolvedNames {
    fn imports(&self) -> UnresolvedImports {
        UnresolvedImports {
            names: self.count,
            reason: self.what.clone(),
            command: self.remedy.clone(),
            hides: self.hides,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(project: &str) -> CoverageOwner {
        CoverageOwner {
            server: ServerKind::new("clangd"),
            inference: Some(ProjectInference::CompileDatabase),
            project: project.into(),
            languages: "C".into(),
        }
    }

    fn sentence(info: &ProjectInfo) -> String {
        info.coverage(owner(".")).sentence()
    }

    #[test]
    fn the_reason_is_the_problem_or_follows_from_the_source() {
        let mut info = ProjectInfo { source: ProjectSource::Missing, files_total: 706, ..ProjectInfo::default() };
        assert_eq!(sentence(&info), "It is unknown how many of 706 C files clangd knows: no compile_commands.json.");
        info.files_known = Some(32);
        info.remedy = Some("run `bear -- make`".into());
        let wanted = "32 of 706 C files are known to clangd: no compile_commands.json; run `bear -- make`.";
        assert_eq!(sentence(&info), wanted);
        info.source = ProjectSource::Found { path: "build/compile_commands.json".into() };
        let wanted = "32 of 706 C files are known to clangd: build/compile_commands.json leaves the others out; run `bear -- make`.";
        assert_eq!(sentence(&info), wanted);
        info.problems = vec!["the folder gen can't be read.".into()];
        let wanted = "32 of 706 C files are known to clangd: the folder gen can't be read; run `bear -- make`.";
        assert_eq!(sentence(&info), wanted);
    }

    #[test]
    fn a_complete_project_has_neither_reason_nor_remedy() {
        let info = ProjectInfo {
            source: ProjectSource::Inferred { from: "make files".into() },
            files_total: 2,
            files_known: Some(2),
            remedy: Some("run `make`".into()),
            ..ProjectInfo::default()
        };
        let coverage = info.coverage(owner("."));
        assert!(!coverage.is_partial());
        assert_eq!((coverage.reason.as_str(), coverage.remedy), ("", None));
    }

    #[test]
    fn only_a_server_that_finds_its_project_by_itself_is_complete_without_a_number() {
        let known =
            |source| ProjectInfo { source, files_total: 3, ..ProjectInfo::default() }.coverage(owner(".")).known;
        assert_eq!(known(ProjectSource::Server), Some(3));
        assert_eq!(known(ProjectSource::Found { path: "tsconfig.json".into() }), None);
        assert_eq!(known(ProjectSource::Missing), None);
    }

    #[test]
    fn the_path_of_a_project_file_is_relative_to_the_workspace() {
        let info = ProjectInfo { source: ProjectSource::Found { path: "a.json".into() }, ..ProjectInfo::default() };
        assert_eq!(info.coverage(owner("lib/x")).source.path(), Some("lib/x/a.json"));
        assert_eq!(info.coverage(owner(".")).source.path(), Some("a.json"));
    }
}
