//! Decides which servers serve a file, from which project root, and why the others don't.
//!
//! This is the only place that decides it, for the engine and for the doctor. It starts nothing. The caller says
//! which programs are available, and is only asked where the answer matters. Invariant: of the alternatives of a
//! language at most one serves a file: the first that has a project root for the file and can be started.

use std::path::{Path, PathBuf};

use super::marker_files::MarkerFiles;
use super::project_root::{ProjectRoot, RootReason, project_root};
use super::schema::{Registry, RootRule, ServerRole, ServerSpec};
use super::selection::ServerSelection;
use codeyard_model::roots::RootSet;

/// Everything that the decision depends on.
#[derive(Clone, Copy)]
pub struct ServerChooser<'a> {
    pub registry: &'a Registry,
    /// The user's selection among its servers.
    pub selection: &'a ServerSelection,
    /// The roots of the workspace.
    pub roots: &'a RootSet,
    /// The view of the file system.
    pub files: &'a dyn MarkerFiles,
}

/// A kind of server that supports the file's language, with the decision about it.
#[derive(Debug)]
pub struct ConsideredServer<'a, P, W> {
    pub kind: &'a str,
    pub server: &'a ServerSpec,
    pub verdict: ServerVerdict<P, W>,
}

/// The decision about a kind.
#[derive(Debug, PartialEq, Eq)]
pub enum ServerVerdict<P, W> {
    /// It serves the file.
    Serves {
        root: PathBuf,
        /// Why the root was chosen.
        by: RootReason,
        /// The caller's value for its program.
        program: P,
    },
    /// It would serve the file, but can't be started.
    Unavailable {
        root: PathBuf,
        /// Why the root was chosen.
        by: RootReason,
        /// Why it can't be started.
        why: W,
    },
    /// A marker shows that the file belongs to another server.
    Excluded {
        by: PathBuf,
    },
    /// It runs only where one of its markers is, and there is none.
    NoMarker,
    /// Another alternative precedes it.
    Later {
        /// That alternative's kind.
        first: String,
    },
    Disabled,
    /// It is off unless the user selects it.
    OffByDefault,
    /// The user selected another alternative.
    NotChosen,
}

/// The project that a rule assigns a file to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectPlacement {
    pub root: ProjectRoot,
    /// The workspace root that was searched.
    pub within: PathBuf,
}

impl<'a> ServerChooser<'a> {
    /// All kinds of `language` for a file, in order of preference: alternatives, fallbacks, linters, then those that
    /// are off. `available` returns whether a kind's program can be started for a workspace with the given root.
    /// Linters are included only if `with_linters`.
    pub fn consider<P, W>(
        &self,
        language: &str,
        file: &Path,
        with_linters: bool,
        available: &mut dyn FnMut(&str, &ServerSpec, &Path) -> Result<P, W>,
    ) -> Vec<ConsideredServer<'a, P, W>> {
        let candidates = self.registry.candidates(language, self.selection);
        let known = |kind: &String| self.registry.servers.get_key_value(kind);
        let mut found = Vec::new();
        let mut first: Option<&str> = None;
        for (kind, server) in candidates.primary.iter().chain(&candidates.fallbacks).filter_map(known) {
            let verdict = match first {
                Some(first) => ServerVerdict::Later { first: first.to_owned() },
                None => self.decide(kind, server, file, available),
            };
            if matches!(verdict, ServerVerdict::Serves { .. }) {
                first = Some(kind);
            }
            found.push(ConsideredServer { kind, server, verdict });
        }
        for (kind, server) in candidates.linters.iter().filter(|_| with_linters).filter_map(known) {
            found.push(ConsideredServer { kind, server, verdict: self.decide(kind, server, file, available) });
        }
        let all = || candidates.primary.iter().chain(&candidates.linters).chain(&candidates.fallbacks);
        let considered = |kind: &str| all().any(|other| other == kind);
        for kind in self.registry.servers_for(language).into_iter().filter(|kind| !considered(kind)) {
            if let Some((kind, server)) = self.registry.servers.get_key_value(kind) {
                found.push(ConsideredServer { kind, server, verdict: self.reason_for_off(kind, server) });
            }
        }
        found.retain(|one| with_linters || one.server.role != ServerRole::Linter);
        found
    }

    fn decide<P, W>(
        &self,
        kind: &str,
        server: &ServerSpec,
        file: &Path,
        available: &mut dyn FnMut(&str, &ServerSpec, &Path) -> Result<P, W>,
    ) -> ServerVerdict<P, W> {
        let Some(placement) = place_file(self.roots, &server.root, file, self.files) else {
            return ServerVerdict::NoMarker;
        };
        match placement.root {
            ProjectRoot::At { root, by } => match available(kind, server, &placement.within) {
                Ok(program) => ServerVerdict::Serves { root, by, program },
                Err(why) => ServerVerdict::Unavailable { root, by, why },
            },
            ProjectRoot::Excluded { by } => ServerVerdict::Excluded { by },
            ProjectRoot::NoMarker => ServerVerdict::NoMarker,
        }
    }

    fn reason_for_off<P, W>(&self, kind: &str, server: &ServerSpec) -> ServerVerdict<P, W> {
        if self.selection.disabled.contains(kind) || server.role == ServerRole::Fallback {
            ServerVerdict::Disabled
        } else if server.disabled && !self.selection.chosen.iter().any(|chosen| chosen == kind) {
            ServerVerdict::OffByDefault
        } else {
            ServerVerdict::NotChosen
        }
    }
}

/// The project that `rule` assigns a file to; `None` if there are no roots. A file outside all roots (in an extra
/// root) belongs to the first root: no server starts in an extra root, and its markers don't count.
pub fn place_file(roots: &RootSet, rule: &RootRule, file: &Path, files: &dyn MarkerFiles) -> Option<ProjectPlacement> {
    let (within, file) = match roots.root_of(file) {
        Some(root) => (root, file),
        None => roots.roots().first().map(|first| (first.as_path(), first.as_path()))?,
    };
    Some(ProjectPlacement { root: project_root(file, within, rule, files), within: within.to_path_buf() })
}

#[cfg(test)]
mod tests;
