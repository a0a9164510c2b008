//! The one-line summaries: a sentence with the count, then the notes in a fixed order (`docs/internals/reference/contract-lsp-v1.md#summaries`).
//!
//! Invariant: a summary depends on the answer alone, names no path but those of projects inside the roots, and is short.

use codeyard_model::answer::AnswerNotes;
use codeyard_model::limits::MAX_PROVIDERS_NAMED;
use codeyard_model::name_list::listed;

/// The noun for the entries of a list, in the singular and the plural.
#[derive(Clone, Copy)]
pub(super) struct Noun {
    one: &'static str,
    many: &'static str,
    /// The text before the number of returned entries.
    of: &'static str,
}

/// Definitions.
pub(super) const DEFINITION: Noun = Noun { one: "definition", many: "definitions", of: "" };
/// References.
pub(super) const REFERENCE: Noun = Noun { one: "reference", many: "references", of: "" };
/// Symbols of a document.
pub(super) const DOCUMENT_SYMBOL: Noun = Noun { one: "document symbol", many: "document symbols", of: "" };
/// Symbols of the workspace.
pub(super) const WORKSPACE_SYMBOL: Noun = Noun { one: "workspace symbol", many: "workspace symbols", of: "" };
/// Diagnostics of a document.
pub(super) const DIAGNOSTIC: Noun = Noun { one: "diagnostic", many: "diagnostics", of: "" };
/// Files with diagnostics.
pub(super) const DIAGNOSED_FILE: Noun = Noun { one: "file", many: "files", of: "diagnostics for " };

/// The summary of an unpaged list. `verb` is `Found` or `Returned`.
pub(super) fn list(verb: &str, noun: Noun, shown: usize, total: usize, notes: &AnswerNotes) -> String {
    let first = match (shown, total) {
        (_, 0) => nothing(noun),
        (shown, total) if shown < total => format!("Returned the first {shown} of {}.", count(total, noun)),
        (shown, _) => format!("{verb} {}.", count(shown, noun)),
    };
    with_notes(first, total == 0, notes)
}

pub(super) fn page(noun: Noun, shown: usize, total: usize, more: bool, notes: &AnswerNotes) -> String {
    let next = if more { " (next page available)" } else { "" };
    let first = match (shown, total) {
        (_, 0) => nothing(noun),
        (shown, total) if shown < total => format!("Returned {}{next}. {total} in total.", counted(shown, noun)),
        (shown, _) => format!("Returned {}{next}.", counted(shown, noun)),
    };
    with_notes(first, total == 0, notes)
}

pub(super) fn hover(empty: bool, notes: &AnswerNotes) -> String {
    let first = if empty { "No hover information found." } else { "Hover available." };
    with_notes(first.into(), empty, notes)
}

fn nothing(noun: Noun) -> String {
    match noun.of {
        "" => format!("No {} found.", noun.many),
        _ => "No diagnostics found.".into(),
    }
}

fn count(number: usize, noun: Noun) -> String {
    format!("{number} {}", if number == 1 { noun.one } else { noun.many })
}

fn counted(number: usize, noun: Noun) -> String {
    format!("{}{}", noun.of, count(number, noun))
}

fn with_notes(mut text: String, is_empty: bool, notes: &AnswerNotes) -> String {
    if notes.truncated {
        text.push_str(" Truncated.");
    }
    if let Some(sentence) = notes.escaped_sentence() {
        text.push(' ');
        text.push_str(&sentence);
    }
    if notes.truncated_files > 0 {
        let files = if notes.truncated_files == 1 { "file" } else { "files" };
        text.push_str(&format!(" Diagnostics of {} {files} truncated.", notes.truncated_files));
    }
    if notes.outside > 0 {
        let what = if notes.outside == 1 { "location" } else { "locations" };
        text.push_str(&format!(" {} {what} outside the allowed roots omitted.", notes.outside));
    }
    push_skipped_providers(&mut text, &notes.skipped_providers);
    if let Some(sentence) = notes.by_name_sentence() {
        text.push(' ');
        text.push_str(&sentence);
    }
    if let Some(coverage) = &notes.coverage {
        let by_server = coverage.by_server.iter().map(|(kind, files)| format!("{files} by {kind}"));
        let by_server = listed(&by_server.collect::<Vec<_>>(), MAX_PROVIDERS_NAMED);
        let separator = if by_server.is_empty() { "" } else { ": " };
        let covered = coverage.covered;
        let total = coverage.total;
        text.push_str(&format!(" {covered} of {total} source files covered{separator}{by_server}."));
    }
    if let Some(sentences) = notes.known_files.sentences(is_empty) {
        text.push(' ');
        text.push_str(&sentences);
    }
    if let Some(sentence) = notes.disagreement_sentence() {
        text.push(' ');
        text.push_str(&sentence);
    }
    text
}

