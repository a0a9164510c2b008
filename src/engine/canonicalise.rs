//! Row 9 of the way of a request: raw answers become one canonical result, through the gate, and each file in it is looked at on
//! disk. Blocking; large answers are canonicalised on the blocking pool.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::conceal::conceal;
use crate::found;
use crate::known_files::{self, Observed};
use crate::server_state::Unavailable;
use codeyard_base::ids::ServerKind;
use codeyard_canon::{Admission, UriGate};
use codeyard_files::gate::{Admitted, Gate, Seen, Visit};
use codeyard_lsp::convert::RawAnswer;
use codeyard_model::answer::{Coverage, Declared, Notes};
use codeyard_model::diagnostic::RawFileDiagnostics;
use codeyard_model::error::ToolError;
use codeyard_model::hover::Hover;
use codeyard_model::limits::{self, Limits};
use codeyard_model::position::RawLocation;
use codeyard_model::query::{GatedQuery, Query};
use codeyard_model::symbol::{RawDocumentSymbol, RawWorkspaceSymbol};
use codeyard_model::uri::CanonicalUri;
use codeyard_paging::CanonicalResult;

/// Raw answers of all providers that gave one, in the registry's order.
pub struct Collected {
    /// The answers.
    pub answers: Vec<RawAnswer>,
    /// Who gave the answer, where one server's counts.
    pub by: Option<ServerKind>,
    /// Who gave none, and why.
    pub passed_over: Vec<Unavailable>,
    /// Whether somebody gave none only because time ran out.
    pub is_partial: bool,
    /// Whether a server named as many as it ever does, and may know of more.
    pub is_cut: bool,
    /// Languages for which somebody who answered stands in.
    pub by_name: BTreeSet<String>,
    /// The call's error if nothing is found: those who answered can't say that there is nothing.
    pub if_nothing: Option<ToolError>,
}

impl Collected {
    /// All that there will be.
    pub fn whole(answers: Vec<RawAnswer>, passed_over: Vec<Unavailable>) -> Self {
        let by_name = BTreeSet::new();
        Self { answers, by: None, passed_over, is_partial: false, is_cut: false, by_name, if_nothing: None }
    }
}

/// A canonical result, and what was seen while it was made.
pub(crate) struct Canonicalised {
    /// The result.
    pub result: CanonicalResult,
    /// How each file in it looked on disk.
    pub observed: Vec<(CanonicalUri, Observed)>,
    /// Files that the gate left out because they lie outside the roots.
    pub outside: usize,
}

