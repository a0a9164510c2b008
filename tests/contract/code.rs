//! The catalog `code`: its listing, its arguments and their description in
//! `docs/internals/reference/contract-code.md`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use codeyard_catalog::limits;
use codeyard_catalog::{Catalog, CatalogId, CatalogSet, EncodedReply, PageSizes};
use codeyard_model::answer::Answer;
use codeyard_model::code::*;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::query::Query;
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Largest size of the listing, in bytes, because it occupies a model's context.
const LIST_BUDGET_BYTES: usize = 12 * 1024;

fn catalog() -> &'static dyn Catalog {
    CatalogId::Code.catalog()
}

fn decode(tool: &str, arguments: &Value) -> Result<CodeQuery, ToolError> {
    let raw = RawValue::from_string(arguments.to_string()).unwrap();
    match catalog().decode(tool, Some(&raw), PageSizes::of_entries(codeyard_model::limits::MAX_PAGE_SIZE))? {
        Query::Code(asked) => Ok(asked.query),
        other => panic!("{other:?}"),
    }
}

fn search(arguments: Value) -> SearchQuery {
    match decode("search_code", &arguments).unwrap() {
        CodeQuery::Search(query) => query,
        other => panic!("{other:?}"),
    }
}

/// Error object of a refused call.
pub(crate) fn refusal(tool: &str, arguments: &Value) -> Value {
    let error = decode(tool, arguments).expect_err(&format!("{tool} {arguments}"));
    assert_eq!(error.code, ErrorCode::InvalidParams);
    shown(Err(&error))["error"].clone()
}

fn shown(result: Result<&Answer, &ToolError>) -> Value {
    let (bytes, failed) = match catalog().encode(result, codeyard_model::limits::MAX_RESPONSE_BYTES) {
        EncodedReply::Result(bytes) => (bytes, false),
        EncodedReply::Refusal { result, .. } => (result, true),
        EncodedReply::Error { .. } => panic!("a tool result is wanted"),
    };
    let reply: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(reply["isError"], failed);
    reply["structuredContent"].clone()
}

fn listing() -> Vec<Value> {
    let list: Value = serde_json::from_str(CatalogSet::parse("code").unwrap().list_json()).unwrap();
    list["tools"].as_array().unwrap().clone()
}

fn tool(name: &str) -> Value {
    listing().into_iter().find(|tool| tool["name"] == name).unwrap()
}

fn table(head: &str) -> Vec<Vec<String>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/internals/reference/contract-code.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().skip_while(|line| *line != head).skip(2).peekable();
    assert!(lines.peek().is_some(), "no table {head}");
    let inner = |line: &str| line.strip_prefix("| ").unwrap().strip_suffix('|').unwrap().to_owned();
    let cells = |line: &str| inner(line).split(" | ").map(|cell| cell.trim().replace('`', "")).collect();
    lines.take_while(|line| line.starts_with('|')).map(cells).collect()
}

