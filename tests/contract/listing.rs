//! `tools/list` of all catalogs: golden files, metadata, schemas as committed (`docs/internals/reference/contract-lsp-v1.md#tools`).

use std::path::PathBuf;

use codeyard_catalog::CatalogSet;
use serde_json::{Value, json};

/// Largest size of a listing, in bytes, because it occupies a model's context.
const LIST_BUDGET_BYTES: usize = 14 * 1024;

/// The same for the catalog `launch`.
const LAUNCH_LIST_BUDGET_BYTES: usize = 12 * 1024;

/// All catalogs.
const SETS: [&str; 5] = ["lsp-v1", "lsp-v1-safe", "agent", "code", "launch"];

fn tools(set: &str) -> Vec<Value> {
    let set = CatalogSet::parse(set).unwrap();
    let list: Value = serde_json::from_str(set.list_json()).unwrap();
    list["tools"].as_array().unwrap().clone()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn listings_equal_the_golden_files() {
    for set in SETS {
        let path = format!("tests/contract/golden/{set}.tools.json");
        let list = format!("{}\n", CatalogSet::parse(set).unwrap().list_json());
        if std::env::var_os("CODEYARD_UPDATE_GOLDEN").is_some() {
            std::fs::write(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(&path), &list).unwrap();
        }
        assert_eq!(list, read(&path), "{set}; CODEYARD_UPDATE_GOLDEN=1 rewrites");
    }
}

#[test]
fn the_pages_say_how_much_of_a_context_a_listing_takes() {
    // What hosts give a model of each tool.
    let size = |set| {
        let shown = |tool: &Value| json!({"name": tool["name"], "description": tool["description"], "parameters": tool["inputSchema"]});
        let bytes = serde_json::to_string(&tools(set).iter().map(shown).collect::<Vec<_>>()).unwrap().len();
        format!("{:.1} KB", bytes as f64 / 1_000.0)
    };
    let agent = size("agent");
    let lsp = size("lsp-v1");
    let without_unit = lsp.trim_end_matches(" KB");
    let wanted = format!("in {agent} of context instead of {without_unit}");
    assert!(read("docs/use/connect-an-agent.md").contains(&wanted), "docs/use/connect-an-agent.md has no `{wanted}`");
    let wanted = format!("input schemas of a listing: {agent}, and {lsp} of `lsp-v1`");
    assert!(read("docs/use/serving.md").contains(&wanted), "docs/use/serving.md has no `{wanted}`");
}

#[test]
fn exactly_the_seven_tools_in_order() {
    let expected = [
        "vscode.lsp.definition",
        "vscode.lsp.references",
        "vscode.lsp.hover",
        "vscode.lsp.documentSymbols",
        "vscode.lsp.workspaceSymbols",
        "vscode.lsp.diagnostics.document",
        "vscode.lsp.diagnostics.workspace",
    ];
    let names = |set| tools(set).iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(names("lsp-v1"), expected);
    assert_eq!(names("lsp-v1-safe"), expected.map(|name| name.replace('.', "_")));
}

#[test]
fn every_tool_has_metadata_and_is_marked_read_only() {
    for tool in tools("lsp-v1").into_iter().chain(tools("lsp-v1-safe")) {
        assert!((20..200).contains(&tool["description"].as_str().unwrap().len()), "{tool}");
        let hints =
            json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false});
        assert_eq!(tool["annotations"], hints);
        assert_eq!((&tool["inputSchema"]["type"], &tool["outputSchema"]["type"]), (&json!("object"), &json!("object")));
        assert_eq!(tool.as_object().unwrap().len(), 5);
    }
}

#[test]
fn both_catalogs_serve_the_committed_schemas() {
    let safe = tools("lsp-v1-safe");
    for (index, tool) in tools("lsp-v1").iter().enumerate() {
        let name = tool["name"].as_str().unwrap();
        for (member, file) in [("inputSchema", format!("{name}.json")), ("outputSchema", format!("{name}.output.json"))]
        {
            let lying: Value = serde_json::from_str(&read(&format!("schemas/tools/{file}"))).unwrap();
            assert_eq!(tool[member], lying, "{file}");
            assert_eq!(safe[index][member], lying, "{file}");
        }
    }
    let files = std::fs::read_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("schemas/tools")).unwrap();
    let ours = files.filter(|file| file.as_ref().unwrap().file_name().to_str().unwrap().starts_with("vscode.lsp."));
    assert_eq!(ours.count(), 14);
}

