//! The projects of a folder: for each language server that would serve it, its project roots, how many of its files the server would know,
//! and what is missing. It starts no language server.
//!
//! Invariant: the numbers come from the same preparation that a start of the server makes; this module only shows them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::builds::{BuildPermissions, BuildStatus};
use super::running::ServerStatus;
use super::scratch_folder::ScratchFolder;
use crate::Failure;
use crate::shared::server_diagnosis::{CandidateVerdict, FolderDiagnosis, relative};
use codeyard_base::ids::ServerKind;
use codeyard_lsp::registry::{
    CachedFiles, LanguageIndex, MultiRoot, ProjectInference, ProjectRoot, ProjectView, Registry, ServerRole,
    ServerSpec, place_file,
};
use codeyard_model::coverage::ServerCoverage;
use codeyard_model::roots::RootSet;
use codeyard_projects::limits::MAX_OPENED_SCRIPTS;
use codeyard_projects::{CoverageOwner, ProjectInfo, ProjectMemory, ProjectRequest, ProjectSource, RunBuild, prepare};
use codeyard_server::admin::documents::ProjectDocument;

/// Most projects that are examined; the others are counted.
const MAX_PROJECTS: usize = 64;
/// Most names of files that are shown for one project.
const MAX_EXAMPLES: usize = 5;

/// The projects of a folder; the JSON output has these keys.
#[derive(Debug, Serialize)]
pub(super) struct ProjectReports {
    /// Each server and project root: those with most files first.
    pub list: Vec<ProjectReport>,
    /// Projects that weren't examined because there are more than the limit.
    pub not_examined: usize,
}

/// One project of one kind of server.
#[derive(Debug, Serialize)]
pub(super) struct ProjectReport {
    server: String,
    /// The project root, relative to the folder.
    root: PathBuf,
    /// Whether the running server uses it like this. Otherwise a start would find it so.
    in_use: bool,
    /// The languages of its files, for people.
    languages: String,
    /// Files of the server's languages.
    files: usize,
    /// How many of them the server would know; `null`: unknown.
    known_files: Option<usize>,
    /// `found`, `inferred`, `missing` or `not_needed`.
    project_file: &'static str,
    /// The path of a file that was found, relative to the folder.
    path: Option<String>,
    inferred_from: Option<String>,
    /// Why the server would not know all files.
    reason: Option<String>,
    remedy: Option<String>,
    /// Further problems of the project file.
    problems: Vec<String>,
    /// Some of the files that the server would not know, relative to the folder.
    unknown_files: Vec<PathBuf>,
    /// Imports and includes that can't be resolved, by reason.
    unresolved: Vec<UnresolvedReport>,
    /// Whether the project's build may be run, where that would tell more.
    #[serde(skip_serializing_if = "Option::is_none")]
    build: Option<BuildStatus>,
}

/// What mends a project.
pub(super) struct ProjectRemedy {
    /// The next command, or what to change.
    pub command: String,
    /// What is missing without it.
    pub why: String,
}

/// Imports and includes that can't be resolved for one reason.
#[derive(Debug, Serialize)]
struct UnresolvedReport {
    reason: String,
    names: usize,
    examples: Vec<String>,
    command: Option<String>,
}

/// What is known besides the files.
pub(super) struct KnownState<'a> {
    /// The status of the running server.
    pub status: Option<&'a ServerStatus>,
    /// Which builds are allowed.
    pub builds: &'a BuildPermissions,
    pub state: &'a Path,
}

