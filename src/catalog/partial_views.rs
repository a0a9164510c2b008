//! Tests of marks of partial views in the catalogs of language servers: every operation, empty or not, on a project that a server knows in
//! part, as a whole, or to an unknown extent.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{CatalogId, EncodedReply};
use codeyard_base::ids::ServerKind;
use codeyard_canon::testing::{FakeGate, file};
use codeyard_canon::{
    Canonical, diagnostics, document_symbols, hover, locations, workspace_diagnostics, workspace_symbols,
};
use codeyard_model::answer::{Answer, AnswerNotes};
use codeyard_model::coverage::{
    AnswerCoverage, AnswerScope, Hidden, ProjectFileSource, ServerCoverage, UndecidedName, UnresolvedImports,
};
use codeyard_model::diagnostic::{RawDiagnostic, RawFileDiagnostics};
use codeyard_model::hover::{Hover, HoverFragment, MarkupKind};
use codeyard_model::limits::{DEFAULT_PAGE_CHARS, MAX_RESPONSE_BYTES};
use codeyard_model::lsp_items::{
    CallItem, IncomingCall, LspItems, Markup, MarkupHover, NamedSymbol, OutgoingCall, OutlineEntry, Place, ResultPaths,
};
use codeyard_model::operation::{Operation, PageStyle};
use codeyard_model::position::{Location, Range, RawLocation};
use codeyard_model::symbol::{RawDocumentSymbol, RawWorkspaceSymbol};
use codeyard_paging::{CanonicalResult, LspResult, Snapshot, page};

const K: &str = "1111111111111111111111111111111111111111111111111111111111111111";
const S: &str = "2222222222222222222222222222222222222222222222222222222222222222";
/// The sentence of [`partial`].
const MARK: &str = "32 of 706 C files are known to clangd: no compile_commands.json; run `bear -- make`.";

fn range() -> Range {
    Range::new(1, 0, 1, 4)
}

pub(crate) fn coverage(known: Option<usize>) -> ServerCoverage {
    ServerCoverage {
        server: ServerKind::new("clangd"),
        project: ".".into(),
        languages: "C".into(),
        source: ProjectFileSource::Missing,
        files: 706,
        known,
        reason: "no compile_commands.json".into(),
        remedy: Some("run `bear -- make`".into()),
        unresolved: vec![],
        undecided: None,
    }
}

fn notes(coverage: ServerCoverage, scope: AnswerScope) -> AnswerNotes {
    let known_files = AnswerCoverage { servers: vec![Arc::new(coverage)], scope };
    AnswerNotes { known_files, ..AnswerNotes::default() }
}

/// The notes of an operation's answer as the engine makes them: which operations are about one document is its decision.
fn partial(is_of_document: bool) -> AnswerNotes {
    let scope = if is_of_document { AnswerScope::Document { is_known: true } } else { AnswerScope::Project };
    notes(coverage(Some(32)), scope)
}

fn found(count: u32) -> Canonical<Location> {
    let raw = (0..count).map(|_| RawLocation { uri: "file:///w/a".into(), range: range() }).collect();
    locations(raw, &mut FakeGate::default(), 10, 10).unwrap()
}

/// A result of each tool of `lsp-v1` with `count` entries, 0 or 1, and whether it is about one document.
fn results(count: u32, notes: &dyn Fn(bool) -> AnswerNotes) -> Vec<(&'static str, CanonicalResult)> {
    let many = |one: RawDiagnostic| (0..count).map(|_| one.clone()).collect::<Vec<_>>();
    let diagnostic = RawDiagnostic { range: range(), severity: Some(1), code: None, source: None, message: "m".into() };
    let symbol = RawDocumentSymbol {
        name: "f".into(),
        kind: 12,
        range: range(),
        selection_range: range(),
        container_name: None,
        children: vec![],
    };
    let named = RawWorkspaceSymbol {
        name: "f".into(),
        kind: 12,
        uri: "file:///w/a".into(),
        range: range(),
        container_name: None,
    };
    let fragment = HoverFragment { kind: MarkupKind::Plaintext, value: "f".into() };
    let hovers = (0..count).map(|_| Hover { contents: vec![fragment.clone()], range: None }).collect();
    let symbols = (0..count).map(|_| symbol.clone()).collect();
    let all = (0..count).map(|_| named.clone()).collect();
    let files =
        (0..count).map(|_| RawFileDiagnostics { uri: "file:///w/a".into(), diagnostics: many(diagnostic.clone()) });
    let (files, cut) = workspace_diagnostics(files.collect(), &mut FakeGate::default(), 10, 10).unwrap();
    let document = diagnostics(&file("/w/a"), many(diagnostic));
    let symbols = document_symbols(&file("/w/a"), symbols, 10).unwrap();
    let all = workspace_symbols(all, &mut FakeGate::default(), 10, 10).unwrap();
    let (hover, truncated) = hover(hovers);
    vec![
        ("definition", CanonicalResult::definition(found(count), notes(false), 10)),
        ("references", CanonicalResult::references(found(count), notes(false))),
        ("hover", CanonicalResult::hover(hover, truncated, notes(true))),
        ("documentSymbols", CanonicalResult::document_symbols(symbols, notes(true), 10)),
        ("workspaceSymbols", CanonicalResult::workspace_symbols(all, notes(false))),
        ("diagnostics.document", CanonicalResult::document_diagnostics(file("/w/a"), document, notes(true), 10)),
        ("diagnostics.workspace", CanonicalResult::workspace_diagnostics(files, cut, notes(false))),
    ]
}

