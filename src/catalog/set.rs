//! Sets of catalogs: the catalogs that one endpoint serves, joined with `+`.
//!
//! Invariant: a set holds at least one catalog, and each tool name once.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::dialect::unknown_tool_among;
use super::{Catalog, CatalogError, CatalogId};
use codeyard_model::error::ToolError;

/// A set of catalogs. Cheap to clone.
#[derive(Debug, Clone)]
pub struct CatalogSet {
    ids: Arc<[CatalogId]>,
    tools: Arc<BTreeMap<String, CatalogId>>,
    list: Arc<str>,
}

impl CatalogSet {
    /// Parses the name of a set, such as `lsp-v1` or `agent+code`.
    ///
    /// # Errors
    /// An unknown catalog, or two catalogs with a tool of the same name.
    pub fn parse(text: &str) -> Result<Self, CatalogError> {
        Self::of(text.split('+').map(CatalogId::parse).collect::<Result<Vec<_>, _>>()?)
    }

    /// The set of `ids`, in this order. An empty list gives `lsp-v1`.
    ///
    /// # Errors
    /// Two catalogs with a tool of the same name.
    pub fn of(ids: Vec<CatalogId>) -> Result<Self, CatalogError> {
        let ids = if ids.is_empty() { vec![CatalogId::LspV1] } else { ids };
        let mut tools = BTreeMap::new();
        let mut entries = Vec::new();
        for id in &ids {
            for name in id.catalog().tool_names().into_iter().chain(id.catalog().unlisted_tool_names()) {
                if tools.insert(name.clone(), *id).is_some() {
                    return Err(CatalogError::DuplicateTool(name));
                }
            }
            entries.extend(id.catalog().tool_entries());
        }
        let list = format!("{{\"tools\":[{}]}}", entries.join(","));
        Ok(Self { ids: ids.into(), tools: Arc::new(tools), list: list.into() })
    }

    /// The catalogs, in order.
    pub fn ids(&self) -> &[CatalogId] {
        &self.ids
    }

    /// The name of the set in endpoints.
    pub fn name(&self) -> String {
        self.ids.iter().map(|id| id.as_str()).collect::<Vec<_>>().join("+")
    }

    /// The result of `tools/list`: JSON text without line breaks.
    pub fn list_json(&self) -> &str {
        &self.list
    }

    /// The JSON array of the tools in that result.
    pub fn tools_json(&self) -> &str {
        self.list.strip_prefix("{\"tools\":").and_then(|rest| rest.strip_suffix('}')).unwrap_or("[]")
    }

    /// The error for a tool that no catalog of the set has.
    pub fn unknown_tool(&self, tool: &str) -> ToolError {
        unknown_tool_among(tool, self.tools.keys().map(String::as_str))
    }

    /// The catalog that has `tool`. Callers answer `None` with [`Self::unknown_tool`].
    pub fn find(&self, tool: &str) -> Option<&'static dyn Catalog> {
        self.tools.get(tool).map(|id| id.catalog())
    }
}

impl Default for CatalogSet {
    fn default() -> Self {
        // The tool names of one catalog are distinct; tests/contract lists them.
        Self::of(vec![CatalogId::LspV1]).expect("the default catalog has distinct names")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_tool_has_its_nearest_name() {
        let both = CatalogSet::parse("agent+code").unwrap();
        let message = |set: &CatalogSet, tool: &str| set.unknown_tool(tool).message;
        assert_eq!(message(&both, "serach_code"), "there is no such tool here; did you mean `search_code`?");
        assert_eq!(message(&both, "symbol"), "there is no such tool here; did you mean `locate_symbol`?");
        assert_eq!(
            message(&CatalogSet::default(), "hover"),
            "there is no such tool here; did you mean `vscode.lsp.hover`?"
        );
        assert_eq!(both.unknown_tool("searchcode").details["nearest"], "search_code");
        assert_eq!(message(&both, "rename"), "there is no such tool here; tools/list names those there are");
    }

    #[test]
    fn sets_with_duplicate_or_unknown_names_are_rejected() {
        assert_eq!(CatalogSet::default().name(), "lsp-v1");
        let both = CatalogSet::parse("lsp-v1+lsp-v1-safe").unwrap();
        assert_eq!((both.name().as_str(), both.tools.len()), ("lsp-v1+lsp-v1-safe", 14));
        assert_eq!(both.find("vscode_lsp_hover").map(Catalog::id), Some(CatalogId::LspV1Safe));
        assert!(both.find("lsp").is_none());
        let joined = CatalogSet::parse("agent+lsp-v1").unwrap();
        assert_eq!((joined.find("lsp").map(Catalog::id), joined.tools.len()), (Some(CatalogId::Agent), 8));
        for (name, first, tools) in [("agent+code", "lsp", 8), ("lsp-v1+code", "vscode.lsp.hover", 14)] {
            let joined = CatalogSet::parse(name).unwrap();
            assert_eq!((joined.name().as_str(), joined.tools.len()), (name, tools));
            assert_eq!(joined.find("search_code").map(Catalog::id), Some(CatalogId::Code));
            assert!(joined.find(first).is_some());
        }
        assert!(matches!(CatalogSet::parse("code+code"), Err(CatalogError::DuplicateTool(_))));
        for unknown in ["", "agents", "lsp-v1+", "agent+", "code+", "launches", "LSP-V1", "lsp-v1 "] {
            assert!(matches!(CatalogSet::parse(unknown), Err(CatalogError::Unknown(_))), "{unknown}");
        }
        assert!(matches!(CatalogSet::parse("lsp-v1+lsp-v1"), Err(CatalogError::DuplicateTool(_))));
    }
}
