//! Answers to queries, independent of any catalog, and the notes for their summaries.
//!
//! Invariant: every list is canonical: gated, normalised, sorted, deduplicated, capped.

use std::sync::Arc;

use super::code::CodeAnswer;
use super::coverage::AnswerCoverage;
use super::diagnostic::{Diagnostic, FileDiagnostics};
use super::hover::Hover;
use super::index_disagreement::IndexDisagreement;
use super::launch::LaunchAnswer;
use super::lsp_items::{LspAnswer, OutlineEntry};
use super::position::Location;
use super::symbol::{DocumentSymbol, WorkspaceSymbol};
use super::uri::CanonicalUri;
use crate::limits::MAX_PROVIDERS_NAMED;
use crate::name_list::listed;
use codeyard_base::ids::ServerKind;

/// Facts for the summary besides the number of entries. Part of the canonical result, so deterministic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerNotes {
    /// Entries left out because they lie outside the allowed roots.
    pub outside: usize,
    /// Providers that gave no answer, each as `kind: reason`, sorted.
    pub skipped_providers: Vec<String>,
    /// Hover contents were cut.
    pub truncated: bool,
    /// Characters that are shown as escapes, because a terminal obeys them or they turn the direction of text.
    pub escaped: usize,
    /// Files whose diagnostics were cut to the cap.
    pub truncated_files: usize,
    /// Entries without a source line, although the operation has them.
    pub without_preview: usize,
    /// How many source files the workspace diagnostics cover.
    pub coverage: Option<DiagnosticsCoverage>,
    /// A provider that could have added entries had not answered at the deadline.
    pub is_partial: bool,
    /// The same question may find more at the next try although nothing changes: a provider failed, or the source lines weren't read in time.
    pub may_improve: bool,
    /// It wasn't compared with the code index, which isn't current yet.
    pub awaits_index: bool,
    /// Languages whose entries were found by name, without a language server. Sorted.
    pub by_name: Vec<String>,
    /// The servers that the answer stands on, and how many files each of them knows.
    pub known_files: AnswerCoverage,
    /// What the code index has of the name that the answer lacks.
    pub disagreement: Option<IndexDisagreement>,
}

impl AnswerNotes {
    /// The sentence about characters that are shown as escapes. `None` if there are none.
    pub fn escaped_sentence(&self) -> Option<String> {
        let what = if self.escaped == 1 {
            "control character is shown as an escape"
        } else {
            "control characters are shown as escapes"
        };
        (self.escaped > 0).then(|| format!("{} {what}.", self.escaped))
    }

    /// The sentence about what the code index has beyond the answer. `None` if there is nothing.
    pub fn disagreement_sentence(&self) -> Option<String> {
        self.disagreement.as_ref().map(IndexDisagreement::sentence)
    }

    /// The sentence that marks entries found by name. `None` if there are none.
    pub fn by_name_sentence(&self) -> Option<String> {
        let named = listed(&self.by_name, MAX_PROVIDERS_NAMED);
        (!named.is_empty()).then(|| format!("By name only, without a language server for {named}."))
    }
}

/// How many source files the workspace diagnostics cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiagnosticsCoverage {
    /// Files that every server has reported which serves them.
    pub covered: usize,
    /// All source files.
    pub total: usize,
    /// How many files the servers of each kind have reported, if some have reported less than others. Sorted by kind.
    pub by_server: Vec<(ServerKind, usize)>,
}

/// A list without paging.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CappedList<T> {
    /// At most 200 entries.
    pub items: Vec<T>,
    /// Number of entries before the cap.
    pub total: usize,
    pub notes: AnswerNotes,
}

/// All symbols that one language server lists for a document. Never from the name-based fallback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredSymbols {
    pub by: ServerKind,
    /// Parents before children, without a cap.
    pub symbols: Arc<[OutlineEntry]>,
}

/// One page of a paged list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The entries of this page.
    pub items: Vec<T>,
    /// The cursor of the next page. `None` on the last page.
    pub next_cursor: Option<String>,
    /// Number of entries of the whole list.
    pub total: usize,
    pub notes: AnswerNotes,
}

/// An answer. One variant per query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Definition(CappedList<Location>),
    References(Page<Location>),
    Hover(Hover, AnswerNotes),
    DocumentSymbols(CappedList<DocumentSymbol>),
    WorkspaceSymbols(Page<WorkspaceSymbol>),
    DocumentDiagnostics(CanonicalUri, CappedList<Diagnostic>),
    WorkspaceDiagnostics(Page<FileDiagnostics>),
    Declarations(DeclaredSymbols, AnswerNotes),
    /// To a query of the tool `lsp`.
    Lsp(LspAnswer),
    /// To a query of the catalog `code`.
    Code(CodeAnswer),
    /// To a request of the catalog `launch`.
    Launch(LaunchAnswer),
}
