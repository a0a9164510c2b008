//! The projects of servers for which codeyard infers nothing: what their registry entries say that they know.

use std::path::Path;

use codeyard_lsp::registry::{DiskFiles, MarkerFiles, ProjectView};
use globset::Glob;

use crate::info::{ProjectInfo, ProjectSource};
use crate::prepare::ProjectRequest;

/// The project of such a server.
pub(crate) fn project(request: &ProjectRequest<'_>) -> ProjectInfo {
    let total = request.files.len();
    let info = ProjectInfo { files_total: total, ..ProjectInfo::default() };
    match &request.server.view {
        ProjectView::Whole | ProjectView::OneDocument => info,
        ProjectView::OpenDocuments => open_only(info, "it knows only open documents and what they refer to", None),
        ProjectView::OpenDocumentsWithout(files) if has_any(request, files) => info,
        ProjectView::OpenDocumentsWithout(files) => {
            let names = files.join(", ");
            let remedy = files.first().map(|first| format!("add one, such as {first}"));
            open_only(info, &format!("the project has none of {names}"), remedy)
        }
        ProjectView::FirstFiles(limit) if total > *limit => ProjectInfo {
            files_known: Some(*limit),
            problems: vec![format!("it reads at most {limit} files")],
            remedy: Some("exclude folders in an ignore file".into()),
            ..info
        },
        ProjectView::FirstFiles(_) => info,
    }
}

fn open_only(info: ProjectInfo, problem: &str, remedy: Option<String>) -> ProjectInfo {
    ProjectInfo { source: ProjectSource::Missing, problems: vec![problem.to_owned()], remedy, ..info }
}

/// Whether the project root, or a folder above it in the workspace, has one of these files.
fn has_any(request: &ProjectRequest<'_>, files: &[String]) -> bool {
    let mut folders = request.root.ancestors().take_while(|folder| folder.starts_with(request.top));
    folders.any(|folder| holds_any(folder, files))
}

fn holds_any(folder: &Path, files: &[String]) -> bool {
    let is_plain = |file: &&String| !file.contains(['*', '?', '[']);
    let (plain, globs): (Vec<&String>, Vec<&String>) = files.iter().partition(is_plain);
    let globs: Vec<_> = globs.into_iter().filter_map(|glob| Some(Glob::new(glob).ok()?.compile_matcher())).collect();
    plain.iter().any(|file| DiskFiles.exists(&folder.join(file)))
        || !globs.is_empty()
            && DiskFiles.entries(folder).iter().any(|name| globs.iter().any(|glob| glob.is_match(name)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::{ProjectMemory, RunBuild};
    use codeyard_lsp::registry::ServerSpec;

    /// The project of a server with this view for five files in `code/sub` below a folder with these other files.
    fn project_of(view: ProjectView, others: &[&str]) -> ProjectInfo {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap().join("code");
        fs::create_dir_all(top.join("sub")).unwrap();
        for other in others {
            fs::write(top.join(other), "").unwrap();
        }
        let files: Vec<PathBuf> = (0..5).map(|at| top.join(format!("sub/{at}.x"))).collect();
        let server = ServerSpec { view, ..ServerSpec::default() };
        project(&ProjectRequest {
            server: &server,
            root: &top.join("sub"),
            top: &top,
            files: &files,
            scripts: &[],
            scripts_max: 0,
            cache: &top.join("cache"),
            generated: &top.join("cache"),
            build: RunBuild::Never,
            memory: &ProjectMemory::default(),
        })
    }

    #[test]
    fn a_server_of_open_documents_is_partial_unless_a_project_file_is_there() {
        let needs = || ProjectView::OpenDocumentsWithout(vec!["*.csproj".into(), "all.sln".into()]);
        let missing = project_of(needs(), &["x.txt", "../a.sln"]);
        assert_eq!((&missing.source, missing.files_known, missing.is_partial()), (&ProjectSource::Missing, None, true));
        assert_eq!(missing.problems, ["the project has none of *.csproj, all.sln"]);
        for file in ["sub/a.csproj", "b.csproj", "all.sln"] {
            assert_eq!(project_of(needs(), &[file]).source, ProjectSource::Server, "{file}");
        }
        assert!(project_of(ProjectView::OpenDocuments, &["all.sln"]).is_partial());
    }

    #[test]
    fn only_files_beyond_a_limit_are_unknown() {
        assert_eq!(project_of(ProjectView::FirstFiles(4), &[]).files_known, Some(4));
        for whole in [ProjectView::FirstFiles(5), ProjectView::Whole, ProjectView::OneDocument] {
            assert!(!project_of(whole, &[]).is_partial());
        }
    }
}
