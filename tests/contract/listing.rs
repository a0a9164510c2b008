//! `tools/list` of both catalogs: golden files, metadata, schemas as committed (`docs/contract-lsp-v1.md#tools`).

use std::path::PathBuf;

use codeyard_catalog::CatalogSet;
use serde_json::{Value, json};

/// Largest size of a listing, in bytes, because it occupies a model's context.
const LIST_BUDGET_BYTES: usize = 14 * 1024;

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
    for set in ["lsp-v1", "lsp-v1-safe", "agent", "code"] {
        let path = format!("tests/contract/golden/{set}.tools.json");
        let list = format!("{}\n", CatalogSet::parse(set).unwrap().list_json());
        if std::env::var_os("CODEYARD_UPDATE_GOLDEN").is_some() {
            std::fs::write(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(&path), &list).unwrap();
        }
        assert_eq!(list, read(&path), "{set}; CODEYARD_UPDATE_GOLDEN=1 rewrites");
    }
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

#[test]
fn schemas_close_every_object_and_use_no_references() {
    fn check(schema: &Value, at: &str) {
        match schema {
            Value::Object(members) => {
                assert!(!members.contains_key("$ref") && !members.contains_key("$schema"), "{at}");
                if members.get("type") == Some(&json!("object")) {
                    assert_eq!(members.get("additionalProperties"), Some(&json!(false)), "{at}");
                }
                members.iter().for_each(|(key, value)| check(value, &format!("{at}/{key}")));
            }
            Value::Array(items) => items.iter().for_each(|item| check(item, at)),
            _ => {}
        }
    }
    for tool in tools("lsp-v1") {
        for member in ["inputSchema", "outputSchema"] {
            check(&tool[member], &format!("{}/{member}", tool["name"]));
            jsonschema::draft202012::meta::validate(&tool[member]).unwrap();
        }
    }
}

#[test]
fn the_list_is_one_line_and_small() {
    for set in ["lsp-v1", "lsp-v1-safe", "agent", "code"] {
        let set = CatalogSet::parse(set).unwrap();
        let list = set.list_json();
        assert!(!list.contains('\n') && list.len() <= LIST_BUDGET_BYTES, "{} bytes", list.len());
    }
}
