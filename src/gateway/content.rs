//! Leaves out the copy of a result that a client doesn't want.
//!
//! Invariants: results of the catalogs `lsp-v1` and `lsp-v1-safe` have one copy, which stays; an error keeps its text; a tool whose results
//! have no structured content lists no schema of one, because clients refuse such results.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::service::{Principal, ToolReply};
use codeyard_access::OperationSet;
use codeyard_catalog::{CatalogId, CatalogSet};
use codeyard_config::ContentMode;
use codeyard_engine::workspace::handle::WorkspaceHandle;

const STRUCTURED: &str = "structuredContent";
const TEXT: &str = "content";
const OUTPUT_SCHEMA: &str = "outputSchema";

/// The members of a JSON object, not decoded.
type Members<'a> = BTreeMap<&'a str, &'a RawValue>;

impl ToolReply {
    /// The reply with these copies of its result alone.
    pub(super) fn with_content(self, content: ContentMode, catalog: CatalogId) -> Self {
        if has_one_copy(catalog) {
            return self;
        }
        match (self, content) {
            (Self::Result(json), ContentMode::Text) => Self::Result(without_structured(json)),
            (Self::Result(json), ContentMode::Structured) => Self::Result(without_text(json)),
            (Self::Refusal { result, retry_after_ms, shed }, ContentMode::Text) => {
                Self::Refusal { result: without_structured(result), retry_after_ms, shed }
            }
            (reply, _) => reply,
        }
    }
}

/// The copies of a result that `principal` gets from a workspace.
pub(super) fn content_for(handle: Option<&WorkspaceHandle>, principal: &Principal) -> ContentMode {
    handle.map(|handle| handle.content.of(&principal.id)).unwrap_or_default()
}

/// The copies that `principal` gets from a group of these workspaces: those on which all agree, else both.
pub(super) fn content_for_group(members: &[Arc<WorkspaceHandle>], principal: &Principal) -> ContentMode {
    let mut modes = members.iter().map(|member| member.content.of(&principal.id));
    let first = modes.next();
    first.filter(|first| modes.all(|mode| mode == *first)).unwrap_or(ContentMode::Both)
}

/// Whether results of this catalog are structured content alone, by its contract.
fn has_one_copy(catalog: CatalogId) -> bool {
    matches!(catalog, CatalogId::LspV1 | CatalogId::LspV1Safe)
}

fn without_structured(json: Bytes) -> Bytes {
    rewritten(&json, |members| members.remove(STRUCTURED).is_some()).unwrap_or(json)
}

fn without_text(json: Bytes) -> Bytes {
    let none = RawValue::from_string("[]".to_owned()).unwrap_or_default();
    rewritten(&json, |members| members.insert(TEXT, &none).is_some()).unwrap_or(json)
}

/// The object with members changed; `None` if it isn't an object, or if `change` changes nothing.
fn rewritten<'a>(json: &'a [u8], change: impl FnOnce(&mut Members<'a>) -> bool) -> Option<Bytes> {
    let mut members: Members<'a> = serde_json::from_slice(json).ok()?;
    if !change(&mut members) {
        return None;
    }
    serde_json::to_vec(&members).ok().map(Bytes::from)
}

/// The JSON array of the set's tools that do one of these operations, for clients that get structured content or none.
pub(super) fn tool_list(set: &CatalogSet, is_structured: bool, operations: OperationSet) -> Option<Box<RawValue>> {
    if is_structured && operations == OperationSet::CALLS {
        return RawValue::from_string(set.tools_json().to_owned()).ok();
    }
    let tools: Vec<Members<'_>> = serde_json::from_str(set.tools_json()).ok()?;
    let listed = tools.into_iter().filter_map(|mut tool| {
        let name: &str = serde_json::from_str(tool.get("name")?.get()).ok()?;
        let catalog = set.find(name).filter(|catalog| operations.contains(catalog.policy(name).operation))?;
        if !is_structured && !has_one_copy(catalog.id()) {
            tool.remove(OUTPUT_SCHEMA);
        }
        Some(tool)
    });
    serde_json::value::to_raw_value(&listed.collect::<Vec<_>>()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::service::ShedBy;

    fn members(reply: &ToolReply) -> Value {
        match reply {
            ToolReply::Result(json) | ToolReply::Refusal { result: json, .. } => serde_json::from_slice(json).unwrap(),
            _ => Value::Null,
        }
    }

    #[test]
    fn one_copy_is_left_and_an_error_keeps_its_text() {
        let whole = json!({"isError": false, "structuredContent": {"a": [1, {"b": "\u{e9}"}]}, "content": [{"type": "text", "text": "a"}]});
        let result = || ToolReply::Result(Bytes::from(whole.to_string()));
        let refusal = || ToolReply::Refusal {
            result: Bytes::from(whole.to_string()),
            retry_after_ms: Some(1),
            shed: Some(ShedBy::Overload),
        };
        let mut text = whole.clone();
        let mut structured = whole.clone();
        text.as_object_mut().unwrap().remove("structuredContent");
        structured["content"] = json!([]);
        for catalog in [CatalogId::Agent, CatalogId::Code, CatalogId::Launch] {
            assert_eq!(members(&result().with_content(ContentMode::Both, catalog)), whole);
            assert_eq!(members(&result().with_content(ContentMode::Text, catalog)), text);
            assert_eq!(members(&result().with_content(ContentMode::Structured, catalog)), structured);
            assert_eq!(members(&refusal().with_content(ContentMode::Text, catalog)), text);
            assert_eq!(members(&refusal().with_content(ContentMode::Structured, catalog)), whole);
        }
        assert_eq!(members(&result().with_content(ContentMode::Text, CatalogId::LspV1)), whole);
    }

    #[test]
    fn a_list_has_the_tools_whose_operations_are_allowed() {
        let set = CatalogSet::parse("agent+code+launch").unwrap();
        let names = |words: &[&str]| -> Vec<String> {
            let operations = OperationSet::parse(words.iter().copied()).unwrap();
            let list = tool_list(&set, true, operations).unwrap();
            let tools: Vec<Value> = serde_json::from_str(list.get()).unwrap();
            tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(&["lsp"]), ["lsp"]);
        assert_eq!(names(&["index"]), ["index_repo", "sync_repo"]);
        let search = ["search_code", "locate_symbol", "get_file_outline", "health_check", "index_status"];
        assert_eq!(names(&["search"]), search);
        assert!(names(&["launch"]).iter().all(|name| !search.contains(&name.as_str()) && name != "lsp"));
        assert_eq!(names(&["edit", "admin:write"]), Vec::<String>::new());
    }

    #[test]
    fn tools_without_structured_content_list_no_schema_of_it() {
        let set = CatalogSet::parse("agent+code+lsp-v1").unwrap();
        let bare: Vec<Value> =
            serde_json::from_str(tool_list(&set, false, OperationSet::CALLS).unwrap().get()).unwrap();
        let whole: Vec<Value> = serde_json::from_str(set.tools_json()).unwrap();
        assert_eq!(bare.len(), whole.len());
        for (bare, mut whole) in bare.into_iter().zip(whole) {
            if !whole["name"].as_str().unwrap().starts_with("vscode.") {
                whole.as_object_mut().unwrap().remove("outputSchema");
            }
            assert_eq!(bare, whole);
        }
    }
}
