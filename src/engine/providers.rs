//! Who is asked: from a query to the language servers that take part, in order.
//!
//! For a document these are the servers of its language: the first available alternative, then the linters. For the whole
//! workspace they are those of all languages that have files in it. This module chooses; it starts nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::execution::Provider;
use crate::programs::Looking;
use crate::server_context::Program;
use crate::server_state::Unavailable;
use crate::workspace_setup::WorkspaceSetup;
use codeyard_base::digest::sha256hex;
use codeyard_lsp::registry::choosing::{self, Chooser, Placed, Verdict};
use codeyard_lsp::registry::project_root::{Disk, Glance, Look, ProjectRoot};
use codeyard_lsp::registry::{Role, Server, Standby};

/// Which child: a kind at a project root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChildKey {
    /// The server's kind.
    pub kind: String,
    /// The project root.
    pub root: PathBuf,
}

impl ChildKey {
    /// A short name for it that is the same for every child of this kind at this root: `ty-1a2b3c4d`.
    pub fn id(&self) -> String {
        use std::os::unix::ffi::OsStrExt;
        format!("{}-{}", self.kind, &sha256hex(self.root.as_os_str().as_bytes())[..8])
    }
}

/// A child that should take part, not yet started perhaps.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Which child.
    pub key: ChildKey,
    /// Its registry entry.
    pub server: Arc<Server>,
    /// Its program.
    pub program: Program,
}

impl Choice {
    /// Whether it stands in for those that aren't there.
    pub fn stands_in(&self) -> bool {
        self.server.role == Role::Fallback
    }

    /// Whether it only adds to another one.
    pub fn is_linter(&self) -> bool {
        self.server.role == Role::Linter
    }
}

/// Who takes part, and who should but can't.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// In the order they are asked.
    pub choices: Vec<Choice>,
    /// Why a language has no server.
    pub unavailable: Vec<Unavailable>,
    /// Languages for which a choice stands in.
    pub by_name: BTreeSet<String>,
    /// Who may stand in until a choice is ready.
    pub standbys: Vec<Choice>,
    /// Files of the workspace that one of the chosen servers serves; 0 in the plan of one file.
    pub served_files: usize,
}

impl Plan {
    /// The languages that these providers serve.
    pub fn languages_of(&self, providers: &[&Provider]) -> BTreeSet<String> {
        let is_one = |choice: &&Choice| providers.iter().any(|provider| provider.kind.as_str() == choice.key.kind);
        self.choices.iter().filter(is_one).flat_map(|choice| choice.server.languages.iter().cloned()).collect()
    }
}

/// A plan, or the looks for programs to wait for first.
pub type Planned<P = Plan> = Result<P, Vec<Looking>>;

/// The servers of one file.
pub fn plan_for_file(setup: &WorkspaceSetup, path: &Path, with_linters: bool) -> Planned {
    let mut waits = Vec::new();
    let mut plan = Plan::default();
    match setup.servers.index.language_of(path) {
        Some(language) => {
            let asking = Asking { setup, look: &Disk, with_linters, for_symbols: false };
            plan_language(&asking, language, path, &mut plan, &mut waits);
        }
        None => plan.unavailable.push(no_server()),
    }
    if waits.is_empty() { Ok(plan) } else { Err(waits) }
}

/// The servers of all languages that have files in the workspace. `files` are its source files, sorted. Without linters it is for
/// symbols: servers that know none are left out.
pub fn plan_for_workspace(setup: &WorkspaceSetup, files: &[PathBuf], with_linters: bool) -> Planned {
    let mut languages: BTreeMap<&str, (usize, BTreeMap<&Path, &Path>)> = BTreeMap::new();
    for file in files {
        if let (Some(language), Some(folder)) = (setup.servers.index.language_of(file), file.parent()) {
            let (count, folders) = languages.entry(language).or_default();
            *count += 1;
            folders.entry(folder).or_insert(file);
        }
    }
    // The language with the most files first: if nobody can answer, its server is the one to be named.
    let mut languages: Vec<_> = languages.into_iter().collect();
    languages.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    let mut waits = Vec::new();
    let mut plan = Plan::default();
    let asking = Asking { setup, look: &Glance::default(), with_linters, for_symbols: !with_linters };
    for (language, (_, folders)) in languages {
        for file in folders.into_values() {
            plan_language(&asking, language, file, &mut plan, &mut waits);
        }
    }
    if !waits.is_empty() {
        return Err(waits);
    }
    let own = plan.choices.iter().filter(|choice| !choice.stands_in());
    let served: BTreeSet<&String> = own.flat_map(|choice| &choice.server.languages).collect();
    let is_served = |file: &&PathBuf| {
        setup.servers.index.language_of(file).is_some_and(|language| served.iter().any(|id| *id == language))
    };
    plan.served_files = files.iter().filter(is_served).count();
    let mut seen = BTreeSet::new();
    plan.choices.retain(|choice| seen.insert(choice.key.clone()));
    plan.standbys.retain(|standby| seen.insert(standby.key.clone()));
    plan.choices.sort_by(|a, b| (a.is_linter(), &a.key).cmp(&(b.is_linter(), &b.key)));
    let mut named = BTreeSet::new();
    plan.unavailable.retain(|unavailable| named.insert(unavailable.kind.clone()));
    Ok(plan)
}

