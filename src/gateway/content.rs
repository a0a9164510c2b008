//! Leaves out the copy of a result that a client doesn't want.
//!
//! Invariants: results of the catalogs `lsp-v1` and `lsp-v1-safe` have one copy, which stays; an error keeps its text; a tool whose results
//! have no structured content lists no schema of one, because clients refuse such results.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::service::{Principal, ToolReply};
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
            (Self::Refusal { result, retry_after_ms, overloaded }, ContentMode::Text) => {
                Self::Refusal { result: without_structured(result), retry_after_ms, overloaded }
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

/// The JSON array of the set's tools for clients that get no structured content.
pub(super) fn without_output_schemas(set: &CatalogSet) -> Option<Box<RawValue>> {
    let tools: Vec<BTreeMap<&str, &RawValue>> = serde_json::from_str(set.tools_json()).ok()?;
    let bare = tools.into_iter().map(|mut tool| {
        let name: Option<&str> = tool.get("name").and_then(|name| serde_json::from_str(name.get()).ok());
        let catalog = name.and_then(|name| set.find(name)).map(|catalog| catalog.id());
        if catalog.is_some_and(|catalog| !has_one_copy(catalog)) {
            tool.remove(OUTPUT_SCHEMA);
        }
        tool
    });
    serde_json::value::to_raw_value(&bare.collect::<Vec<_>>()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

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
        let refusal =
            || ToolReply::Refusal { result: Bytes::from(whole.to_string()), retry_after_ms: Some(1), overloaded: true };
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
    fn tools_without_structured_content_list_no_schema_of_it() {
        let set = CatalogSet::parse("agent+code+lsp-v1").unwrap();
        let bare: Vec<Value> = serde_json::from_str(without_output_schemas(&set).unwrap().get()).unwrap();
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
