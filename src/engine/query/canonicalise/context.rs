//! The context of canonicalisation: the gate, the limits, and the notes that it fills in.

use std::borrow::Cow;
use std::path::PathBuf;

use super::linked_names;
use crate::query::file_looks::{self, ObservedFile};
use crate::redact::{redact, without_foreign_links};
use codeyard_base::ids::ServerKind;
use codeyard_base::visible::{make_visible, make_visible_line};
use codeyard_canon::{Canonical, UriAdmission, UriGate};
use codeyard_files::gate::{BatchLookup, Gate, StampedAdmission};
use codeyard_files::inner_worktrees::InnerWorktrees;
use codeyard_model::answer::AnswerNotes;
use codeyard_model::diagnostic::RawFileDiagnostics;
use codeyard_model::error::ToolError;
use codeyard_model::hover::Hover;
use codeyard_model::limits::{Limits, MAX_RAW_ITEMS, MAX_RAW_ITEMS_PAGED};
use codeyard_model::lsp_items::{LspItems, Place};
use codeyard_model::position::{Location, RawLocation};
use codeyard_model::uri::CanonicalUri;

/// Everything that canonicalising one answer reads and records.
pub(crate) struct CanonicalContext<'a> {
    /// The path gate.
    pub(crate) gate: &'a Gate,
    /// The gate for `canon`; it records the files of the answer.
    pub(crate) recorder: GateRecorder<'a>,
    /// The limits in force.
    pub(crate) limits: &'a Limits,
    /// Facts about the answer besides its entries.
    pub(crate) notes: AnswerNotes,
    /// The server that gave the answer, where only one server's answer counts.
    pub(crate) answered_by: Option<ServerKind>,
    /// Source files that the providers serve.
    pub(crate) source_files: usize,
    /// Where the symbol of the query is declared, if that is known.
    pub(crate) declared: Vec<Location>,
    /// The file that all calls of the answer are in, if it is one.
    pub(crate) calls_in: Option<CanonicalUri>,
}

impl CanonicalContext<'_> {
    /// The canonical locations of all answers, as the tool `lsp` lists them.
    ///
    /// # Errors
    /// CAP_EXCEEDED.
    pub(crate) fn locations(&mut self, answers: Vec<Vec<RawLocation>>) -> Result<LspItems, ToolError> {
        let cap = self.limits.max_references_items_total;
        let list = codeyard_canon::locations(answers.concat(), &mut self.recorder, MAX_RAW_ITEMS_PAGED, cap)?;
        self.notes.outside = list.outside();
        Ok(LspItems::Locations(list.into_items().into_iter().map(Place::from).collect()))
    }

    /// The notes, for the result.
    pub(crate) fn take_notes(&mut self) -> AnswerNotes {
        std::mem::take(&mut self.notes)
    }

    /// Records where the symbol is declared. Declarations add no entries, so what is left out of them isn't counted.
    pub(crate) fn declare(&mut self, raw: Vec<RawLocation>) {
        let mut recorder = GateRecorder::new(self.gate, self.recorder.asked_in.clone());
        let list = codeyard_canon::locations(raw, &mut recorder, MAX_RAW_ITEMS, MAX_RAW_ITEMS);
        self.declared = list.map(Canonical::into_items).unwrap_or_default();
    }

    /// Refuses an answer with names that may come from outside the roots.
    ///
    /// # Errors
    /// CAP_EXCEEDED with the reason `timeout`.
    pub(crate) fn check_names<'n>(
        &self,
        entries: impl Iterator<Item = (&'n CanonicalUri, &'n str)>,
    ) -> Result<(), ToolError> {
        linked_names::check(self.gate, entries)
    }

    /// The hovers with the characters as escapes that a terminal obeys or that turn the direction of text, which are counted, and without links
    /// to files outside the roots.
    pub(crate) fn visible_hovers(&mut self, hovers: Vec<Option<Hover>>) -> Vec<Hover> {
        let mut hovers: Vec<Hover> = hovers.into_iter().flatten().collect();
        for fragment in hovers.iter_mut().flat_map(|hover| &mut hover.contents) {
            if let Cow::Owned(text) = without_foreign_links(&fragment.value, self.gate.root_set()) {
                fragment.value = text;
            }
        }
        let fragments = hovers.iter_mut().flat_map(|hover| &mut hover.contents);
        self.notes.escaped += fragments.map(|fragment| make_visible(&mut fragment.value)).sum::<usize>();
        hovers
    }

    /// The diagnostics without such characters, and without paths outside the roots in their messages.
    pub(crate) fn cleaned(&mut self, mut file: RawFileDiagnostics) -> RawFileDiagnostics {
        let mut escaped = 0;
        for diagnostic in &mut file.diagnostics {
            escaped += make_visible(&mut diagnostic.message);
            escaped += [&mut diagnostic.code, &mut diagnostic.source]
                .into_iter()
                .flatten()
                .map(make_visible_line)
                .sum::<usize>();
            if let Cow::Owned(text) = redact(&diagnostic.message, self.gate.root_set()) {
                diagnostic.message = text;
            }
        }
        // What lies outside the roots isn't in the answer, and a server knows more or less of it.
        if escaped > 0 && matches!(self.gate.admit(&file.uri), UriAdmission::Inside(_)) {
            self.notes.escaped += escaped;
        }
        file
    }
}

/// The gate as `canon` uses it. It records an observation of each admitted file.
pub(crate) struct GateRecorder<'a> {
    gate: &'a Gate,
    lookup: BatchLookup<'a>,
    /// The observation of each admitted file.
    pub(crate) observed: Vec<(CanonicalUri, ObservedFile)>,
    /// Files left out because they lie outside the roots.
    pub(crate) outside: usize,
    worktrees: InnerWorktrees,
    /// The linked worktree below the root that holds the file of the query.
    asked_in: Option<PathBuf>,
}

impl<'a> GateRecorder<'a> {
    /// A recorder for one answer to a query about this file.
    pub(crate) fn of_query(gate: &'a Gate, asked: Option<&CanonicalUri>) -> Self {
        let asked = asked.and_then(|uri| InnerWorktrees::below(gate.root_set()).of_file(&uri.to_path()));
        Self::new(gate, asked)
    }

    fn new(gate: &'a Gate, asked_in: Option<PathBuf>) -> Self {
        let worktrees = InnerWorktrees::below(gate.root_set());
        Self { gate, lookup: gate.batch_lookup(), observed: Vec::new(), outside: 0, worktrees, asked_in }
    }

    /// Whether a file lies in a linked worktree below the root, other than that of the query: it is a copy of the root's own.
    fn is_copy(&mut self, uri: &CanonicalUri) -> bool {
        let worktree = self.worktrees.of_file(&uri.to_path());
        worktree.is_some() && worktree != self.asked_in
    }
}

impl UriGate for GateRecorder<'_> {
    fn admit(&mut self, uri: &str) -> UriAdmission {
        match self.lookup.admit(uri) {
            StampedAdmission::Outside => {
                self.outside += 1;
                UriAdmission::Outside
            }
            StampedAdmission::Missing => UriAdmission::Missing,
            StampedAdmission::Inside(uri, _) if self.is_copy(&uri) => UriAdmission::Missing,
            StampedAdmission::Inside(uri, stamp) => match file_looks::observed(self.gate, &uri, stamp) {
                Ok(observed) => {
                    self.observed.push((uri.clone(), observed));
                    UriAdmission::Inside(uri)
                }
                Err(_) => UriAdmission::Missing,
            },
        }
    }
}