fn push_skipped_providers(text: &mut String, skipped: &[String]) {
    if !skipped.is_empty() {
        text.push_str(&format!(" Passed over {}.", listed(skipped, MAX_PROVIDERS_NAMED)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use codeyard_base::ids::ServerKind;
    use codeyard_model::answer::DiagnosticsCoverage;
    use codeyard_model::coverage::{AnswerCoverage, AnswerScope, ProjectFileSource, ServerCoverage};

    fn plain() -> AnswerNotes {
        AnswerNotes::default()
    }

    fn partial() -> ServerCoverage {
        ServerCoverage {
            server: ServerKind::new("clangd"),
            project: ".".into(),
            languages: "C".into(),
            source: ProjectFileSource::Missing,
            files: 706,
            known: Some(32),
            reason: "no compile_commands.json".into(),
            remedy: Some("run `bear -- make`".into()),
            unresolved: vec![],
            undecided: None,
        }
    }

    #[test]
    fn counts_in_singular_and_plural() {
        assert_eq!(list("Found", DEFINITION, 0, 0, &plain()), "No definitions found.");
        assert_eq!(list("Found", DEFINITION, 1, 1, &plain()), "Found 1 definition.");
        assert_eq!(list("Returned", DOCUMENT_SYMBOL, 42, 42, &plain()), "Returned 42 document symbols.");
        let cut = list("Returned", DOCUMENT_SYMBOL, 200, 412, &plain());
        assert_eq!(cut, "Returned the first 200 of 412 document symbols.");
        assert_eq!(page(REFERENCE, 1, 1, false, &plain()), "Returned 1 reference.");
        assert_eq!(
            page(REFERENCE, 50, 412, true, &plain()),
            "Returned 50 references (next page available). 412 in total."
        );
        assert_eq!(page(REFERENCE, 0, 5, false, &plain()), "Returned 0 references. 5 in total.");
        assert_eq!(page(DIAGNOSED_FILE, 1, 1, false, &plain()), "Returned diagnostics for 1 file.");
        assert_eq!(page(DIAGNOSED_FILE, 0, 0, false, &plain()), "No diagnostics found.");
        assert_eq!(hover(true, &plain()), "No hover information found.");
    }

    #[test]
    fn notes_follow_in_a_fixed_order() {
        let notes = AnswerNotes {
            outside: 2,
            skipped_providers: (1..=6).map(|n| format!("k{n}: crashed")).collect(),
            truncated: true,
            escaped: 1,
            truncated_files: 1,
            coverage: Some(DiagnosticsCoverage { covered: 3, total: 9, by_server: vec![] }),
            is_partial: false,
            may_improve: false,
            awaits_index: false,
            without_preview: 0,
            by_name: vec!["go".into(), "ruby".into()],
            known_files: AnswerCoverage { servers: vec![Arc::new(partial())], scope: AnswerScope::Project },
            disagreement: None,
        };
        let expected = "No references found. Truncated. 1 control character is shown as an escape. Diagnostics of 1 file truncated. 2 locations outside the allowed \
                        roots omitted. Passed over k1: crashed, k2: crashed, k3: crashed, k4: crashed and 2 more. By name \
                        only, without a language server for go, ruby. 3 of 9 source files covered. 32 of 706 C files are known to \
                        clangd: no compile_commands.json; run `bear -- make`.";
        assert_eq!(page(REFERENCE, 0, 0, false, &notes), expected);
        let one = AnswerNotes { outside: 1, skipped_providers: vec!["ty: crashed".into()], ..plain() };
        let text = page(DEFINITION, 1, 1, false, &one);
        assert_eq!(
            text,
            "Returned 1 definition. 1 location outside the allowed roots omitted. Passed over ty: crashed."
        );
    }
}
