//! The catalogs `lsp-v1` and `lsp-v1-safe`: the same seven read-only tools under two spellings of their names
//! (contract §7, decisions §1). See `docs/contract-lsp-v1.md`.
//!
//! Invariant: the spelling shows in names only; schemas, request keys, cursors and payloads are the same.

mod decode;
mod encode;
mod fit;
mod payload;
mod summary;
#[cfg(test)]
mod tests;
mod tools;

use serde_json::value::RawValue;

use codeyard_model::answer::Answer;
use codeyard_model::error::ToolError;
use codeyard_model::query::Query;

use super::dialect::unknown_tool;
use super::{Catalog, CatalogId, Reply};

/// The catalog with dots in its names.
pub(super) static LSP_V1: LspV1 = LspV1 { id: CatalogId::LspV1, separator: "." };
/// The catalog with underscores instead.
pub(super) static LSP_V1_SAFE: LspV1 = LspV1 { id: CatalogId::LspV1Safe, separator: "_" };

/// The seven tools, their names' parts joined by a separator.
pub(super) struct LspV1 {
    id: CatalogId,
    separator: &'static str,
}

impl Catalog for LspV1 {
    fn id(&self) -> CatalogId {
        self.id
    }

    fn tool_names(&self) -> Vec<String> {
        tools::TOOLS.iter().map(|tool| self.spelt(tool.name)).collect()
    }

    fn tool_entries(&self) -> Vec<String> {
        tools::TOOLS.iter().map(|tool| tool.entry(&self.spelt(tool.name))).collect()
    }

    fn decode(
        &self,
        tool: &str,
        arguments: Option<&RawValue>,
        max_page_size: usize,
    ) -> Result<Query<String>, ToolError> {
        let canonical = tools::TOOLS.iter().map(|tool| tool.name).find(|name| self.is_spelt(name, tool));
        decode::decode(canonical.ok_or_else(|| unknown_tool(tool))?, arguments, max_page_size)
    }

    fn guide(&self) -> &'static str {
        "The vscode.lsp tools name documents by absolute file: URIs below these roots; their lines and UTF-16 characters count from 0."
    }

    fn encode(&self, result: Result<&Answer, &ToolError>, cap_bytes: usize) -> Reply {
        encode::encode(result, cap_bytes)
    }
}

impl LspV1 {
    fn spelt(&self, canonical: &str) -> String {
        canonical.replace('.', self.separator)
    }

    /// Whether `given` is how this catalog spells a name; as [`LspV1::spelt`], without making the name.
    fn is_spelt(&self, canonical: &str, given: &str) -> bool {
        canonical.split('.').eq(given.splitn(canonical.split('.').count(), self.separator))
    }
}
