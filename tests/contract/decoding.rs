//! Arguments: the decoder accepts exactly what the served schema accepts.

use codeyard_catalog::{CatalogId, CatalogSet, EncodedReply, PageSizes, unknown_tool, unknown_tool_reply};
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::limits::MAX_PAGE_SIZE;
use codeyard_model::query::Query;
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};

fn decode(tool: &str, arguments: &str) -> Result<Query<String>, ToolError> {
    let raw: Box<RawValue> = serde_json::from_str(arguments).unwrap();
    let safe = CatalogId::LspV1Safe.catalog().decode(
        &tool.replace('.', "_"),
        Some(&raw),
        PageSizes::of_entries(MAX_PAGE_SIZE),
    );
    let dotted = CatalogId::LspV1.catalog().decode(tool, Some(&raw), PageSizes::of_entries(MAX_PAGE_SIZE));
    assert_eq!(safe, dotted, "both spellings decode alike");
    dotted
}

fn schemas() -> Vec<(String, jsonschema::Validator)> {
    let set = CatalogSet::default();
    let list: Value = serde_json::from_str(set.list_json()).unwrap();
    let validator = |tool: &Value| jsonschema::draft202012::new(&tool["inputSchema"]).unwrap();
    let tools = list["tools"].as_array().unwrap();
    tools.iter().map(|tool| (tool["name"].as_str().unwrap().to_owned(), validator(tool))).collect()
}

const AT: &str = r#""uri":"file:///a","position":{"line":1,"character":2}"#;

