//! Diagnoses which language servers would serve the files of a folder: the languages found by file name, and for each kind of server
//! whether it would run, from which project roots, and if not why. It starts no language server.
//!
//! Invariant: the choice itself is made by the same code that the engine uses; this module only counts and explains.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use serde::Serialize;

use codeyard_files::limits::MAX_WATCHED_FILES;
pub(crate) use codeyard_files::walk::is_ignored;
use codeyard_files::walk::{Listing, Walker};
use codeyard_lsp::install::{Installer, ProgramSource, ProgramStatus, ServerProgram};
use codeyard_lsp::registry::{CachedFiles, MarkerFiles};
use codeyard_lsp::registry::{ConsideredServer, ServerChooser, ServerVerdict, missing_library};
use codeyard_lsp::registry::{LanguageIndex, MultiRoot, Registry, RootReason, ServerRole, ServerSelection, ServerSpec};
use codeyard_model::roots::RootSet;

#[derive(Debug, Serialize)]
pub(crate) struct FolderDiagnosis {
    pub root: PathBuf,
    /// The languages found: those with most files first, then by id.
    pub languages: Vec<LanguageDiagnosis>,
    /// Whether files were left out because there are more than the limit.
    pub cut: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct LanguageDiagnosis {
    pub language: String,
    pub files: usize,
    /// One of its files, relative to the folder.
    pub example: PathBuf,
    /// The kinds of servers that know it, in the order of preference.
    pub servers: Vec<ServerCandidate>,
}

/// One kind of language server with its verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ServerCandidate {
    pub kind: String,
    /// Whether it is a primary server, a linter or a fallback.
    pub role: ServerRole,
    /// Whether it would serve.
    pub verdict: CandidateVerdict,
    /// The reason for the verdict.
    pub why: String,
    /// The next command to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The project roots where it would run, relative to the folder.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub project_roots: Vec<PathBuf>,
}

/// Whether a kind would serve, and if not why. `codeyard doctor --json` prints these names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CandidateVerdict {
    /// It would serve the files.
    Serves,
    /// Another server of its group serves.
    NotNeeded,
    /// Its program is not installed.
    NotInstalled,
    /// Its program is installed but does not work.
    Broken,
    /// The markers of the project select another server.
    NotMeant,
    /// It is disabled, or another one was chosen.
    Off,
}

/// Diagnoses the files of one workspace.
pub(crate) struct ServerDiagnosis<'a> {
    pub registry: &'a Registry,
    /// Locates the programs of servers.
    pub installer: &'a Installer,
    /// The preferences of the workspace.
    pub selection: &'a ServerSelection,
    /// The roots of the workspace.
    pub roots: RootSet,
}

/// The files below `root` that are not ignored, sorted by their bytes, and whether some were left out because there are more than the limit.
pub(crate) fn files_below(root: &Path) -> (Vec<PathBuf>, bool) {
    let walker = Walker { root, listing: Listing::Servers, threads: 1, only: None, is_stopped: &|| false };
    let mut files: Vec<PathBuf> =
        walker.walk().unwrap_or_default().files.into_iter().map(|file| root.join(&*file.path)).collect();
    let cut = files.len() > MAX_WATCHED_FILES;
    files.truncate(MAX_WATCHED_FILES);
    files.sort_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
    (files, cut)
}

impl<'a> ServerDiagnosis<'a> {
    /// The diagnosis for a workspace of one folder.
    pub(crate) fn of_folder(
        registry: &'a Registry,
        installer: &'a Installer,
        selection: &'a ServerSelection,
        root: &Path,
    ) -> Self {
        Self { registry, installer, selection, roots: RootSet::of_real_paths(vec![root.to_owned()], Vec::new()) }
    }

    /// Diagnoses all files below `root` that are not ignored.
    pub(crate) fn folder(&self, root: &Path) -> FolderDiagnosis {
        let (files, cut) = files_below(root);
        self.files(root, &files, cut)
    }

    /// Diagnoses the given files.
    pub(crate) fn files(&self, root: &Path, files: &[PathBuf], cut: bool) -> FolderDiagnosis {
        let index = LanguageIndex::new(self.registry);
        let mut found: BTreeMap<&str, Vec<&Path>> = BTreeMap::new();
        for file in files {
            index.look(root, file);
            if let Some(language) = index.language_of(file) {
                found.entry(language).or_default().push(file);
            }
        }
        let cache = LookupCache::default();
        let languages = found.into_iter().map(|(language, files)| self.language(root, language, &files, &cache));
        let mut languages: Vec<LanguageDiagnosis> = languages.collect();
        languages.sort_by_key(|language| Reverse(language.files));
        FolderDiagnosis { root: root.to_owned(), languages, cut }
    }

