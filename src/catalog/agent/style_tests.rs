//! The two formats of a page, and that the text and `structuredContent` say the same.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::partial_views::coverage;
use crate::{CatalogId, EncodedReply};
use codeyard_canon::testing::file;
use codeyard_model::answer::{Answer, AnswerNotes};
use codeyard_model::coverage::{AnswerCoverage, AnswerScope};
use codeyard_model::error::{CallPhase, ErrorCode, ToolError};
use codeyard_model::hover::MarkupKind;
use codeyard_model::limits::{DEFAULT_PAGE_CHARS, MAX_RESPONSE_BYTES, MIN_PAGE_CHARS};
use codeyard_model::lsp_items::{
    CallItem, IncomingCall, LspItems, Markup, MarkupHover, NamedSymbol, OutgoingCall, OutlineEntry, Place, ResultPaths,
};
use codeyard_model::operation::{LspFormat, Operation, PageStyle};
use codeyard_model::position::{Location, Range};
use codeyard_paging::{CanonicalResult, LspResult, Snapshot, page};

const K: &str = "1111111111111111111111111111111111111111111111111111111111111111";

fn reply(result: Result<&Answer, &ToolError>) -> Value {
    let bytes = match CatalogId::Agent.catalog().encode(result, MAX_RESPONSE_BYTES) {
        EncodedReply::Result(bytes) | EncodedReply::Refusal { result: bytes, .. } => bytes,
        EncodedReply::Error { .. } => panic!("not a tool result"),
    };
    serde_json::from_slice(&bytes).unwrap()
}

fn schema() -> jsonschema::Validator {
    let entry: Value = serde_json::from_str(&CatalogId::Agent.catalog().tool_entries()[0]).unwrap();
    jsonschema::validator_for(&entry["outputSchema"]).unwrap()
}

fn found(operation: Operation, count: usize) -> LspItems {
    let at = |line: usize| Range::new(line as u32, 4, line as u32, 9);
    let item = |line| CallItem {
        name: "f".into(),
        kind: 12,
        uri: file("/w/a b.py"),
        range: at(line),
        selection_range: at(line),
    };
    let preview = |line: usize| Some(Box::from(format!("value = f({line})"))).filter(|_| line % 5 != 4);
    let all = 0..count;
    match operation {
        Operation::GoToDefinition | Operation::FindReferences | Operation::GoToImplementation => {
            let place = |line| Place { uri: file("/w/a b.py"), range: at(line), preview: preview(line) };
            LspItems::Locations(all.map(place).collect())
        }
        Operation::Hover => LspItems::Hover((count > 0).then(|| MarkupHover {
            contents: Markup { kind: MarkupKind::Markdown, value: "`f`\n\n\"x\"".repeat(count * 10) },
            range: Some(at(1)),
        })),
        Operation::DocumentSymbol => LspItems::Outline(
            all.map(|line| OutlineEntry {
                depth: (line % 3) as u32,
                name: "f".into(),
                kind: 6,
                range: at(line),
                selection_range: at(line),
            })
            .collect(),
        ),
        Operation::WorkspaceSymbol => LspItems::Symbols(
            all.map(|line| NamedSymbol {
                name: "f".into(),
                kind: 12,
                location: Location { uri: file("/w/s.py"), range: at(line) },
                container_name: None,
            })
            .collect(),
        ),
        Operation::PrepareCallHierarchy => LspItems::CallItems(all.map(item).collect()),
        Operation::IncomingCalls => LspItems::Incoming(
            all.map(|line| IncomingCall { from: item(line), from_ranges: vec![at(line)], preview: preview(line) })
                .collect(),
        ),
        Operation::OutgoingCalls => LspItems::Outgoing(
            all.map(|line| OutgoingCall { to: item(line), from_ranges: vec![at(line)], preview: preview(line) })
                .collect(),
        ),
    }
}

