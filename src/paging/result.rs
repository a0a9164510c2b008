//! The complete canonical result of one query, as it is retained. One variant per tool.
//!
//! Invariant: every list comes from a [`Canonical`], so it is gated, sorted and deduplicated; lists without paging are cut here,
//! once, and keep their original length.

use codeyard_canon::Canonical;
use codeyard_model::answer::{AnswerNotes, CappedList, DeclaredSymbols};
use codeyard_model::coverage::AnswerScope;
use codeyard_model::diagnostic::{Diagnostic, FileDiagnostics};
use codeyard_model::hover::Hover;
use codeyard_model::lsp_items::{LspItems, ResultPaths};
use codeyard_model::operation::{self, Operation, PageStyle};
use codeyard_model::position::Location;
use codeyard_model::query::tools;
use codeyard_model::symbol::{DocumentSymbol, InFile, WorkspaceSymbol};
use codeyard_model::uri::CanonicalUri;

use super::output;

/// A complete list from which pages are cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullList<T> {
    pub items: Vec<T>,
    pub notes: AnswerNotes,
}

/// The complete result of a query of the tool `lsp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LspResult {
    pub operation: Operation,
    /// The title of every page.
    pub title: String,
    pub found: LspItems,
    pub notes: AnswerNotes,
    /// What compact lines name files by.
    pub paths: ResultPaths,
}

/// A canonical result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CanonicalResult {
    Definition(CappedList<Location>),
    References(FullList<Location>),
    Hover(Hover, AnswerNotes),
    DocumentSymbols(CappedList<DocumentSymbol>),
    WorkspaceSymbols(FullList<WorkspaceSymbol>),
    DocumentDiagnostics(CanonicalUri, CappedList<Diagnostic>),
    WorkspaceDiagnostics(FullList<FileDiagnostics>),
    Declarations(DeclaredSymbols, AnswerNotes),
    /// Of the tool `lsp`.
    Lsp(LspResult),
}

impl CanonicalResult {
    /// Definitions, cut to `max_items`. This and the other constructors set `notes.outside` from the list.
    pub fn definition(found: Canonical<Location>, notes: AnswerNotes, max_items: usize) -> Self {
        Self::Definition(cut(found, notes, max_items))
    }

    /// References, all of them.
    pub fn references(found: Canonical<Location>, notes: AnswerNotes) -> Self {
        Self::References(full(found, notes))
    }

    /// A hover from [`codeyard_canon::hover`] and whether it was truncated.
    pub fn hover(mut hover: Hover, truncated: bool, notes: AnswerNotes) -> Self {
        hover.contents.shrink_to_fit();
        Self::Hover(hover, AnswerNotes { truncated, ..notes })
    }

    /// A document's symbols, cut to `max_items`.
    pub fn document_symbols(found: Canonical<DocumentSymbol>, notes: AnswerNotes, max_items: usize) -> Self {
        Self::DocumentSymbols(cut(found, notes, max_items))
    }

    /// The workspace's symbols, all of them. Those outside the roots aren't counted: which of them a server knows depends on what it was
    /// asked before.
    pub fn workspace_symbols(found: Canonical<WorkspaceSymbol>, notes: AnswerNotes) -> Self {
        Self::WorkspaceSymbols(uncounted(full(found, notes)))
    }

    /// The diagnostics of `uri`, cut to `max_items`.
    pub fn document_diagnostics(
        uri: CanonicalUri,
        found: Canonical<Diagnostic>,
        notes: AnswerNotes,
        max_items: usize,
    ) -> Self {
        Self::DocumentDiagnostics(uri, cut(found, notes, max_items))
    }

    /// Diagnostics of the workspace from [`codeyard_canon::workspace_diagnostics`], with the number of files cut. Files outside the roots
    /// aren't counted, as with symbols.
    pub fn workspace_diagnostics(found: Canonical<FileDiagnostics>, cut: usize, notes: AnswerNotes) -> Self {
        Self::WorkspaceDiagnostics(uncounted(full(found, AnswerNotes { truncated_files: cut, ..notes })))
    }

