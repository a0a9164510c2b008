//! Tests of the whole catalog on answers: goldens, output schemas, the byte cap. What needs no canonical URI is tested in
//! `tests/contract`.

use serde_json::{Value, json};

use crate::{CatalogId, CatalogSet, EncodedReply};
use codeyard_canon::testing::{FakeGate, file};
use codeyard_model::answer::{Answer, AnswerNotes, DiagnosticsCoverage};
use codeyard_model::diagnostic::{RawDiagnostic, RawFileDiagnostics};
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::hover::{Hover, HoverFragment, MarkupKind};
use codeyard_model::limits::MAX_RESPONSE_BYTES;
use codeyard_model::operation::PageStyle;
use codeyard_model::position::{Range, RawLocation};
use codeyard_model::symbol::{RawDocumentSymbol, RawWorkspaceSymbol};
use codeyard_paging::{CanonicalResult, Snapshot, page};

const K: &str = "1111111111111111111111111111111111111111111111111111111111111111";
const S: &str = "2222222222222222222222222222222222222222222222222222222222222222";

fn encode(result: Result<&Answer, &ToolError>, cap: usize) -> EncodedReply {
    let reply = CatalogId::LspV1.catalog().encode(result, cap);
    assert_eq!(CatalogId::LspV1Safe.catalog().encode(result, cap), reply, "both catalogs give the same bytes");
    reply
}

fn result(answer: &Answer, cap: usize) -> Option<Vec<u8>> {
    match encode(Ok(answer), cap) {
        EncodedReply::Result(bytes) => {
            assert!(bytes.len() <= cap);
            Some(bytes)
        }
        EncodedReply::Error { tool_code, .. } => {
            assert_eq!(tool_code, ErrorCode::CapExceeded);
            None
        }
        EncodedReply::Refusal { .. } => panic!("errors are JSON-RPC errors in this catalog"),
    }
}

fn details(answer: &Answer, cap: usize) -> Value {
    match encode(Ok(answer), cap) {
        EncodedReply::Error { data, .. } => serde_json::from_slice::<Value>(&data).unwrap()["details"].clone(),
        EncodedReply::Result(bytes) | EncodedReply::Refusal { result: bytes, .. } => {
            panic!("{} bytes fit into {cap}", bytes.len())
        }
    }
}

fn payload(answer: &Answer) -> Value {
    let bytes = result(answer, MAX_RESPONSE_BYTES).expect("fits");
    serde_json::from_slice::<Value>(&bytes).unwrap()["structuredContent"].clone()
}

fn answer(result: CanonicalResult, offset: u64, size: usize) -> Answer {
    page(&Snapshot::new(result), Some((offset, size)), PageStyle::default(), K, S)
}

fn raw_locations(n: u32) -> Vec<RawLocation> {
    (0..n).map(|n| RawLocation { uri: format!("file:///w/f{}", n % 3).into(), range: Range::new(n, 0, n, 4) }).collect()
}

fn locations(n: u32) -> codeyard_canon::Canonical<codeyard_model::position::Location> {
    codeyard_canon::locations(raw_locations(n), &mut FakeGate::default(), 20_000, 20_000).unwrap()
}

fn symbols(n: u32) -> CanonicalResult {
    let raw = (0..n).map(|n| RawWorkspaceSymbol {
        name: format!("symbol{n}"),
        kind: 12,
        uri: "file:///w/a".into(),
        range: Range::new(n, 0, n, 8),
        container_name: n.is_multiple_of(2).then(|| "Holder".into()),
    });
    let found = codeyard_canon::workspace_symbols(raw.collect(), &mut FakeGate::default(), 20_000, 20_000).unwrap();
    CanonicalResult::workspace_symbols(found, AnswerNotes::default())
}

#[test]
fn outsiders_of_the_workspace_lists_are_not_counted() {
    let symbol = |uri: &str| RawWorkspaceSymbol {
        name: "symbol".into(),
        kind: 12,
        uri: uri.into(),
        range: Range::new(0, 0, 0, 6),
        container_name: None,
    };
    let raw = vec![symbol("file:///w/a"), symbol("file:///x/a")];
    let found = codeyard_canon::workspace_symbols(raw, &mut FakeGate::default(), 10, 10).unwrap();
    assert_eq!(found.outside(), 1);
    let symbols = CanonicalResult::workspace_symbols(found, AnswerNotes::default());
    assert_eq!(payload(&answer(symbols, 0, 10))["summary"], "Returned 1 workspace symbol.");
    let files = ["file:///w/a", "file:///x/a"].map(|uri| (uri, raw_diagnostics(1)));
    let raw = files.map(|(uri, diagnostics)| RawFileDiagnostics { uri: uri.into(), diagnostics }).to_vec();
    let (found, cut) = codeyard_canon::workspace_diagnostics(raw, &mut FakeGate::default(), 10, 10).unwrap();
    assert_eq!(found.outside(), 1);
    let files = CanonicalResult::workspace_diagnostics(found, cut, AnswerNotes::default());
    assert_eq!(payload(&answer(files, 0, 10))["summary"], "Returned diagnostics for 1 file.");
}

