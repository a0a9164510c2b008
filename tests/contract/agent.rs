//! The catalog `agent`: its listing, its arguments and their description in
//! `docs/internals/reference/contract-agent.md`.

use std::path::PathBuf;

use codeyard_catalog::{Catalog, CatalogId, CatalogSet, EncodedReply, PageSizes};
use codeyard_engine::limits;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::operation::{LspFormat, LspQuery, Operation, OperationInput, PageStyle, QuerySubject};
use codeyard_model::position::Position;
use codeyard_model::query::Query;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Largest size of the listing, in bytes, because it occupies a model's context.
const LIST_BUDGET_BYTES: usize = 4 * 1024;

fn catalog() -> &'static dyn Catalog {
    CatalogSet::parse("agent").unwrap().find("lsp").unwrap()
}

fn decode(arguments: &Value) -> Result<LspQuery<String>, ToolError> {
    let raw = RawValue::from_string(arguments.to_string()).unwrap();
    match catalog().decode("lsp", Some(&raw), PageSizes::of_entries(200))? {
        Query::Lsp(asked) => Ok(asked),
        other => panic!("{other:?}"),
    }
}

/// Message of an error.
fn refusal(arguments: &Value) -> String {
    let error = decode(arguments).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidParams, "{arguments}");
    let EncodedReply::Refusal { result: bytes, .. } = catalog().encode(Err(&error), 10_000) else {
        panic!("a tool result is wanted")
    };
    let reply: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(reply["isError"], true);
    reply["content"][0]["text"].as_str().unwrap().to_owned()
}

fn needed(operation: Operation) -> &'static [&'static str] {
    match operation.input() {
        OperationInput::Position => &["filePath", "line", "character"],
        OperationInput::File => &["filePath"],
        OperationInput::Name => &["query"],
    }
}

fn everything(operation: Operation) -> Value {
    json!({"operation": operation.as_str(), "filePath": "a.ts", "line": 3, "character": 5, "query": " f ", "cursor": "c"})
}

fn listing() -> Value {
    let list: Value = serde_json::from_str(CatalogSet::parse("agent").unwrap().list_json()).unwrap();
    list["tools"].clone()
}

fn document() -> String {
    std::fs::read_to_string(
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/internals/reference/contract-agent.md"),
    )
    .unwrap()
}

fn table(head: &str) -> Vec<Vec<String>> {
    let text = document();
    let mut lines = text.lines().skip_while(|line| *line != head).skip(2).peekable();
    assert!(lines.peek().is_some(), "no table {head}");
    let cells = |line: &str| line.trim_matches('|').split(" | ").map(|cell| cell.trim().replace('`', "")).collect();
    lines.take_while(|line| line.starts_with('|')).map(cells).collect()
}

#[test]
fn one_tool_in_a_small_listing() {
    let set = CatalogSet::parse("agent").unwrap();
    assert!(set.list_json().len() <= LIST_BUDGET_BYTES, "{}", set.list_json().len());
    let tools = listing();
    assert_eq!((tools.as_array().unwrap().len(), &tools[0]["name"]), (1, &json!("lsp")));
    let names: Vec<&str> = Operation::ALL.into_iter().map(Operation::as_str).collect();
    assert_eq!(tools[0]["inputSchema"]["properties"]["operation"]["enum"], json!(names));
    for name in names {
        assert!(tools[0]["description"].as_str().unwrap().contains(name), "{name}");
    }
    let hints = json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false});
    assert_eq!(tools[0]["annotations"], hints);
}

#[test]
fn required_arguments_are_decoded_and_the_others_ignored() {
    for operation in Operation::ALL {
        let asked = decode(&everything(operation)).unwrap();
        assert_eq!((asked.operation, asked.page.cursor.as_deref(), asked.page.size), (operation, Some("c"), 200));
        let expected = match operation.input() {
            OperationInput::Position => QuerySubject::At("a.ts".to_owned(), Position { line: 2, character: 4 }),
            OperationInput::File => QuerySubject::File("a.ts".to_owned()),
            OperationInput::Name => QuerySubject::Name("f".to_owned()),
        };
        assert_eq!(asked.subject, expected);
        let mut odd = everything(operation);
        for name in ["filePath", "line", "character", "query"].iter().filter(|name| !needed(operation).contains(name)) {
            odd[*name] = json!({"odd": true});
        }
        assert_eq!(decode(&odd).unwrap().subject, expected, "{operation:?}");
        let mut least = json!({"operation": operation.as_str()});
        for name in needed(operation) {
            least[*name] = everything(operation)[*name].clone();
        }
        assert_eq!(decode(&least).unwrap().subject, expected);
        assert!(jsonschema::is_valid(&listing()[0]["inputSchema"], &least));
    }
}