/// Examines the projects of `folder`, whose source files are `files`, sorted. Projects of the running server are as it uses them. Writes only
/// into a scratch folder below the state directory.
pub(super) fn examine(
    registry: &Registry,
    folder: &Path,
    files: &[PathBuf],
    diagnosis: &FolderDiagnosis,
    known: &KnownState<'_>,
) -> Result<ProjectReports, Failure> {
    let KnownState { status, builds, state } = *known;
    let index = LanguageIndex::new(registry);
    for file in files {
        index.look(folder, file);
    }
    let mut projects: BTreeMap<(&str, PathBuf), Vec<PathBuf>> = BTreeMap::new();
    for kind in serving(diagnosis) {
        let Some(server) = registry.servers.get(kind).filter(|server| server.view != ProjectView::OneDocument) else {
            continue;
        };
        let own = files.iter().filter(|file| {
            index.language_of(file).is_some_and(|language| server.languages.iter().any(|own| own == language))
        });
        for (root, own) in by_root(folder, server, own) {
            projects.insert((kind, root), own);
        }
    }
    let mut projects: Vec<((&str, PathBuf), Vec<PathBuf>)> = projects.into_iter().collect();
    projects.sort_by_key(|(_, files)| Reverse(files.len()));
    let not_examined = projects.len().saturating_sub(MAX_PROJECTS);
    let scratch = ScratchFolder::below(state)
        .map_err(|error| Failure::new(format!("can't create a folder in {}: {error}", state.display())))?;
    let mut list = Vec::new();
    for (at, ((kind, root), own)) in projects.into_iter().take(MAX_PROJECTS).enumerate() {
        let server = &registry.servers[kind];
        let has_builds = server.project == Some(ProjectInference::CompileDatabase);
        let build = has_builds.then(|| builds.status(&root));
        let cache = scratch.path().join(at.to_string());
        let (scripts, named): (Vec<PathBuf>, Vec<PathBuf>) =
            own.iter().cloned().partition(|file| index.is_script(file));
        let request = ProjectRequest {
            server,
            root: &root,
            top: folder,
            files: &named,
            scripts: &scripts,
            scripts_max: MAX_OPENED_SCRIPTS,
            cache: &cache,
            generated: &cache,
            build: RunBuild::Never,
            memory: &ProjectMemory::default(),
        };
        let is_built = build.as_ref().is_some_and(BuildStatus::is_allowed);
        let prepared =
            std::fs::create_dir_all(&cache).and_then(|()| match is_built && builds.copy_last(&root, &cache)? {
                true => prepare(&ProjectRequest { build: RunBuild::Recorded, ..request }),
                false => prepare(&request),
            });
        let info = match prepared {
            Ok(prepared) => prepared.info,
            Err(error) => ProjectInfo {
                source: ProjectSource::Missing,
                files_total: own.len(),
                problems: vec![format!("its project can't be examined: {error}")],
                ..ProjectInfo::default()
            },
        };
        let present: BTreeSet<&str> = own.iter().filter_map(|file| index.language_of(file)).collect();
        let languages = server.languages.iter().map(String::as_str).filter(|language| present.contains(language));
        let owner = CoverageOwner {
            server: ServerKind::new(kind),
            inference: server.project,
            project: relative(folder, &root).display().to_string(),
            languages: registry.language_names(languages),
        };
        let found = ProjectReport::new(folder, &info, info.coverage(owner));
        let report = match status.and_then(|status| status.project(kind, &root)) {
            Some((top, project)) => {
                let path = project.path.as_ref().map(|path| relative(folder, &top.join(path)).display().to_string());
                ProjectReport { path, ..found.in_use(project) }
            }
            None => found,
        };
        list.push(report.with_build(build));
    }
    Ok(ProjectReports { list, not_examined })
}

