//! Choosing: which servers serve a file, from which project root, and why not the others. The one place that decides it, for the
//! engine, which starts them, and for the doctor, which tells.
//!
//! It starts nothing. What is there to be started is asked of the caller, and only where the answer can matter.
//! Invariant: of the alternatives of a language at most one serves a file: the first that has a project root for it and can be
//! started.

use std::path::{Path, PathBuf};

use super::marker_files::MarkerFiles;
use super::project_root::{ProjectRoot, RootReason, project_root};
use super::schema::{Registry, RootRule, ServerRole, ServerSpec};
use super::selection::ServerSelection;
use codeyard_model::roots::RootSet;

/// What choices are made from.
#[derive(Clone, Copy)]
pub struct ServerChooser<'a> {
    /// The registry.
    pub registry: &'a Registry,
    /// What was chosen among its servers.
    pub selection: &'a ServerSelection,
    /// The roots of the workspace.
    pub roots: &'a RootSet,
    /// How the disk is seen.
    pub files: &'a dyn MarkerFiles,
}

/// One kind of server that knows the file's language.
#[derive(Debug)]
pub struct ConsideredServer<'a, P, W> {
    /// The kind.
    pub kind: &'a str,
    /// Its registry entry.
    pub server: &'a ServerSpec,
    /// What becomes of it.
    pub verdict: ServerVerdict<P, W>,
}

/// What becomes of a kind.
#[derive(Debug, PartialEq, Eq)]
pub enum ServerVerdict<P, W> {
    /// It serves the file.
    Serves {
        /// Its project root.
        root: PathBuf,
        /// What made it that.
        by: RootReason,
        /// What the caller knows of its program.
        program: P,
    },
    /// It would serve the file, but can't be started.
    Unavailable {
        /// Its project root.
        root: PathBuf,
        /// What made it that.
        by: RootReason,
        /// Why not.
        why: W,
    },
    /// A marker says that another server is meant.
    Excluded {
        /// The marker.
        by: PathBuf,
    },
    /// It runs only where one of its markers is, and there is none.
    NoMarker,
    /// An alternative comes first.
    Later {
        /// Its kind.
        first: String,
    },
    /// The configuration says never to start it.
    Disabled,
    /// It is off unless it is chosen.
    OffByDefault,
    /// Another alternative was chosen.
    NotChosen,
}

/// Where a rule puts a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectPlacement {
    /// Its project root.
    pub root: ProjectRoot,
    /// The workspace root it was looked for in.
    pub within: PathBuf,
}

impl<'a> ServerChooser<'a> {
    /// All kinds of `language` for a file, in the order of choice: alternatives, fallbacks, linters, then those that are off.
    /// `available` says whether a kind's program can be started for a workspace with this root. Without linters nothing is said
    /// of them.
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
                None => self.judge(kind, server, file, available),
            };
            if matches!(verdict, ServerVerdict::Serves { .. }) {
                first = Some(kind);
            }
            found.push(ConsideredServer { kind, server, verdict });
        }
        for (kind, server) in candidates.linters.iter().filter(|_| with_linters).filter_map(known) {
            found.push(ConsideredServer { kind, server, verdict: self.judge(kind, server, file, available) });
        }
        let all = || candidates.primary.iter().chain(&candidates.linters).chain(&candidates.fallbacks);
        let considered = |kind: &str| all().any(|other| other == kind);
        for kind in self.registry.servers_for(language).into_iter().filter(|kind| !considered(kind)) {
            if let Some((kind, server)) = self.registry.servers.get_key_value(kind) {
                found.push(ConsideredServer { kind, server, verdict: self.off(kind, server) });
            }
        }
        found.retain(|one| with_linters || one.server.role != ServerRole::Linter);
        found
    }

    fn judge<P, W>(
        &self,
        kind: &str,
        server: &ServerSpec,
        file: &Path,
        available: &mut dyn FnMut(&str, &ServerSpec, &Path) -> Result<P, W>,
    ) -> ServerVerdict<P, W> {
        let Some(placed) = place_file(self.roots, &server.root, file, self.files) else {
            return ServerVerdict::NoMarker;
        };
        match placed.root {
            ProjectRoot::At { root, by } => match available(kind, server, &placed.within) {
                Ok(program) => ServerVerdict::Serves { root, by, program },
                Err(why) => ServerVerdict::Unavailable { root, by, why },
            },
            ProjectRoot::Excluded { by } => ServerVerdict::Excluded { by },
            ProjectRoot::NoMarker => ServerVerdict::NoMarker,
        }
    }

    fn off<P, W>(&self, kind: &str, server: &ServerSpec) -> ServerVerdict<P, W> {
        if self.selection.disabled.contains(kind) || server.role == ServerRole::Fallback {
            ServerVerdict::Disabled
        } else if server.disabled && !self.selection.chosen.iter().any(|chosen| chosen == kind) {
            ServerVerdict::OffByDefault
        } else {
            ServerVerdict::NotChosen
        }
    }
}

/// Where `rule` puts a file; nothing if there are no roots. A file in no root (an extra root's) belongs to the first root: no
/// server is started in extra roots, and no marker there counts.
pub fn place_file(roots: &RootSet, rule: &RootRule, file: &Path, files: &dyn MarkerFiles) -> Option<ProjectPlacement> {
    let (within, file) = match roots.root_of(file) {
        Some(root) => (root, file),
        None => roots.roots().first().map(|first| (first.as_path(), first.as_path()))?,
    };
    Some(ProjectPlacement { root: project_root(file, within, rule, files), within: within.to_path_buf() })
}

#[cfg(test)]
mod tests;
