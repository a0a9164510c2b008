//! The memory of a result in bytes.
//!
//! Invariant: the size depends only on the result and is never too low: every struct and every text counts. A URI counts once
//! for all adjacent entries that share it (canonical lists share one text per file).

use std::mem::size_of;

use codeyard_model::answer::AnswerNotes;
use codeyard_model::diagnostic::{Diagnostic, FileDiagnostics};
use codeyard_model::index_disagreement::IndexDisagreement;
use codeyard_model::lsp_items::{
    CallItem, IncomingCall, LspItems, NamedSymbol, OutgoingCall, OutlineEntry, Place, ResultPaths,
};
use codeyard_model::position::Location;
use codeyard_model::symbol::{DocumentSymbol, WorkspaceSymbol};
use codeyard_model::uri::CanonicalUri;

use super::result::CanonicalResult;

/// The two reference counters in front of a shared text.
const SHARED_HEADER_BYTES: usize = 2 * size_of::<usize>();

/// The heap memory of a value, without the value itself.
trait HeapSize {
    fn heap(&self) -> usize;

    /// The shared text that it refers to. The list counts it.
    fn shared(&self) -> Option<&CanonicalUri> {
        None
    }
}

/// The heap memory of `result`, without the enum itself.
pub(super) fn heap_bytes(result: &CanonicalResult) -> usize {
    let contents = match result {
        CanonicalResult::Definition(list) => list_bytes(&list.items),
        CanonicalResult::References(full) => list_bytes(&full.items),
        CanonicalResult::Hover(hover, _) => {
            hover.contents.iter().map(|fragment| size_of_val(fragment) + fragment.value.len()).sum()
        }
        CanonicalResult::DocumentSymbols(list) => list_bytes(&list.items),
        CanonicalResult::WorkspaceSymbols(full) => list_bytes(&full.items),
        CanonicalResult::DocumentDiagnostics(uri, list) => uri_bytes(uri) + list_bytes(&list.items),
        CanonicalResult::WorkspaceDiagnostics(full) => list_bytes(&full.items),
        CanonicalResult::Declarations(declared, _) => {
            SHARED_HEADER_BYTES + declared.by.as_str().len() + list_bytes(&declared.symbols)
        }
        CanonicalResult::Lsp(result) => {
            let ResultPaths { root, document, calls_in } = &result.paths;
            let uris = document.iter().chain(calls_in).map(uri_bytes).sum::<usize>();
            let paths = root.as_os_str().len() + uris;
            result.title.len() + paths + found_bytes(&result.found)
        }
    };
    contents + notes_bytes(result.notes())
}

fn found_bytes(found: &LspItems) -> usize {
    match found {
        LspItems::Locations(list) => list_bytes(list),
        LspItems::Hover(hover) => hover.as_ref().map_or(0, |hover| hover.contents.value.len()),
        LspItems::Outline(list) => list_bytes(list),
        LspItems::Symbols(list) => list_bytes(list),
        LspItems::CallItems(list) => list_bytes(list),
        LspItems::Incoming(list) => list_bytes(list),
        LspItems::Outgoing(list) => list_bytes(list),
    }
}

fn list_bytes<T: HeapSize>(items: &[T]) -> usize {
    let mut bytes = size_of_val(items);
    let mut last: Option<&CanonicalUri> = None;
    for item in items {
        bytes += item.heap();
        if let Some(uri) = item.shared()
            && last != Some(uri)
        {
            bytes += uri_bytes(uri);
            last = Some(uri);
        }
    }
    bytes
}

fn notes_bytes(notes: &AnswerNotes) -> usize {
    let texts = notes.skipped_providers.iter().chain(&notes.by_name);
    let disagreement = notes.disagreement.as_ref().map_or(0, IndexDisagreement::heap_bytes);
    texts.map(|text| size_of_val(text) + text.len()).sum::<usize>() + notes.known_files.heap_bytes() + disagreement
}

fn uri_bytes(uri: &CanonicalUri) -> usize {
    SHARED_HEADER_BYTES + uri.as_str().len()
}