fn list(cell: &str) -> Vec<String> {
    cell.split(", ").filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn sorted(mut words: Vec<String>) -> Vec<String> {
    words.sort_unstable();
    words
}

fn keys(value: &Value) -> Vec<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

#[test]
fn seven_tools_in_a_small_listing() {
    let set = CatalogSet::parse("code").unwrap();
    assert!(set.list_json().len() <= LIST_BUDGET_BYTES, "{}", set.list_json().len());
    let rows = table("| tool | asks | arguments |");
    assert_eq!(rows.len(), 7);
    for (tool, row) in listing().iter().zip(rows) {
        assert_eq!(tool["name"], row[0]);
        let writes = ["index_repo", "sync_repo"].contains(&row[0].as_str());
        let hints =
            json!({"readOnlyHint": !writes, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false});
        assert_eq!(tool["annotations"], hints);
        let input = &tool["inputSchema"];
        let output = &tool["outputSchema"];
        let required = input["required"].as_array().cloned().unwrap_or_default();
        let mark = |name: &String| match (row[0].as_str(), name.as_str()) {
            ("locate_symbol", "name" | "symbol_id" | "symbol_stable_id" | "result_id") => format!("{name}*"),
            _ if required.contains(&json!(name)) => name.clone(),
            _ => format!("{name}?"),
        };
        let taken = keys(&input["properties"]).iter().map(mark).collect();
        assert_eq!(sorted(list(&row[2])), sorted(taken), "{}", row[0]);
        jsonschema::draft202012::meta::validate(input).unwrap();
        jsonschema::draft202012::meta::validate(output).unwrap();
        assert_eq!((&input["additionalProperties"], &output["type"]), (&json!(false), &json!("object")));
    }
    for tool in catalog().tool_names() {
        let is_about_the_index = ["index_repo", "sync_repo", "index_status", "health_check"].contains(&tool.as_str());
        let permission = (!is_about_the_index).then_some("lsp");
        assert_eq!(catalog().policy(&tool).permission, permission, "{tool}");
    }
}

#[test]
fn the_page_documents_every_argument_and_its_values() {
    let documented: BTreeMap<String, String> =
        table("| argument | is | without it |").into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    let mut coded = BTreeMap::new();
    for tool in listing() {
        for (name, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            coded.insert(name.clone(), schema.clone());
        }
    }
    assert_eq!(documented.keys().collect::<Vec<_>>(), coded.keys().collect::<Vec<_>>());
    for (name, schema) in &coded {
        if let Some(words) = schema["enum"].as_array() {
            let words: Vec<&str> = words.iter().map(|word| word.as_str().unwrap()).collect();
            assert!(documented[name].starts_with(&words.join(", ")), "{name}");
            let of_query = |word: &str| decode_with(name, &json!(word));
            assert!(words.iter().all(|word| of_query(word).is_ok()), "{name}");
            assert!(words.iter().all(|word| of_query(&word.to_uppercase()).is_err()), "{name}");
        }
    }
}

/// A query of the first tool that has the argument `name`, with this value.
fn decode_with(name: &str, value: &Value) -> Result<CodeQuery, ToolError> {
    let takes = |tool: &&str| {
        listing().iter().any(|of| of["name"] == **tool && of["inputSchema"]["properties"].get(name).is_some())
    };
    let tool =
        ["search_code", "locate_symbol", "get_file_outline", "health_check", "index_repo"].into_iter().find(takes);
    let tool = tool.unwrap();
    let mut arguments = match tool {
        "search_code" => json!({"query": "q", "mode": "text", "detail_level": "context"}),
        "locate_symbol" if !["symbol_id", "symbol_stable_id", "result_id"].contains(&name) => json!({"name": "n"}),
        "get_file_outline" => json!({"path": "p"}),
        _ => json!({}),
    };
    arguments[name] = value.clone();
    decode(tool, &arguments)
}

#[test]
fn arguments_decode_to_the_query() {
    let least = search(json!({"query": " Vault "}));
    let shape = RowOptions { limit: 10, ..RowOptions::default() };
    assert_eq!(least, SearchQuery { text: "Vault".into(), shape: shape.clone(), ..SearchQuery::default() });
    let all = search(json!({
        "query": " x ", "mode": "regex", "case": "sensitive", "word": true, "paths": ["src/**", "!*.md"], "context_lines": 3,
        "offset": 20, "ref": "live", "language": "rust", "limit": 200, "detail_level": "context", "compact": true,
        "freshness_policy": "strict", "ranking_explain_level": "basic", "confirm": true, "debug": {"ranking_reasons": true},
    }));
    let expected = SearchQuery {
        text: " x ".into(),
        mode: SearchMode::Regex,
        case: CaseRule::Sensitive,
        word: true,
        globs: vec!["src/**".into(), "!*.md".into()],
        context_lines: 3,
        offset: 20,
        shape: RowOptions {
            reference: Some("live".into()),
            language: Some("rust".into()),
            limit: 200,
            detail: DetailLevel::Context,
            compact: true,
            freshness: Some(FreshnessPolicy::Strict),
            explain: Some(ExplainLevel::Basic),
            confirm: true,
        },
        ..SearchQuery::default()
    };
    assert_eq!(all, expected);
    let locate = |arguments: Value| match decode("locate_symbol", &arguments).unwrap() {
        CodeQuery::Locate(query) => query,
        other => panic!("{other:?}"),
    };
    for (name, by) in [
        ("name", LocateBy::Name as fn(String) -> LocateBy),
        ("symbol_id", LocateBy::SymbolId),
        ("symbol_stable_id", LocateBy::StableId),
        ("result_id", LocateBy::ResultId),
    ] {
        let query = locate(json!({name: "x", "kind": "function"}));
        assert_eq!(query, LocateQuery { by: by("x".into()), kind: Some(SymbolKind::Fn), shape: shape.clone() });
    }
    let outline =
        decode("get_file_outline", &json!({"path": "a b", "ref": "v1", "depth": "top", "language": "klingon"}));
    let path = "a b".into();
    let reference = Some("v1".into());
    let expected = OutlineQuery { path, reference: reference.clone(), depth: OutlineDepth::Top, freshness: None };
    assert_eq!(outline.unwrap(), CodeQuery::Outline(expected));
    let health = decode("health_check", &json!({"workspace": "/w"})).unwrap();
    assert_eq!(health, CodeQuery::Health { workspace: Some("/w".into()) });
    let arguments = json!({"ref": "v1", "force": true});
    let force = true;
    assert_eq!(decode("index_repo", &arguments).unwrap(), CodeQuery::Index { force, reference: reference.clone() });
    assert_eq!(decode("sync_repo", &arguments).unwrap(), CodeQuery::Sync { force, reference: reference.clone() });
    assert_eq!(decode("index_status", &json!({"ref": "v1"})).unwrap(), CodeQuery::Status { reference });
    assert_eq!(decode("sync_repo", &json!({})).unwrap(), CodeQuery::Sync { force: false, reference: None });
}

#[test]
fn the_old_explain_argument_applies_when_the_new_one_is_absent() {
    let explain = |arguments: Value| search(arguments).shape.explain;
    assert_eq!(explain(json!({"query": "q"})), None);
    assert_eq!(explain(json!({"query": "q", "debug": {}})), Some(ExplainLevel::Off));
    assert_eq!(explain(json!({"query": "q", "debug": {"ranking_reasons": true}})), Some(ExplainLevel::Full));
    assert_eq!(explain(json!({"query": "q", "debug": {"ranking_reasons": false}})), Some(ExplainLevel::Off));
    let both = json!({"query": "q", "debug": {"ranking_reasons": true}, "ranking_explain_level": "off"});
    assert_eq!(explain(both), Some(ExplainLevel::Off));
}

#[test]
fn a_stricter_cap_of_the_configuration_lowers_the_limit() {
    let raw = RawValue::from_string(json!({"query": "q", "limit": 50}).to_string()).unwrap();
    let asked = catalog().decode("search_code", Some(&raw), PageSizes::of_entries(30)).unwrap();
    assert!(
        matches!(asked, Query::Code(CodeRequest { query: CodeQuery::Search(query), .. }) if query.shape.limit == 30)
    );
}

#[test]
fn errors_name_the_invalid_value_and_the_allowed_ones() {
    let long = "x".repeat(limits::MAX_CODE_TEXT_CHARS + 1);
    let cases = [
        (
            "search_code",
            json!({}),
            "query",
            "missing",
            "`query` is missing; it must be a text of 1 to 4096 characters.",
        ),
        ("search_code", json!({"query": ""}), "query", "empty", "`query` must be a text of 1 to 4096 characters."),
        ("search_code", json!({"query": " "}), "query", "empty", "`query` must be a text"),
        ("search_code", json!({"query": "", "mode": "regex"}), "query", "empty", "`query` must be a text"),
        ("search_code", json!({"query": long}), "query", "range", "`query` must be a text"),
        ("search_code", json!({"query": 7}), "query", "type", "`query` must be a text"),
        ("search_code", json!({"query": "q", "ref": null}), "ref", "type", "`ref` must be a text"),
        ("search_code", json!({"query": "q", "ref": " "}), "ref", "empty", "`ref` must be a text"),
        (
            "search_code",
            json!({"query": "q", "limit": 0}),
            "limit",
            "range",
            "`limit` must be an integer from 1 to 200.",
        ),
        ("search_code", json!({"query": "q", "limit": 201}), "limit", "range", "`limit` must be"),
        ("search_code", json!({"query": "q", "limit": 1.5}), "limit", "type", "`limit` must be"),
        ("search_code", json!({"query": "q", "limit": "9"}), "limit", "type", "`limit` must be"),
        ("search_code", json!({"query": "q", "limit": -1}), "limit", "range", "`limit` must be"),
        (
            "search_code",
            json!({"query": "q", "mode": "fuzzy"}),
            "mode",
            "unknown_word",
            "`mode` must be one of auto, text, regex, symbol.",
        ),
        ("search_code", json!({"query": "q", "case": true}), "case", "type", "`case` must be one of smart,"),
        ("search_code", json!({"query": "q", "word": "yes"}), "word", "type", "`word` must be true or false."),
        (
            "search_code",
            json!({"query": "q", "paths": "*"}),
            "paths",
            "type",
            "`paths` must be an array of at most 64 globs",
        ),
        ("search_code", json!({"query": "q", "paths": [""]}), "paths", "empty", "`paths` must be an array"),
        ("search_code", json!({"query": "q", "paths": vec!["a"; 65]}), "paths", "range", "`paths` must be an array"),
        (
            "search_code",
            json!({"query": "q", "context_lines": 11}),
            "context_lines",
            "range",
            "`context_lines` must be an integer from 0 to 10.",
        ),
        (
            "search_code",
            json!({"query": "q", "offset": 5}),
            "offset",
            "needs_mode",
            "`offset` goes with `mode` \"text\" or \"regex\" only.",
        ),
        (
            "search_code",
            json!({"query": "q", "mode": "symbol", "word": true}),
            "word",
            "needs_mode",
            "`word` is about lines and doesn't go with `mode` \"symbol\".",
        ),
        (
            "search_code",
            json!({"query": "q", "mode": "symbol", "case": "sensitive"}),
            "case",
            "needs_mode",
            "`case` is",
        ),
        (
            "search_code",
            json!({"query": "q", "mode": "symbol", "context_lines": 1}),
            "context_lines",
            "needs_mode",
            "`context_lines` is",
        ),
        (
            "search_code",
            json!({"query": "q", "confirm": true}),
            "confirm",
            "needs_context",
            "`confirm` goes with `detail_level` \"context\" only.",
        ),
        (
            "search_code",
            json!({"query": "q", "debug": {"ranking": true}}),
            "debug.ranking",
            "unknown",
            "There is no argument `debug.ranking`; search_code takes debug.ranking_reasons.",
        ),
        ("search_code", json!({"query": "q", "debug": true}), "debug", "type", "`debug` must be an object."),
        ("index_repo", json!({"force": 1}), "force", "type", "`force` must be true or false."),
        (
            "index_status",
            json!({"name": "x"}),
            "name",
            "unknown",
            "There is no argument `name`; index_status takes ref, workspace.",
        ),
        (
            "health_check",
            json!({"workspace": "w/x"}),
            "workspace",
            "not_absolute",
            "`workspace` must be a workspace's name, or a pattern with * and ?; of health_check also the absolute path of a root.",
        ),
        ("get_file_outline", json!({}), "path", "missing", "`path` is missing"),
        ("get_file_outline", json!({"path": "p", "language": 1}), "language", "type", "`language` must be a text"),
        (
            "get_file_outline",
            json!({"path": "p", "depth": "2"}),
            "depth",
            "unknown_word",
            "`depth` must be one of top, all.",
        ),
        (
            "locate_symbol",
            json!({"kind": "fn"}),
            "name",
            "missing",
            "Give exactly one of name, symbol_id, symbol_stable_id, result_id.",
        ),
        ("locate_symbol", json!({"name": "a", "result_id": "b"}), "name", "several", "Give exactly one of name,"),
        ("locate_symbol", json!({"name": " "}), "name", "empty", "`name` must be a text"),
        (
            "locate_symbol",
            json!({"name": "a", "kind": "Fn"}),
            "kind",
            "unknown_word",
            "`kind` must be one of fn, method,",
        ),
        ("locate_symbol", json!([]), "", "type", "The arguments must be an object."),
    ];
    for (tool, arguments, argument, reason, message) in cases {
        let error = refusal(tool, &arguments);
        assert!(error["message"].as_str().unwrap().starts_with(message), "{arguments}: {error}");
        let named = (&error["code"], &error["data"]["argument"], &error["data"]["reason"]);
        assert_eq!(named, (&json!("invalid_input"), &json!(argument), &json!(reason)), "{arguments}");
        assert!(!error["data"]["allowed"].as_str().unwrap().is_empty() && error["data"]["tool"] == tool);
    }
    let twice = RawValue::from_string(r#"{"ref":"a","ref":"b"}"#.to_owned()).unwrap();
    let error = catalog().decode("index_status", Some(&twice), PageSizes::of_entries(200)).unwrap_err();
    assert_eq!(shown(Err(&error))["error"]["message"], "`ref` is given twice; give it once.");
    let unknown = catalog().decode("search", None, PageSizes::of_entries(200)).unwrap_err();
    assert_eq!(unknown.details["reason"], "unknown_tool");
}

#[test]
fn arguments_without_effect_are_accepted_in_every_mode() {
    for mode in SearchMode::ALL {
        let arguments = json!({"query": "q", "mode": mode.as_str(), "case": "smart", "word": false, "context_lines": 0, "offset": 0,
            "confirm": false, "paths": []});
        assert_eq!(search(arguments).mode, *mode);
    }
    // White space is a valid search text.
    assert_eq!(search(json!({"query": "  ", "mode": "text"})).text, "  ");
}

fn some_value() -> impl Strategy<Value = Value> {
    let words = ["x", "text", "symbol", "context", "location", "strict", "full", "top", "smart", "fn", "/w", ""];
    prop_oneof![
        4 => prop::sample::select(words.to_vec()).prop_map(Value::from),
        2 => any::<bool>().prop_map(Value::from),
        2 => (-2..300_i64).prop_map(Value::from),
        1 => prop::sample::select(vec![json!(null), json!(1.5), json!(10.0), json!([]), json!(["a"]), json!([1]), json!([""]), json!({})]),
        1 => any::<bool>().prop_map(|on| json!({"ranking_reasons": on})),
    ]
}

fn some_arguments() -> impl Strategy<Value = Value> {
    let names: Vec<String> = table("| argument | is | without it |").into_iter().map(|row| row[0].clone()).collect();
    let names = [names, vec!["query".into(), "name".into(), "path".into(), "other".into()]].concat();
    prop::collection::btree_map(prop::sample::select(names), some_value(), 0..5)
        .prop_map(|members| Value::Object(members.into_iter().collect()))
}

thread_local! {
    static SCHEMAS: Vec<(String, jsonschema::Validator)> = {
        let compiled = |tool: &Value| jsonschema::draft202012::new(&tool["inputSchema"]).unwrap();
        listing().iter().map(|tool| (tool["name"].as_str().unwrap().to_owned(), compiled(tool))).collect()
    };
}

/// Arguments that only the decoder refuses, because a schema of this size can't express the rule.
fn is_beyond_the_schema(error: &ToolError) -> bool {
    let path = error.details["path"].as_str().unwrap();
    let reason = error.details["reason"].as_str().unwrap();
    matches!(reason, "needs_mode" | "needs_context" | "empty" | "several")
        || matches!((path, reason), ("kind", "unknown_word") | ("name", "missing"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_024))]
    #[test]
    fn the_schema_and_the_decoder_accept_the_same_arguments(arguments in some_arguments()) {
        SCHEMAS.with(|schemas| {
            for (tool, schema) in schemas {
                match decode(tool, &arguments) {
                    Ok(_) => prop_assert!(schema.is_valid(&arguments), "{} {}", tool, arguments),
                    Err(error) => prop_assert!(
                        !schema.is_valid(&arguments) || is_beyond_the_schema(&error), "{} {}: {:?}", tool, arguments, error
                    ),
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_query_survives_encoding_as_arguments(arguments in some_arguments()) {
        for (tool, needed) in [("search_code", "query"), ("locate_symbol", "name"), ("get_file_outline", "path")] {
            let mut arguments = arguments.clone();
            let members = arguments.as_object_mut().unwrap();
            let known = tool_arguments(tool);
            members.retain(|name, _| known.contains(name) && !name.ends_with("_id"));
            members.insert(needed.into(), "x".into());
            if let Ok(query) = decode(tool, &arguments) {
                let again = CallArguments::of(&query).arguments;
                prop_assert_eq!(decode(tool, &Value::Object(again.clone())), Ok(query.clone()), "{:?}", again);
                prop_assert_eq!(CallArguments::of(&decode(tool, &Value::Object(again.clone())).unwrap()).arguments, again);
            }
        }
    }
}

fn tool_arguments(name: &str) -> Vec<String> {
    keys(&tool(name)["inputSchema"]["properties"])
}

#[test]
fn other_queries_survive_encoding_as_arguments() {
    let reference = Some("v1".to_owned());
    let by = |by| {
        CodeQuery::Locate(LocateQuery { by, kind: None, shape: RowOptions { limit: 10, ..RowOptions::default() } })
    };
    for query in [
        CodeQuery::Health { workspace: Some("/w".into()) },
        CodeQuery::Index { force: true, reference: reference.clone() },
        CodeQuery::Sync { force: false, reference: reference.clone() },
        CodeQuery::Status { reference },
        by(LocateBy::SymbolId("s".into())),
        by(LocateBy::StableId("t".into())),
        by(LocateBy::ResultId("r".into())),
    ] {
        assert_eq!(decode(query.tool(), &Value::Object(CallArguments::of(&query).arguments)).unwrap(), query);
    }
}

#[test]
fn the_page_documents_kinds_values_and_limits() {
    let rows = table("| kind | synonyms |");
    assert_eq!(rows.iter().map(|row| row[0].as_str()).collect::<Vec<_>>(), SymbolKind::ALL.map(SymbolKind::as_str));
    for (row, kind) in rows.iter().zip(SymbolKind::ALL) {
        assert!(list(&row[1]).iter().all(|word| SymbolKind::parse(word) == Some(kind)), "{row:?}");
    }
    macro_rules! words {
        ($($name:literal: $type:ident),*) => { vec![$(($name, $type::ALL.iter().map(|word| word.as_str()).collect::<Vec<_>>())),*] };
    }
    let mut coded = words! {
        "freshness_status": Freshness, "indexing_status": IndexingStatus, "result_completeness": Completeness, "schema_status": SchemaStatus,
        "query_intent": QueryIntent, "result_type": ResultType
    };
    coded.push(("visibility", (0..3).map(|at| Visibility::from_number(at).unwrap().as_str()).collect()));
    coded.extend(words! {
        "health_check.status": HealthStatus, "prewarm_status": PrewarmStatus, "job.status": JobStatus, "job.mode": JobMode
    });
    let documented: Vec<(String, Vec<String>)> =
        table("| member | values |").into_iter().map(|row| (row[0].clone(), list(&row[1]))).collect();
    let coded: Vec<(String, Vec<String>)> =
        coded.into_iter().map(|(name, all)| (name.to_owned(), all.into_iter().map(str::to_owned).collect())).collect();
    assert_eq!(documented, coded);
    let policies: Vec<String> =
        table("| `freshness_policy` | what happens |").into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(policies, FreshnessPolicy::ALL.iter().map(|policy| policy.as_str()).collect::<Vec<_>>());
    let rows = table("| limit | value | what it bounds |");
    let documented: Vec<(&str, usize)> = rows.iter().map(|row| (row[0].as_str(), row[1].parse().unwrap())).collect();
    let coded = [
        ("DEFAULT_CODE_ROWS", codeyard_model::limits::DEFAULT_CODE_ROWS),
        ("MAX_CODE_ROWS", limits::MAX_CODE_ROWS),
        ("MAX_CONFIRMED_ROWS", codeyard_engine::limits::MAX_CONFIRMED_ROWS),
        ("MAX_CODE_CONTEXT_LINES", limits::MAX_CODE_CONTEXT_LINES),
        ("MAX_CODE_GLOBS", limits::MAX_CODE_GLOBS),
        ("MAX_CODE_TEXT_CHARS", limits::MAX_CODE_TEXT_CHARS),
        ("MAX_CODE_PAYLOAD_BYTES", codeyard_model::limits::MAX_CODE_PAYLOAD_BYTES),
        ("MAX_OUTLINE_LEVELS", limits::MAX_OUTLINE_LEVELS),
    ];
    assert_eq!(documented, coded);
}

#[test]
fn the_page_documents_exactly_the_error_codes() {
    let rows = table("| code | when | what helps |");
    let documented: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(documented, CodeError::ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>());
    let of_gateway: Vec<(String, String)> =
        table("| of the gateway | here |").into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    let coded: Vec<(String, String)> = ErrorCode::ALL
        .into_iter()
        .map(|code| (code, shown(Err(&ToolError::new(code, "say it")))["error"]["code"].as_str().unwrap().to_owned()))
        .map(|(code, word)| (code.as_str().to_owned(), word))
        .collect();
    assert_eq!(of_gateway, coded);
}

#[test]
fn the_page_documents_the_fields_of_answers_and_rows() {
    for row in table("| tool | members |") {
        let schema = &tool(&row[0])["outputSchema"];
        let documented = list(&row[1]).iter().map(|name| name.trim_end_matches('?').to_owned()).collect();
        let coded = keys(&schema["properties"]).into_iter().filter(|name| name != "error").collect();
        assert_eq!(sorted(documented), sorted(coded), "{}", row[0]);
    }
    let related = || RelatedSymbol { kind: SymbolKind::Fn, name: "n".into(), path: "p".into(), line: 1 };
    let text = || Some("x".to_owned());
    let row = ResultRow {
        kind: Some(SymbolKind::Fn),
        name: "n".into(),
        path: "p".into(),
        qualified_name: text(),
        signature: text(),
        language: Some("rust"),
        visibility: Some(Visibility::Public),
        body_preview: text(),
        parent: Some(related()),
        related: vec![related()],
        symbol_id: text(),
        symbol_stable_id: text(),
        score: Some(0.5),
        confirmed_by: text(),
        workspace: codeyard_base::ids::WorkspaceName::new("w"),
        folded_tests: Some(FoldedTests { count: 1, paths: vec!["t".into()] }),
        ..ResultRow::default()
    };
    let reason = RankingReasons { final_score: 0.5, ..RankingReasons::default() };
    let found = |detail, level| {
        let metadata = AnswerMetadata { reasons: Some((level, vec![reason])), ..AnswerMetadata::default() };
        let rows = vec![row.clone()];
        let asked = CallArguments::default();
        let rows = ResultRows { rows, intent: None, total: 1, next: vec![], detail, compact: false, asked, metadata };
        shown(Ok(&Answer::Code(CodeAnswer::Rows(rows))))
    };
    let mut expected = Vec::new();
    for documented in table("| `detail_level` | members of a symbol's row, beside those of the level above |") {
        expected.extend(list(&documented[1]).iter().map(|name| name.trim_end_matches('?').to_owned()));
        let shown = found(DetailLevel::parse(&documented[0]).unwrap(), ExplainLevel::Off);
        assert_eq!(sorted(expected.clone()), sorted(keys(&shown["results"][0])), "{}", documented[0]);
    }
    for documented in table("| `ranking_explain_level` | members of a reason |") {
        let shown = found(DetailLevel::Location, ExplainLevel::parse(&documented[0]).unwrap());
        assert_eq!(sorted(list(&documented[1])), sorted(keys(&shown["metadata"]["ranking_reasons"][0])));
    }
}