/// What a plan is made from.
struct Asking<'a> {
    setup: &'a WorkspaceSetup,
    look: &'a dyn Look,
    with_linters: bool,
    /// Whether symbols of the workspace are wanted.
    for_symbols: bool,
}

/// A program that is there, or still looked for.
enum Start {
    Now(Program),
    After(Looking),
}

fn plan_language(asking: &Asking<'_>, language: &str, path: &Path, plan: &mut Plan, waits: &mut Vec<Looking>) {
    let setup = asking.setup;
    let chooser = Chooser {
        registry: &setup.servers.registry,
        selection: &setup.selection,
        roots: setup.gate.root_set(),
        look: asking.look,
    };
    let mut available = |kind: &str, _: &Server, root: &Path| {
        let Some(server) = setup.servers.by_kind.get(kind) else { return Err(no_server()) };
        match setup.shared.programs.peek(kind, server, root) {
            Err(looking) => Ok(Start::After(looking)),
            Ok(found) => found.map(Start::Now),
        }
    };
    let mut missing: Option<Unavailable> = None;
    let mut taken = false;
    let mut nobody_misses = false;
    for one in chooser.consider(language, path, asking.with_linters, &mut available) {
        let is_primary = one.server.role == Role::Primary;
        let quirks = &one.server.quirks;
        if asking.for_symbols && (quirks.no_symbols || quirks.no_symbols_of.iter().any(|id| id == language)) {
            nobody_misses |= is_primary;
            continue;
        }
        match one.verdict {
            Verdict::Serves { root, program, .. } => {
                taken |= is_primary;
                let Some(server) = setup.servers.by_kind.get(one.kind).cloned() else { continue };
                match program {
                    Start::After(looking) => waits.push(looking),
                    Start::Now(program) => {
                        let key = ChildKey { kind: one.kind.to_owned(), root };
                        let choice = Choice { key, server, program };
                        if choice.stands_in() {
                            plan.by_name.insert(language.to_owned());
                        }
                        plan.choices.push(choice);
                    }
                }
            }
            Verdict::Later { .. } if one.server.role == Role::Fallback => {
                plan_standby(asking, one.kind, path, plan, waits);
            }
            Verdict::Unavailable { why, .. } if is_primary => missing = missing.or(Some(why)),
            _ => {}
        }
    }
    if !taken && !nobody_misses {
        plan.unavailable.push(missing.unwrap_or_else(no_server));
    }
}

/// Who may stand in until a language's own server is ready, if that is wanted.
fn plan_standby(asking: &Asking<'_>, kind: &str, path: &Path, plan: &mut Plan, waits: &mut Vec<Looking>) {
    let setup = asking.setup;
    let Some(server) = setup.servers.by_kind.get(kind).filter(|_| setup.selection.standby == Standby::UntilReady)
    else {
        return;
    };
    let placed = choosing::place(setup.gate.root_set(), &server.root, path, asking.look);
    let Some(Placed { root: ProjectRoot::At { root, .. }, within }) = placed else { return };
    match setup.shared.programs.peek(kind, server, &within) {
        Err(looking) => waits.push(looking),
        Ok(Ok(program)) => {
            let key = ChildKey { kind: kind.to_owned(), root };
            plan.standbys.push(Choice { key, server: server.clone(), program });
        }
        // Nobody misses it: the language has its own.
        Ok(Err(_)) => {}
    }
}

/// Whether `path` belongs to the child `key`: not to one of a project nested in its own.
pub fn is_own(setup: &WorkspaceSetup, server: &Server, key: &ChildKey, path: &Path) -> bool {
    let placed = choosing::place(setup.gate.root_set(), &server.root, path, &Disk);
    placed.is_some_and(|placed| matches!(placed.root, ProjectRoot::At { root, .. } if root == key.root))
}

/// Whether a change of this file's text may move files to another child.
pub fn may_move_roots(setup: &WorkspaceSetup, path: &Path) -> bool {
    setup.servers.by_kind.values().any(|server| server.root.reads(path))
}

/// No server is known for a kind of file.
pub fn no_server() -> Unavailable {
    Unavailable::new(
        "",
        "no_server",
        "no language server is known for this kind of file; add one to the configuration",
        "codeyard servers list",
    )
}