fn optional(text: &Option<String>) -> usize {
    text.as_ref().map_or(0, String::len)
}

fn preview(line: &Option<Box<str>>) -> usize {
    line.as_ref().map_or(0, |line| line.len())
}

impl HeapSize for Location {
    fn heap(&self) -> usize {
        0
    }

    fn shared(&self) -> Option<&CanonicalUri> {
        Some(&self.uri)
    }
}

impl HeapSize for Place {
    fn heap(&self) -> usize {
        preview(&self.preview)
    }

    fn shared(&self) -> Option<&CanonicalUri> {
        Some(&self.uri)
    }
}

impl HeapSize for DocumentSymbol {
    fn heap(&self) -> usize {
        self.id.len() + self.name.len() + optional(&self.container_name)
    }
}

impl HeapSize for WorkspaceSymbol {
    fn heap(&self) -> usize {
        self.id.len() + self.name.len() + optional(&self.container_name)
    }

    fn shared(&self) -> Option<&CanonicalUri> {
        Some(&self.location.uri)
    }
}

impl HeapSize for OutlineEntry {
    fn heap(&self) -> usize {
        self.name.len()
    }
}

impl HeapSize for NamedSymbol {
    fn heap(&self) -> usize {
        self.name.len() + optional(&self.container_name)
    }

    fn shared(&self) -> Option<&CanonicalUri> {
        Some(&self.location.uri)
    }
}

impl HeapSize for CallItem {
    fn heap(&self) -> usize {
        self.name.len()
    }

    fn shared(&self) -> Option<&CanonicalUri> {
        Some(&self.uri)
    }
}

impl HeapSize for IncomingCall {
    fn heap(&self) -> usize {
        self.from.heap() + size_of_val(&*self.from_ranges) + preview(&self.preview)
    }

    fn shared(&self) -> Option<&CanonicalUri> {
        self.from.shared()
    }
}

impl HeapSize for OutgoingCall {
    fn heap(&self) -> usize {
        self.to.heap() + size_of_val(&*self.from_ranges) + preview(&self.preview)
    }

    fn shared(&self) -> Option<&CanonicalUri> {
        self.to.shared()
    }
}

impl HeapSize for Diagnostic {
    fn heap(&self) -> usize {
        self.id.len() + self.message.len() + optional(&self.code) + optional(&self.source)
    }
}

impl HeapSize for FileDiagnostics {
    fn heap(&self) -> usize {
        list_bytes(&self.diagnostics)
    }

    fn shared(&self) -> Option<&CanonicalUri> {
        Some(&self.uri)
    }
}

#[cfg(test)]
mod tests {
    use codeyard_model::hover::{Hover, HoverFragment, MarkupKind};
    use codeyard_model::operation::Operation;

    use super::*;
    use crate::result::LspResult;

    #[test]
    fn every_text_counts_once_by_its_length() {
        let hover = |length: usize| {
            let fragment = HoverFragment { kind: MarkupKind::Markdown, value: "x".repeat(length) };
            heap_bytes(&CanonicalResult::Hover(Hover { contents: vec![fragment], range: None }, AnswerNotes::default()))
        };
        assert_eq!(hover(2_000) - hover(1_000), 1_000);
        assert!(hover(0) >= size_of::<HoverFragment>());
        let titled = |length: usize| {
            let operation = Operation::FindReferences;
            let found = LspItems::Locations(vec![]);
            let title = "t".repeat(length);
            let notes = AnswerNotes::default();
            let paths = ResultPaths::default();
            heap_bytes(&CanonicalResult::Lsp(LspResult { operation, title, found, notes, paths }))
        };
        assert_eq!(titled(2_000) - titled(1_000), 1_000);
        let noted = |length: usize| {
            let notes = AnswerNotes { skipped_providers: vec!["n".repeat(length)], ..AnswerNotes::default() };
            heap_bytes(&CanonicalResult::Hover(Hover::default(), notes))
        };
        assert_eq!(noted(2_000) - noted(1_000), 1_000);
    }
}
