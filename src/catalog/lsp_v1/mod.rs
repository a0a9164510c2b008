//! The catalogs `lsp-v1` and `lsp-v1-safe`: the same seven read-only tools under two spellings of their names
//! (`docs/internals/reference/contract-lsp-v1.md`).
//!
//! Invariant: only the names differ; schemas, request keys, cursors and payloads are the same.

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
use super::policy::CODE_INTELLIGENCE;
use super::{CallPolicy, Catalog, CatalogId, EncodedReply, PageSizes};

/// The catalog with dots in its names.
pub(super) static LSP_V1: LspV1 = LspV1 { id: CatalogId::LspV1, separator: "." };
/// The catalog with underscores in its names.
pub(super) static LSP_V1_SAFE: LspV1 = LspV1 { id: CatalogId::LspV1Safe, separator: "_" };

/// The policy of every tool here.
const POLICY: CallPolicy = CallPolicy { permission: Some(CODE_INTELLIGENCE), ..CallPolicy::INTERACTIVE_JSON_RPC };

/// The seven tools, with the parts of their names joined by a separator.
pub(super) struct LspV1 {
    id: CatalogId,
    separator: &'static str,
}

impl Catalog for LspV1 {
    fn id(&self) -> CatalogId {
        self.id
    }

    fn tool_names(&self) -> Vec<String> {
        tools::TOOLS.iter().map(|tool| self.name_of(tool.name)).collect()
    }

    fn tool_entries(&self) -> Vec<String> {
        tools::TOOLS.iter().map(|tool| tool.entry(&self.name_of(tool.name))).collect()
    }

    fn policy(&self, _tool: &str) -> CallPolicy {
        POLICY
    }

    fn decode(&self, tool: &str, arguments: Option<&RawValue>, sizes: PageSizes) -> Result<Query<String>, ToolError> {
        let canonical = tools::TOOLS.iter().map(|tool| tool.name).find(|name| self.is_name_of(name, tool));
        decode::decode(canonical.ok_or_else(|| unknown_tool(tool))?, arguments, sizes.entries)
    }

    fn guide(&self) -> &'static str {
        "The vscode.lsp tools name documents by absolute file: URIs below these roots; their lines and UTF-16 characters count from 0."
    }

    fn encode(&self, result: Result<&Answer, &ToolError>, cap_bytes: usize) -> EncodedReply {
        encode::encode(result, cap_bytes)
    }
}

impl LspV1 {
    /// The name of a tool in this catalog.
    fn name_of(&self, canonical: &str) -> String {
        canonical.replace('.', self.separator)
    }

    /// Whether `given` is [`LspV1::name_of`] of `canonical`. Doesn't allocate.
    fn is_name_of(&self, canonical: &str, given: &str) -> bool {
        canonical.split('.').eq(given.splitn(canonical.split('.').count(), self.separator))
    }
}