/// Row 9: gate, normalise, sort, dedup, cap.
pub(crate) fn canonicalise(
    query: &GatedQuery,
    gate: &Gate,
    limits: &Limits,
    collected: Collected,
    source_files: usize,
) -> Result<Canonicalised, ToolError> {
    let mut door = Door { gate, visit: gate.visit(), observed: Vec::new(), outside: 0 };
    // That a language has no server at all is nobody's failure.
    let named = collected.passed_over.iter().filter(|unavailable| !unavailable.kind.is_empty());
    let mut passed_over: Vec<String> = named.map(Unavailable::to_note).collect();
    passed_over.sort_unstable();
    passed_over.dedup();
    let mut notes = Notes {
        passed_over,
        is_partial: collected.is_partial,
        truncated: collected.is_cut,
        by_name: collected.by_name.into_iter().collect(),
        ..Notes::default()
    };
    let (answers, by) = (collected.answers, collected.by);
    let unpaged = limits.max_items_nonpaged;
    let result = match query {
        Query::Definition { .. } => {
            let raw = locations(answers);
            let found = codeyard_canon::locations(raw, &mut door, limits::MAX_RAW_ITEMS, limits::MAX_RAW_ITEMS)?;
            CanonicalResult::definition(found, notes, unpaged)
        }
        Query::References { .. } => {
            let cap = limits.max_references_items_total;
            let found = codeyard_canon::locations(locations(answers), &mut door, limits::MAX_RAW_ITEMS_PAGED, cap)?;
            CanonicalResult::references(found, notes)
        }
        Query::Hover { .. } => CanonicalResult::hover(codeyard_canon::hover(hovers(answers)), notes),
        Query::DocumentSymbols { uri } => {
            let found = codeyard_canon::document_symbols(uri, document_symbols(answers), limits::MAX_RAW_ITEMS)?;
            CanonicalResult::document_symbols(found, notes, unpaged)
        }
        Query::Declarations { .. } => {
            let by = by.ok_or_else(ToolError::internal)?;
            let symbols = codeyard_canon::outline(document_symbols(answers), limits::MAX_RAW_ITEMS)?.into();
            CanonicalResult::Declarations(Declared { by, symbols }, notes)
        }
        Query::WorkspaceSymbols { .. } => {
            let cap = limits.max_workspace_symbols_items_total;
            let found = codeyard_canon::workspace_symbols(
                workspace_symbols(answers),
                &mut door,
                limits::MAX_RAW_ITEMS_PAGED,
                cap,
            )?;
            CanonicalResult::workspace_symbols(found, notes)
        }
        Query::DocumentDiagnostics { uri } => {
            let raw = answers.into_iter().flat_map(|answer| match answer {
                RawAnswer::Diagnostics(files) => files,
                _ => vec![],
            });
            let raw = raw.map(|file| concealed(file, gate));
            let own = raw.filter(|file| matches!(gate.admit(&file.uri), Admitted::Inside(of) if of == *uri));
            let found = codeyard_canon::diagnostics(uri, own.flat_map(|file| file.diagnostics).collect());
            CanonicalResult::document_diagnostics(uri.clone(), found, notes, unpaged)
        }
        Query::WorkspaceDiagnostics { .. } => {
            let raw = answers.into_iter().flat_map(|answer| match answer {
                RawAnswer::Diagnostics(files) => files,
                _ => vec![],
            });
            let raw: Vec<RawFileDiagnostics> = raw.map(|file| concealed(file, gate)).collect();
            let covered = raw.iter().map(|file| &file.uri).collect::<BTreeSet<_>>().len();
            let cap = limits.max_workspace_diagnostics_items_total;
            let found = codeyard_canon::workspace_diagnostics(raw, &mut door, cap, unpaged)?;
            notes.coverage = Some(Coverage { covered: covered.min(source_files), total: source_files });
            CanonicalResult::workspace_diagnostics(found, notes)
        }
        // The index answers it, canonically.
        Query::Code(_) => return Err(ToolError::internal()),
        Query::Lsp(asked) => CanonicalResult::Lsp(found::canonical(asked, gate, &mut door, limits, answers, notes)?),
    };
    Ok(Canonicalised { result, observed: door.observed, outside: door.outside })
}

fn concealed(mut file: RawFileDiagnostics, gate: &Gate) -> RawFileDiagnostics {
    for diagnostic in &mut file.diagnostics {
        if let Cow::Owned(text) = conceal(&diagnostic.message, gate.root_set()) {
            diagnostic.message = text;
        }
    }
    file
}

/// The gate as `canon` sees it; remembers how each admitted file looks on disk.
struct Door<'a> {
    gate: &'a Gate,
    visit: Visit<'a>,
    observed: Vec<(CanonicalUri, Observed)>,
    outside: usize,
}

impl UriGate for Door<'_> {
    fn admit(&mut self, uri: &str) -> Admission {
        match self.visit.admit(uri) {
            Seen::Outside => {
                self.outside += 1;
                Admission::Outside
            }
            Seen::Missing => Admission::Missing,
            Seen::Inside(uri, stamp) => match known_files::observed(self.gate, &uri, stamp) {
                Ok(observed) => {
                    self.observed.push((uri.clone(), observed));
                    Admission::Inside(uri)
                }
                Err(_) => Admission::Missing,
            },
        }
    }
}

pub(super) fn locations(answers: Vec<RawAnswer>) -> Vec<RawLocation> {
    let lists = answers.into_iter().map(|answer| match answer {
        RawAnswer::Locations(list) => list,
        _ => vec![],
    });
    lists.flatten().collect()
}

pub(super) fn document_symbols(answers: Vec<RawAnswer>) -> Vec<RawDocumentSymbol> {
    let lists = answers.into_iter().map(|answer| match answer {
        RawAnswer::DocumentSymbols(list) => list,
        _ => vec![],
    });
    lists.flatten().collect()
}

pub(super) fn workspace_symbols(answers: Vec<RawAnswer>) -> Vec<RawWorkspaceSymbol> {
    let lists = answers.into_iter().map(|answer| match answer {
        RawAnswer::WorkspaceSymbols(list) => list,
        _ => vec![],
    });
    lists.flatten().collect()
}

pub(super) fn hovers(answers: Vec<RawAnswer>) -> Vec<Hover> {
    let hovers = answers.into_iter().filter_map(|answer| match answer {
        RawAnswer::Hover(hover) => hover,
        _ => None,
    });
    hovers.collect()
}
