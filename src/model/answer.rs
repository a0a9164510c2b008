//! What is answered, free of any catalog's dialect, and the notes that a summary is made of.
//!
//! Invariant: every list here is canonical: gated, normalised, sorted, deduplicated, capped.

use std::sync::Arc;

use super::code::CodeAnswer;
use super::diagnostic::{Diagnostic, FileDiagnostics};
use super::hover::Hover;
use super::lsp_items::{LspAnswer, OutlineEntry};
use super::position::Location;
use super::symbol::{DocumentSymbol, WorkspaceSymbol};
use super::uri::CanonicalUri;
use crate::limits::MAX_PROVIDERS_NAMED;
use codeyard_base::ids::ServerKind;

/// What a reader of the summary should know besides the count. Part of the canonical result, so deterministic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerNotes {
    /// Entries left out because they lie outside the allowed roots.
    pub outside: usize,
    /// Providers that were passed over, each as `kind: reason`, sorted.
    pub passed_over: Vec<String>,
    /// Hover contents were cut.
    pub truncated: bool,
    /// Files whose diagnostics were cut to the cap.
    pub truncated_files: usize,
    /// Files covered by the diagnostics sweep, of how many.
    pub coverage: Option<DiagnosticsCoverage>,
    /// Somebody who might have known more had not answered when the time was up.
    pub is_partial: bool,
    /// Languages whose part of the answer was found by name, without a language server; sorted.
    pub by_name: Vec<String>,
}

impl AnswerNotes {
    /// Code points below a list for that, with an empty line.
    pub fn chars_below(&self) -> usize {
        self.by_name_sentence().map_or(0, |sentence| sentence.chars().count() + 2)
    }

    /// What must be said of an answer that was found by name.
    pub fn by_name_sentence(&self) -> Option<String> {
        let named = &self.by_name[..self.by_name.len().min(MAX_PROVIDERS_NAMED)];
        let more = match self.by_name.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!named.is_empty()).then(|| format!("By name only, without a language server for {}{more}.", named.join(", ")))
    }
}

/// How many of the source files the workspace's diagnostics cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiagnosticsCoverage {
    /// Files that were looked at.
    pub covered: usize,
    /// Source files there are.
    pub total: usize,
}

/// A list that is not paged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CappedList<T> {
    /// At most 200 entries.
    pub items: Vec<T>,
    /// How many there were before the cap.
    pub total: usize,
    /// For the summary.
    pub notes: AnswerNotes,
}

/// All that a document declares in the words of one language server, none of whom stands in for another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredSymbols {
    /// Whose words.
    pub by: ServerKind,
    /// In the order of a walk from above, whatever number there is.
    pub symbols: Arc<[OutlineEntry]>,
}

/// One page of a paged list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The entries of this page.
    pub items: Vec<T>,
    /// The cursor of the next page.
    pub next_cursor: Option<String>,
    /// Entries of the whole list.
    pub total: usize,
    /// For the summary.
    pub notes: AnswerNotes,
}

/// An answer, one variant a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// To `Definition`.
    Definition(CappedList<Location>),
    /// To `References`.
    References(Page<Location>),
    /// To `Hover`.
    Hover(Hover, AnswerNotes),
    /// To `DocumentSymbols`.
    DocumentSymbols(CappedList<DocumentSymbol>),
    /// To `WorkspaceSymbols`.
    WorkspaceSymbols(Page<WorkspaceSymbol>),
    /// To `DocumentDiagnostics`.
    DocumentDiagnostics(CanonicalUri, CappedList<Diagnostic>),
    /// To `WorkspaceDiagnostics`.
    WorkspaceDiagnostics(Page<FileDiagnostics>),
    /// To `Declarations`.
    Declarations(DeclaredSymbols),
    /// To a question of the tool `lsp`.
    Lsp(LspAnswer),
    /// To a question of the catalog `code`.
    Code(CodeAnswer),
}
