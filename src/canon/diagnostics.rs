//! Canonical diagnostics of a document and of the workspace.
//!
//! Invariants: ordered by start, severity, code, source (each missing last), message, then end, so the order is total; an
//! empty code or source counts as missing, and so does a severity that LSP doesn't define. Files are ordered by URI and have
//! at least one diagnostic each; the diagnostics of one file from several servers or URI spellings are one list.

use std::collections::BTreeMap;

use codeyard_base::digest::stable_id;
use codeyard_model::diagnostic::{Diagnostic, FileDiagnostics, RawDiagnostic, RawFileDiagnostics};
use codeyard_model::error::ToolError;
use codeyard_model::position::{Position, Range};
use codeyard_model::uri::CanonicalUri;

use super::order::{MissingLast, non_empty, sort_dedup};
use super::uri_admission::{UriTexts, UriVerdict};
use super::{Canonical, UriGate, reasons};

/// The canonical diagnostics of the document `uri`, uncut.
pub fn diagnostics(uri: &CanonicalUri, raw: Vec<RawDiagnostic>) -> Canonical<Diagnostic> {
    let entries = sorted(raw);
    Canonical { items: entries.into_iter().map(|entry| diagnostic(uri, entry)).collect(), outside: 0 }
}

/// The canonical diagnostics of all files, each file's cut to the first `max_per_file`, and the number of files cut.
/// CAP_EXCEEDED for more than `max_files` files with a diagnostic. `outside` counts files.
pub fn workspace_diagnostics(
    raw: Vec<RawFileDiagnostics>,
    gate: &mut dyn UriGate,
    max_files: usize,
    max_per_file: usize,
) -> Result<(Canonical<FileDiagnostics>, usize), ToolError> {
    let (files, outside) = by_file(raw, gate);
    if files.len() > max_files {
        return Err(ToolError::too_many(reasons::TOTAL_ITEMS, max_files));
    }
    let mut cut = 0;
    let mut items = Vec::with_capacity(files.len());
    for (uri, raw) in files {
        let mut entries = sorted(raw);
        cut += usize::from(entries.len() > max_per_file);
        entries.truncate(max_per_file);
        let diagnostics = entries.into_iter().map(|entry| diagnostic(&uri, entry)).collect();
        items.push(FileDiagnostics { uri, diagnostics });
    }
    Ok((Canonical { items, outside }, cut))
}

/// The raw diagnostics of each admitted file that has some, and the number of files outside that have some.
fn by_file(
    raw: Vec<RawFileDiagnostics>,
    gate: &mut dyn UriGate,
) -> (BTreeMap<CanonicalUri, Vec<RawDiagnostic>>, usize) {
    let mut texts = UriTexts::default();
    let with_some = raw.into_iter().filter(|file| !file.diagnostics.is_empty());
    let numbered: Vec<_> = with_some.map(|file| (texts.number(file.uri), file.diagnostics)).collect();
    let admitted = texts.admit(gate);
    let outside = admitted.verdicts.iter().filter(|verdict| matches!(verdict, UriVerdict::Outside)).count();
    let mut files: BTreeMap<CanonicalUri, Vec<RawDiagnostic>> = BTreeMap::new();
    for (text, diagnostics) in numbered {
        if let UriVerdict::Inside(rank) = admitted.verdicts[text] {
            files.entry(admitted.uris[rank].clone()).or_default().extend(diagnostics);
        }
    }
    (files, outside)
}

/// A normalised diagnostic, fields in sort order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct DiagnosticEntry {
    start: Position,
    severity: MissingLast<u32>,
    code: MissingLast<String>,
    source: MissingLast<String>,
    message: String,
    end: Position,
}

fn sorted(raw: Vec<RawDiagnostic>) -> Vec<DiagnosticEntry> {
    let mut entries: Vec<DiagnosticEntry> = raw.into_iter().map(entry).collect();
    sort_dedup(&mut entries);
    entries
}

fn entry(raw: RawDiagnostic) -> DiagnosticEntry {
    DiagnosticEntry {
        start: raw.range.start,
        severity: MissingLast(raw.severity.filter(|severity| (1..=4).contains(severity))),
        code: non_empty(raw.code),
        source: non_empty(raw.source),
        message: raw.message,
        end: raw.range.end,
    }
}

