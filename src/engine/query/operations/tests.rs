//! Dispatch of queries to operations, decoding of replies, and canonical results, without a language server.

use std::path::PathBuf;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::call_hierarchy::{CallsAnswer, PrepareRequest, ServerFunction};
use super::incoming_calls::Callers;
use super::workspace_diagnostics::WorkspaceDiagnosticsRequest;
use super::workspace_symbols::WorkspaceSymbolsRequest;
use super::*;
use crate::query::canonicalise::{Canonicalised, canonicalise};
use crate::query::collected::Collected;
use crate::redact::REDACTED;
use crate::server::requests::request::{Exchange, LspRequest, SessionView};
use codeyard_base::ids::LanguageId;
use codeyard_files::gate::Gate;
use codeyard_lsp::convert::{RawCall, RawCallItem, ReplyEntries};
use codeyard_lsp::documents::document_input::DocumentSource;
use codeyard_lsp::methods;
use codeyard_lsp::text::Document;
use codeyard_lsp::text::encoding::{PositionEncoding, PositionRules};
use codeyard_model::code::CodeQuery;
use codeyard_model::coverage::AnswerScope;
use codeyard_model::diagnostic::{RawDiagnostic, RawFileDiagnostics};
use codeyard_model::limits::Limits;
use codeyard_model::lsp_items::LspItems;
use codeyard_model::operation::PageStyle;
use codeyard_model::position::{Position, Range, RawLocation};
use codeyard_model::query::PageRequest;
use codeyard_model::symbol::RawWorkspaceSymbol;
use codeyard_paging::CanonicalResult;

/// The text of the document; its first character takes two UTF-16 columns and four UTF-8 bytes.
const TEXT: &str = "𝒳 = call(1)\n";
/// The position of `call`.
const AT_CALL: Position = Position { line: 0, character: 5 };

/// A folder with one file, and the gate to it. The folder exists as long as this value.
struct Folder {
    _temporary: tempfile::TempDir,
    file: PathBuf,
    gate: Gate,
    uri: CanonicalUri,
}

impl Folder {
    fn new() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        let file = root.join("a.py");
        std::fs::write(&file, TEXT).unwrap();
        let gate = Gate::open(&[root], &[]).unwrap();
        let uri = gate.path(&file).unwrap();
        Self { _temporary: temporary, file, gate, uri }
    }

    fn document(&self) -> DocumentInput {
        document(self.uri.clone())
    }

    /// The canonical result of one answer to `operation`.
    fn canonical<O: QueryOperation>(&self, query: &GatedQuery, operation: &O, answer: O::Answer) -> Canonicalised {
        let collected = Collected::complete(vec![answer], Vec::new());
        canonicalise(operation, query, &self.gate, &Limits::default(), collected, 1, AnswerScope::Project).unwrap()
    }
}

fn document(uri: CanonicalUri) -> DocumentInput {
    let document = Arc::new(Document::new(TEXT));
    let source = Arc::new(DocumentSource { uri, document, hash: [0; 32], settled: None });
    DocumentInput { source, language: LanguageId::new("python") }
}

fn any_document() -> DocumentInput {
    document(CanonicalUri::of_gated_path("/w/a.py".as_ref()))
}

fn page() -> PageRequest {
    PageRequest { size: 10, cursor: None }
}

