//! Servers of other languages whose files may use the names of a document: `.vue`, `.svelte` and `.astro` files use the functions of TypeScript
//! modules, and the server of TypeScript doesn't know these files.
//!
//! A question about uses of a name is put to such a server too, if it answers about documents of that language. If it can't, or isn't available,
//! the answer names it. A server of `.vue` files can't be asked about a place in a `.svelte` file, although both may use one module, so it is named
//! too. Invariant: only a server with files in the project of the document counts.

use std::path::{Path, PathBuf};

use codeyard_lsp::registry::{
    LanguageIndex, MarkerFiles, ProjectRoot, Registry, ServerRole, ServerSelection, ServerSpec, place_file,
};
use codeyard_model::operation::{LspQuery, Operation};
use codeyard_model::query::{GatedQuery, Query};
use codeyard_model::roots::RootSet;

/// The reason of a server that can't be asked about the document.
pub const UNCOVERED: &str = "uncovered";

/// Whether the answer to a query includes uses of a name, which may be in files of other languages.
pub fn is_about_uses(query: &GatedQuery) -> bool {
    match query {
        Query::References { .. } => true,
        Query::Lsp(LspQuery { operation, .. }) => {
            matches!(operation, Operation::FindReferences | Operation::GoToImplementation | Operation::IncomingCalls)
        }
        _ => false,
    }
}

/// Whether some server uses names of documents of a language.
pub fn may_exist(registry: &Registry, language: &str) -> bool {
    registry.servers.values().any(|server| relation(registry, server, language).is_some())
}

/// Whether files of a language use names of documents of another one.
pub fn is_component(registry: &Registry, language: &str) -> bool {
    registry.servers.values().any(|server| server.uses.is_some() && server.languages.iter().any(|id| id == language))
}

/// How a server's files are related to documents of a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// They use names of such documents.
    UsesThem,
    /// They use names of the modules that such documents use too.
    UsesTheSame,
}

fn relation(registry: &Registry, server: &ServerSpec, language: &str) -> Option<Relation> {
    let used = server.uses.as_ref()?;
    if used.languages.iter().any(|id| id == language) {
        return Some(Relation::UsesThem);
    }
    let is_own = |other: &ServerSpec| other.languages.iter().any(|id| id == language);
    let shares = |other: &ServerSpec| {
        other.uses.as_ref().is_some_and(|theirs| theirs.languages.iter().any(|id| used.languages.contains(id)))
    };
    let is_related = !is_own(server) && registry.servers.values().any(|other| is_own(other) && shares(other));
    is_related.then_some(Relation::UsesTheSame)
}

/// A server whose files may use the names of a document.
pub struct Companion<'a> {
    pub kind: &'a str,
    /// The root of its project with the document.
    pub root: PathBuf,
    /// Whether it answers questions about the document.
    pub answers: bool,
    /// What its answer would add, as the reason why an answer without it isn't complete.
    pub uncovered: &'static str,
}

/// The workspace of a document, as far as its companions depend on it.
#[derive(Clone, Copy)]
pub struct CompanionSearch<'a> {
    pub registry: &'a Registry,
    pub index: &'a LanguageIndex,
    /// The servers that the workspace selects.
    pub selection: &'a ServerSelection,
    pub roots: &'a RootSet,
    /// The source files of the workspace.
    pub files: &'a [PathBuf],
    /// The view of the file system.
    pub markers: &'a dyn MarkerFiles,
}

impl<'a> CompanionSearch<'a> {
    /// The companions for the document `path` of `language`, by kind.
    pub fn find(self, language: &str, path: &Path) -> Vec<Companion<'a>> {
        let all = self.registry.servers.iter();
        all.filter_map(|(kind, server)| self.companion(kind, server, language, path)).collect()
    }

    fn companion(self, kind: &'a str, server: &ServerSpec, language: &str, path: &Path) -> Option<Companion<'a>> {
        let used = server.uses.as_ref()?;
        let relation = relation(self.registry, server, language)?;
        if server.disabled || self.selection.disabled.contains(kind) || server.role != ServerRole::Primary {
            return None;
        }
        let placed = place_file(self.roots, &server.root, path, self.markers)?;
        let ProjectRoot::At { root, .. } = placed.root else { return None };
        let uncovered = match relation {
            Relation::UsesThem => {
                "uses in files of this server's language aren't included; ask at a use in one of them"
            }
            Relation::UsesTheSame => {
                "uses in files of this server's language aren't included; ask where the name is declared, if that is in another file"
            }
        };
        let answers = used.answers && relation == Relation::UsesThem;
        let has_files = self.files.iter().any(|file| file.starts_with(&root) && self.index.serves(server, file));
        has_files.then_some(Companion { kind, root, answers, uncovered })
    }
}