/// The kinds that would serve files and aren't linters or fallbacks.
fn serving(diagnosis: &FolderDiagnosis) -> Vec<&str> {
    let all = diagnosis.languages.iter().flat_map(|language| &language.servers);
    let serving = all.filter(|server| server.verdict == CandidateVerdict::Serves && server.role == ServerRole::Primary);
    let mut kinds: Vec<&str> = serving.map(|server| server.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// The files by project root. A server that finds the project of each file by itself has one project.
fn by_root<'a>(
    folder: &Path,
    server: &ServerSpec,
    files: impl Iterator<Item = &'a PathBuf>,
) -> BTreeMap<PathBuf, Vec<PathBuf>> {
    let roots = RootSet::of_real_paths(vec![folder.to_owned()], Vec::new());
    let disk = CachedFiles::default();
    let mut of_folder: BTreeMap<PathBuf, Option<PathBuf>> = BTreeMap::new();
    let mut all: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for file in files {
        let own = file.parent().unwrap_or(file);
        let root = of_folder.entry(own.to_owned()).or_insert_with(|| {
            match place_file(&roots, &server.root, file, &disk)?.root {
                ProjectRoot::At { .. } if server.multi_root == MultiRoot::ByFile => Some(folder.to_owned()),
                ProjectRoot::At { root, .. } => Some(root),
                ProjectRoot::Excluded { .. } | ProjectRoot::NoMarker => None,
            }
        });
        if let Some(root) = root {
            all.entry(root.clone()).or_default().push(file.clone());
        }
    }
    all
}

impl ProjectReports {
    /// What mends the largest project of this kind of server that lacks something, and what it lacks.
    pub(super) fn first_remedy(&self, kind: &str) -> Option<ProjectRemedy> {
        let own = self.list.iter().filter(|report| report.server == kind);
        own.filter_map(ProjectReport::first_remedy).next()
    }

    /// Appends the reports to `lines`.
    pub(super) fn lines(&self, lines: &mut Vec<String>) {
        if self.list.is_empty() {
            return;
        }
        lines.push("\nprojects, as a start of each language server would find them".to_owned());
        if self.list.iter().any(|report| report.in_use) {
            lines.push("  those marked `in use`: as the language server that runs now has them".to_owned());
        }
        for report in &self.list {
            report.lines(lines);
        }
        if self.not_examined > 0 {
            lines.push(format!(
                "  {} more projects; `codeyard doctor FOLDER` examines those of a folder",
                self.not_examined
            ));
        }
    }
}

impl ProjectReport {
    fn first_remedy(&self) -> Option<ProjectRemedy> {
        let root = self.root.display();
        let is_partial = self.known_files != Some(self.files);
        if let Some(command) = self.remedy.as_ref().filter(|_| is_partial) {
            let why = format!("{} in {root}: {} {} files known", self.server, self.known_text(), self.languages);
            return Some(ProjectRemedy { command: command.clone(), why });
        }
        let cause = self.unresolved.iter().find(|cause| cause.command.is_some())?;
        let why = format!("{} in {root}: {} unresolved: {}", self.server, imports(cause.names), cause.reason);
        Some(ProjectRemedy { command: cause.command.clone()?, why })
    }

    /// How many of its files are known.
    fn known_text(&self) -> String {
        match self.known_files {
            Some(known) => format!("{known} of {}", self.files),
            None => format!("an unknown number of {}", self.files),
        }
    }

    fn new(folder: &Path, info: &ProjectInfo, coverage: ServerCoverage) -> Self {
        let is_partial = coverage.is_partial();
        let inferred_from = match &info.source {
            ProjectSource::Inferred { from } => Some(from.clone()),
            _ => None,
        };
        let unresolved = info.unresolved.iter().map(|cause| UnresolvedReport {
            reason: cause.what.clone(),
            names: cause.count,
            examples: cause.examples.clone(),
            command: cause.remedy.clone(),
        });
        Self {
            project_file: coverage.source.as_str(),
            path: coverage.source.path().map(str::to_owned),
            inferred_from,
            reason: Some(coverage.reason).filter(|_| is_partial),
            // Also where the project is complete, but could be exact.
            remedy: info.remedy.clone(),
            problems: info.problems.clone(),
            unknown_files: info.unknown_files.iter().take(MAX_EXAMPLES).map(|file| relative(folder, file)).collect(),
            unresolved: unresolved.collect(),
            build: None,
            server: coverage.server.to_string(),
            root: coverage.project.into(),
            in_use: false,
            languages: coverage.languages,
            files: coverage.files,
            known_files: coverage.known,
        }
    }

    /// The same as the language server that runs has it, without its path, which is relative to another folder. The server doesn't tell which
    /// files it doesn't know; they are those found here if there are as many.
    fn in_use(self, project: &ProjectDocument) -> Self {
        let unresolved = project.unresolved.iter().map(|cause| UnresolvedReport {
            reason: cause.reason.clone(),
            names: cause.names,
            examples: cause.examples.clone(),
            command: cause.command.clone(),
        });
        let known = ["found", "inferred", "missing"].into_iter().find(|known| *known == project.project_file);
        let is_as_found = (self.files, self.known_files) == (project.files, project.known_files);
        Self {
            in_use: true,
            languages: project.languages.clone(),
            files: project.files,
            known_files: project.known_files,
            project_file: known.unwrap_or("not_needed"),
            path: None,
            inferred_from: project.inferred_from.clone(),
            reason: project.reason.clone(),
            remedy: project.remedy.clone(),
            unknown_files: if is_as_found { self.unknown_files } else { Vec::new() },
            unresolved: unresolved.collect(),
            ..self
        }
    }

    /// The same with what is known about the build, where that could tell more.
    fn with_build(self, build: Option<BuildStatus>) -> Self {
        let is_useful = matches!(self.project_file, "inferred" | "missing");
        Self { build: build.filter(|_| is_useful), ..self }
    }

    fn lines(&self, lines: &mut Vec<String>) {
        let known = self.known_text();
        let source = match (self.project_file, &self.path, &self.inferred_from) {
            (_, Some(path), _) => format!("project file {path}"),
            (_, None, Some(from)) => format!("inferred from {from}"),
            ("missing", ..) => "no project file".to_owned(),
            _ => "no project file needed".to_owned(),
        };
        let root = self.root.display();
        let in_use = if self.in_use { "; in use" } else { "" };
        lines.push(format!("  {} in {root}: {known} {} files known; {source}{in_use}", self.server, self.languages));
        lines.extend(
            self.reason.iter().filter(|reason| !reason.is_empty()).map(|reason| format!("    not all: {reason}")),
        );
        let further =
            self.problems.iter().filter(|problem| Some(problem.trim_end_matches('.')) != self.reason.as_deref());
        lines.extend(further.map(|problem| format!("    {problem}")));
        if !self.unknown_files.is_empty() {
            let names: Vec<String> = self.unknown_files.iter().map(|file| file.display().to_string()).collect();
            let unknown = self.files.saturating_sub(self.known_files.unwrap_or_default());
            let more = match unknown.saturating_sub(names.len()) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            lines.push(format!("    not known: {}{more}", names.join(", ")));
        }
        lines.extend(self.remedy.iter().map(|remedy| format!("    next: {remedy}")));
        for cause in &self.unresolved {
            let examples = match cause.examples.is_empty() {
                true => String::new(),
                false => format!(" (such as {})", cause.examples.join(", ")),
            };
            lines.push(format!("    {} unresolved: {}{examples}", imports(cause.names), cause.reason));
            lines.extend(cause.command.iter().map(|command| format!("      next: {command}")));
        }
        self.build.iter().for_each(|build| build.lines(lines));
    }
}

/// A number of imports.
fn imports(count: usize) -> String {
    if count == 1 { "1 import".to_owned() } else { format!("{count} imports") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_model::coverage::Hidden;
    use codeyard_projects::UnresolvedNames;

    fn lines(info: &ProjectInfo, inference: Option<codeyard_projects::ProjectInference>) -> Vec<String> {
        let owner =
            CoverageOwner { server: ServerKind::new("clangd"), inference, project: ".".into(), languages: "C".into() };
        let report = ProjectReport::new(Path::new("/w"), info, info.coverage(owner));
        let mut lines = Vec::new();
        ProjectReports { list: vec![report], not_examined: 0 }.lines(&mut lines);
        lines.remove(0);
        lines
    }

    #[test]
    fn a_partial_project_shows_why_what_is_missing_and_what_mends_it() {
        let info = ProjectInfo {
            source: ProjectSource::Found { path: "build/compile_commands.json".into() },
            files_total: 9,
            files_known: Some(2),
            unknown_files: (1..=7).map(|n| PathBuf::from(format!("/w/src/{n}.c"))).collect(),
            unresolved: vec![UnresolvedNames {
                what: "generated headers are missing".into(),
                count: 2,
                examples: vec!["config.h".into(), "version.h".into()],
                remedy: Some("./configure".into()),
                hides: Hidden::Nothing,
            }],
            remedy: Some("run `bear -- make`".into()),
            ..ProjectInfo::default()
        };
        let wanted = [
            "  clangd in .: 2 of 9 C files known; project file build/compile_commands.json",
            "    not all: build/compile_commands.json leaves the others out",
            "    not known: src/1.c, src/2.c, src/3.c, src/4.c, src/5.c and 2 more",
            "    next: run `bear -- make`",
            "    2 imports unresolved: generated headers are missing (such as config.h, version.h)",
            "      next: ./configure",
        ];
        assert_eq!(lines(&info, None), wanted);
    }

    #[test]
    fn complete_and_missing_projects_are_shown_differently() {
        let complete = ProjectInfo {
            source: ProjectSource::Inferred { from: "make files".into() },
            files_total: 3,
            files_known: Some(3),
            problems: vec!["the folder gen can't be read.".into()],
            ..ProjectInfo::default()
        };
        let wanted =
            ["  clangd in .: 3 of 3 C files known; inferred from make files", "    the folder gen can't be read."];
        assert_eq!(lines(&complete, None), wanted);
        let missing = ProjectInfo { source: ProjectSource::Missing, files_total: 3, ..ProjectInfo::default() };
        let wanted = [
            "  clangd in .: an unknown number of 3 C files known; no project file",
            "    not all: no compile_commands.json",
        ];
        assert_eq!(lines(&missing, Some(codeyard_projects::ProjectInference::CompileDatabase)), wanted);
    }
}