    /// The canonical name of the result's tool.
    pub fn tool(&self) -> &'static str {
        match self {
            Self::Definition(_) => tools::DEFINITION,
            Self::References(_) => tools::REFERENCES,
            Self::Hover(..) => tools::HOVER,
            Self::DocumentSymbols(_) => tools::DOCUMENT_SYMBOLS,
            Self::WorkspaceSymbols(_) => tools::WORKSPACE_SYMBOLS,
            Self::DocumentDiagnostics(..) => tools::DOCUMENT_DIAGNOSTICS,
            Self::WorkspaceDiagnostics(_) => tools::WORKSPACE_DIAGNOSTICS,
            Self::Declarations(..) => tools::DECLARATIONS,
            Self::Lsp(_) => operation::TOOL,
        }
    }

    /// Whether answers are pages of this result.
    pub fn is_paged(&self) -> bool {
        matches!(self, Self::References(_) | Self::WorkspaceSymbols(_) | Self::WorkspaceDiagnostics(_) | Self::Lsp(_))
    }

    /// The notes for the summary.
    pub fn notes(&self) -> &AnswerNotes {
        match self {
            Self::Definition(list) => &list.notes,
            Self::References(full) => &full.notes,
            Self::Hover(_, notes) | Self::Declarations(_, notes) => notes,
            Self::DocumentSymbols(list) => &list.notes,
            Self::WorkspaceSymbols(full) => &full.notes,
            Self::DocumentDiagnostics(_, list) => &list.notes,
            Self::WorkspaceDiagnostics(full) => &full.notes,
            Self::Lsp(result) => &result.notes,
        }
    }

    /// The same, to change them.
    pub fn notes_mut(&mut self) -> &mut AnswerNotes {
        match self {
            Self::Definition(list) => &mut list.notes,
            Self::References(full) => &mut full.notes,
            Self::Hover(_, notes) | Self::Declarations(_, notes) => notes,
            Self::DocumentSymbols(list) => &mut list.notes,
            Self::WorkspaceSymbols(full) => &mut full.notes,
            Self::DocumentDiagnostics(_, list) => &mut list.notes,
            Self::WorkspaceDiagnostics(full) => &mut full.notes,
            Self::Lsp(result) => &mut result.notes,
        }
    }

    /// If all entries are in the document of the question ([`Self::mark_own_document`]), leaves out the providers that were skipped for `reason`.
    pub fn drop_skipped_in_own_document(&mut self, reason: &str) {
        let notes = match self {
            Self::Definition(list) => &mut list.notes,
            Self::References(full) => &mut full.notes,
            Self::Lsp(result) => &mut result.notes,
            _ => return,
        };
        if notes.known_files.scope == AnswerScope::OwnDocument {
            notes.skipped_providers.retain(|skipped| !skipped.ends_with(&format!(": {reason}")));
        }
    }

    /// Marks the answer as one whose entries are all in `document`, if it is one of places: an import that can't be resolved may be why.
    pub fn mark_own_document(&mut self, document: &CanonicalUri) {
        let is_own = |uri: &CanonicalUri| uri == document;
        let (stays, notes) = match self {
            Self::Definition(list) => (list.items.iter().all(|item| is_own(&item.uri)), &mut list.notes),
            Self::References(full) => (full.items.iter().all(|item| is_own(&item.uri)), &mut full.notes),
            Self::Lsp(LspResult { found: LspItems::Locations(places), notes, .. }) => {
                (places.iter().all(|place| is_own(&place.uri)), notes)
            }
            _ => return,
        };
        if stays {
            notes.known_files.scope = AnswerScope::OwnDocument;
        }
    }

    /// The distinct files on the page of `size` entries from `offset`, sorted. They must be compared with the disk before the
    /// page is served. All files of an unpaged result; none if only the query's own document matters.
    pub fn files_on_page(&self, offset: u64, size: usize, style: PageStyle) -> Vec<CanonicalUri> {
        match self {
            Self::Definition(list) => files(&list.items),
            Self::References(full) => files(slice(&full.items, offset, size)),
            Self::WorkspaceSymbols(full) => files(slice(&full.items, offset, size)),
            Self::WorkspaceDiagnostics(full) => files(slice(&full.items, offset, size)),
            Self::DocumentDiagnostics(uri, _) => vec![uri.clone()],
            Self::Lsp(result) => files_found(result, offset, size, style),
            Self::Hover(..) | Self::DocumentSymbols(_) | Self::Declarations(..) => Vec::new(),
        }
    }
}