    /// The language of a file and the assessment of each kind that knows it, in the order of preference. `None` if its language is not
    /// known.
    pub(crate) fn file(&self, file: &Path) -> Option<(String, Vec<Assessment>)> {
        let index = LanguageIndex::new(self.registry);
        let root = self.roots.root_of(file).or(self.roots.roots().first().map(PathBuf::as_path)).unwrap_or(file);
        index.look(root, file);
        let language = index.language_of(file)?;
        Some((language.to_owned(), self.assessments(root, language, file, &LookupCache::default())))
    }

    fn language(&self, root: &Path, language: &str, files: &[&Path], cache: &LookupCache) -> LanguageDiagnosis {
        let mut folders: BTreeMap<&Path, &Path> = BTreeMap::new();
        for file in files {
            folders.entry(file.parent().unwrap_or(file)).or_insert(file);
        }
        let mut servers: Vec<ServerCandidate> = Vec::new();
        for file in folders.into_values() {
            for assessment in self.assessments(root, language, file, cache) {
                match servers.iter_mut().find(|known| known.kind == assessment.candidate.kind) {
                    Some(known) => known.merge(assessment.candidate),
                    None => servers.push(assessment.candidate),
                }
            }
        }
        let example = files.first().map(|file| relative(root, file)).unwrap_or_default();
        LanguageDiagnosis { language: language.to_owned(), files: files.len(), example, servers }
    }

    fn assessments(&self, root: &Path, language: &str, file: &Path, cache: &LookupCache) -> Vec<Assessment> {
        let Self { registry, selection, .. } = *self;
        let chooser = ServerChooser { registry, selection, roots: &self.roots, files: &cache.disk };
        let mut available = |kind: &str, server: &ServerSpec, within: &Path| {
            let key = (kind.to_owned(), within.to_path_buf());
            let mut programs = cache.programs.borrow_mut();
            let located = || match self.installer.locate(kind, server, Some(within)) {
                ProgramStatus::Ready(program) => Ok(program),
                ProgramStatus::NotInstalled { command } => Err(MissingProgram {
                    verdict: CandidateVerdict::NotInstalled,
                    why: "its program is neither installed nor on the PATH".to_owned(),
                    command: Some(command),
                }),
                ProgramStatus::Broken { why, command } => {
                    Err(MissingProgram { verdict: CandidateVerdict::Broken, why, command: Some(command) })
                }
            };
            programs.entry(key).or_insert_with(located).clone()
        };
        let all = chooser.consider(language, file, true, &mut available);
        all.into_iter().map(|one| assess(root, one, &cache.disk)).collect()
    }
}

/// Lookups that are done once for all files.
#[derive(Default)]
struct LookupCache {
    disk: CachedFiles,
    programs: RefCell<HashMap<(String, PathBuf), ProgramLookup>>,
}

/// A program, or why it cannot be started.
type ProgramLookup = Result<ServerProgram, MissingProgram>;

/// Why a program cannot be started, and the next command to run.
#[derive(Clone)]
struct MissingProgram {
    verdict: CandidateVerdict,
    why: String,
    command: Option<String>,
}

/// The assessment of one kind for one file.
pub(crate) struct Assessment {
    /// The kind with its verdict.
    pub candidate: ServerCandidate,
    pub project_root: Option<PathBuf>,
    /// Why this folder is the project root.
    pub by: Option<RootReason>,
    /// How many project roots one process handles.
    pub multi_root: MultiRoot,
}

/// Explains a verdict of the chooser.
fn assess(
    root: &Path,
    one: ConsideredServer<'_, ServerProgram, MissingProgram>,
    files: &dyn MarkerFiles,
) -> Assessment {
    let ConsideredServer { kind, server, verdict } = one;
    let mut found = ServerCandidate::new(kind, server.role);
    let mut place = None;
    (found.verdict, found.why) = match verdict {
        ServerVerdict::Serves { root: at, by, program } => {
            let project_root = relative(root, &at);
            let missing = missing_library(server, &at, files);
            place = Some((at, by));
            if let Some(missing) = missing {
                found.command = Some(missing.command.to_owned());
                (CandidateVerdict::NotInstalled, format!("the project's {} is missing", missing.path))
            } else {
                let mut why = origin(program.source).to_owned();
                if let (Some(checker), None) = (&server.checker, &program.checker) {
                    why.push_str(&format!("; finds no diagnostics because `{}` is not on the PATH", checker.program));
                    found.command = Some(checker.command.clone());
                }
                found.project_roots = vec![project_root];
                (found.program, found.version) = (Some(program.program), program.version);
                (CandidateVerdict::Serves, why)
            }
        }
        ServerVerdict::Unavailable { root: at, by, why } => {
            place = Some((at, by));
            found.command = why.command;
            (why.verdict, why.why)
        }
        ServerVerdict::Excluded { by } => {
            (CandidateVerdict::NotMeant, format!("{} selects another server", relative(root, &by).display()))
        }
        ServerVerdict::NoMarker => {
            let markers = [server.root.workspace_markers.as_slice(), server.root.markers.as_slice()].concat();
            (CandidateVerdict::NotMeant, format!("the project has none of its markers: {}", markers.join(", ")))
        }
        ServerVerdict::Later { first } => (CandidateVerdict::NotNeeded, later(&first, server)),
        ServerVerdict::Disabled => (CandidateVerdict::Off, "disabled by the configuration".to_owned()),
        ServerVerdict::OffByDefault => {
            (CandidateVerdict::Off, format!("off by default; `--server {kind}` or `servers.prefer` enables it"))
        }
        ServerVerdict::NotChosen => (CandidateVerdict::Off, "another server was chosen".to_owned()),
    };
    let (project_root, by) = place.unzip();
    Assessment { candidate: found, project_root, by, multi_root: server.multi_root }
}

