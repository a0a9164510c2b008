//! Selects the language servers that take part in a query, in order.
//!
//! For a document these are the servers of its language: the first available alternative, then the linters. For the whole workspace they
//! are the servers of all languages that have files in it. This module starts no server.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::query::companions::{self, Companions};
use crate::query::fallback;
use crate::query::provider::Provider;
use crate::server::child_key::ChildKey;
use crate::server::program::isolation::WorkspaceIsolation;
use crate::server::program::programs::{PendingLookup, Program, Programs};
use crate::server::registry::IndexedRegistry;
use crate::status::server_state::Unavailable;
use codeyard_lsp::registry::ServerSelection;
use codeyard_lsp::registry::{
    CachedFiles, DiskFiles, FallbackMode, MarkerFiles, MultiRoot, ProjectPlacement, ProjectRoot, ServerChooser,
    ServerRole, ServerSpec, ServerVerdict, missing_library, place_file,
};
use codeyard_model::roots::RootSet;

/// A selected language server, which may not have been started yet.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Its key within the workspace.
    pub key: ChildKey,
    /// Its registry entry.
    pub server: Arc<ServerSpec>,
    /// Its program.
    pub program: Program,
    /// How many project roots its process handles.
    pub multi_root: MultiRoot,
    /// The project roots that the plan is about.
    pub projects: BTreeSet<PathBuf>,
    /// Whether it is asked about a document of another server's language.
    pub is_companion: bool,
}

impl Choice {
    /// Whether it is a fallback for missing servers.
    pub fn is_fallback(&self) -> bool {
        self.server.role == ServerRole::Fallback
    }

    /// Whether it is a linter.
    pub fn is_linter(&self) -> bool {
        self.server.role == ServerRole::Linter
    }

    /// The language whose diagnostics it can't find because its checker is missing, and the reason.
    fn missing_checker(&self) -> Option<(String, Unavailable)> {
        let checker = self.server.checker.as_ref().filter(|_| self.program.checker.is_none())?;
        let message = format!("`{}` is not on the PATH", checker.program);
        let why = Unavailable::new(&self.key.kind, "not_installed", message, &checker.command);
        Some((self.server.languages.first()?.clone(), why))
    }
}

/// The servers that take part, and the reasons why others can't.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The selected servers, in the order of their answers.
    pub choices: Vec<Choice>,
    /// Why a language has no server.
    pub unavailable: Vec<Unavailable>,
    /// Languages that a fallback among the choices answers by name.
    pub by_name: BTreeSet<String>,
    /// Fallbacks that may answer until a choice is ready.
    pub fallbacks: Vec<Choice>,
    /// Servers of other languages whose files may use the names of the file.
    pub companions: Companions,
    /// Linters that the project configures and whose library it lacks, each with the language that it would serve and the reason.
    pub linters_without_library: Vec<(String, Unavailable)>,
    /// Number of the workspace's files that a selected server serves; 0 in the plan of one file.
    pub served_files: usize,
}

impl Plan {
    /// Whether nothing is missing that may be there a moment later, such as a program.
    pub fn is_complete(&self) -> bool {
        self.unavailable.is_empty() && self.linters_without_library.is_empty() && self.companions.uncovered.is_empty()
    }

    /// Linters without their library and servers without their checker, one entry for each kind, with the language that it would diagnose and
    /// the reason.
    pub fn missing_linters(&self) -> Vec<(String, Unavailable)> {
        let without_checker = self.choices.iter().filter_map(Choice::missing_checker);
        let mut kinds = BTreeSet::new();
        let mut all: Vec<_> = self.linters_without_library.iter().cloned().chain(without_checker).collect();
        all.retain(|(_, why)| kinds.insert(why.kind.clone()));
        all
    }

    /// The plan of a query about uses of a name.
    pub fn with_companions(&self) -> Self {
        let mut plan = self.clone();
        plan.choices.extend(plan.companions.choices.iter().cloned());
        plan.unavailable.extend(plan.companions.uncovered.iter().cloned());
        plan
    }

    /// The languages that these providers serve.
    pub fn languages_of(&self, providers: &[&Provider]) -> BTreeSet<String> {
        let is_provider = |choice: &&Choice| providers.iter().any(|provider| provider.kind.as_str() == choice.key.kind);
        self.choices.iter().filter(is_provider).flat_map(|choice| choice.server.languages.iter().cloned()).collect()
    }
}

