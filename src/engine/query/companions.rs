//! Servers of other languages whose files may use the names of a document: `.vue`, `.svelte` and `.astro` files use the functions of TypeScript
//! modules, and the server of TypeScript doesn't know these files.
//!
//! A question about uses of a name is put to such a server too, if it answers about documents of that language. If it can't, or isn't available,
//! the answer names it. A server of `.vue` files can't be asked about a place in a `.svelte` file, although both may use one module, so it is named
//! too. Invariant: only a server with files in the project of the document counts.

use std::path::{Path, PathBuf};

use crate::query::plan::{Choice, PlanContext, ProgramState, program};
use crate::server::program::programs::PendingLookup;
use crate::server::registry::IndexedRegistry;
use crate::status::server_state::Unavailable;
use codeyard_lsp::registry::{MarkerFiles, ProjectRoot, ServerRole, ServerSpec, place_file};
use codeyard_model::operation::{LspQuery, Operation};
use codeyard_model::query::{GatedQuery, Query};

/// The reason of a server that can't be asked about the document.
pub(crate) const UNCOVERED: &str = "uncovered";

/// Whether the answer to a query includes uses of a name, which may be in files of other languages.
pub(crate) fn is_about_uses(query: &GatedQuery) -> bool {
    match query {
        Query::References { .. } => true,
        Query::Lsp(LspQuery { operation, .. }) => {
            matches!(operation, Operation::FindReferences | Operation::GoToImplementation | Operation::IncomingCalls)
        }
        _ => false,
    }
}

/// Whether some server uses names of documents of a language.
pub(crate) fn may_exist(servers: &IndexedRegistry, language: &str) -> bool {
    servers.by_kind.values().any(|server| relation(servers, server, language).is_some())
}

/// Whether files of a language use names of documents of another one.
pub(crate) fn is_component(servers: &IndexedRegistry, language: &str) -> bool {
    servers.by_kind.values().any(|server| server.uses.is_some() && server.languages.iter().any(|id| id == language))
}

/// How a server's files are related to documents of a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// They use names of such documents.
    UsesThem,
    /// They use names of the modules that such documents use too.
    UsesTheSame,
}

fn relation(servers: &IndexedRegistry, server: &ServerSpec, language: &str) -> Option<Relation> {
    let used = server.uses.as_ref()?;
    if used.languages.iter().any(|id| id == language) {
        return Some(Relation::UsesThem);
    }
    let is_own = |other: &ServerSpec| other.languages.iter().any(|id| id == language);
    let shares = |other: &ServerSpec| {
        other.uses.as_ref().is_some_and(|theirs| theirs.languages.iter().any(|id| used.languages.contains(id)))
    };
    let is_related = !is_own(server) && servers.by_kind.values().any(|other| is_own(other) && shares(other));
    is_related.then_some(Relation::UsesTheSame)
}

/// The companions for documents of a language, and the reasons why others can't be asked.
#[derive(Debug, Clone, Default)]
pub struct Companions {
    /// The servers that are asked too.
    pub choices: Vec<Choice>,
    /// Why others aren't.
    pub uncovered: Vec<Unavailable>,
}

/// The companions for the document `path` of `language`. `files` are the source files of the workspace. Program lookups in progress are added to
/// `waits`.
pub(crate) fn find(
    setup: PlanContext<'_>,
    (language, path): (&str, &Path),
    files: &[PathBuf],
    markers: &dyn MarkerFiles,
    waits: &mut Vec<PendingLookup>,
) -> Companions {
    let mut found = Companions::default();
    for (kind, server) in &setup.servers.by_kind {
        let (Some(used), Some(relation)) = (&server.uses, relation(setup.servers, server, language)) else { continue };
        let is_off = server.disabled || setup.selection.disabled.contains(kind) || server.role != ServerRole::Primary;
        let Some(placed) = place_file(setup.roots, &server.root, path, markers).filter(|_| !is_off) else { continue };
        let ProjectRoot::At { root, .. } = placed.root else { continue };
        let is_own = |file: &&PathBuf| file.starts_with(&root) && setup.servers.serves(server, file);
        if !files.iter().any(|file| is_own(&file)) {
            continue;
        }
        let uncovered = |command: &str| {
            let message = match relation {
                Relation::UsesThem => {
                    "uses in files of this server's language aren't included; ask at a use in one of them"
                }
                Relation::UsesTheSame => {
                    "uses in files of this server's language aren't included; ask where the name is declared, if that is in another file"
                }
            };
            Unavailable::new(kind, UNCOVERED, message, command)
        };
        if !used.answers || relation == Relation::UsesTheSame {
            found.uncovered.push(uncovered("codeyard doctor"));
            continue;
        }
        match program(setup, kind, server, &root) {
            Ok(ProgramState::Pending(lookup)) => waits.push(lookup),
            Ok(ProgramState::Found(program)) => {
                let choice = setup.choice(kind, server, program, root);
                found.choices.push(Choice { is_companion: true, ..choice });
            }
            Err(why) => found.uncovered.push(uncovered(&why.command)),
        }
    }
    found
}