fn later(first: &str, server: &ServerSpec) -> String {
    match server.role {
        ServerRole::Fallback => format!("used only where no other server is available; {first} serves"),
        _ => format!("{first} comes first in the group {} and serves", server.group),
    }
}

impl FolderDiagnosis {
    /// The kinds to install: for each language without a primary server the first kind whose program is missing or broken. Those of the
    /// languages with most files first.
    pub(crate) fn missing(&self) -> Vec<MissingKind> {
        let mut kinds: Vec<MissingKind> = Vec::new();
        for language in &self.languages {
            if let Some(server) = language.missing_server() {
                let languages = std::slice::from_ref(&language.language);
                MissingKind::add(&mut kinds, &server.kind, languages, language.files);
            }
        }
        kinds
    }
}

/// A kind of language server that is not installed, and what it is needed for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissingKind {
    pub kind: String,
    /// The languages of the files that need it.
    pub languages: Vec<String>,
    /// Their number.
    pub files: usize,
}

impl MissingKind {
    /// Adds files of languages that need a kind.
    pub(crate) fn add(all: &mut Vec<Self>, kind: &str, languages: &[String], files: usize) {
        let Some(known) = all.iter_mut().find(|known| known.kind == kind) else {
            all.push(Self { kind: kind.to_owned(), languages: languages.to_vec(), files });
            return;
        };
        known.files += files;
        let new = languages.iter().filter(|language| !known.languages.contains(language));
        let new: Vec<String> = new.cloned().collect();
        known.languages.extend(new);
    }
}

impl LanguageDiagnosis {
    /// The primary server that serves its files.
    pub(crate) fn serving(&self) -> Option<&ServerCandidate> {
        self.primary(&[CandidateVerdict::Serves])
    }

    /// The primary server that would serve its files if it were installed, where none serves them.
    pub(crate) fn missing_server(&self) -> Option<&ServerCandidate> {
        match self.serving() {
            Some(_) => None,
            None => self.primary(&[CandidateVerdict::NotInstalled, CandidateVerdict::Broken]),
        }
    }

    fn primary(&self, verdicts: &[CandidateVerdict]) -> Option<&ServerCandidate> {
        self.servers.iter().find(|server| server.role == ServerRole::Primary && verdicts.contains(&server.verdict))
    }
}

impl ServerCandidate {
    /// Merges the verdict for another file. The more informative verdict wins; equal ones merge their project roots.
    fn merge(&mut self, other: Self) {
        let weight = |verdict: CandidateVerdict| match verdict {
            CandidateVerdict::Serves => 4,
            CandidateVerdict::NotInstalled | CandidateVerdict::Broken => 3,
            CandidateVerdict::NotMeant => 2,
            CandidateVerdict::NotNeeded => 1,
            CandidateVerdict::Off => 0,
        };
        if weight(other.verdict) > weight(self.verdict) {
            *self = other;
        } else if self.verdict == other.verdict {
            let all: BTreeSet<PathBuf> = self.project_roots.drain(..).chain(other.project_roots).collect();
            self.project_roots = all.into_iter().collect();
        }
    }

    fn new(kind: &str, role: ServerRole) -> Self {
        Self {
            kind: kind.to_owned(),
            role,
            verdict: CandidateVerdict::Off,
            why: String::new(),
            command: None,
            program: None,
            version: None,
            project_roots: Vec::new(),
        }
    }
}

/// The origin of a program as text.
pub(crate) fn origin(source: ProgramSource) -> &'static str {
    match source {
        ProgramSource::Installed => "installed by codeyard",
        ProgramSource::Path => "found on the PATH",
        ProgramSource::Configured => "named by the configuration",
        ProgramSource::Builtin => "built into codeyard; a name-based fallback",
    }
}

/// `path` relative to `root`; unchanged if it is not below `root`.
pub(crate) fn relative(root: &Path, path: &Path) -> PathBuf {
    match path.strip_prefix(root) {
        Ok(rest) if rest.as_os_str().is_empty() => ".".into(),
        Ok(rest) => rest.to_owned(),
        Err(_) => path.to_owned(),
    }
}