/// A result of each operation of the tool `lsp`, likewise.
fn operations(count: usize, notes: &dyn Fn(bool) -> AnswerNotes) -> Vec<(&'static str, CanonicalResult)> {
    let location = Location { uri: file("/w/a"), range: range() };
    let item = CallItem { name: "f".into(), kind: 12, uri: file("/w/a"), range: range(), selection_range: range() };
    let markup = MarkupHover { contents: Markup { kind: MarkupKind::Markdown, value: "f".into() }, range: None };
    let entry = OutlineEntry { depth: 0, name: "f".into(), kind: 12, range: range(), selection_range: range() };
    let symbol = NamedSymbol { name: "f".into(), kind: 12, location: location.clone(), container_name: None };
    let incoming = IncomingCall { from: item.clone(), from_ranges: vec![range()], preview: Some("f()".into()) };
    let outgoing = OutgoingCall { to: item.clone(), from_ranges: vec![range()], preview: Some("f()".into()) };
    let of = |operation: Operation| {
        let found = match operation {
            Operation::GoToDefinition | Operation::FindReferences | Operation::GoToImplementation => {
                LspItems::Locations(vec![Place::from(location.clone()); count])
            }
            Operation::Hover => LspItems::Hover(Some(markup.clone()).filter(|_| count > 0)),
            Operation::DocumentSymbol => LspItems::Outline(vec![entry.clone(); count]),
            Operation::WorkspaceSymbol => LspItems::Symbols(vec![symbol.clone(); count]),
            Operation::PrepareCallHierarchy => LspItems::CallItems(vec![item.clone(); count]),
            Operation::IncomingCalls => LspItems::Incoming(vec![incoming.clone(); count]),
            Operation::OutgoingCalls => LspItems::Outgoing(vec![outgoing.clone(); count]),
        };
        let is_of_document = matches!(operation, Operation::Hover | Operation::DocumentSymbol);
        let notes = notes(is_of_document);
        let title = format!("{} a.c:2:1", operation.as_str());
        (
            operation.as_str(),
            CanonicalResult::Lsp(LspResult { operation, title, found, notes, paths: ResultPaths::default() }),
        )
    };
    Operation::ALL.into_iter().map(of).collect()
}

fn answer(result: CanonicalResult) -> Answer {
    page(&Snapshot::new(result), Some((0, 10)), PageStyle::default(), K, S)
}

fn encode(catalog: CatalogId, answer: &Answer) -> Value {
    let EncodedReply::Result(bytes) = catalog.catalog().encode(Ok(answer), MAX_RESPONSE_BYTES) else {
        panic!("a result")
    };
    serde_json::from_slice(&bytes).unwrap()
}

fn summary(catalog: CatalogId, result: CanonicalResult) -> String {
    encode(catalog, &answer(result))["structuredContent"]["summary"].as_str().unwrap().to_owned()
}

const BOTH: [CatalogId; 2] = [CatalogId::LspV1, CatalogId::LspV1Safe];

#[test]
fn every_empty_list_of_a_partial_view_is_marked_in_its_summary() {
    for catalog in BOTH {
        for (tool, result) in results(0, &partial) {
            let text = summary(catalog, result);
            assert!(text.starts_with("No ") && text.ends_with(&format!(" found. {MARK}")), "{tool}: {text}");
        }
    }
}