fn snapshot(operation: Operation, count: usize, notes: AnswerNotes) -> Snapshot {
    let paths = ResultPaths { root: "/w".into(), document: Some(file("/w/a b.py")), calls_in: None };
    let title = format!("{} a.py:1:1", operation.as_str());
    let result = LspResult { operation, title, found: found(operation, count), notes, paths };
    Snapshot::new(CanonicalResult::Lsp(result))
}

fn first(operation: Operation, count: usize, style: PageStyle) -> Value {
    let snapshot = snapshot(operation, count, AnswerNotes::default());
    reply(Ok(&page(&snapshot, Some((0, 200)), style, K, K)))
}

fn text(reply: &Value) -> &str {
    reply["content"][0]["text"].as_str().unwrap()
}

const COMPACT: PageStyle = PageStyle { format: LspFormat::Compact, preview: true, chars: DEFAULT_PAGE_CHARS };

#[test]
fn compact_lines_are_the_text_and_the_result() {
    for (operation, expected) in [
        (Operation::FindReferences, "a b.py:1:5  value = f(0)\na b.py:2:5  value = f(1)"),
        (Operation::DocumentSymbol, "a b.py:1:5  method f\na b.py:2:5    method f"),
        (Operation::WorkspaceSymbol, "s.py:1:5  function f\ns.py:2:5  function f"),
        (Operation::PrepareCallHierarchy, "a b.py:1:5  function f\na b.py:2:5  function f"),
        (
            Operation::IncomingCalls,
            "a b.py:1:5  value = f(0)  in function f 1:5\na b.py:2:5  value = f(1)  in function f 2:5",
        ),
        (
            Operation::OutgoingCalls,
            "a b.py:1:5  function f  called at 1:5  value = f(0)\na b.py:2:5  function f  called at 2:5  value = f(1)",
        ),
    ] {
        let reply = first(operation, 2, COMPACT);
        assert_eq!((text(&reply), &reply["structuredContent"]["metadata"]["result"]), (expected, &json!(expected)));
    }
    let hover = first(Operation::Hover, 1, COMPACT);
    assert_eq!(text(&hover), "`f`\n\n\"x\"".repeat(10));
    let bare = first(Operation::FindReferences, 1, PageStyle { preview: false, ..COMPACT });
    assert_eq!(text(&bare), "a b.py:1:5");
    let nothing = first(Operation::FindReferences, 0, COMPACT);
    assert_eq!(text(&nothing), "No results found for findReferences");
    assert_eq!(nothing["structuredContent"]["metadata"]["result"], "");
}

#[test]
fn source_lines_are_shown_only_if_they_are_wanted() {
    let json_style = PageStyle::default();
    let shown = |preview| {
        let reply = first(Operation::GoToDefinition, 1, PageStyle { preview, ..json_style });
        reply["structuredContent"]["metadata"]["result"][0]["preview"].clone()
    };
    assert_eq!((shown(true), shown(false)), (json!("value = f(0)"), Value::Null));
}