#[test]
fn well_formed_arguments_become_queries() {
    let references = format!(r#"{{{AT},"includeDeclaration":true,"pageSize":7,"cursor":"c"}}"#);
    let Query::References { uri, position, include_declaration, page } =
        decode("vscode.lsp.references", &references).unwrap()
    else {
        panic!()
    };
    assert_eq!((uri.as_str(), position.line, position.character), ("file:///a", 1, 2));
    assert_eq!((include_declaration, page.size, page.cursor.as_deref()), (true, 7, Some("c")));
    let trimmed = decode("vscode.lsp.workspaceSymbols", r#"{"query":"\u2003 My Func\u0085\n"}"#).unwrap();
    assert!(matches!(trimmed, Query::WorkspaceSymbols { query, .. } if query == "My Func"));
}

#[test]
fn defaults_and_clamps() {
    let page = |arguments: &str| decode("vscode.lsp.diagnostics.workspace", arguments).unwrap().page().unwrap().clone();
    assert_eq!((page("{}").size, page("{}").cursor), (100, None));
    assert_eq!(page(r#"{"cursor":null}"#).cursor, None);
    let huge = ["200", "201", "1e3", "99999999999999999999999999", "1e300"];
    assert!(huge.iter().all(|size| page(&format!(r#"{{"pageSize":{size}}}"#)).size == 200));
    assert_eq!(page(r#"{"pageSize":1.0}"#).size, 1);
    let query =
        CatalogId::LspV1.catalog().decode("vscode.lsp.diagnostics.workspace", None, PageSizes::of_entries(30)).unwrap();
    assert_eq!(query.page().unwrap().size, 30, "a stricter cap also binds the default");
    let references = decode("vscode.lsp.references", &format!("{{{AT}}}")).unwrap();
    assert!(matches!(references, Query::References { include_declaration: false, .. }));
}

#[test]
fn errors_name_the_argument_and_the_reason() {
    let at = |line: &str| format!(r#"{{"uri":"file:///a","position":{{"line":{line},"character":0}}}}"#);
    let hover = "vscode.lsp.hover";
    let cases = [
        (hover, "[]".into(), "", "type"),
        (hover, "null".into(), "", "type"),
        (hover, "{}".into(), "uri", "missing"),
        (hover, r#"{"uri":"file:///a"}"#.into(), "position", "missing"),
        (hover, r#"{"uri":7,"position":{"line":0,"character":0}}"#.into(), "uri", "type"),
        (hover, r#"{"uri":"\ud800","position":{"line":0,"character":0}}"#.into(), "uri", "type"),
        (hover, r#"{"uri":"a","position":[0,0]}"#.into(), "position", "type"),
        (hover, r#"{"uri":"a","position":{"line":0}}"#.into(), "position.character", "missing"),
        (hover, r#"{"uri":"a","position":{"line":0,"character":0,"x":1}}"#.into(), "position.x", "unknown"),
        (hover, r#"{"uri":"a","position":{"line":0,"line":0,"character":0}}"#.into(), "position.line", "duplicate"),
        (hover, r#"{"uri":"a","uri":"a","position":{"line":0,"character":0}}"#.into(), "uri", "duplicate"),
        (hover, format!(r#"{{{AT},"cursor":null}}"#), "cursor", "unknown"),
        (hover, at("-1"), "position.line", "range"),
        (hover, at("4294967296"), "position.line", "range"),
        (hover, at("1e400"), "position.line", "type"),
        (hover, at("0.5"), "position.line", "type"),
        (hover, at("\"1\""), "position.line", "type"),
        (hover, at("null"), "position.line", "type"),
        (hover, at("true"), "position.line", "type"),
        ("vscode.lsp.references", format!(r#"{{{AT},"includeDeclaration":1}}"#), "includeDeclaration", "type"),
        ("vscode.lsp.references", format!(r#"{{{AT},"includeDeclaration":null}}"#), "includeDeclaration", "type"),
        ("vscode.lsp.references", format!(r#"{{{AT},"pageSize":0}}"#), "pageSize", "range"),
        ("vscode.lsp.references", format!(r#"{{{AT},"pageSize":null}}"#), "pageSize", "type"),
        ("vscode.lsp.references", format!(r#"{{{AT},"cursor":1}}"#), "cursor", "type"),
        ("vscode.lsp.workspaceSymbols", r#"{"query":""}"#.into(), "query", "empty"),
        ("vscode.lsp.workspaceSymbols", r#"{"query":" \u3000\n"}"#.into(), "query", "empty"),
    ];
    for (tool, arguments, path, reason) in cases {
        let error = decode(tool, &arguments).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidParams, "{arguments}");
        let named = (error.details["path"].as_str().unwrap(), error.details["reason"].as_str().unwrap());
        assert_eq!(named, (path, reason), "{arguments}");
    }
}

#[test]
fn an_unknown_tool_is_invalid_params() {
    let unknown = ["", "lsp", "vscode.lsp.nothing", "vscode_lsp_hover", "vscode.lsp.hover ", "VSCODE.LSP.HOVER"];
    for tool in unknown {
        let error = CatalogId::LspV1.catalog().decode(tool, None, PageSizes::of_entries(MAX_PAGE_SIZE)).unwrap_err();
        assert_eq!(
            (error.code, &error.details["reason"]),
            (ErrorCode::InvalidParams, &json!("unknown_tool")),
            "{tool}"
        );
    }
    assert!(CatalogSet::default().find("vscode_lsp_hover").is_none());
    let EncodedReply::Error { code, data, .. } = unknown_tool_reply(&unknown_tool("lsp")) else { panic!() };
    let data: Value = serde_json::from_slice(&data).unwrap();
    assert_eq!((code, &data["code"]), (-32602, &json!("MCP_LSP_GATEWAY/INVALID_PARAMS")));
}

#[test]
fn an_error_echoes_no_long_text() {
    for name in
        ["x".repeat(100_000), "/home/me/keys/id_ed25519".to_owned(), "ghp_16C7e42F292c6912E7710c83834".to_owned()]
    {
        let at = json!({"uri": "a", "position": {"line": 0, "character": 0}, (name.as_str()): 1});
        let inside = json!({"uri": "a", "position": {"line": 0, "character": 0, (name.as_str()): 1}});
        for (arguments, path) in [(at, "(unknown)"), (inside, "position.(unknown)")] {
            let error = decode("vscode.lsp.hover", &arguments.to_string()).unwrap_err();
            assert_eq!(error.details["path"], path);
            assert!(!error.message.contains(&name) && error.message.len() < 200, "{}", error.message);
        }
    }
}

#[test]
fn no_arguments_are_an_empty_object() {
    assert!(
        CatalogId::LspV1.catalog().decode("vscode.lsp.diagnostics.workspace", None, PageSizes::of_entries(200)).is_ok()
    );
    let error = CatalogId::LspV1.catalog().decode("vscode.lsp.hover", None, PageSizes::of_entries(200)).unwrap_err();
    assert_eq!(error.details["path"], "uri");
}

/// Spellings of numbers: whole, fractional, negative, huge, with exponent.
fn some_number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<u32>().prop_map(|n| n.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        any::<u64>().prop_map(|n| n.to_string()),
        (0..400i32, 0..9u32).prop_map(|(n, f)| format!("{n}.{f}")),
        (-9..9i32, -3..12i32).prop_map(|(n, e)| format!("{n}e{e}")),
        prop::sample::select(vec![
            "0", "-0", "-0.0", "1.0", "4294967295", "4294967295.0", "4294967296", "1e300", "0.1e1"
        ])
        .prop_map(String::from),
    ]
}

fn some_value() -> impl Strategy<Value = String> {
    let texts = ["null", "true", "false", "\"\"", "\"x\"", "\" a \"", "\"file:///a\"", "[]", "{}", "[1]"];
    prop_oneof![
        2 => prop::sample::select(texts.map(String::from).to_vec()),
        2 => some_number(),
        3 => prop::collection::vec((prop::sample::select(vec!["line", "character", "x"]), some_number()), 0..3).prop_map(object),
        3 => (0..9u32, some_number()).prop_map(|(line, character)| format!(r#"{{"line":{line},"character":{character}}}"#)),
    ]
}

fn object(members: Vec<(&'static str, String)>) -> String {
    let mut seen: Vec<(&str, String)> = Vec::new();
    for (key, value) in members {
        // A schema can't see duplicates, so there are none here.
        if !seen.iter().any(|(earlier, _)| *earlier == key) {
            seen.push((key, value));
        }
    }
    let members: Vec<String> = seen.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

fn some_arguments() -> impl Strategy<Value = String> {
    let names = vec!["uri", "position", "includeDeclaration", "pageSize", "cursor", "query", "Uri"];
    let chaotic = prop::collection::vec((prop::sample::select(names), some_value()), 0..5).prop_map(object);
    let position = (some_number(), some_number()).prop_map(|(l, c)| format!(r#"{{"line":{l},"character":{c}}}"#));
    let small = prop_oneof![(0..300u32).prop_map(|n| n.to_string()), some_number()];
    let orderly =
        (position, prop::option::of(any::<bool>()), prop::option::of(small), prop::option::of(some_value()), 0..5u32)
            .prop_map(|(position, flag, size, cursor, form)| {
                let mut members = Vec::new();
                if form < 4 {
                    members.push(("uri", "\"file:///a\"".to_owned()));
                }
                if form < 2 {
                    members.push(("position", position));
                }
                members.extend(flag.filter(|_| form == 0).map(|flag| ("includeDeclaration", flag.to_string())));
                members.extend(size.filter(|_| form != 1).map(|size| ("pageSize", size)));
                members.extend(cursor.filter(|_| form != 1).map(|cursor| ("cursor", cursor)));
                if form == 3 {
                    members = vec![("query", "\" q \"".to_owned())].into_iter().chain(members.split_off(1)).collect();
                }
                object(members)
            });
    prop_oneof![chaotic, orderly]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_024))]
    #[test]
    fn the_schema_and_the_decoder_accept_the_same_arguments(arguments in some_arguments()) {
        let value: Value = serde_json::from_str(&arguments).unwrap();
        for (tool, schema) in SCHEMAS.with(Clone::clone).iter() {
            let decoded = decode(tool, &arguments);
            prop_assert_eq!(schema.is_valid(&value), decoded.is_ok(), "{} {}: {:?}", tool, arguments, decoded);
        }
    }
}

thread_local! {
    static SCHEMAS: std::rc::Rc<Vec<(String, jsonschema::Validator)>> = std::rc::Rc::new(schemas());
}

#[test]
fn only_a_blank_query_passes_the_schema_and_fails_decoding() {
    let (_, schema) = schemas().into_iter().find(|(tool, _)| tool == "vscode.lsp.workspaceSymbols").unwrap();
    assert!(
        schema.is_valid(&json!({"query": " "})) && decode("vscode.lsp.workspaceSymbols", r#"{"query":" "}"#).is_err()
    );
    assert!(!schema.is_valid(&json!({"query": ""})));
}