/// The entries of the page; none past the end.
pub(super) fn slice<T>(items: &[T], offset: u64, size: usize) -> &[T] {
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(items.len());
    &items[start..start.saturating_add(size).min(items.len())]
}

fn full<T>(found: Canonical<T>, notes: AnswerNotes) -> FullList<T> {
    let notes = AnswerNotes { outside: found.outside(), ..notes };
    let mut items = found.into_items();
    items.shrink_to_fit();
    FullList { items, notes }
}

fn uncounted<T>(mut list: FullList<T>) -> FullList<T> {
    list.notes.outside = 0;
    list
}

fn cut<T>(found: Canonical<T>, notes: AnswerNotes, max_items: usize) -> CappedList<T> {
    let FullList { mut items, notes } = full(found, notes);
    let total = items.len();
    items.truncate(max_items);
    items.shrink_to_fit();
    CappedList { items, total, notes }
}

fn files_found(result: &LspResult, offset: u64, size: usize, style: PageStyle) -> Vec<CanonicalUri> {
    let size = output::page_cut(result, usize::try_from(offset).unwrap_or(usize::MAX), size, style).length;
    let mut uris: Vec<CanonicalUri> = match &result.found {
        LspItems::Locations(list) => slice(list, offset, size).iter().map(|place| place.uri.clone()).collect(),
        LspItems::Hover(_) | LspItems::Outline(_) => return Vec::new(),
        LspItems::Symbols(list) => slice(list, offset, size).iter().map(|symbol| symbol.location.uri.clone()).collect(),
        LspItems::CallItems(list) => slice(list, offset, size).iter().map(|item| item.uri.clone()).collect(),
        LspItems::Incoming(list) => slice(list, offset, size).iter().map(|call| call.from.uri.clone()).collect(),
        LspItems::Outgoing(list) => {
            let callees = slice(list, offset, size).iter().map(|call| call.to.uri.clone());
            // The source lines of the calls come from there.
            callees.chain(result.paths.calls_in.clone()).collect()
        }
    };
    uris.sort_unstable();
    uris.dedup();
    uris
}

fn files<T: InFile>(items: &[T]) -> Vec<CanonicalUri> {
    // Canonical lists are ordered by URI, so equal files are adjacent.
    let mut files: Vec<CanonicalUri> = items.iter().map(|item| item.file().clone()).collect();
    files.dedup();
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_canon::testing::FakeGate;
    use codeyard_model::diagnostic::{RawDiagnostic, RawFileDiagnostics};
    use codeyard_model::position::{Range, RawLocation};

    #[test]
    fn constructors_take_over_what_was_left_out() {
        let hover = CanonicalResult::hover(Hover::default(), true, AnswerNotes::default());
        assert_eq!((hover.notes().truncated, hover.tool()), (true, tools::HOVER));
        let diagnostic = |line| RawDiagnostic {
            range: Range::new(line, 0, line, 1),
            severity: None,
            code: None,
            source: None,
            message: "m".into(),
        };
        let files = ["file:///w/a", "file:///x/out"]
            .map(|uri| RawFileDiagnostics { uri: uri.into(), diagnostics: vec![diagnostic(1), diagnostic(2)] });
        let (found, cut) =
            codeyard_canon::workspace_diagnostics(files.to_vec(), &mut FakeGate::default(), 9, 1).unwrap();
        let all = CanonicalResult::workspace_diagnostics(found, cut, AnswerNotes::default());
        assert_eq!((all.notes().truncated_files, all.notes().outside), (1, 0), "files outside aren't counted");
        let raw =
            ["file:///w/a", "file:///x/out"].map(|uri| RawLocation { uri: uri.into(), range: Range::new(1, 0, 1, 1) });
        let found = codeyard_canon::locations(raw.to_vec(), &mut FakeGate::default(), 9, 9).unwrap();
        let references = CanonicalResult::references(found, AnswerNotes::default());
        assert_eq!((references.notes().outside, references.is_paged()), (1, true));
    }
}