fn raw_diagnostics(n: u32) -> Vec<RawDiagnostic> {
    let one = |n: u32| RawDiagnostic {
        range: Range::new(n, 2, n, 10),
        severity: (!n.is_multiple_of(3)).then_some(n % 3),
        code: n.is_multiple_of(2).then(|| format!("TS{n}")),
        source: n.is_multiple_of(2).then(|| "ts".into()),
        message: format!("message {n} \u{1}\"é𝒳\n"),
    };
    (0..n).map(one).collect()
}

fn workspace_diagnostics(files: u32, each: u32, notes: AnswerNotes) -> CanonicalResult {
    let raw = (0..files)
        .map(|n| RawFileDiagnostics { uri: format!("file:///w/f{n:03}").into(), diagnostics: raw_diagnostics(each) });
    let (found, cut) =
        codeyard_canon::workspace_diagnostics(raw.collect(), &mut FakeGate::default(), 5_000, 200).unwrap();
    CanonicalResult::workspace_diagnostics(found, cut, notes)
}

fn document_symbols(n: u32) -> CanonicalResult {
    let leaf = |name: String, line: u32| RawDocumentSymbol {
        name,
        kind: 6,
        range: Range::new(line, 0, line + 1, 0),
        selection_range: Range::new(line, 4, line, 8),
        container_name: None,
        children: vec![],
    };
    let children = (1..n).map(|line| leaf(format!("m{line}"), line)).collect();
    let tree = vec![RawDocumentSymbol { children, ..leaf("Class".into(), 0) }];
    let found = codeyard_canon::document_symbols(&file("/w/a"), tree, 20_000).unwrap();
    CanonicalResult::document_symbols(found, AnswerNotes::default(), 200)
}

fn hover(fragments: usize, text: &str) -> Answer {
    let contents = (0..fragments)
        .map(|n| HoverFragment { kind: MarkupKind::Markdown, value: format!("{n}{}", text.repeat(3_000)) })
        .collect();
    let raw = vec![Hover { contents, range: Some(Range::new(1, 2, 1, 5)) }];
    hover_answer(raw)
}

fn hover_answer(raw: Vec<Hover>) -> Answer {
    let (hover, truncated) = codeyard_canon::hover(raw);
    answer(CanonicalResult::hover(hover, truncated, AnswerNotes::default()), 0, 1)
}

/// A typical answer of each tool. Each optional member occurs in one of them.
fn typical() -> Vec<(&'static str, Answer)> {
    let notes = AnswerNotes {
        skipped_providers: vec!["ruff: not_installed".into()],
        coverage: Some(DiagnosticsCoverage { covered: 2, total: 3, by_server: vec![] }),
        ..AnswerNotes::default()
    };
    let outside = vec![RawLocation { uri: "file:///x/a".into(), range: Range::new(0, 0, 0, 1) }];
    let with_outside = [raw_locations(2), outside].concat();
    let definition = codeyard_canon::locations(with_outside, &mut FakeGate::default(), 10, 10).unwrap();
    let small_hover = vec![Hover {
        contents: vec![
            HoverFragment { kind: MarkupKind::Plaintext, value: "a plain \"word\"".into() },
            HoverFragment { kind: MarkupKind::Markdown, value: "```c\nint f(void)\n```".into() },
        ],
        range: Some(Range::new(1, 2, 1, 5)),
    }];
    let diagnostics = codeyard_canon::diagnostics(&file("/w/a"), raw_diagnostics(3));
    vec![
        ("vscode.lsp.definition", answer(CanonicalResult::definition(definition, AnswerNotes::default(), 200), 0, 1)),
        ("vscode.lsp.references", answer(CanonicalResult::references(locations(5), AnswerNotes::default()), 2, 2)),
        ("vscode.lsp.hover", hover_answer(small_hover)),
        ("vscode.lsp.documentSymbols", answer(document_symbols(3), 0, 1)),
        ("vscode.lsp.workspaceSymbols", answer(symbols(3), 0, 2)),
        (
            "vscode.lsp.diagnostics.document",
            answer(CanonicalResult::document_diagnostics(file("/w/a"), diagnostics, AnswerNotes::default(), 200), 0, 1),
        ),
        ("vscode.lsp.diagnostics.workspace", answer(workspace_diagnostics(2, 2, notes), 0, 5)),
    ]
}

