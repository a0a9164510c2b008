//! The sentences of a page of the tool `lsp`: above it how many results there are and how to get the next ones, below it what was left out
//! and why. Some clients show a model the first lines of a long result only.
//!
//! The pager reserves room for them, and the catalog writes them into the text and into `metadata.hint`. Invariant: both use these texts, so
//! a page with its sentences keeps its limit, and neither place says anything that the other doesn't.

use super::answer::AnswerNotes;
use super::limits::{MAX_PAGE_CHARS, MAX_PROVIDERS_NAMED};
use super::lsp_items::LspAnswer;
use super::name_list::listed;
use super::operation::{Operation, PageStyle};

/// What the sentences of a page depend on.
#[derive(Debug, Clone, Copy)]
pub struct PageFacts<'a> {
    pub operation: Operation,
    /// Number of entries on the page.
    pub shown: usize,
    /// Number of entries of the whole list.
    pub total: usize,
    pub next_cursor: Option<&'a str>,
    /// Facts about the whole list.
    pub notes: &'a AnswerNotes,
    /// How the page is written.
    pub style: PageStyle,
}

impl LspAnswer {
    /// All sentences; `None` if there are none.
    pub fn sentences(&self) -> Option<String> {
        joined([self.above(), self.below()])
    }

    /// The sentence above the page; `None` if there is no next one.
    pub fn above(&self) -> Option<String> {
        self.facts().above()
    }

    /// The sentences below the page; `None` if there are none.
    pub fn below(&self) -> Option<String> {
        self.facts().below()
    }

    /// Whether nothing was found at all: no page of the result has an entry.
    pub fn is_nothing(&self) -> bool {
        self.total == 0 && self.found.is_empty()
    }

    fn facts(&self) -> PageFacts<'_> {
        PageFacts {
            operation: self.operation,
            shown: self.found.len(),
            total: self.total,
            next_cursor: self.next_cursor.as_deref(),
            notes: &self.notes,
            style: self.style,
        }
    }
}

/// The sentences there are, with a blank between them.
fn joined(sentences: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let all: Vec<String> = sentences.into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(" "))
}

impl PageFacts<'_> {
    /// How many results there are, and how to get the next ones; `None` if there is no next page.
    pub fn above(&self) -> Option<String> {
        self.next_cursor.and_then(|_| self.page())
    }

    /// The other sentences; `None` if there are none.
    pub fn below(&self) -> Option<String> {
        let notes = self.notes;
        joined([
            self.page().filter(|_| self.next_cursor.is_none()),
            outside(notes.outside),
            passed_over(&notes.skipped_providers),
            notes.by_name_sentence(),
            notes.known_files.sentences(self.total == 0),
            notes.disagreement_sentence(),
            self.truncated(),
            without_preview(notes.without_preview).filter(|_| self.style.preview),
            notes.escaped_sentence(),
        ])
    }

    /// How to get the next page, or fewer results.
    fn page(&self) -> Option<String> {
        let Self { shown, total, .. } = self;
        let Some(cursor) = self.next_cursor else {
            let is_past_the_end = *shown == 0 && *total > 0;
            return is_past_the_end.then(|| format!("No more results: all {total} are on the pages before."));
        };
        let best = if self.notes.truncated { ", the best of still more" } else { "" };
        let narrower = match self.operation {
            Operation::FindReferences => "ask incomingCalls for the callers alone",
            Operation::WorkspaceSymbol => "give more of the name",
            Operation::DocumentSymbol => "ask workspaceSymbol for one name",
            _ => "ask at a more specific symbol",
        };
        Some(format!(
            "{shown} of {total} here{best}; for the next ones repeat the call with `cursor` \"{cursor}\", or {narrower}."
        ))
    }

    fn truncated(&self) -> Option<String> {
        match self.operation {
            _ if !self.notes.truncated => None,
            Operation::Hover if self.style.chars < MAX_PAGE_CHARS => {
                Some("The text was cut; a larger `pageChars` shows more.".to_owned())
            }
            Operation::Hover => Some("The text was cut.".to_owned()),
            _ if self.next_cursor.is_some() => None,
            _ => Some("Only the best matches are listed; give more of the name.".to_owned()),
        }
    }
}

fn outside(count: usize) -> Option<String> {
    match count {
        0 => None,
        1 => Some("1 result outside the allowed roots was left out.".to_owned()),
        several => Some(format!("{several} results outside the allowed roots were left out.")),
    }
}

fn passed_over(providers: &[String]) -> Option<String> {
    let named = listed(providers, MAX_PROVIDERS_NAMED);
    (!named.is_empty()).then(|| format!("Not answered by every language server: {named}."))
}

/// The count covers many reasons, most of which are the same at the next call, so none is named.
fn without_preview(count: usize) -> Option<String> {
    match count {
        0 => None,
        1 => Some("1 result has no source line; read its file instead.".to_owned()),
        several => Some(format!("{several} results have no source line; read their files instead.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_source_line_is_no_reason_to_repeat_the_call() {
        let said = |without_preview, preview| {
            let notes = AnswerNotes { without_preview, ..AnswerNotes::default() };
            let style = PageStyle { preview, ..PageStyle::default() };
            let operation = Operation::FindReferences;
            PageFacts { operation, shown: 3, total: 3, next_cursor: None, notes: &notes, style }.below()
        };
        assert_eq!((said(0, true), said(2, false)), (None, None));
        assert_eq!(said(1, true).as_deref(), Some("1 result has no source line; read its file instead."));
        assert_eq!(said(2, true).as_deref(), Some("2 results have no source line; read their files instead."));
    }
}