/// The inputs of a plan besides the files.
#[derive(Clone, Copy)]
pub struct PlanContext<'a> {
    /// The registry of language servers.
    pub servers: &'a IndexedRegistry,
    /// The servers that the workspace selects.
    pub selection: &'a ServerSelection,
    /// The roots of the workspace.
    pub roots: &'a RootSet,
    /// Finds programs.
    pub programs: &'a Programs,
    /// Kinds that have a process for each project root at present, although one could handle all.
    pub separated: &'a BTreeSet<String>,
    /// What servers of the workspace may do.
    pub isolation: &'a WorkspaceIsolation,
}

impl PlanContext<'_> {
    /// How many project roots a process of this kind handles at present.
    pub(crate) fn multi_root(&self, kind: &str, server: &ServerSpec) -> MultiRoot {
        if self.separated.contains(kind) { MultiRoot::No } else { server.multi_root }
    }

    /// The key of the server of this kind that handles the project at `root`.
    fn key(&self, kind: &str, server: &ServerSpec, root: &Path) -> ChildKey {
        ChildKey::of(kind, self.multi_root(kind, server), self.roots, root)
    }

    pub(crate) fn choice(&self, kind: &str, server: &Arc<ServerSpec>, program: Program, root: PathBuf) -> Choice {
        Choice {
            key: self.key(kind, server, &root),
            server: server.clone(),
            program,
            multi_root: self.multi_root(kind, server),
            projects: BTreeSet::from([root]),
            is_companion: false,
        }
    }
}

/// A plan, or the program lookups that must end first.
pub type PlanResult<P = Plan> = Result<P, Vec<PendingLookup>>;

/// The servers of one file. `files` are the source files of the workspace.
pub fn plan_for_file(setup: PlanContext<'_>, path: &Path, files: &[PathBuf], with_linters: bool) -> PlanResult {
    let mut waits = Vec::new();
    let mut plan = Plan::default();
    match setup.servers.index.language_of(path) {
        Some(language) => {
            // The candidates look for mostly the same markers in the same folders.
            let markers = &CachedFiles::default();
            let options = PlanOptions { setup, files: markers, with_linters, for_symbols: false };
            plan_language(&options, language, path, &mut plan, &mut waits);
            plan.companions = companions::find(setup, language, path, files, markers, &mut waits);
        }
        None => plan.unavailable.push(no_server()),
    }
    if waits.is_empty() { Ok(plan) } else { Err(waits) }
}

/// The servers of all languages that have files in the workspace. `files` are its source files, sorted. A plan without linters is for
/// symbols: servers that list no symbols are left out.
pub fn plan_for_workspace(setup: PlanContext<'_>, files: &[PathBuf], with_linters: bool) -> PlanResult {
    let mut languages: BTreeMap<&str, (usize, BTreeMap<&Path, &Path>)> = BTreeMap::new();
    for file in files {
        if let (Some(language), Some(folder)) = (setup.servers.index.language_of(file), file.parent()) {
            let (count, folders) = languages.entry(language).or_default();
            *count += 1;
            folders.entry(folder).or_insert(file);
        }
    }
    // The language with the most files comes first: if no server can answer, the error names its server.
    let mut languages: Vec<_> = languages.into_iter().collect();
    languages.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    let mut waits = Vec::new();
    let mut plan = Plan::default();
    let options = PlanOptions { setup, files: &CachedFiles::default(), with_linters, for_symbols: !with_linters };
    for (language, (_, folders)) in languages {
        for file in folders.into_values() {
            plan_language(&options, language, file, &mut plan, &mut waits);
        }
    }
    if !waits.is_empty() {
        return Err(waits);
    }
    let main = plan.choices.iter().filter(|choice| !choice.is_fallback());
    let served: BTreeSet<&String> = main.flat_map(|choice| &choice.server.languages).collect();
    let is_served = |file: &&PathBuf| {
        setup.servers.index.language_of(file).is_some_and(|language| served.iter().any(|id| *id == language))
    };
    plan.served_files = files.iter().filter(is_served).count();
    plan.choices = merged(plan.choices);
    let chosen: BTreeSet<ChildKey> = plan.choices.iter().map(|choice| choice.key.clone()).collect();
    plan.fallbacks = merged(plan.fallbacks);
    plan.fallbacks.retain(|fallback| !chosen.contains(&fallback.key));
    plan.choices.sort_by(|a, b| (a.is_linter(), &a.key).cmp(&(b.is_linter(), &b.key)));
    let mut libraries = BTreeSet::new();
    plan.linters_without_library.retain(|(_, why)| libraries.insert(why.kind.clone()));
    let mut named = BTreeSet::new();
    plan.unavailable.retain(|unavailable| named.insert(unavailable.kind.clone()));
    Ok(plan)
}