#[test]
fn errors_name_missing_and_invalid_arguments() {
    for operation in Operation::ALL {
        for name in needed(operation) {
            let mut without = everything(operation);
            without.as_object_mut().unwrap().remove(*name);
            let said = refusal(&without);
            assert!(said.starts_with(&format!("`{name}` is missing. {} needs", operation.as_str())), "{said}");
            let wrongs = match *name {
                "line" | "character" => {
                    vec![(json!(0), "out of range"), (json!("3"), "wrong type"), (json!(1.5), "wrong type")]
                }
                _ => vec![(json!(" "), "must not be empty"), (json!(7), "wrong type")],
            };
            for (wrong, word) in wrongs {
                let mut arguments = everything(operation);
                arguments[*name] = wrong;
                let said = refusal(&arguments);
                assert!(said.contains(&format!("`{name}`")) && said.contains(word), "{said}");
            }
        }
    }
    let one_of = "`operation` must be one of goToDefinition, findReferences, hover,";
    for arguments in [json!({}), json!({"operation": "rename"}), json!({"operation": 7})] {
        assert!(refusal(&arguments).starts_with(one_of));
    }
    let mut unknown = everything(Operation::Hover);
    unknown["column"] = json!(1);
    assert!(
        refusal(&unknown).starts_with("There is no argument `column`; there are operation, filePath, line, character,")
    );
    assert_eq!(refusal(&json!([])), "The arguments must be an object.");
    assert!(
        refusal(&json!({"operation": "hover", "filePath": "a", "line": 1, "character": 1, "cursor": 5}))
            .contains("`cursor`")
    );
}

#[test]
fn the_style_of_a_page_is_chosen_by_arguments_and_operation() {
    let style = |operation: Operation, change: Value| {
        let mut arguments = everything(operation);
        arguments.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        assert!(jsonschema::is_valid(&listing()[0]["inputSchema"], &arguments));
        let sizes = PageSizes { entries: 200, chars: 5_000 };
        let raw = RawValue::from_string(arguments.to_string()).unwrap();
        let Query::Lsp(asked) = catalog().decode("lsp", Some(&raw), sizes).unwrap() else { panic!() };
        asked.style
    };
    for operation in Operation::ALL {
        let calls = [Operation::FindReferences, Operation::IncomingCalls, Operation::OutgoingCalls];
        let expected = PageStyle { format: LspFormat::Json, preview: calls.contains(&operation), chars: 5_000 };
        assert_eq!(style(operation, json!({})), expected);
        let compact = PageStyle { format: LspFormat::Compact, preview: true, chars: 2_000 };
        assert_eq!(style(operation, json!({"format": "compact", "pageChars": 2000})), compact);
        let bare = PageStyle { preview: false, ..compact };
        assert_eq!(style(operation, json!({"format": "compact", "preview": false, "pageChars": 2e3})), bare);
        assert!(style(operation, json!({"preview": true})).preview);
    }
    for (change, expected) in [
        (json!({"format": "xml"}), "`format` must be one of json, compact."),
        (json!({"format": 1}), "`format` must be one of json, compact."),
        (json!({"pageChars": 1999}), "`pageChars` must be an integer from 2000 to 40000."),
        (json!({"pageChars": 40001}), "`pageChars` must be an integer from 2000 to 40000."),
        (json!({"pageChars": "many"}), "`pageChars` must be an integer from 2000 to 40000."),
        (json!({"preview": "yes"}), "`preview` has the wrong type."),
    ] {
        let mut arguments = everything(Operation::Hover);
        arguments.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        assert!(refusal(&arguments).starts_with(expected), "{}", refusal(&arguments));
        assert!(!jsonschema::is_valid(&listing()[0]["inputSchema"], &arguments), "{arguments}");
    }
}

#[test]
fn the_page_documents_operations_and_their_arguments() {
    let rows = table("| operation | LSP method | needs | result |");
    let documented: Vec<(&str, String)> = rows.iter().map(|row| (row[0].as_str(), row[2].clone())).collect();
    let coded: Vec<(&str, String)> =
        Operation::ALL.into_iter().map(|operation| (operation.as_str(), needed(operation).join(", "))).collect();
    assert_eq!(documented, coded);
}

#[test]
fn the_page_documents_the_limits() {
    let rows = table("| limit | value | what it bounds |");
    let documented: Vec<(&str, u64)> = rows.iter().map(|row| (row[0].as_str(), row[1].parse().unwrap())).collect();
    let coded = [
        ("DEFAULT_PAGE_CHARS", codeyard_model::limits::DEFAULT_PAGE_CHARS as u64),
        ("MIN_PAGE_CHARS", codeyard_model::limits::MIN_PAGE_CHARS as u64),
        ("MAX_PAGE_CHARS", codeyard_model::limits::MAX_PAGE_CHARS as u64),
        ("MAX_PAGE_SIZE", codeyard_model::limits::MAX_PAGE_SIZE as u64),
        ("MAX_LISTED_IDENTIFIERS", limits::MAX_LISTED_IDENTIFIERS as u64),
        ("MAX_CALL_ITEMS", limits::MAX_CALL_ITEMS as u64),
        ("LATE_SERVER_MS", limits::LATE_SERVER_MS),
        ("MAX_PREVIEW_CHARS", codeyard_model::limits::MAX_PREVIEW_CHARS as u64),
        ("MAX_PREVIEWS", limits::MAX_PREVIEWS as u64),
    ];
    assert_eq!(documented, coded);
}

#[test]
fn the_catalog_is_selected_by_name_and_combined_with_others() {
    assert_eq!(CatalogId::parse("agent").unwrap(), CatalogId::Agent);
    assert_eq!(CatalogSet::parse("agent+lsp-v1").unwrap().name(), "agent+lsp-v1");
    let both: Value = serde_json::from_str(CatalogSet::parse("agent+lsp-v1").unwrap().tools_json()).unwrap();
    assert_eq!((both.as_array().unwrap().len(), &both[0]["name"]), (8, &json!("lsp")));
}