#[test]
fn lists_of_a_partial_view_are_marked_unless_they_are_about_one_known_document() {
    for catalog in BOTH {
        for (tool, result) in results(1, &partial) {
            let of_document = ["hover", "documentSymbols", "diagnostics.document"].contains(&tool);
            let text = summary(catalog, result);
            assert_eq!(text.ends_with(MARK), !of_document, "{tool}: {text}");
        }
        let unknown = |_| notes(coverage(Some(32)), AnswerScope::Document { is_known: false });
        for (tool, result) in results(1, &unknown) {
            let text = summary(catalog, result);
            assert!(text.ends_with(MARK), "{tool}: {text}");
        }
    }
}

#[test]
fn complete_views_carry_no_mark() {
    let complete = |_| notes(coverage(Some(706)), AnswerScope::Project);
    let plain = |_| AnswerNotes::default();
    for count in [0, 1] {
        for ((tool, marked), (_, unmarked)) in results(count, &complete).into_iter().zip(results(count, &plain)) {
            let marked = answer(marked);
            let unmarked = answer(unmarked);
            assert_eq!(encode(CatalogId::LspV1, &marked), encode(CatalogId::LspV1, &unmarked), "{tool}");
        }
        let both = operations(count as usize, &complete).into_iter().zip(operations(count as usize, &plain));
        for ((operation, marked), (_, unmarked)) in both {
            let marked = answer(marked);
            let unmarked = answer(unmarked);
            assert_eq!(encode(CatalogId::Agent, &marked), encode(CatalogId::Agent, &unmarked), "{operation}");
        }
    }
}

#[test]
fn every_empty_list_of_the_tool_lsp_is_marked_in_text_and_metadata() {
    for (operation, result) in operations(0, &partial) {
        let reply = encode(CatalogId::Agent, &answer(result));
        assert_eq!(reply["content"][0]["text"], format!("No results found for {operation}\n{MARK}"));
        let metadata = &reply["structuredContent"]["metadata"];
        assert_eq!(metadata["hint"], reply["content"][0]["text"], "{operation}");
        assert_eq!(metadata["partial"], json!([partial_entry()]), "{operation}");
    }
}

#[test]
fn lists_of_the_tool_lsp_are_marked_unless_they_are_about_one_known_document() {
    for (operation, result) in operations(1, &partial) {
        let reply = encode(CatalogId::Agent, &answer(result));
        let text = reply["content"][0]["text"].as_str().unwrap();
        let metadata = &reply["structuredContent"]["metadata"];
        let of_document = ["hover", "documentSymbol"].contains(&operation);
        assert_eq!(text.ends_with(&format!("\n\n{MARK}")), !of_document, "{operation}: {text}");
        assert_eq!((metadata["hint"] == MARK, metadata["partial"].is_array()), (!of_document, !of_document));
    }
}

fn partial_entry() -> Value {
    json!({
        "server": "clangd", "project": ".", "projectFile": "missing", "files": 706, "knownFiles": 32,
        "reason": "no compile_commands.json", "remedy": "run `bear -- make`"
    })
}

