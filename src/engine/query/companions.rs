//! The companions of a plan: the servers of other languages that are asked about a document's names too, with their programs.
//!
//! `codeyard_complete::companions` decides which servers count. One whose program isn't there is named as one that can't be asked.

use std::path::{Path, PathBuf};

use crate::query::plan::{Choice, PlanContext, ProgramState, program};
use crate::server::program::programs::PendingLookup;
use crate::status::server_state::Unavailable;
use codeyard_complete::companions::{CompanionSearch, UNCOVERED};
use codeyard_lsp::registry::MarkerFiles;

/// The companions for a document, and the reasons why others can't be asked.
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
    language: &str,
    path: &Path,
    files: &[PathBuf],
    markers: &dyn MarkerFiles,
    waits: &mut Vec<PendingLookup>,
) -> Companions {
    let PlanContext { servers, selection, roots, .. } = setup;
    let search =
        CompanionSearch { registry: &servers.registry, index: &servers.index, selection, roots, files, markers };
    let mut found = Companions::default();
    for companion in search.find(language, path) {
        let kind = companion.kind;
        let uncovered = |command: &str| Unavailable::new(kind, UNCOVERED, companion.uncovered, command);
        let server = servers.by_kind.get(kind).filter(|_| companion.answers);
        match server.map(|server| (server, program(setup, kind, server, &companion.root))) {
            None => found.uncovered.push(uncovered("codeyard doctor")),
            Some((_, Ok(ProgramState::Pending(lookup)))) => waits.push(lookup),
            Some((server, Ok(ProgramState::Found(program)))) => {
                let choice = setup.choice(kind, server, program, companion.root);
                found.choices.push(Choice { is_companion: true, ..choice });
            }
            Some((_, Err(why))) => found.uncovered.push(uncovered(&why.command)),
        }
    }
    found
}