/// One choice for each server, with the projects of all.
fn merged(choices: Vec<Choice>) -> Vec<Choice> {
    let mut merged: BTreeMap<ChildKey, Choice> = BTreeMap::new();
    for choice in choices {
        match merged.get_mut(&choice.key) {
            Some(known) => known.projects.extend(choice.projects),
            None => drop(merged.insert(choice.key.clone(), choice)),
        }
    }
    merged.into_values().collect()
}

/// The inputs of a plan.
struct PlanOptions<'a> {
    setup: PlanContext<'a>,
    files: &'a dyn MarkerFiles,
    with_linters: bool,
    /// Whether the plan is for symbols of the workspace.
    for_symbols: bool,
}

/// The program of a server, or the lookup in progress.
pub(crate) enum ProgramState {
    Found(Program),
    Pending(PendingLookup),
}

/// Adds the servers of one language to the plan, and the lookups in progress to `waits`.
fn plan_language(
    options: &PlanOptions<'_>,
    language: &str,
    path: &Path,
    plan: &mut Plan,
    waits: &mut Vec<PendingLookup>,
) {
    let setup = options.setup;
    let chooser = ServerChooser {
        registry: &setup.servers.registry,
        selection: setup.selection,
        roots: setup.roots,
        files: options.files,
    };
    let lists_none = |server: &ServerSpec| options.for_symbols && fallback::lists_no_symbols(server, language);
    let mut available = |kind: &str, server: &ServerSpec, root: &Path| {
        let Some(known) = setup.servers.by_kind.get(kind) else { return Err(no_server()) };
        match program(setup, kind, known, root)? {
            // The next alternative lists them: another server of the language, or the fallback.
            ProgramState::Found(_) if lists_none(server) => Err(no_server()),
            program => Ok(program),
        }
    };
    let mut missing: Option<Unavailable> = None;
    let mut is_served = false;
    let mut has_no_symbols = false;
    for candidate in chooser.consider(language, path, options.with_linters, &mut available) {
        let is_primary = candidate.server.role == ServerRole::Primary;
        let is_pending = matches!(candidate.verdict, ServerVerdict::Serves { program: ProgramState::Pending(_), .. });
        if lists_none(candidate.server) && !is_pending {
            has_no_symbols |= is_primary;
            continue;
        }
        match candidate.verdict {
            ServerVerdict::Serves { root, program, .. } => {
                is_served |= is_primary;
                let Some(server) = setup.servers.by_kind.get(candidate.kind).cloned() else { continue };
                match program {
                    ProgramState::Pending(lookup) => waits.push(lookup),
                    ProgramState::Found(program) => {
                        if let Some(missing) = missing_library(&server, &root, options.files) {
                            let message = format!("the project's `{}` is missing", missing.path);
                            let why = Unavailable::new(candidate.kind, "not_installed", message, missing.command);
                            plan.linters_without_library.push((language.to_owned(), why));
                            continue;
                        }
                        let choice = setup.choice(candidate.kind, &server, program, root);
                        if choice.is_fallback() {
                            plan.by_name.insert(language.to_owned());
                        }
                        plan.choices.push(choice);
                    }
                }
            }
            ServerVerdict::Later { .. } if candidate.server.role == ServerRole::Fallback => {
                plan_fallback(options, candidate.kind, path, plan, waits);
            }
            ServerVerdict::Unavailable { why, .. } if is_primary => missing = missing.or(Some(why)),
            _ => {}
        }
    }
    if !is_served {
        plan.unavailable.extend(missing.or_else(|| (!has_no_symbols).then(no_server)));
    }
}

