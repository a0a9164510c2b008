//! What would serve the files of a folder: languages found by name, and for each kind of language server whether it would
//! run, from which project roots, and if not why not. It starts no language server.
//!
//! The order of choice is that of the engine: the first alternative that has a project root for a file and a program that
//! works, and beside it the linters.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::base::limits::MAX_WATCHED_FILES;
use crate::lsp::install::{Installer, Located, Source};
use crate::lsp::registry::{Disk, LanguageIndex, ProjectRoot, Registry, Role, Selection, Server, project_root};

/// Everything found below a folder.
#[derive(Debug, Serialize)]
pub struct Survey {
    /// The folder.
    pub root: PathBuf,
    /// Languages by id.
    pub languages: Vec<LanguageSurvey>,
    /// Whether there were more files than are looked at.
    pub cut: bool,
}

/// One language.
#[derive(Debug, Serialize)]
pub struct LanguageSurvey {
    /// Its id.
    pub language: String,
    /// Files of it.
    pub files: usize,
    /// One of them, relative to the folder.
    pub example: PathBuf,
    /// The kinds that know it, in the order of choice.
    pub servers: Vec<Candidate>,
}

/// One kind of language server.
#[derive(Debug, Serialize)]
pub struct Candidate {
    /// The kind.
    pub kind: String,
    /// Whether it is an alternative or adds to one.
    pub role: Role,
    /// What would become of it.
    pub verdict: Verdict,
    /// Why.
    pub why: String,
    /// The command that would help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Where it would run, relative to the folder.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub project_roots: Vec<PathBuf>,
}

/// What would become of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It would run.
    Serves,
    /// It isn't needed: another one serves.
    NotNeeded,
    /// Its program isn't there.
    NotInstalled,
    /// Its program doesn't work.
    Broken,
    /// The files' project isn't one of its kind.
    NotMeant,
    /// It is off, or another one was chosen.
    Off,
}

/// What a survey is made with.
pub struct Surveyor<'a> {
    /// The registry.
    pub registry: &'a Registry,
    /// Finds programs.
    pub installer: &'a Installer,
    /// What was chosen.
    pub selection: &'a Selection,
}

/// The folder that a path stands for: itself, or for a file the present folder if it is inside, else the nearest folder
/// above with `.git`, else its own.
pub fn root_for(path: &Path) -> PathBuf {
    if path.is_dir() {
        return path.to_owned();
    }
    let here = std::env::current_dir().and_then(|dir| dir.canonicalize()).ok();
    if let Some(here) = here.filter(|here| path.starts_with(here)) {
        return here;
    }
    let own = path.parent().unwrap_or(path);
    own.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(own).to_owned()
}