/// Checks that a schema closes every object whose members it names and only uses keywords that every validator knows.
fn check_closed(schema: &Value, at: &str) {
    match schema {
        Value::Object(members) => {
            assert!(!members.contains_key("$ref") && !members.contains_key("$schema"), "{at}");
            let names_members = members.contains_key("properties") || at.contains("/vscode");
            if members.get("type") == Some(&json!("object")) && names_members {
                assert_eq!(members.get("additionalProperties"), Some(&json!(false)), "{at}");
            }
            members.iter().for_each(|(key, value)| check_closed(value, &format!("{at}/{key}")));
        }
        Value::Array(items) => items.iter().for_each(|item| check_closed(item, at)),
        _ => {}
    }
}

#[test]
fn schemas_close_every_object_and_use_no_references() {
    for tool in tools("lsp-v1") {
        for member in ["inputSchema", "outputSchema"] {
            check_closed(&tool[member], &format!("/{}/{member}", tool["name"].as_str().unwrap()));
            jsonschema::draft202012::meta::validate(&tool[member]).unwrap();
        }
    }
}

#[test]
fn schemas_of_launch_runs_close_every_object_but_the_configuration() {
    for tool in tools("launch") {
        let name = tool["name"].as_str().unwrap();
        let file = |file: String| serde_json::from_str::<Value>(&read(&format!("schemas/tools/{file}"))).unwrap();
        let mut input = file(format!("{name}.json"));
        let output = file(format!("{name}.output.json"));
        assert_eq!(tool["inputSchema"], input, "{name}");
        // The whole form of a configuration is another schema; the workflow names all faults at once.
        if let Some(config) = input.pointer_mut("/properties/run_config") {
            *config = json!({"type": "object"});
        }
        for schema in [&input, &output, &tool["outputSchema"]] {
            jsonschema::draft202012::meta::validate(schema).unwrap();
            jsonschema::draft7::meta::validate(schema).unwrap();
            assert_eq!(schema["type"], "object", "{name}");
            // Clients refuse schemas that don't begin with one object.
            assert!(["oneOf", "anyOf", "allOf"].iter().all(|keyword| schema.get(keyword).is_none()), "{name}");
        }
        check_closed(&input, &format!("/{name}/input"));
        check_closed(&output, &format!("/{name}/output"));
        assert_eq!(members_of(&tool["outputSchema"]), members_of(&output), "{name}: the list names all members");
    }
    let files = std::fs::read_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("schemas/tools")).unwrap();
    let ours = files.filter(|file| file.as_ref().unwrap().file_name().to_str().unwrap().starts_with("launch_"));
    assert_eq!(ours.count(), 2 * tools("launch").len());
}

fn members_of(schema: &Value) -> Vec<&String> {
    let mut names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    names.sort_unstable();
    names
}

#[test]
fn launch_tools_have_metadata_and_say_what_they_write() {
    for tool in tools("launch") {
        let name = tool["name"].as_str().unwrap();
        assert!((20..200).contains(&tool["description"].as_str().unwrap().len()), "{name}");
        let reads = ["launch_get_status", "launch_get_artifact", "launch_list_runs"].contains(&name);
        let hints = json!({
            "readOnlyHint": reads, "destructiveHint": false, "idempotentHint": true, "openWorldHint": name == "launch_open_pr",
        });
        assert_eq!(tool["annotations"], hints, "{name}");
        assert_eq!(tool.as_object().unwrap().len(), 5, "{name}");
    }
}

#[test]
fn the_list_is_one_line_and_small() {
    for name in SETS {
        let set = CatalogSet::parse(name).unwrap();
        let list = set.list_json();
        let budget = if name == "launch" { LAUNCH_LIST_BUDGET_BYTES } else { LIST_BUDGET_BYTES };
        assert!(!list.contains('\n') && list.len() <= budget, "{name}: {} bytes", list.len());
    }
}

/// Where `schema` has a list of types, which several clients can't read.
fn type_lists(schema: &Value, at: &str) -> Vec<String> {
    let below: Vec<(String, &Value)> = match schema {
        Value::Object(members) => members.iter().map(|(name, value)| (format!("{at}/{name}"), value)).collect(),
        Value::Array(items) => items.iter().map(|value| (at.to_owned(), value)).collect(),
        _ => Vec::new(),
    };
    let mut found: Vec<String> = below.iter().flat_map(|(at, value)| type_lists(value, at)).collect();
    found.extend(schema.get("type").filter(|kind| kind.is_array()).map(|_| at.to_owned()));
    found
}

#[test]
fn no_input_schema_has_a_list_of_types_but_for_the_cursor_that_the_contract_lets_be_null() {
    for set in SETS {
        for tool in tools(set) {
            let mut found = type_lists(&tool["inputSchema"], "");
            found.retain(|at| !(set.starts_with("lsp-v1") && at == "/properties/cursor"));
            assert_eq!(found, Vec::<String>::new(), "{set} {}", tool["name"]);
        }
    }
}
