//! The catalog `code`: seven tools of the code index (`docs/internals/reference/contract-code.md`).
//!
//! Invariants: every outcome is a tool result, errors too; its only text is the JSON of its `structuredContent`, which has `metadata`; an
//! answer that was cut to fit says so.

mod decode;
mod encode;
mod group;
mod sentence;
mod shape;
mod state;
#[cfg(test)]
mod tests;

use serde_json::value::RawValue;

use codeyard_access::Operation;
use codeyard_model::answer::Answer;
use codeyard_model::code::tools;
use codeyard_model::error::ToolError;
use codeyard_model::query::Query;

use super::policy::CODE_INTELLIGENCE;
use super::schema::{ToolDecl, tool};
use super::{CallPolicy, Catalog, CatalogId, EncodedReply, PageSizes};

/// The catalog.
pub(super) static CODE: Code = Code;

/// The catalog of the code index.
pub(super) struct Code;

/// The policy of the tools that show code.
const SHOWS_CODE: CallPolicy = CallPolicy { permission: Some(CODE_INTELLIGENCE), ..ABOUT_THE_INDEX };

/// The policy of the tools about the index itself, which show no code: `index_repo` and `sync_repo` only start a job, so they are
/// interactive too.
const ABOUT_THE_INDEX: CallPolicy = CallPolicy { operation: Operation::Search, ..CallPolicy::INTERACTIVE_TOOL_RESULT };

/// The policy of the tools that build the index.
const BUILDS_THE_INDEX: CallPolicy = CallPolicy { operation: Operation::Index, ..ABOUT_THE_INDEX };

/// All tools, in the contract's order.
const TOOLS: [ToolDecl; 7] = [
    tool!(
        tools::SEARCH,
        "search_code",
        "Find code by a name, words, a path or an error message, ranked; with mode text or regex every matching line."
    ),
    tool!(
        tools::LOCATE,
        "locate_symbol",
        "Find where a symbol is defined, definitions before references. Give exactly one of name, symbol_id, \
         symbol_stable_id, result_id; the ids are those of earlier rows."
    ),
    tool!(tools::OUTLINE, "get_file_outline", "List what a file declares, nested, with signatures and lines."),
    tool!(
        tools::HEALTH,
        "health_check",
        "Tell whether the code index is ready and fresh, what it works on, and what to do if it isn't."
    ),
    tool!(tools::INDEX, "index_repo", "Build the code index. Returns a job at once; index_status shows how far it is."),
    tool!(
        tools::SYNC,
        "sync_repo",
        "Bring the code index up to date with the files. Returns a job at once; index_status shows how far it is."
    ),
    tool!(tools::STATUS, "index_status", "Show what the code index holds, and its running and recent jobs."),
];

impl Catalog for Code {
    fn id(&self) -> CatalogId {
        CatalogId::Code
    }

    fn tool_names(&self) -> Vec<String> {
        TOOLS.iter().map(|tool| tool.name.to_owned()).collect()
    }

    fn tool_entries(&self) -> Vec<String> {
        let entry = |tool: &ToolDecl| match tool.name {
            tools::INDEX | tools::SYNC => tool.writing_entry(tool.name),
            _ => tool.entry(tool.name),
        };
        TOOLS.iter().map(entry).collect()
    }

    fn policy(&self, tool: &str) -> CallPolicy {
        match tool {
            tools::HEALTH | tools::STATUS => ABOUT_THE_INDEX,
            tools::INDEX | tools::SYNC => BUILDS_THE_INDEX,
            _ => SHOWS_CODE,
        }
    }

    fn decode(&self, tool: &str, arguments: Option<&RawValue>, sizes: PageSizes) -> Result<Query<String>, ToolError> {
        decode::decode(tool, arguments, sizes.entries).map(Query::Code)
    }

    fn encode(&self, result: Result<&Answer, &ToolError>, cap_bytes: usize) -> EncodedReply {
        encode::encode(result, cap_bytes)
    }

    fn guide(&self) -> &'static str {
        "search_code and locate_symbol find code from an index, get_file_outline lists a file; their lines count from 1 and \
         metadata says whether the index is fresh. Ask for detail_level location or compact to save context."
    }
}
