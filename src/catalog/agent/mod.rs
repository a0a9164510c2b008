//! The catalog `agent`: the tool `lsp` with nine operations, for coding agents (`docs/internals/reference/contract-agent.md`).
//!
//! Invariants: lines and characters of arguments count from 1, those of results from 0 as in LSP; every outcome is a tool result, errors
//! too; an empty answer and a failure are always distinguishable.

mod decode;
mod encode;
mod sentence;
#[cfg(test)]
mod style_tests;
#[cfg(test)]
mod tests;

use serde_json::value::RawValue;

use codeyard_model::answer::Answer;
use codeyard_model::error::ToolError;
use codeyard_model::operation::TOOL;
use codeyard_model::query::Query;

use super::dialect::unknown_tool;
use super::policy::CODE_INTELLIGENCE;
use super::schema::ToolDecl;
use super::{CallPolicy, Catalog, CatalogId, EncodedReply, PageSizes};

/// The catalog.
pub(super) static AGENT: Agent = Agent;

/// The catalog with the tool `lsp`.
pub(super) struct Agent;

/// The policy of the tool. The permission is described in `docs/internals/reference/contract-agent.md#permission`.
const POLICY: CallPolicy = CallPolicy { permission: Some(CODE_INTELLIGENCE), ..CallPolicy::INTERACTIVE_TOOL_RESULT };

/// The tool.
const LSP: ToolDecl = ToolDecl {
    name: TOOL,
    description: "Code intelligence from real language servers.\n\
        goToDefinition: where the symbol at a position is defined\n\
        findReferences: every use of it, its declaration included\n\
        hover: its type, signature and documentation\n\
        goToImplementation: what implements the interface or abstract method\n\
        prepareCallHierarchy, incomingCalls, outgoingCalls: the function at a position, who calls it, whom it calls\n\
        documentSymbol: what a file declares\n\
        workspaceSymbol: symbols of the workspace by name\n\
        Lines and characters count from 1, as editors show them; JSON results are LSP's and count from 0. format compact gives one line \
        per result (path:line:character, from 1, and the source line), 4 to 10 times shorter. Long lists come in pages: repeat the call \
        with the cursor that the page names.",
    input_schema: include_str!("../../../schemas/tools/lsp.json"),
    output_schema: include_str!("../../../schemas/tools/lsp.output.json"),
};

impl Catalog for Agent {
    fn id(&self) -> CatalogId {
        CatalogId::Agent
    }

    fn tool_names(&self) -> Vec<String> {
        vec![TOOL.to_owned()]
    }

    fn tool_entries(&self) -> Vec<String> {
        vec![LSP.entry(TOOL)]
    }

    fn policy(&self, _tool: &str) -> CallPolicy {
        POLICY
    }

    fn decode(&self, tool: &str, arguments: Option<&RawValue>, sizes: PageSizes) -> Result<Query<String>, ToolError> {
        if tool != TOOL {
            return Err(unknown_tool(tool));
        }
        decode::decode(arguments, sizes)
    }

    fn encode(&self, result: Result<&Answer, &ToolError>, cap_bytes: usize) -> EncodedReply {
        encode::encode(result, cap_bytes)
    }

    fn guide(&self) -> &'static str {
        "The tool lsp takes file paths, absolute or relative to a root; its lines and characters count from 1, as editors show them."
    }
}
