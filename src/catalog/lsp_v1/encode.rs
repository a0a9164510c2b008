//! Encodes answers as tool results (`docs/internals/reference/contract-lsp-v1.md#payloads`).
//!
//! Invariants: equal answers give equal bytes; a reply never exceeds its cap: bytes are counted while they are written, and a longer answer is
//! CAP_EXCEEDED. A hover is truncated instead.

use serde::Serialize;

use crate::EncodedReply;
use crate::dialect::error_reply;
use codeyard_base::budget::{BudgetExceeded, to_json_bounded};
use codeyard_model::answer::{Answer, AnswerNotes, CappedList, Page};
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::hover::Hover;

use super::fit;
use super::payload::{Definition, DocumentDiagnostics, DocumentSymbols, Envelope, HoverPayload, Paged};
use super::summary::{self, Noun};

/// Encodes the outcome of a call as at most `cap` bytes of JSON.
pub(super) fn encode(result: Result<&Answer, &ToolError>, cap: usize) -> EncodedReply {
    match result.map(|answer| encode_answer(answer, cap)) {
        Ok(Ok(bytes)) => EncodedReply::Result(bytes),
        Ok(Err(error)) => error_reply(&error, cap),
        Err(error) => error_reply(error, cap),
    }
}

fn encode_answer(answer: &Answer, cap: usize) -> Result<Vec<u8>, ToolError> {
    match answer {
        Answer::Definition(list) => {
            let summary = list_summary("Found", summary::DEFINITION, list);
            write(&Definition { locations: &list.items, summary }, cap)
        }
        Answer::References(page) => encode_page(page, summary::REFERENCE, cap),
        Answer::Hover(hover, notes) => encode_hover(hover, notes, cap),
        Answer::DocumentSymbols(list) => {
            let summary = list_summary("Returned", summary::DOCUMENT_SYMBOL, list);
            write(&DocumentSymbols { symbols: &list.items, summary }, cap)
        }
        Answer::WorkspaceSymbols(page) => encode_page(page, summary::WORKSPACE_SYMBOL, cap),
        Answer::DocumentDiagnostics(uri, list) => {
            let summary = list_summary("Returned", summary::DIAGNOSTIC, list);
            write(&DocumentDiagnostics { uri, diagnostics: &list.items, summary }, cap)
        }
        Answer::WorkspaceDiagnostics(page) => encode_page(page, summary::DIAGNOSED_FILE, cap),
        // This catalog decodes no such query.
        Answer::Declarations(..) | Answer::Lsp(_) | Answer::Code(_) | Answer::Launch(_) => Err(ToolError::internal()),
    }
}

fn encode_page<T: Serialize>(page: &Page<T>, noun: Noun, cap: usize) -> Result<Vec<u8>, ToolError> {
    let more = page.next_cursor.is_some();
    let summary = summary::page(noun, page.items.len(), page.total, more, &page.notes);
    let payload = Paged { items: &page.items, next_cursor: page.next_cursor.as_deref(), summary };
    write(&payload, cap).map_err(|error| match fit::page_size_that_fits(page, noun, cap) {
        0 => error,
        size => error.with("pageSizeThatFits", size),
    })
}

fn encode_hover(hover: &Hover, notes: &AnswerNotes, cap: usize) -> Result<Vec<u8>, ToolError> {
    let whole = write_hover(hover, notes, cap);
    if whole.is_ok() {
        return whole;
    }
    let notes = AnswerNotes { truncated: true, ..notes.clone() };
    match fit::hover_that_fits(hover, &notes, cap) {
        Some(cut) => write_hover(&cut, &notes, cap),
        None => whole,
    }
}

fn write_hover(hover: &Hover, notes: &AnswerNotes, cap: usize) -> Result<Vec<u8>, ToolError> {
    let summary = summary::hover(hover.contents.is_empty(), notes);
    write(&HoverPayload { contents: &hover.contents, range: hover.range, summary }, cap)
}

fn list_summary<T>(verb: &str, noun: Noun, list: &CappedList<T>) -> String {
    summary::list(verb, noun, list.items.len(), list.total, &list.notes)
}

fn write<P: Serialize>(payload: &P, cap: usize) -> Result<Vec<u8>, ToolError> {
    to_json_bounded(&Envelope::of(payload), cap).map_err(too_large)
}

fn too_large(exceeded: BudgetExceeded) -> ToolError {
    let message = "the answer exceeds the response cap; ask for a smaller page or a narrower question";
    ToolError::new(ErrorCode::CapExceeded, message).with("reason", "response_too_large").with("limit", exceeded.cap)
}