/// The program of a server for the project at `root`, or for all roots if one process handles them: none of them may hold it.
pub(crate) fn program(
    setup: PlanContext<'_>,
    kind: &str,
    server: &Arc<ServerSpec>,
    root: &Path,
) -> Result<ProgramState, Unavailable> {
    if let Some(refusal) = setup.isolation.refusal(kind, server) {
        return Err(refusal);
    }
    let is_shared = setup.multi_root(kind, server) != MultiRoot::No;
    let roots = if is_shared { setup.roots.roots().iter().map(PathBuf::as_path).collect() } else { vec![root] };
    let mut first = None;
    for root in roots {
        match setup.programs.peek(kind, server, root) {
            Err(lookup) => return Ok(ProgramState::Pending(lookup)),
            Ok(found) => first = first.or(Some(found?)),
        }
    }
    first.map(ProgramState::Found).ok_or_else(no_server)
}

/// Adds the fallback that may answer in place of the language's own server: what that doesn't support, and if the selection says so until it is
/// ready.
fn plan_fallback(options: &PlanOptions<'_>, kind: &str, path: &Path, plan: &mut Plan, waits: &mut Vec<PendingLookup>) {
    let setup = options.setup;
    let Some(server) = setup.servers.by_kind.get(kind).filter(|_| setup.selection.fallback != FallbackMode::Off) else {
        return;
    };
    let placed = place_file(setup.roots, &server.root, path, options.files);
    let Some(ProjectPlacement { root: ProjectRoot::At { root, .. }, within }) = placed else { return };
    match setup.programs.peek(kind, server, &within) {
        Err(lookup) => waits.push(lookup),
        Ok(Ok(program)) => {
            plan.fallbacks.push(setup.choice(kind, server, program, root));
        }
        // A missing fallback isn't reported: the language has a server of its own.
        Ok(Err(_)) => {}
    }
}

/// Whether `path` belongs to the server `key`, and not to the server of a nested project.
pub fn is_own(setup: PlanContext<'_>, server: &ServerSpec, key: &ChildKey, path: &Path) -> bool {
    let root = root_of(setup, server, path, &DiskFiles);
    root.is_some_and(|root| setup.key(&key.kind, server, &root) == *key)
}

/// The project roots of all `files` that a server serves.
pub fn project_roots(setup: PlanContext<'_>, server: &ServerSpec, files: &[PathBuf]) -> BTreeSet<PathBuf> {
    let cached = CachedFiles::default();
    let mut folders: BTreeMap<&Path, &Path> = BTreeMap::new();
    for file in files.iter().filter(|file| setup.servers.serves(server, file)) {
        folders.entry(file.parent().unwrap_or(file)).or_insert(file);
    }
    folders.into_values().filter_map(|file| root_of(setup, server, file, &cached)).collect()
}

/// Whether a folder is a project root of a server.
pub fn is_project_root(setup: PlanContext<'_>, server: &ServerSpec, folder: &Path) -> bool {
    // The name doesn't matter: a file's folder decides.
    root_of(setup, server, &folder.join("file"), &DiskFiles).is_some_and(|root| root == folder)
}

fn root_of(setup: PlanContext<'_>, server: &ServerSpec, path: &Path, files: &dyn MarkerFiles) -> Option<PathBuf> {
    match place_file(setup.roots, &server.root, path, files)?.root {
        ProjectRoot::At { root, .. } => Some(root),
        ProjectRoot::Excluded { .. } | ProjectRoot::NoMarker => None,
    }
}

/// Whether a change of this file's text may assign files to another server.
pub fn may_move_roots(servers: &IndexedRegistry, path: &Path) -> bool {
    servers.by_kind.values().any(|server| server.root.reads(path))
}

/// Whether this file may mark a project of a server that handles several.
pub fn marks_projects(servers: &IndexedRegistry, path: &Path) -> bool {
    let mut several = servers.by_kind.values().filter(|server| server.multi_root != MultiRoot::No);
    several.any(|server| {
        server.root.marks(path) || server.quirks.anchor_markers.iter().any(|marker| path.ends_with(marker))
    })
}

/// The reason that no server is known for a kind of file.
pub fn no_server() -> Unavailable {
    Unavailable::new(
        "",
        "no_server",
        "no language server is known for this kind of file; add one to the configuration",
        "codeyard servers list",
    )
}