impl Surveyor<'_> {
    /// Looks at all files below `root` that version control doesn't ignore.
    pub fn folder(&self, root: &Path) -> Survey {
        let walk = ignore::WalkBuilder::new(root).require_git(false).build();
        let files = walk.flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        let mut files: Vec<PathBuf> = files.map(ignore::DirEntry::into_path).take(MAX_WATCHED_FILES + 1).collect();
        let cut = files.len() > MAX_WATCHED_FILES;
        files.truncate(MAX_WATCHED_FILES);
        files.sort();
        self.files(root, &files, cut)
    }

    /// Looks at these files.
    pub fn files(&self, root: &Path, files: &[PathBuf], cut: bool) -> Survey {
        let index = LanguageIndex::new(self.registry);
        let mut found: BTreeMap<&str, Vec<&Path>> = BTreeMap::new();
        for file in files {
            if let Some(language) = index.language_of(file) {
                found.entry(language).or_default().push(file);
            }
        }
        let languages = found.into_iter().map(|(language, files)| self.language(root, language, &files)).collect();
        Survey { root: root.to_owned(), languages, cut }
    }

    fn language(&self, root: &Path, language: &str, files: &[&Path]) -> LanguageSurvey {
        let mut folders: BTreeMap<&Path, &Path> = BTreeMap::new();
        for file in files {
            folders.entry(file.parent().unwrap_or(file)).or_insert(file);
        }
        let all: Vec<&Path> = folders.into_values().collect();
        let candidates = self.registry.candidates(language, self.selection);
        let mut left = all.clone();
        let mut servers: Vec<Candidate> =
            candidates.primary.iter().filter_map(|kind| self.candidate(root, kind, &mut left)).collect();
        servers.extend(candidates.linters.iter().filter_map(|kind| self.candidate(root, kind, &mut all.clone())));
        let known: BTreeSet<String> = servers.iter().map(|server| server.kind.clone()).collect();
        let others = self.registry.servers_for(language).into_iter().filter(|kind| !known.contains(*kind));
        servers.extend(others.filter_map(|kind| self.off(kind)));
        let example = files.first().map(|file| relative(root, file)).unwrap_or_default();
        LanguageSurvey { language: language.to_owned(), files: files.len(), example, servers }
    }

    /// Judges one kind for the files (one a folder) that nobody serves yet, and takes those it would serve.
    fn candidate(&self, root: &Path, kind: &str, left: &mut Vec<&Path>) -> Option<Candidate> {
        let server = self.registry.servers.get(kind)?;
        let mut found = Candidate::new(kind, server.role);
        if left.is_empty() {
            return Some(Candidate {
                verdict: Verdict::NotNeeded,
                why: "another one serves these files".into(),
                ..found
            });
        }
        let roots: Vec<Option<PathBuf>> = left.iter().map(|file| at(file, root, server).ok()).collect();
        if roots.iter().all(Option::is_none) {
            let why = left.first().and_then(|file| at(file, root, server).err()).unwrap_or_default();
            return Some(Candidate { verdict: Verdict::NotMeant, why, ..found });
        }
        match self.installer.locate(kind, server, Some(root)) {
            Located::Ready(program) => {
                let distinct: BTreeSet<PathBuf> = roots.iter().flatten().map(|at| relative(root, at)).collect();
                let mut taken = roots.iter().map(Option::is_some);
                left.retain(|_| !taken.next().unwrap_or(false));
                found.verdict = Verdict::Serves;
                found.why = origin(program.source).to_owned();
                found.project_roots = distinct.into_iter().collect();
                found.program = Some(program.program);
                found.version = program.version;
            }
            Located::NotInstalled { command } => {
                found.verdict = Verdict::NotInstalled;
                found.why = "its program is neither installed nor on the PATH".into();
                found.command = Some(command);
            }
            Located::Broken { why } => {
                found.verdict = Verdict::Broken;
                found.command = server.install.is_some().then(|| format!("codeyard servers install {kind}"));
                found.why = why;
            }
        }
        Some(found)
    }

    fn off(&self, kind: &str) -> Option<Candidate> {
        let server = self.registry.servers.get(kind)?;
        let found = Candidate::new(kind, server.role);
        let why = match server.disabled {
            true => format!("off by default; `--server {kind}` or `servers.prefer` turns it on"),
            false if self.selection.disabled.contains(kind) => "disabled by the configuration".to_owned(),
            false => "another one was chosen".to_owned(),
        };
        Some(Candidate { verdict: Verdict::Off, why, ..found })
    }
}

impl Survey {
    /// Kinds worth installing: for each language that nothing serves the first whose program is missing, and the linters
    /// that the files ask for.
    pub fn missing(&self) -> Vec<String> {
        let mut kinds = Vec::new();
        for language in &self.languages {
            let served = |role: Role| {
                let mut of_role = language.servers.iter().filter(move |server| server.role == role);
                of_role.any(|server| server.verdict == Verdict::Serves)
            };
            let lacking = |role: Role| {
                let mut of_role = language.servers.iter().filter(move |server| server.role == role);
                of_role.find(|server| matches!(server.verdict, Verdict::NotInstalled | Verdict::Broken))
            };
            let primary = if served(Role::Primary) { None } else { lacking(Role::Primary) };
            kinds.extend(primary.map(|server| server.kind.clone()));
        }
        kinds.sort();
        kinds.dedup();
        kinds
    }
}

impl Candidate {
    fn new(kind: &str, role: Role) -> Self {
        Self {
            kind: kind.to_owned(),
            role,
            verdict: Verdict::Off,
            why: String::new(),
            command: None,
            program: None,
            version: None,
            project_roots: Vec::new(),
        }
    }
}

/// Where a program comes from, in words.
pub fn origin(source: Source) -> &'static str {
    match source {
        Source::Installed => "installed by codeyard",
        Source::Path => "found on the PATH",
        Source::Configured => "named by the configuration",
    }
}

/// The project root of a file, or why there is none.
fn at(file: &Path, root: &Path, server: &Server) -> Result<PathBuf, String> {
    match project_root(file, root, &server.root, &Disk) {
        ProjectRoot::At(found) => Ok(found),
        ProjectRoot::Excluded { by } => {
            Err(format!("{} says that another server is meant", relative(root, &by).display()))
        }
        ProjectRoot::NoMarker => {
            let markers = [server.root.workspace_markers.as_slice(), server.root.markers.as_slice()].concat();
            Err(format!("its project has none of {}", markers.join(", ")))
        }
    }
}

fn relative(root: &Path, path: &Path) -> PathBuf {
    match path.strip_prefix(root) {
        Ok(rest) if rest.as_os_str().is_empty() => ".".into(),
        Ok(rest) => rest.to_owned(),
        Err(_) => path.to_owned(),
    }
}