fn some_notes() -> impl Strategy<Value = AnswerNotes> {
    let partial = prop_oneof![
        Just(AnswerCoverage::default()),
        prop_oneof![Just(None), Just(Some(32))].prop_map(move |known| AnswerCoverage {
            servers: vec![Arc::new(coverage(known))],
            scope: AnswerScope::Project
        }),
    ];
    let providers = prop::collection::vec("[a-z]{2,9}: (timeout|crashed|not_installed)", 0..7);
    let names = prop::collection::vec("[a-z]{2,9}", 0..7);
    (0..4usize, providers, names, any::<bool>(), 0..3usize, 0..3usize, partial).prop_map(
        |(outside, skipped_providers, by_name, truncated, escaped, without_preview, known_files)| AnswerNotes {
            outside,
            skipped_providers,
            by_name,
            truncated,
            escaped,
            without_preview,
            known_files,
            ..AnswerNotes::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_text_below_the_result_is_the_hint_and_pages_keep_their_limit(
        operation in prop::sample::select(Operation::ALL.to_vec()),
        count in prop_oneof![Just(0usize), 1..6usize, 50..400usize],
        notes in some_notes(),
        (is_compact, preview, is_short) in any::<(bool, bool, bool)>(),
        size in prop_oneof![Just(200usize), 1..30usize],
    ) {
        let format = if is_compact { LspFormat::Compact } else { LspFormat::Json };
        let chars = if is_short { MIN_PAGE_CHARS } else { DEFAULT_PAGE_CHARS };
        let style = PageStyle { format, preview, chars };
        let snapshot = snapshot(operation, count, notes);
        let schema = schema();
        let mut offset = 0;
        loop {
            let reply = reply(Ok(&page(&snapshot, Some((offset, size)), style, K, K)));
            let structured = &reply["structuredContent"];
            prop_assert!(schema.is_valid(structured), "{}", reply);
            let text = text(&reply);
            let metadata = &structured["metadata"];
            prop_assert!(text.chars().count() <= chars, "{} of {}", text.chars().count(), chars);
            let hint = metadata["hint"].as_str().unwrap_or_default();
            let result = match format {
                LspFormat::Json => serde_json::to_string_pretty(&metadata["result"]).unwrap(),
                LspFormat::Compact => metadata["result"].as_str().unwrap().to_owned(),
            };
            if text.starts_with("No results") {
                prop_assert_eq!(text, hint);
            } else {
                let (above, page) = match metadata["nextCursor"].is_string() {
                    true => text.split_once("\n\n").unwrap(),
                    false => ("", text),
                };
                let below = page.get(result.len()..).unwrap_or_default().trim_start_matches('\n');
                let list = &page[..page.len().min(result.len())];
                if format == LspFormat::Json {
                    // The order of members in the text is LSP's, which a value doesn't keep.
                    prop_assert_eq!(&serde_json::from_str::<Value>(list).unwrap(), &metadata["result"]);
                } else {
                    prop_assert_eq!(list, &result);
                }
                let sentences: Vec<&str> = [above, below].into_iter().filter(|part| !part.is_empty()).collect();
                prop_assert_eq!(sentences.join(" "), hint);
            }
            let Some(cursor) = metadata["nextCursor"].as_str() else { break };
            prop_assert!(text.contains(cursor) && hint.contains(cursor));
            offset = codeyard_paging::decode(cursor, K).unwrap().offset;
        }
    }

    #[test]
    fn the_text_of_an_error_is_its_message(
        code in prop::sample::select(ErrorCode::ALL.to_vec()),
        reason in prop::sample::select(vec!["timeout", "not_installed", "no_identifier", "missing", "sweep", "unsupported", ""]),
        message in "[a-z ]{1,30}[.!?]?",
        command in prop::option::of("codeyard [a-z]{3,9}"),
        retry in prop::option::of(1..90_000u64),
        phase in prop::option::of(prop::sample::select(vec![CallPhase::Queued, CallPhase::Indexing])),
    ) {
        let mut error = ToolError::new(code, message);
        if !reason.is_empty() {
            error = error.with("reason", reason);
        }
        if let Some(command) = &command {
            error = error.with("command", command.as_str());
        }
        if let Some(retry) = retry {
            error = error.with("retryAfterMs", retry);
        }
        if let Some(phase) = phase {
            error = error.with("phase", phase.as_str());
        }
        let reply = reply(Err(&error));
        prop_assert!(schema().is_valid(&reply["structuredContent"]), "{}", reply);
        let said = text(&reply);
        prop_assert_eq!(&reply["structuredContent"]["metadata"]["error"]["message"], said);
        prop_assert!(command.is_none_or(|command| said.contains(&format!("`{command}`"))), "{}", said);
        prop_assert!(retry.is_none_or(|ms| said.contains(&format!("Ask again in {} s.", ms.div_ceil(1_000)))), "{}", said);
    }
}
