//! Replies of the catalog `agent`: shapes, sentences, the byte cap. Arguments are tested in `tests/contract`.

use serde_json::{Value, json};

use crate::{CatalogId, EncodedReply};
use codeyard_canon::testing::file;
use codeyard_model::answer::{Answer, AnswerNotes};
use codeyard_model::error::{CallPhase, ErrorCode, ToolError};
use codeyard_model::hover::MarkupKind;
use codeyard_model::limits::{DEFAULT_PAGE_CHARS, MAX_RESPONSE_BYTES};
use codeyard_model::lsp_items::{
    CallItem, IncomingCall, LspItems, Markup, MarkupHover, NamedSymbol, OutgoingCall, OutlineEntry, Place, ResultPaths,
};
use codeyard_model::operation::{Operation, PageStyle};
use codeyard_model::position::{Location, Range};
use codeyard_paging::{CanonicalResult, LspResult, Snapshot, page};

const K: &str = "1111111111111111111111111111111111111111111111111111111111111111";
const S: &str = "2222222222222222222222222222222222222222222222222222222222222222";

fn encode(result: Result<&Answer, &ToolError>, cap: usize) -> Value {
    let (bytes, failed) = match CatalogId::Agent.catalog().encode(result, cap) {
        EncodedReply::Result(bytes) => (bytes, false),
        EncodedReply::Refusal { result, .. } => (result, true),
        EncodedReply::Error { .. } => panic!("not a tool result"),
    };
    assert!(bytes.len() <= cap && !bytes.contains(&b'\n'));
    let reply: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(reply["isError"], failed);
    let entry: Value = serde_json::from_str(&CatalogId::Agent.catalog().tool_entries()[0]).unwrap();
    let schema = jsonschema::validator_for(&entry["outputSchema"]).unwrap();
    assert!(schema.is_valid(&reply["structuredContent"]), "{reply}");
    reply
}

fn answer(operation: Operation, found: LspItems, notes: AnswerNotes, offset: u64) -> Answer {
    styled(operation, found, notes, offset, PageStyle::default())
}

fn styled(operation: Operation, found: LspItems, notes: AnswerNotes, offset: u64, style: PageStyle) -> Answer {
    let paths = ResultPaths { root: "/w".into(), document: Some(file("/w/a.ts")), calls_in: None };
    let result = LspResult { operation, title: format!("{} a.ts:1:1", operation.as_str()), found, notes, paths };
    page(&Snapshot::new(CanonicalResult::Lsp(result)), Some((offset, 200)), style, K, S)
}

fn shown(operation: Operation, found: LspItems) -> Value {
    let reply = encode(Ok(&answer(operation, found, AnswerNotes::default(), 0)), MAX_RESPONSE_BYTES);
    let text = reply["content"][0]["text"].as_str().unwrap();
    let output: Value = serde_json::from_str(text).unwrap();
    let result = &reply["structuredContent"]["metadata"]["result"];
    assert_eq!((&output, reply["isError"].as_bool()), (result, Some(false)), "the output is the result");
    assert!(text.starts_with("[\n  {\n    \"") || text.starts_with("{\n  \""), "indented by 2: {text}");
    output
}

fn text_of(reply: &Value) -> &str {
    assert_eq!(reply["content"].as_array().unwrap().len(), 1);
    reply["content"][0]["text"].as_str().unwrap()
}

fn sentence(error: &ToolError) -> String {
    let reply = encode(Err(error), MAX_RESPONSE_BYTES);
    let body = &reply["structuredContent"]["metadata"]["error"];
    assert_eq!((reply["isError"].as_bool(), body["code"].as_str()), (Some(true), Some(error.code.as_str())));
    for (key, value) in &error.details {
        assert_eq!(&body[key], value);
    }
    assert_eq!(body["message"], text_of(&reply), "hosts show one of the two");
    text_of(&reply).to_owned()
}

fn item(name: &str) -> CallItem {
    let range = Range::new(10, 0, 20, 1);
    CallItem { name: name.into(), kind: 12, uri: file("/w/a.ts"), range, selection_range: Range::new(10, 9, 10, 20) }
}

fn locations(n: u32) -> LspItems {
    LspItems::Locations(
        (0..n)
            .map(|line| Place { uri: file("/w/a.ts"), range: Range::new(line, 4, line, 20), preview: None })
            .collect(),
    )
}

