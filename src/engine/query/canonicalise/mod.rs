//! Row 9 of the way of a request: raw answers become one canonical result, through the gate, and each file in it is looked at on
//! disk. Blocking; large answers are canonicalised on the blocking pool.

mod agent;
mod raw_answers;

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::query::canonicalise::raw_answers::{document_symbols, hovers, locations, workspace_symbols};
use crate::query::collected::Collected;
use crate::query::known_files;
use crate::query::known_files::ObservedFile;
use crate::query::redact::redact;
use crate::status::server_state::Unavailable;
use codeyard_canon::{UriAdmission, UriGate};
use codeyard_files::gate::{BatchLookup, Gate, StampedAdmission};
use codeyard_lsp::convert::RawAnswer;
use codeyard_model::answer::{AnswerNotes, DeclaredSymbols, DiagnosticsCoverage};
use codeyard_model::diagnostic::RawFileDiagnostics;
use codeyard_model::error::ToolError;
use codeyard_model::limits;
use codeyard_model::limits::Limits;
use codeyard_model::query::{GatedQuery, Query};
use codeyard_model::uri::CanonicalUri;
use codeyard_paging::CanonicalResult;

/// A canonical result, and what was seen while it was made.
pub(crate) struct Canonicalised {
    /// The result.
    pub result: CanonicalResult,
    /// How each file in it looked on disk.
    pub observed: Vec<(CanonicalUri, ObservedFile)>,
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
    let mut recorder = GateRecorder { gate, batch: gate.batch_lookup(), observed: Vec::new(), outside: 0 };
    // That a language has no server at all is nobody's failure.
    let named = collected.passed_over.iter().filter(|unavailable| !unavailable.kind.is_empty());
    let mut passed_over: Vec<String> = named.map(Unavailable::to_note).collect();
    passed_over.sort_unstable();
    passed_over.dedup();
    let mut notes = AnswerNotes {
        passed_over,
        is_partial: collected.is_partial,
        truncated: collected.is_cut,
        by_name: collected.by_name.into_iter().collect(),
        ..AnswerNotes::default()
    };
    let (answers, by) = (collected.answers, collected.by);
    let unpaged = limits.max_items_nonpaged;
    let result = match query {
        Query::Definition { .. } => {
            let raw = locations(answers);
            let found = codeyard_canon::locations(raw, &mut recorder, limits::MAX_RAW_ITEMS, limits::MAX_RAW_ITEMS)?;
            CanonicalResult::definition(found, notes, unpaged)
        }
        Query::References { .. } => {
            let cap = limits.max_references_items_total;
            let found = codeyard_canon::locations(locations(answers), &mut recorder, limits::MAX_RAW_ITEMS_PAGED, cap)?;
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
            CanonicalResult::Declarations(DeclaredSymbols { by, symbols }, notes)
        }
        Query::WorkspaceSymbols { .. } => {
            let cap = limits.max_workspace_symbols_items_total;
            let found = codeyard_canon::workspace_symbols(
                workspace_symbols(answers),
                &mut recorder,
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
            let raw = raw.map(|file| redacted(file, gate));
            let own = raw.filter(|file| matches!(gate.admit(&file.uri), UriAdmission::Inside(of) if of == *uri));
            let found = codeyard_canon::diagnostics(uri, own.flat_map(|file| file.diagnostics).collect());
            CanonicalResult::document_diagnostics(uri.clone(), found, notes, unpaged)
        }
        Query::WorkspaceDiagnostics { .. } => {
            let raw = answers.into_iter().flat_map(|answer| match answer {
                RawAnswer::Diagnostics(files) => files,
                _ => vec![],
            });
            let raw: Vec<RawFileDiagnostics> = raw.map(|file| redacted(file, gate)).collect();
            let covered = raw.iter().map(|file| &file.uri).collect::<BTreeSet<_>>().len();
            let cap = limits.max_workspace_diagnostics_items_total;
            let found = codeyard_canon::workspace_diagnostics(raw, &mut recorder, cap, unpaged)?;
            notes.coverage = Some(DiagnosticsCoverage { covered: covered.min(source_files), total: source_files });
            CanonicalResult::workspace_diagnostics(found, notes)
        }
        // The index answers it, canonically.
        Query::Code(_) => return Err(ToolError::internal()),
        Query::Lsp(asked) => {
            CanonicalResult::Lsp(agent::canonical(asked, gate, &mut recorder, limits, answers, notes)?)
        }
    };
    Ok(Canonicalised { result, observed: recorder.observed, outside: recorder.outside })
}

fn redacted(mut file: RawFileDiagnostics, gate: &Gate) -> RawFileDiagnostics {
    for diagnostic in &mut file.diagnostics {
        if let Cow::Owned(text) = redact(&diagnostic.message, gate.root_set()) {
            diagnostic.message = text;
        }
    }
    file
}

/// The gate as `canon` sees it; remembers how each admitted file looks on disk.
struct GateRecorder<'a> {
    gate: &'a Gate,
    batch: BatchLookup<'a>,
    observed: Vec<(CanonicalUri, ObservedFile)>,
    outside: usize,
}

impl UriGate for GateRecorder<'_> {
    fn admit(&mut self, uri: &str) -> UriAdmission {
        match self.batch.admit(uri) {
            StampedAdmission::Outside => {
                self.outside += 1;
                UriAdmission::Outside
            }
            StampedAdmission::Missing => UriAdmission::Missing,
            StampedAdmission::Inside(uri, stamp) => match known_files::observed(self.gate, &uri, stamp) {
                Ok(observed) => {
                    self.observed.push((uri.clone(), observed));
                    UriAdmission::Inside(uri)
                }
                Err(_) => UriAdmission::Missing,
            },
        }
    }
}