#[test]
fn an_unknown_number_of_files_is_null_and_said() {
    let unknown = |_| notes(coverage(None), AnswerScope::Project);
    let (_, result) = operations(0, &unknown).remove(1);
    let reply = encode(CatalogId::Agent, &answer(result));
    let mut entry = partial_entry();
    entry["knownFiles"] = Value::Null;
    assert_eq!(reply["structuredContent"]["metadata"]["partial"], json!([entry]));
    let text = reply["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("It is unknown how many of 706 C files clangd knows: no compile_commands.json;"), "{text}");
}

#[test]
fn unresolved_imports_are_named_when_nothing_was_found() {
    let with_imports = |_| {
        let cause = UnresolvedImports {
            names: 3,
            reason: "`node_modules` is missing".into(),
            command: Some("npm ci".into()),
            hides: Hidden::Nothing,
        };
        let known = ServerCoverage {
            server: ServerKind::new("typescript"),
            languages: "TypeScript".into(),
            source: ProjectFileSource::Found("tsconfig.json".into()),
            unresolved: vec![cause],
            reason: String::new(),
            remedy: None,
            ..coverage(Some(706))
        };
        notes(known, AnswerScope::Project)
    };
    let sentence =
        "3 imports of 706 TypeScript files can't be resolved by typescript: `node_modules` is missing; run `npm ci`.";
    let text = summary(CatalogId::LspV1, results(0, &with_imports).remove(1).1);
    assert_eq!(text, format!("No references found. {sentence}"));
    let reply = encode(CatalogId::Agent, &answer(operations(0, &with_imports).remove(1).1));
    let expected = json!([{
        "server": "typescript", "project": ".", "projectFile": "found", "files": 706, "knownFiles": 706,
        "unresolvedImports": 3, "reason": "`node_modules` is missing", "remedy": "run `npm ci`"
    }]);
    assert_eq!(reply["structuredContent"]["metadata"]["partial"], expected);
    assert_eq!(summary(CatalogId::LspV1, results(1, &with_imports).remove(1).1), "Returned 1 reference.");
}

#[test]
fn undecided_places_are_counted_below_any_list() {
    let with_places = |_| {
        let undecided = Some(UndecidedName { name: "f".into(), places: 2, is_cut: false });
        notes(ServerCoverage { undecided, ..coverage(Some(706)) }, AnswerScope::Project)
    };
    let sentence =
        "2 uses of `f` can't be decided by clangd: the types of their objects are unknown; search the name as text.";
    for (count, found) in [(0, "No references found."), (1, "Returned 1 reference.")] {
        let text = summary(CatalogId::LspV1, results(count, &with_places).remove(1).1);
        assert_eq!(text, format!("{found} {sentence}"));
        let reply = encode(CatalogId::Agent, &answer(operations(count as usize, &with_places).remove(1).1));
        let metadata = &reply["structuredContent"]["metadata"];
        assert!(metadata["hint"].as_str().unwrap().ends_with(&sentence), "{metadata}");
        assert_eq!(metadata["partial"][0]["undecidedPlaces"], 2);
        assert_eq!(metadata["partial"][0]["reason"], sentence);
    }
}

#[test]
fn marked_answers_are_golden_and_fit_the_schemas() {
    let mut lines = String::new();
    for count in [0, 1] {
        for (tool, result) in results(count, &partial) {
            lines.push_str(&format!("{tool} {}\n", encode(CatalogId::LspV1, &answer(result))));
        }
        for (operation, result) in operations(count as usize, &partial) {
            let reply = encode(CatalogId::Agent, &answer(result));
            let entry: Value = serde_json::from_str(&CatalogId::Agent.catalog().tool_entries()[0]).unwrap();
            let schema = jsonschema::validator_for(&entry["outputSchema"]).unwrap();
            assert!(schema.is_valid(&reply["structuredContent"]), "{reply}");
            lines.push_str(&format!("lsp {operation} {reply}\n"));
        }
    }
    let path = format!("{}/../../tests/contract/golden/partial.replies.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("CODEYARD_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &lines).unwrap();
    }
    assert_eq!(lines, std::fs::read_to_string(&path).unwrap(), "CODEYARD_UPDATE_GOLDEN=1 rewrites");
}

#[test]
fn pages_of_a_marked_list_fit_and_each_has_the_mark() {
    let found = LspItems::Locations(
        (0..1_000)
            .map(|line| Place { uri: file("/w/a"), range: Range::new(line, 0, line, 4), preview: Some("f()".into()) })
            .collect(),
    );
    let operation = Operation::FindReferences;
    let snapshot = Snapshot::new(CanonicalResult::Lsp(LspResult {
        operation,
        title: "findReferences a.c:1:1".into(),
        found,
        notes: partial(false),
        paths: ResultPaths::default(),
    }));
    let mut offset = 0;
    let mut count = 0;
    loop {
        let reply = encode(CatalogId::Agent, &page(&snapshot, Some((offset, 1_000)), PageStyle::default(), K, S));
        let text = reply["content"][0]["text"].as_str().unwrap();
        assert!(text.chars().count() <= DEFAULT_PAGE_CHARS && text.ends_with(MARK), "page at {offset}");
        let metadata = &reply["structuredContent"]["metadata"];
        assert_eq!(metadata["partial"], json!([partial_entry()]));
        assert!(metadata["hint"].as_str().unwrap().ends_with(MARK));
        count += metadata["result"].as_array().unwrap().len();
        let Some(cursor) = metadata["nextCursor"].as_str() else { break };
        offset = codeyard_paging::decode(cursor, K).unwrap().offset;
    }
    assert_eq!(count, 1_000);
}