/// An empty answer of each tool.
fn empty() -> Vec<(&'static str, Answer)> {
    let none = || codeyard_canon::locations(vec![], &mut FakeGate::default(), 0, 0).unwrap();
    let diagnostics = codeyard_canon::diagnostics(&file("/w/a"), vec![]);
    vec![
        ("vscode.lsp.definition", answer(CanonicalResult::definition(none(), AnswerNotes::default(), 200), 0, 1)),
        ("vscode.lsp.references", answer(CanonicalResult::references(none(), AnswerNotes::default()), 0, 1)),
        ("vscode.lsp.hover", hover_answer(vec![])),
        (
            "vscode.lsp.documentSymbols",
            answer(
                CanonicalResult::document_symbols(
                    codeyard_canon::document_symbols(&file("/w/a"), vec![], 0).unwrap(),
                    AnswerNotes::default(),
                    200,
                ),
                0,
                1,
            ),
        ),
        ("vscode.lsp.workspaceSymbols", answer(symbols(0), 0, 1)),
        (
            "vscode.lsp.diagnostics.document",
            answer(CanonicalResult::document_diagnostics(file("/w/a"), diagnostics, AnswerNotes::default(), 200), 0, 1),
        ),
        ("vscode.lsp.diagnostics.workspace", answer(workspace_diagnostics(0, 0, AnswerNotes::default()), 0, 1)),
    ]
}

fn output_schema(tool: &str) -> jsonschema::Validator {
    let set = CatalogSet::default();
    let list: Value = serde_json::from_str(set.list_json()).unwrap();
    let entry = list["tools"].as_array().unwrap().iter().find(|entry| entry["name"] == tool).unwrap().clone();
    jsonschema::draft202012::new(&entry["outputSchema"]).unwrap()
}