fn raw(value: Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

/// A query of the tool `lsp`, with the subject that its operation needs.
fn tool_query(operation: Operation) -> LspQuery<CanonicalUri> {
    let uri = any_document().source.uri.clone();
    let subject = match operation {
        Operation::DocumentSymbol => QuerySubject::File(uri),
        Operation::WorkspaceSymbol => QuerySubject::Name("call".into()),
        _ => QuerySubject::At(uri, AT_CALL),
    };
    LspQuery { operation, subject, page: page(), style: PageStyle::default() }
}

/// The queries that language servers answer, except those of the tool `lsp`.
fn queries() -> Vec<GatedQuery> {
    let uri = any_document().source.uri.clone();
    vec![
        Query::Definition { uri: uri.clone(), position: AT_CALL },
        Query::References { uri: uri.clone(), position: AT_CALL, include_declaration: false, page: page() },
        Query::Hover { uri: uri.clone(), position: AT_CALL },
        Query::DocumentSymbols { uri: uri.clone() },
        Query::WorkspaceSymbols { query: "call".into(), page: page() },
        Query::DocumentDiagnostics { uri: uri.clone() },
        Query::WorkspaceDiagnostics { page: page() },
        Query::Declarations { uri },
    ]
}

/// What decides how an operation is sent.
#[derive(Debug, PartialEq)]
struct Dispatched {
    policy: GatherPolicy,
    method: &'static str,
    exchange: Exchange,
}

struct Describe;

impl OperationHandler for Describe {
    type Output = Dispatched;

    fn handle<O: QueryOperation>(self, policy: GatherPolicy, _: O) -> Dispatched {
        Dispatched { policy, method: O::Request::METHOD, exchange: O::Request::EXCHANGE }
    }
}

/// The parameters of the first request.
struct SentParams;

impl OperationHandler for SentParams {
    type Output = Value;

    fn handle<O: QueryOperation>(self, _policy: GatherPolicy, operation: O) -> Value {
        let session = SessionView { encoding: PositionRules::default(), diagnostics_identifier: None };
        serde_json::to_value(operation.request().params(&session)).unwrap()
    }
}

#[test]
fn every_query_has_its_policy_and_method() {
    use Exchange::{DocumentDiagnostics, ProjectDiagnostics, Reply};
    use GatherPolicy::{AllOrNone, EveryServer, First};
    let dispatched: Vec<Dispatched> =
        queries().iter().map(|query| dispatch(query, Some(any_document()), Describe).unwrap()).collect();
    let expected = [
        (First, methods::DEFINITION, Reply),
        (First, methods::REFERENCES, Reply),
        (First, methods::HOVER, Reply),
        (First, methods::DOCUMENT_SYMBOL, Reply),
        (EveryServer, methods::WORKSPACE_SYMBOL, Reply),
        (AllOrNone, methods::DOCUMENT_DIAGNOSTIC, DocumentDiagnostics),
        (EveryServer, methods::WORKSPACE_DIAGNOSTIC, ProjectDiagnostics),
        (First, methods::DOCUMENT_SYMBOL, Reply),
    ];
    assert_eq!(dispatched, expected.map(|(policy, method, exchange)| Dispatched { policy, method, exchange }));
}

#[test]
fn every_tool_operation_begins_with_its_method() {
    let methods = Operation::ALL.map(|operation| {
        let dispatched = dispatch(&Query::Lsp(tool_query(operation)), Some(any_document()), Describe).unwrap();
        assert_eq!((dispatched.policy, dispatched.exchange), (GatherPolicy::Tool(operation), Exchange::Reply));
        dispatched.method
    });
    let expected = [
        methods::DEFINITION,
        methods::REFERENCES,
        methods::HOVER,
        methods::DOCUMENT_SYMBOL,
        methods::WORKSPACE_SYMBOL,
        methods::IMPLEMENTATION,
        methods::PREPARE_CALL_HIERARCHY,
        methods::PREPARE_CALL_HIERARCHY,
        methods::PREPARE_CALL_HIERARCHY,
    ];
    assert_eq!(methods, expected);
}

#[test]
fn queries_without_their_document_or_subject_have_no_operation() {
    let tool_queries = Operation::ALL.map(|operation| Query::Lsp(tool_query(operation)));
    for query in queries().iter().chain(&tool_queries) {
        let is_dispatched = dispatch(query, None, Describe).is_some();
        assert_eq!(is_dispatched, query.uri().is_none(), "{query:?}");
    }
    let code: GatedQuery = Query::Code(CodeQuery::Health { workspace: None }.into());
    assert_eq!(dispatch(&code, Some(any_document()), Describe), None);
    let subject = QuerySubject::File(any_document().source.uri.clone());
    for operation in [Operation::WorkspaceSymbol, Operation::Hover, Operation::IncomingCalls] {
        let query =
            Query::Lsp(LspQuery { operation, subject: subject.clone(), page: page(), style: PageStyle::default() });
        assert_eq!(dispatch(&query, Some(any_document()), Describe), None, "{query:?}");
    }
}

#[test]
fn the_first_request_of_calls_prepares_the_hierarchy() {
    let query = Query::Lsp(tool_query(Operation::IncomingCalls));
    let request = first_request(&query, Some(any_document())).unwrap();
    assert_eq!(request.method(), methods::PREPARE_CALL_HIERARCHY);
    assert_eq!(request.document().unwrap().source.uri, any_document().source.uri);
    assert_eq!(request.incarnation(), None);
    assert!(first_request(&query, None).is_none());
}

#[test]
fn positions_are_sent_in_the_encoding_of_the_server() {
    let hover = OneRequest::new(HoverRequest(DocumentPosition::new(any_document(), AT_CALL)), None);
    let character = |encoding: PositionEncoding| {
        let session = SessionView { encoding: encoding.into(), diagnostics_identifier: None };
        serde_json::to_value(hover.request().params(&session)).unwrap()["position"]["character"].clone()
    };
    let encodings = [PositionEncoding::Utf16, PositionEncoding::Utf8, PositionEncoding::Utf32];
    assert_eq!(encodings.map(character), [5, 7, 4]);
}

#[test]
fn the_tool_lsp_counts_the_declaration_as_a_reference() {
    let includes = |params: Value| params["context"]["includeDeclaration"].as_bool().unwrap();
    let sent = |query: &GatedQuery| includes(dispatch(query, Some(any_document()), SentParams).unwrap());
    assert!(sent(&Query::Lsp(tool_query(Operation::FindReferences))));
    for include_declaration in [true, false] {
        let uri = any_document().source.uri.clone();
        let references = Query::References { uri, position: AT_CALL, include_declaration, page: page() };
        assert_eq!(sent(&references), include_declaration);
    }
}

fn call() -> RawCall {
    let uri: Arc<str> = "file:///w/a.py".into();
    let item = RawCallItem {
        name: "f".to_owned(),
        kind: 12,
        uri: uri.clone(),
        range: Range::new(0, 0, 0, 4),
        selection_range: Range::new(0, 0, 0, 4),
        json: "{}".into(),
    };
    RawCall { item, calls_in: uri, from_ranges: vec![] }
}

#[test]
fn a_function_without_calls_is_a_target() {
    let cases = [
        (CallsAnswer::NoFunction, 0, false),
        (CallsAnswer::Calls(vec![]), 0, true),
        (CallsAnswer::Calls(vec![call(), call()]), 2, true),
    ];
    for (answer, entries, has_target) in cases {
        assert_eq!(answer.entries(), entries);
        assert_eq!(OutgoingCalls::has_target(&answer), has_target);
        let callers = Callers { answer, undecided: None };
        assert_eq!(callers.entries(), entries);
        assert_eq!(IncomingCalls::has_target(&callers), has_target);
    }
    assert!(!OneRequest::<DefinitionRequest>::has_target(&vec![]));
}

#[test]
fn a_function_goes_back_to_its_server_unchanged() {
    let function = |json: &str| ServerFunction {
        document: any_document(),
        json: json.into(),
        uri: "file:///w/a.py".into(),
        incarnation: 3,
    };
    let named = function(r#"{"name":"f","data":[1]}"#);
    let params = serde_json::to_string(&named.params().unwrap()).unwrap();
    assert_eq!(params, r#"{"item":{"name":"f","data":[1]}}"#);
    assert!(function(r#"{"name":"#).params().is_none());
}

#[test]
fn prepared_functions_keep_the_json_of_the_server() {
    let prepare = PrepareRequest(DocumentPosition::new(any_document(), AT_CALL));
    let range = json!({"start": {"line": 0, "character": 5}, "end": {"line": 0, "character": 9}});
    let item = json!({"data": 7, "kind": 12, "name": "call", "range": range, "selectionRange": range, "uri": "file:///w/a.py"});
    let items = prepare.decode(&raw(json!([item]))).unwrap();
    assert_eq!((items.len(), &*items[0].json), (1, item.to_string().as_str()));
    assert!(prepare.decode(&raw(Value::Null)).unwrap().is_empty());
}

fn diagnostic(message: &str) -> Value {
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}});
    json!({"range": range, "severity": 1, "message": message})
}

fn messages(diagnostics: &[RawDiagnostic]) -> Vec<&str> {
    diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect()
}

#[test]
fn a_report_on_a_document_names_the_document() {
    let request = DocumentDiagnosticsRequest(any_document());
    let uri = any_document().source.uri.text();
    let full = request.decode(&raw(json!({"kind": "full", "items": [diagnostic("wrong")]}))).unwrap();
    assert_eq!((full.len(), &full[0].uri, messages(&full[0].diagnostics)), (1, &uri, vec!["wrong"]));
    let unchanged = request.decode(&raw(json!({"kind": "unchanged", "resultId": "1"}))).unwrap();
    assert_eq!((unchanged.len(), &unchanged[0].uri, messages(&unchanged[0].diagnostics)), (1, &uri, vec![]));
    assert!(request.decode(&raw(json!([]))).is_err());
    let pushed = DocumentDiagnosticsRequest::from_push(full[0].clone()).unwrap();
    assert_eq!(DocumentDiagnosticsRequest::reported_files(&pushed).len(), 1);
}

#[test]
fn a_report_on_the_workspace_leaves_out_unchanged_documents() {
    let reply = json!({"items": [
        {"uri": "file:///w/a.py", "version": null, "kind": "full", "items": [diagnostic("wrong")]},
        {"uri": "file:///w/b.py", "version": null, "kind": "full", "items": []},
        {"uri": "file:///w/c.py", "version": null, "kind": "unchanged", "resultId": "1"},
    ]});
    let files = WorkspaceDiagnosticsRequest.decode(&raw(reply)).unwrap();
    let listed: Vec<(&str, usize)> = files.iter().map(|file| (&*file.uri, file.diagnostics.len())).collect();
    assert_eq!(listed, [("file:///w/a.py", 1), ("file:///w/b.py", 0)]);
}

#[test]
fn diagnostics_of_a_document_have_no_other_files_and_no_foreign_paths() {
    let folder = Folder::new();
    let operation = OneRequest::new(DocumentDiagnosticsRequest(folder.document()), ());
    let read = |message: &str| {
        let report = raw(json!({"kind": "full", "items": [diagnostic(message)]}));
        operation.request().decode(&report).unwrap().remove(0).diagnostics
    };
    let answer = vec![
        RawFileDiagnostics { uri: folder.uri.text(), diagnostics: read("searched /usr/lib/python3") },
        RawFileDiagnostics { uri: "file:///w/other.py".into(), diagnostics: read("elsewhere") },
    ];
    let canonical = folder.canonical(&Query::DocumentDiagnostics { uri: folder.uri.clone() }, &operation, answer);
    let text = format!("{:?}", canonical.result);
    assert!(text.contains(&format!("searched {REDACTED}")), "{text}");
    assert!(!text.contains("elsewhere"), "{text}");
}

#[test]
fn locations_are_deduplicated_and_those_outside_the_roots_are_counted() {
    let folder = Folder::new();
    let at = |uri: &str, line| {
        let position = Position { line, character: 0 };
        RawLocation { uri: uri.into(), range: Range { start: position, end: position } }
    };
    let uri = folder.uri.as_str();
    let answer = vec![at(uri, 3), at("file:///usr/lib/x.py", 0), at(uri, 1), at(uri, 3)];
    let query = tool_query(Operation::GoToDefinition);
    let at = DocumentPosition::new(folder.document(), AT_CALL);
    let operation = OneRequest::new(DefinitionRequest(at), Some(ToolQuery(query.clone())));
    let Canonicalised { result, observed, outside, declared: _ } =
        folder.canonical(&Query::Lsp(query), &operation, answer);
    let CanonicalResult::Lsp(result) = result else { panic!("{result:?}") };
    let LspItems::Locations(locations) = &result.found else { panic!("{result:?}") };
    assert_eq!(locations.iter().map(|location| location.range.start.line).collect::<Vec<_>>(), [1, 3]);
    assert_eq!((result.notes.outside, outside), (1, 1));
    assert!(observed.iter().all(|(seen, _)| seen.to_path() == folder.file), "{observed:?}");
}

#[test]
fn symbols_in_files_of_other_languages_are_removed() {
    let symbol = |uri: &str| RawWorkspaceSymbol {
        name: "call".into(),
        kind: 12,
        uri: uri.into(),
        range: Range::new(0, 0, 0, 4),
        container_name: None,
    };
    let mut reply = vec![symbol("file:///w/a.py"), symbol("file:///w/a.rs"), symbol("file:///w/b.py")];
    WorkspaceSymbolsRequest::retain_files(&mut reply, &|uri| uri.ends_with(".py"));
    assert_eq!(reply.iter().map(|symbol| &*symbol.uri).collect::<Vec<_>>(), ["file:///w/a.py", "file:///w/b.py"]);
}
