//! What would serve the files of a folder: languages found by name, and for each kind of language server whether it would
//! run, from which project roots, and if not why not. It starts no language server.
//!
//! Who is chosen is decided where the engine decides it; this module counts, and puts it into words.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use serde::Serialize;

use codeyard_files::limits::MAX_WATCHED_FILES;
use codeyard_lsp::install::{Installer, Located, Program, Source};
use codeyard_lsp::registry::choosing::{self, Chooser, Considered};
use codeyard_lsp::registry::project_root::Glance;
use codeyard_lsp::registry::{LanguageIndex, Marked, Registry, Role, Selection, Server};
use codeyard_model::roots::RootSet;

/// Everything found below a folder.
#[derive(Debug, Serialize)]
pub(crate) struct Survey {
    /// The folder.
    pub root: PathBuf,
    /// Languages by id.
    pub languages: Vec<LanguageSurvey>,
    /// Whether there were more files than are looked at.
    pub cut: bool,
}

/// One language.
#[derive(Debug, Serialize)]
pub(crate) struct LanguageSurvey {
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
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Candidate {
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
pub(crate) enum Verdict {
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
pub(crate) struct Surveyor<'a> {
    /// The registry.
    pub registry: &'a Registry,
    /// Finds programs.
    pub installer: &'a Installer,
    /// What was chosen.
    pub selection: &'a Selection,
    /// The roots of the workspace.
    pub roots: RootSet,
}

/// The folder that a path stands for: itself, or for a file the present folder if it is inside, else the nearest folder
/// above with `.git`, else its own.
pub(crate) fn root_for(path: &Path) -> PathBuf {
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

/// Whether ignore files leave `file`, which lies in `root`, out of what is listed.
pub(crate) fn is_ignored(root: &Path, file: &Path) -> bool {
    let way = file.to_path_buf();
    let mut walk = ignore::WalkBuilder::new(root);
    walk.require_git(false).hidden(false).git_global(false).filter_entry(move |entry| way.starts_with(entry.path()));
    !walk.build().flatten().any(|entry| entry.path() == file)
}

impl<'a> Surveyor<'a> {
    /// For a workspace of one folder.
    pub(crate) fn of_folder(
        registry: &'a Registry,
        installer: &'a Installer,
        selection: &'a Selection,
        root: &Path,
    ) -> Self {
        Self { registry, installer, selection, roots: RootSet::of_real_paths(vec![root.to_owned()], Vec::new()) }
    }

    /// Looks at all files below `root` that version control doesn't ignore.
    pub(crate) fn folder(&self, root: &Path) -> Survey {
        let walk = ignore::WalkBuilder::new(root).require_git(false).build();
        let files = walk.flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        let mut files: Vec<PathBuf> = files.map(ignore::DirEntry::into_path).take(MAX_WATCHED_FILES + 1).collect();
        let cut = files.len() > MAX_WATCHED_FILES;
        files.truncate(MAX_WATCHED_FILES);
        files.sort();
        self.files(root, &files, cut)
    }

    /// Looks at these files.
    pub(crate) fn files(&self, root: &Path, files: &[PathBuf], cut: bool) -> Survey {
        let index = LanguageIndex::new(self.registry);
        let mut found: BTreeMap<&str, Vec<&Path>> = BTreeMap::new();
        for file in files {
            if let Some(language) = index.language_of(file) {
                found.entry(language).or_default().push(file);
            }
        }
        let looks = Looks::default();
        let languages = found.into_iter().map(|(language, files)| self.language(root, language, &files, &looks));
        let languages = languages.collect();
        Survey { root: root.to_owned(), languages, cut }
    }

    /// What becomes of each kind that knows this file, in the order of choice; nothing if its language isn't known.
    pub(crate) fn file(&self, file: &Path) -> Option<(String, Vec<Judged>)> {
        let index = LanguageIndex::new(self.registry);
        let language = index.language_of(file)?;
        let root = self.roots.root_of(file).or(self.roots.roots().first().map(PathBuf::as_path)).unwrap_or(file);
        Some((language.to_owned(), self.judged(root, language, file, &Looks::default())))
    }

    fn language(&self, root: &Path, language: &str, files: &[&Path], looks: &Looks) -> LanguageSurvey {
        let mut folders: BTreeMap<&Path, &Path> = BTreeMap::new();
        for file in files {
            folders.entry(file.parent().unwrap_or(file)).or_insert(file);
        }
        let mut servers: Vec<Candidate> = Vec::new();
        for file in folders.into_values() {
            for judged in self.judged(root, language, file, looks) {
                match servers.iter_mut().find(|known| known.kind == judged.candidate.kind) {
                    Some(known) => known.take_in(judged.candidate),
                    None => servers.push(judged.candidate),
                }
            }
        }
        let example = files.first().map(|file| relative(root, file)).unwrap_or_default();
        LanguageSurvey { language: language.to_owned(), files: files.len(), example, servers }
    }

    fn judged(&self, root: &Path, language: &str, file: &Path, looks: &Looks) -> Vec<Judged> {
        let Self { registry, selection, .. } = *self;
        let chooser = Chooser { registry, selection, roots: &self.roots, look: &looks.disk };
        let mut available = |kind: &str, server: &Server, within: &Path| {
            let key = (kind.to_owned(), within.to_path_buf());
            let mut programs = looks.programs.borrow_mut();
            let located = || match self.installer.locate(kind, server, Some(within)) {
                Located::Ready(program) => Ok(program),
                Located::NotInstalled { command } => Err(Missing {
                    verdict: Verdict::NotInstalled,
                    why: "its program is neither installed nor on the PATH".to_owned(),
                    command: Some(command),
                }),
                Located::Broken { why } => Err(Missing {
                    verdict: Verdict::Broken,
                    why,
                    command: server.install.is_some().then(|| format!("codeyard servers install {kind}")),
                }),
            };
            programs.entry(key).or_insert_with(located).clone()
        };
        let all = chooser.consider(language, file, true, &mut available);
        all.into_iter().map(|one| judge(root, one)).collect()
    }
}

/// What was looked at once.
#[derive(Default)]
struct Looks {
    disk: Glance,
    programs: RefCell<HashMap<(String, PathBuf), Found>>,
}

/// A program, or why it can't be started.
type Found = Result<Program, Missing>;

/// Why a program can't be started, and the command that would help.
#[derive(Clone)]
struct Missing {
    verdict: Verdict,
    why: String,
    command: Option<String>,
}

/// What becomes of a kind for one file.
pub(crate) struct Judged {
    /// The same in words.
    pub candidate: Candidate,
    /// Where it runs, or would run.
    pub project_root: Option<PathBuf>,
    /// What made it that.
    pub by: Option<Marked>,
}

/// A verdict in words.
fn judge(root: &Path, one: Considered<'_, Program, Missing>) -> Judged {
    let Considered { kind, server, verdict } = one;
    let mut found = Candidate::new(kind, server.role);
    let mut place = None;
    (found.verdict, found.why) = match verdict {
        choosing::Verdict::Serves { root: at, by, program } => {
            found.project_roots = vec![relative(root, &at)];
            place = Some((at, by));
            let why = origin(program.source).to_owned();
            (found.program, found.version) = (Some(program.program), program.version);
            (Verdict::Serves, why)
        }
        choosing::Verdict::Unavailable { root: at, by, why } => {
            place = Some((at, by));
            found.command = why.command;
            (why.verdict, why.why)
        }
        choosing::Verdict::Excluded { by } => {
            (Verdict::NotMeant, format!("{} says that another server is meant", relative(root, &by).display()))
        }
        choosing::Verdict::NoMarker => {
            let markers = [server.root.workspace_markers.as_slice(), server.root.markers.as_slice()].concat();
            (Verdict::NotMeant, format!("its project has none of {}", markers.join(", ")))
        }
        choosing::Verdict::Later { first } => (Verdict::NotNeeded, later(&first, server)),
        choosing::Verdict::Disabled => (Verdict::Off, "disabled by the configuration".to_owned()),
        choosing::Verdict::OffByDefault => {
            (Verdict::Off, format!("off by default; `--server {kind}` or `servers.prefer` turns it on"))
        }
        choosing::Verdict::NotChosen => (Verdict::Off, "another one was chosen".to_owned()),
    };
    let (project_root, by) = place.unzip();
    Judged { candidate: found, project_root, by }
}

fn later(first: &str, server: &Server) -> String {
    match server.role {
        Role::Fallback => format!("it stands in only where no other one is there; {first} serves"),
        _ => format!("{first} comes first in the group {}, and serves", server.group),
    }
}

impl Survey {
    /// Kinds worth installing: for each language that nothing serves the first whose program is missing, and the linters
    /// that the files ask for.
    pub(crate) fn missing(&self) -> Vec<String> {
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
    /// Takes in what becomes of the kind for another file: what says most of the two is told.
    fn take_in(&mut self, other: Self) {
        let weight = |verdict: Verdict| match verdict {
            Verdict::Serves => 4,
            Verdict::NotInstalled | Verdict::Broken => 3,
            Verdict::NotMeant => 2,
            Verdict::NotNeeded => 1,
            Verdict::Off => 0,
        };
        if weight(other.verdict) > weight(self.verdict) {
            *self = other;
        } else if self.verdict == other.verdict {
            let all: BTreeSet<PathBuf> = self.project_roots.drain(..).chain(other.project_roots).collect();
            self.project_roots = all.into_iter().collect();
        }
    }

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
pub(crate) fn origin(source: Source) -> &'static str {
    match source {
        Source::Installed => "installed by codeyard",
        Source::Path => "found on the PATH",
        Source::Configured => "named by the configuration",
        Source::Builtin => "a part of codeyard; it answers by name, for want of a language server",
    }
}

/// A path as it is below the root; one that isn't stays as it is.
pub(crate) fn relative(root: &Path, path: &Path) -> PathBuf {
    match path.strip_prefix(root) {
        Ok(rest) if rest.as_os_str().is_empty() => ".".into(),
        Ok(rest) => rest.to_owned(),
        Err(_) => path.to_owned(),
    }
}
