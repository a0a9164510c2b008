//! `docs/internals/reference/contract-lsp-v1.md` matches the code: its tables of tools, fields, codes, reasons and caps.

use std::collections::BTreeMap;

use codeyard_catalog::{CODE_PREFIX, CatalogSet, json_rpc_number};
use codeyard_model::error::ErrorCode;
use codeyard_model::limits;
use codeyard_paging::cursor;
use serde_json::Value;

/// The rows of the table under the header `head`, cells without their backticks.
fn table(head: &str) -> Vec<Vec<String>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/internals/reference/contract-lsp-v1.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().skip_while(|line| *line != head).skip(2).peekable();
    assert!(lines.peek().is_some(), "no table {head}");
    let cells = |line: &str| line.trim_matches('|').split(" | ").map(|cell| cell.trim().replace('`', "")).collect();
    lines.take_while(|line| line.starts_with('|')).map(cells).collect()
}

fn tools() -> Vec<Value> {
    let list: Value = serde_json::from_str(CatalogSet::default().list_json()).unwrap();
    list["tools"].as_array().unwrap().clone()
}

/// Fields of a schema; optional ones are marked with `?`.
fn members(schema: &Value) -> String {
    let order: Vec<String> = {
        // The listing keeps the files' order; a parsed map may not, so the order is taken from the text of the table.
        let required: Vec<&str> =
            schema["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        let mark = |name: &String| if required.contains(&name.as_str()) { name.clone() } else { format!("{name}?") };
        schema["properties"].as_object().unwrap().keys().map(mark).collect()
    };
    sorted(order.iter().map(String::as_str))
}

fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.join(", ")
}

#[test]
fn the_document_lists_tools_and_arguments() {
    let rows = table("| tool | asks | arguments | paged |");
    assert_eq!(rows.len(), tools().len());
    for (row, tool) in rows.iter().zip(tools()) {
        assert_eq!(row[0], tool["name"].as_str().unwrap());
        assert_eq!(sorted(row[2].split(", ")), members(&tool["inputSchema"]), "{}", row[0]);
        let paged = tool["inputSchema"]["properties"].get("cursor").is_some();
        assert_eq!(row[3], if paged { "yes" } else { "no" }, "{}", row[0]);
    }
}

#[test]
fn the_document_lists_the_payload_fields() {
    let rows = table("| tool | members |");
    assert_eq!(rows.len(), tools().len());
    for (row, tool) in rows.iter().zip(tools()) {
        assert_eq!(row[0], tool["name"].as_str().unwrap());
        assert_eq!(sorted(row[1].split(", ")), members(&tool["outputSchema"]), "{}", row[0]);
    }
}

#[test]
fn the_document_lists_error_codes_and_numbers() {
    assert_eq!(CODE_PREFIX, "MCP_LSP_GATEWAY/");
    let rows = table("| code | number | when |");
    let documented: Vec<(&str, i32)> = rows.iter().map(|row| (row[0].as_str(), row[1].parse().unwrap())).collect();
    let coded: Vec<(&str, i32)> = ErrorCode::ALL.iter().map(|code| (code.as_str(), json_rpc_number(*code))).collect();
    assert_eq!(documented, coded);
}

#[test]
fn the_document_lists_cursor_errors_and_reasons() {
    let rows = table("| check | error | `details.reason` |");
    let documented: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (row[1].as_str(), row.get(2).map_or("", |reason| reason.trim_matches([' ', '|']))))
        .collect();
    let invalid = ErrorCode::CursorInvalid.as_str();
    let expected = [
        (invalid, "undecodable"),
        (invalid, "version"),
        (invalid, "offset"),
        (invalid, "request_key"),
        (cursor::stale().code.as_str(), ""),
        (cursor::expired().code.as_str(), ""),
    ];
    assert_eq!(documented, expected);
}

#[test]
fn the_document_lists_caps_with_their_values() {
    use codeyard_canon::limits::*;
    use codeyard_catalog::limits::*;
    use codeyard_model::limits::*;
    use codeyard_paging::limits::*;

    macro_rules! limits_of {
        ($($name:ident)*) => { BTreeMap::from([$((stringify!($name).to_owned(), $name as u64)),*]) };
    }
    let coded: BTreeMap<String, u64> = limits_of!(
        MAX_REQUEST_BYTES MAX_RESPONSE_BYTES REQUEST_TIMEOUT_MS MAX_ITEMS_NONPAGED MAX_PAGE_SIZE
        MAX_WORKSPACE_DIAGNOSTICS_ITEMS_TOTAL MAX_WORKSPACE_SYMBOLS_ITEMS_TOTAL MAX_REFERENCES_ITEMS_TOTAL
        MAX_SNAPSHOT_BYTES MAX_SNAPSHOTS_TOTAL_BYTES SNAPSHOT_TTL_S DEFAULT_PAGE_SIZE MAX_RAW_ITEMS MAX_RAW_ITEMS_PAGED
        MAX_CANONICAL_TEXT_BYTES MAX_HOVER_FRAGMENTS MAX_HOVER_FRAGMENT_CHARS MAX_CURSOR_BYTES MAX_ERROR_MESSAGE_CHARS
        MAX_ERROR_DATA_BYTES MAX_PROVIDERS_NAMED
    );
    let rows = table("| limit | value |");
    let documented: BTreeMap<String, u64> = rows.iter().map(|row| (row[0].clone(), row[1].parse().unwrap())).collect();
    assert_eq!((documented, rows.len()), (coded.clone(), coded.len()));
    // The first eleven rows are the configurable ones.
    let configurable = serde_json::to_value(limits::Limits::default()).unwrap();
    for row in &rows[..11] {
        assert_eq!(configurable[row[0].to_lowercase()], coded[&row[0]], "{}", row[0]);
    }
    assert_eq!(configurable.as_object().unwrap().len(), 11);
}

#[test]
fn the_document_states_the_figures_of_the_contract() {
    assert_eq!((limits::MAX_REQUEST_BYTES, limits::MAX_RESPONSE_BYTES), (1 << 20, 512 * 1024));
    assert_eq!((limits::MAX_SNAPSHOT_BYTES, limits::MAX_SNAPSHOTS_TOTAL_BYTES), (8 << 20, 64 << 20));
}

#[test]
fn schema_numbers_equal_the_caps() {
    for tool in tools() {
        let properties = &tool["inputSchema"]["properties"];
        if let Some(size) = properties.get("pageSize") {
            assert_eq!((&size["minimum"], &size["default"]), (&1.into(), &limits::DEFAULT_PAGE_SIZE.into()));
            assert!(size["description"].as_str().unwrap().contains(&format!("Above {}", limits::MAX_PAGE_SIZE)));
        }
        for (name, member) in tool["outputSchema"]["properties"].as_object().unwrap() {
            let cap = match name.as_str() {
                "contents" => codeyard_canon::limits::MAX_HOVER_FRAGMENTS,
                "items" => limits::MAX_PAGE_SIZE,
                _ => limits::MAX_ITEMS_NONPAGED,
            };
            if member["type"] == "array" {
                assert_eq!(member["maxItems"], cap, "{} {name}", tool["name"]);
            }
        }
    }
}