#[test]
fn payloads_are_golden() {
    for (tool, answer) in typical() {
        let path = format!("{}/../../tests/contract/golden/{tool}.result.json", env!("CARGO_MANIFEST_DIR"));
        let mut bytes = result(&answer, MAX_RESPONSE_BYTES).unwrap();
        bytes.push(b'\n');
        if std::env::var_os("CODEYARD_UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &bytes).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), golden, "{tool}; CODEYARD_UPDATE_GOLDEN=1 rewrites");
    }
}

#[test]
fn payloads_fit_their_output_schemas() {
    let full = [
        (
            "vscode.lsp.definition",
            answer(CanonicalResult::definition(locations(300), AnswerNotes::default(), 200), 0, 1),
        ),
        ("vscode.lsp.references", answer(CanonicalResult::references(locations(300), AnswerNotes::default()), 0, 200)),
        ("vscode.lsp.hover", hover(9, "𝒳")),
        ("vscode.lsp.documentSymbols", answer(document_symbols(412), 0, 1)),
        ("vscode.lsp.workspaceSymbols", answer(symbols(300), 0, 200)),
        ("vscode.lsp.diagnostics.workspace", answer(workspace_diagnostics(3, 300, AnswerNotes::default()), 0, 200)),
    ];
    for (tool, answer) in typical().into_iter().chain(empty()).chain(full) {
        let payload = payload(&answer);
        let validator = output_schema(tool);
        if let Err(error) = validator.validate(&payload) {
            panic!("{tool}: {error} in {payload}");
        }
        let mut more = payload.clone();
        more["extra"] = json!(1);
        assert!(!validator.is_valid(&more), "{tool}: the schema is strict");
    }
}

#[test]
fn the_envelope_follows_the_contract() {
    for (tool, answer) in typical() {
        let text = String::from_utf8(result(&answer, MAX_RESPONSE_BYTES).unwrap()).unwrap();
        assert!(text.starts_with("{\"isError\":false,\"structuredContent\":{"), "{tool}");
        assert!(text.ends_with("},\"content\":[]}") && !text.contains('\n'), "{tool}");
    }
}

#[test]
fn an_empty_answer_is_a_success_with_a_summary() {
    for (tool, answer) in empty() {
        let payload = payload(&answer);
        assert!(payload["summary"].as_str().unwrap().starts_with("No "), "{tool}: {payload}");
    }
}

#[test]
fn a_long_list_is_truncated_and_its_summary_says_so() {
    let payload = payload(&answer(document_symbols(412), 0, 1));
    assert_eq!(payload["symbols"].as_array().unwrap().len(), 200);
    assert_eq!(payload["summary"], "Returned the first 200 of 412 document symbols.");
}

#[test]
fn a_full_page_of_typical_entries_fits() {
    let page = answer(CanonicalResult::references(locations(20_000), AnswerNotes::default()), 0, 200);
    assert!(result(&page, MAX_RESPONSE_BYTES).is_some());
}

#[test]
fn the_byte_cap_is_exact_for_every_tool() {
    for (tool, answer) in typical() {
        let bytes = result(&answer, usize::MAX).unwrap();
        assert_eq!(result(&answer, bytes.len()), Some(bytes.clone()), "{tool}");
        if tool != "vscode.lsp.hover" {
            assert_eq!(details(&answer, bytes.len() - 1)["reason"], "response_too_large", "{tool}");
        }
        for cap in 0..bytes.len() {
            // `result` asserts the cap.
            result(&answer, cap);
        }
    }
}

/// Compares the hint of a page that is too large with the largest smaller page that fits.
fn check_hint(whole: &Snapshot, offset: u64, size: usize, cap: usize) -> usize {
    let cut = |size| page(whole, Some((offset, size)), PageStyle::default(), K, S);
    let fits = (1..size).rev().find(|size| result(&cut(*size), cap).is_some()).unwrap_or(0);
    let details = details(&cut(size), cap);
    assert_eq!(details["pageSizeThatFits"].as_u64().unwrap_or(0) as usize, fits, "cap {cap}, offset {offset}");
    assert_eq!(details.get("pageSizeThatFits").is_none(), fits == 0);
    fits
}

#[test]
fn the_hinted_page_size_is_the_largest_that_fits() {
    let results = [
        CanonicalResult::references(locations(1_005), AnswerNotes::default()),
        symbols(110),
        workspace_diagnostics(
            105,
            3,
            AnswerNotes { skipped_providers: vec!["ty: crashed".into()], ..AnswerNotes::default() },
        ),
    ];
    for whole in results.map(Snapshot::new) {
        // In the second case the offset gets a digit more; the third reaches the end of two of the lists.
        for (offset, size) in [(0, 12), (3, 9), (92, 18)] {
            let bytes = |size| {
                result(&page(&whole, Some((offset, size)), PageStyle::default(), K, S), usize::MAX).unwrap().len()
            };
            // The exact length of each size, and one byte less: exact hints change there.
            let mut caps: Vec<usize> = (1..size).flat_map(|size| [bytes(size) - 1, bytes(size)]).collect();
            caps.extend([300, bytes(size) - 1]);
            caps.retain(|cap| *cap < bytes(size));
            caps.sort_unstable();
            let hints: Vec<usize> = caps.into_iter().map(|cap| check_hint(&whole, offset, size, cap)).collect();
            assert!(hints[0] == 0 && hints[hints.len() - 1] > 0 && hints.is_sorted(), "{hints:?}");
        }
    }
}

#[test]
fn a_workspace_diagnostics_page_over_the_cap_hints_a_size() {
    let whole = workspace_diagnostics(200, 200, AnswerNotes::default());
    let page = answer(whole.clone(), 0, 200);
    let size = details(&page, MAX_RESPONSE_BYTES)["pageSizeThatFits"].as_u64().unwrap() as usize;
    assert!(result(&answer(whole.clone(), 0, size), MAX_RESPONSE_BYTES).is_some());
    assert!(result(&answer(whole, 0, size + 1), MAX_RESPONSE_BYTES).is_none());
}

#[test]
fn a_hover_is_truncated_at_a_code_point_to_fit() {
    for text in ["x", "𝒳", "\u{1}", "\"é"] {
        let answer = hover(3, text);
        let whole = result(&answer, usize::MAX).unwrap().len();
        for cap in (300..whole).step_by(1_711).chain([whole - 1]) {
            let bytes = result(&answer, cap).expect("a hover fits into this cap");
            let payload = &serde_json::from_slice::<Value>(&bytes).unwrap()["structuredContent"];
            assert_eq!(payload["summary"], "Hover available. Truncated.");
            // One more character wouldn't fit, or the frame of the next fragment wouldn't.
            assert!(cap - bytes.len() < 64, "{} of {cap}", bytes.len());
            assert!(output_schema("vscode.lsp.hover").is_valid(payload));
        }
    }
}

#[test]
fn a_hover_without_room_for_any_text_is_an_error() {
    let answer = hover(1, "x");
    assert!(result(&answer, 100).is_none());
    assert!(result(&answer, 250).is_some());
}

#[test]
fn the_longest_hover_fits_into_the_default_cap() {
    let answer = hover(8, "\u{1}\u{1}\u{1}");
    let payload = payload(&answer);
    assert_eq!(payload["contents"].as_array().unwrap().len(), 8);
    assert!(result(&answer, MAX_RESPONSE_BYTES).is_some());
}

#[test]
fn errors_are_bounded_replies() {
    for code in ErrorCode::ALL {
        let error = ToolError::new(code, "m").with("big", "x".repeat(1_000_000));
        let EncodedReply::Error { data, tool_code, .. } = encode(Err(&error), 1_000) else { unreachable!() };
        assert_eq!((tool_code, data.len() <= 1_000), (code, true));
        let data: Value = serde_json::from_slice(&data).unwrap();
        assert_eq!(data["code"], format!("MCP_LSP_GATEWAY/{}", code.as_str()));
    }
}