#[test]
fn results_follow_the_contract() {
    let range = json!({"start": {"line": 10, "character": 0}, "end": {"line": 20, "character": 1}});
    let name = json!({"start": {"line": 10, "character": 9}, "end": {"line": 10, "character": 20}});
    let function = json!({"name": "f", "kind": 12, "uri": "file:///w/a.ts", "range": range, "selectionRange": name});
    let place = json!({"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 20}});
    let found = shown(Operation::GoToDefinition, locations(1));
    assert_eq!(found, json!([{"uri": "file:///w/a.ts", "range": place}]));
    assert_eq!(shown(Operation::PrepareCallHierarchy, LspItems::CallItems(vec![item("f")])), json!([function]));
    let from_ranges = vec![Range::new(0, 4, 0, 20)];
    let incoming =
        LspItems::Incoming(vec![IncomingCall { from: item("f"), from_ranges: from_ranges.clone(), preview: None }]);
    assert_eq!(shown(Operation::IncomingCalls, incoming), json!([{"from": function, "fromRanges": [place]}]));
    let outgoing = LspItems::Outgoing(vec![OutgoingCall { to: item("f"), from_ranges, preview: Some("f()".into()) }]);
    assert_eq!(
        shown(Operation::OutgoingCalls, outgoing),
        json!([{"to": function, "fromRanges": [place], "preview": "f()"}])
    );
    let hover = MarkupHover {
        contents: Markup { kind: MarkupKind::Markdown, value: "`f`".into() },
        range: Some(Range::new(0, 4, 0, 20)),
    };
    let expected = json!({"contents": {"kind": "markdown", "value": "`f`"}, "range": place});
    assert_eq!(shown(Operation::Hover, LspItems::Hover(Some(hover))), expected);
    let entry = |depth, name: &str| OutlineEntry {
        depth,
        name: name.into(),
        kind: 5,
        range: Range::new(10, 0, 20, 1),
        selection_range: Range::new(10, 9, 10, 20),
    };
    let outline = shown(Operation::DocumentSymbol, LspItems::Outline(vec![entry(0, "C"), entry(1, "m")]));
    let inner = json!({"name": "m", "kind": 5, "range": range, "selectionRange": name});
    let outer = json!({"name": "C", "kind": 5, "range": range, "selectionRange": name, "children": [inner]});
    assert_eq!(outline, json!([outer]));
    let location = Location { uri: file("/w/a.ts"), range: Range::new(0, 4, 0, 20) };
    let symbol = NamedSymbol { name: "C".into(), kind: 5, location, container_name: None };
    let symbols = shown(Operation::WorkspaceSymbol, LspItems::Symbols(vec![symbol]));
    assert_eq!(symbols, json!([{"name": "C", "kind": 5, "location": {"uri": "file:///w/a.ts", "range": place}}]));
}

#[test]
fn an_empty_answer_is_the_contract_sentence_and_no_error() {
    for operation in Operation::ALL {
        let found = match operation {
            Operation::Hover => LspItems::Hover(None),
            Operation::DocumentSymbol => LspItems::Outline(vec![]),
            _ => LspItems::Locations(vec![]),
        };
        let reply = encode(Ok(&answer(operation, found, AnswerNotes::default(), 0)), MAX_RESPONSE_BYTES);
        assert_eq!(text_of(&reply), format!("No results found for {}", operation.as_str()));
        assert_eq!(reply["isError"], false);
        let result = if operation == Operation::Hover { json!(null) } else { json!([]) };
        assert_eq!(reply["structuredContent"]["metadata"]["result"], result);
    }
    let notes = AnswerNotes { outside: 2, skipped_providers: vec!["ruff: crashed".into()], ..AnswerNotes::default() };
    let reply = encode(Ok(&answer(Operation::GoToDefinition, locations(0), notes, 0)), MAX_RESPONSE_BYTES);
    assert_eq!(
        text_of(&reply),
        "No results found for goToDefinition\n2 results outside the allowed roots were left out. \
         Not answered by every language server: ruff: crashed."
    );
}

#[test]
fn notes_are_in_the_metadata() {
    let notes = AnswerNotes { outside: 3, skipped_providers: vec!["ruff: timeout".into()], ..AnswerNotes::default() };
    let reply = encode(Ok(&answer(Operation::FindReferences, locations(3), notes, 0)), MAX_RESPONSE_BYTES);
    let mut metadata = reply["structuredContent"]["metadata"].clone();
    metadata.as_object_mut().unwrap().remove("result");
    assert_eq!(
        metadata,
        json!({
            "total": 3, "outside": 3, "passedOver": ["ruff: timeout"],
            "partial": [{"server": "ruff", "unavailable": "timeout"}],
            "hint": "3 results outside the allowed roots were left out. Not answered by every language server: ruff: timeout."
        })
    );
    assert_eq!(reply["structuredContent"]["title"], "findReferences a.ts:1:1");
    let members: Vec<&String> = reply.as_object().unwrap().keys().collect();
    assert_eq!(members, ["content", "isError", "structuredContent"]);
}

#[test]
fn a_long_list_is_paged_with_a_hint() {
    let mut offset = 0;
    let mut places = Vec::new();
    loop {
        let page = answer(Operation::FindReferences, locations(1_000), AnswerNotes::default(), offset);
        let reply = encode(Ok(&page), MAX_RESPONSE_BYTES);
        assert!(text_of(&reply).chars().count() <= DEFAULT_PAGE_CHARS);
        let metadata = &reply["structuredContent"]["metadata"];
        let here = metadata["result"].as_array().unwrap();
        assert_eq!(metadata["total"], 1_000);
        places.extend(here.iter().map(|place| place["range"]["start"]["line"].as_u64().unwrap()));
        let Some(cursor) = metadata["nextCursor"].as_str() else { break };
        let hint = metadata["hint"].as_str().unwrap();
        assert!(hint.starts_with(&format!("{} of 1000 here", here.len())) && hint.contains("incomingCalls"), "{hint}");
        assert!(
            hint.contains(&format!("`cursor` \"{cursor}\"")) && text_of(&reply).starts_with(&format!("{hint}\n\n[\n")),
            "{hint}"
        );
        offset = codeyard_paging::decode(cursor, K).unwrap().offset;
    }
    assert_eq!(places, (0..1_000).collect::<Vec<u64>>());
    let past =
        encode(Ok(&answer(Operation::FindReferences, locations(5), AnswerNotes::default(), 9)), MAX_RESPONSE_BYTES);
    let said = "[]\n\nNo more results: all 5 are on the pages before.";
    assert_eq!((text_of(&past), &past["structuredContent"]["metadata"]["total"]), (said, &json!(5)));
}

#[test]
fn a_reply_never_exceeds_its_cap() {
    let reply = encode(Ok(&answer(Operation::FindReferences, locations(100), AnswerNotes::default(), 0)), 2_000);
    assert_eq!((reply["isError"].as_bool(), text_of(&reply).contains("narrower")), (Some(true), true));
    let long = ToolError::new(ErrorCode::NotFound, "m").with("path", "p".repeat(10_000));
    assert_eq!(encode(Err(&long), 900)["isError"], true);
    let EncodedReply::Error { data, .. } = CatalogId::Agent.catalog().encode(Err(&long), 100) else {
        panic!("does it fit?")
    };
    assert!(data.len() <= 100);
}

#[test]
fn failures_have_their_own_sentences() {
    let unavailable = |reason| ToolError::provider_unavailable(reason, "it isn't there", "codeyard do");
    for (error, expected) in [
        (ToolError::new(ErrorCode::NotFound, "m").with("path", "src/a.ts"), "File not found: src/a.ts"),
        (unavailable("no_server"), "No LSP server available for this file type. Next: `codeyard do`."),
        (
            unavailable("not_installed"),
            "No LSP server available for this file type. It isn't there. Next: `codeyard do`.",
        ),
        (unavailable("crashed"), "It isn't there. Next: `codeyard do`."),
        (
            unavailable("unsupported")
                .with("operation", "hover")
                .with("server", "ty")
                .with("offeredBy", json!(["a", "b"])),
            "No LSP server here offers hover for this file type (ty doesn't). a or b would. Next: `codeyard do`.",
        ),
        (
            unavailable("unsupported").with("operation", "hover"),
            "No LSP server here offers hover for this file type. No language server that codeyard knows for it would. \
             Next: `codeyard do`.",
        ),
        (
            ToolError::timeout(CallPhase::Indexing, Some("12 of 40 files".into()), 1_500),
            "The language server is not ready: it is still indexing the workspace (12 of 40 files). Ask again in 2 s.",
        ),
        (
            ToolError::timeout(CallPhase::Starting, None, 1_000),
            "The language server is not ready: it is still starting. Ask again in 1 s.",
        ),
        (
            ToolError::timeout(CallPhase::Answering, None, 1_000),
            "The language server did not answer in time. Ask again in 1 s.",
        ),
        (
            ToolError::new(ErrorCode::WorkspaceDenied, "the uri is outside"),
            "The path lies outside the allowed roots of this workspace.",
        ),
        (
            ToolError::new(ErrorCode::NotFound, "m").with("reason", "position_beyond").with("line", 9).with("lines", 3),
            "Line 9 lies beyond the file, which has 3 lines.",
        ),
        (
            ToolError::new(ErrorCode::NotFound, "m")
                .with("reason", "no_identifier")
                .with("line", 9)
                .with("character", 4)
                .with("identifiers", json!([{"name": "ab", "character": 2}, {"name": "c", "character": 7}])),
            "There is no identifier at 9:4. On line 9: ab at 2, c at 7.",
        ),
        (
            ToolError::new(ErrorCode::NotFound, "m")
                .with("reason", "no_identifier")
                .with("line", 9)
                .with("character", 1),
            "There is no identifier at 9:1. Line 9 has none; documentSymbol lists what the file declares.",
        ),
        (
            ToolError::new(ErrorCode::NotFound, "m")
                .with("reason", "no_identifier")
                .with("line", 9)
                .with("character", 1)
                .with("keyword", true)
                .with("identifiers", json!([{"name": "return", "character": 1}])),
            "The word at 9:1 is a keyword or a number, not a name. On line 9: return at 1.",
        ),
    ] {
        assert_eq!(sentence(&error), expected);
    }
    for code in ErrorCode::ALL {
        assert!(sentence(&ToolError::new(code, "say it")).len() > 5);
        assert!(!sentence(&ToolError::new(code, "say it")).contains("No results"));
    }
}