fn diagnostic(uri: &CanonicalUri, entry: DiagnosticEntry) -> Diagnostic {
    let severity = entry.severity.0;
    let code = entry.code.0;
    let source = entry.source.0;
    let text = [
        uri.as_str(),
        &entry.start.to_id_text(),
        &entry.end.to_id_text(),
        &severity.map(|severity| severity.to_string()).unwrap_or_default(),
        code.as_deref().unwrap_or(""),
        source.as_deref().unwrap_or(""),
        &entry.message,
    ]
    .join("|");
    let range = Range { start: entry.start, end: entry.end };
    Diagnostic { id: stable_id(&text), range, severity, code, source, message: entry.message }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{FakeGate, file, shuffled, some_range, some_text, some_uri};
    use codeyard_model::error::ErrorCode;

    fn raw(line: u32, severity: Option<u32>, code: Option<&str>, message: &str) -> RawDiagnostic {
        RawDiagnostic {
            range: Range::new(line, 0, line, 1),
            severity,
            code: code.map(String::from),
            source: None,
            message: message.into(),
        }
    }

    fn of(uri: &str, diagnostics: Vec<RawDiagnostic>) -> RawFileDiagnostics {
        RawFileDiagnostics { uri: uri.into(), diagnostics }
    }

    #[test]
    fn diagnostics_are_ordered_with_missing_fields_last() {
        let one = [raw(1, None, None, "z"), raw(1, Some(2), None, "y"), raw(1, Some(2), Some("C"), "x")];
        let two = [raw(1, Some(1), None, "w"), raw(0, None, None, "v"), raw(1, Some(9), None, "a")];
        let list = diagnostics(&file("/w/a"), [one, two].concat());
        let messages: Vec<_> = list.items().iter().map(|d| d.message.as_str()).collect();
        assert_eq!(messages, ["v", "w", "x", "y", "a", "z"]);
        assert_eq!(list.items()[4].severity, None, "severity 9 is none");
    }

    #[test]
    fn the_identifier_hashes_the_text_of_the_contract() {
        let full = RawDiagnostic { source: Some("ts".into()), ..raw(5, Some(2), Some("TS1"), "m") };
        let list = diagnostics(&file("/w/a"), vec![full, raw(6, None, None, "n")]);
        assert_eq!(list.items()[0].id, stable_id("file:///w/a|5:0|5:1|2|TS1|ts|m"));
        assert_eq!(list.items()[1].id, stable_id("file:///w/a|6:0|6:1||||n"));
    }

    #[test]
    fn two_spellings_of_a_file_are_one_list() {
        let raw = vec![
            of("file:///w/a", vec![raw(1, None, None, "x")]),
            of("file:///w/%61", vec![raw(1, None, None, "x"), raw(0, None, None, "y")]),
            of("file:///w/b", vec![]),
            of("file:///x/out", vec![raw(1, None, None, "x")]),
            of("file:///x/empty", vec![]),
        ];
        let (list, cut) = workspace_diagnostics(raw, &mut FakeGate::default(), 1, 200).unwrap();
        assert_eq!((list.items().len(), list.items()[0].diagnostics.len(), list.outside(), cut), (1, 2, 1, 0));
    }

    #[test]
    fn too_many_files_fail_and_too_long_files_are_cut() {
        let many = |n: u32| (0..n).map(|line| raw(line, None, None, "x")).collect::<Vec<_>>();
        let files = vec![of("file:///w/a", many(4)), of("file:///w/b", many(2)), of("file:///w/c", many(2))];
        let error = workspace_diagnostics(files.clone(), &mut FakeGate::default(), 2, 2).unwrap_err();
        assert_eq!(error.code, ErrorCode::CapExceeded);
        let (list, cut) = workspace_diagnostics(files, &mut FakeGate::default(), 3, 2).unwrap();
        assert_eq!(cut, 1, "a file with just as many isn't cut");
        assert_eq!(list.items()[0].diagnostics.last().unwrap().range.start.line, 1, "the first two are kept");
    }

    fn some_diagnostic() -> impl Strategy<Value = RawDiagnostic> {
        let option = || prop::option::of(some_text());
        (some_range(), prop::option::of(0..6u32), option(), option(), some_text()).prop_map(
            |(range, severity, code, source, message)| RawDiagnostic { range, severity, code, source, message },
        )
    }

    fn raw_again(d: &Diagnostic) -> RawDiagnostic {
        let Diagnostic { range, severity, code, source, message, .. } = d.clone();
        RawDiagnostic { range, severity, code, source, message }
    }

    proptest! {
        #[test]
        fn permutation_and_duplication_change_nothing(
            raw in prop::collection::vec((some_uri(), prop::collection::vec(some_diagnostic(), 0..8)), 0..8),
            seed in any::<u64>(),
        ) {
            let raw: Vec<_> = raw.into_iter().map(|(uri, diagnostics)| RawFileDiagnostics { uri, diagnostics }).collect();
            let canonical = |raw| workspace_diagnostics(raw, &mut FakeGate::default(), 100, 3).unwrap();
            let (once, cut) = canonical(raw.clone());
            let inner = raw.into_iter().map(|file| {
                RawFileDiagnostics { diagnostics: shuffled(file.diagnostics, seed), ..file }
            });
            prop_assert_eq!(&canonical(shuffled(inner.collect(), seed.rotate_left(9))), &(once.clone(), cut));
            let again = once.items().iter().map(|file| RawFileDiagnostics {
                uri: file.uri.text(), diagnostics: file.diagnostics.iter().map(raw_again).collect(),
            });
            let twice = canonical(again.collect()).0;
            prop_assert_eq!(twice.items(), once.items());
        }

        #[test]
        fn permutation_and_duplication_change_no_document(
            raw in prop::collection::vec(some_diagnostic(), 0..16),
            seed in any::<u64>(),
        ) {
            let once = diagnostics(&file("/w/a"), raw.clone());
            prop_assert_eq!(&diagnostics(&file("/w/a"), shuffled(raw, seed)), &once);
            let again = once.items().iter().map(raw_again).collect();
            prop_assert_eq!(&diagnostics(&file("/w/a"), again), &once);
        }
    }
}
