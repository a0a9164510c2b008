//! Tool catalogs: fixed lists of MCP tools, each with its arguments, payloads and errors.
//!
//! A catalog is pure: JSON in, [`Query`] out; [`Answer`] in, [`EncodedReply`] out. It reads no clock and no file, and it
//! depends neither on the engine nor on a transport. Invariants: a tool name is unique in a set of catalogs; `decode` accepts
//! exactly what `tools/list` describes; a reply never exceeds the byte cap it was encoded with.
//!
//! # Code map
//!
//! A place imports only places above it in this table, which a test checks; the files beside this one may be imported by all.
//!
//! | place | holds |
//! |---|---|
//! | `agent` | the catalog `agent` |
//! | `code` | the catalog `code` |
//! | `launch` | the catalog `launch` |
//! | `lsp_v1` | the catalog `lsp.v1` |
//! | `registry` | all catalogs, by their identifiers |

mod agent;
mod arguments;
mod code;
mod dialect;
mod fit;
mod id;
mod launch;
pub mod limits;
mod lsp_v1;
#[cfg(test)]
mod next_steps_tests;
#[cfg(test)]
mod partial_views;
mod policy;
mod registry;
mod reply;
mod schema;
mod set;

use serde_json::value::RawValue;

use codeyard_model::answer::Answer;
use codeyard_model::error::ToolError;
use codeyard_model::limits::DEFAULT_PAGE_CHARS;
use codeyard_model::query::Query;

pub use dialect::{CODE_PREFIX, error_reply, json_rpc_number, unknown_tool, unknown_tool_reply};
pub use id::{CatalogError, CatalogId};
pub use policy::{CallPolicy, OnDeparture, OutcomeCode, OutcomeCodes};
pub use reply::EncodedReply;
pub use set::CatalogSet;

/// How large pages are where a call doesn't say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSizes {
    /// The most entries of a page, also where a call asks for more.
    pub entries: usize,
    /// The longest text of a page of the tool `lsp`, in code points.
    pub chars: usize,
}

impl PageSizes {
    /// Pages of at most this many entries, with texts of the default length.
    pub fn of_entries(entries: usize) -> Self {
        Self { entries, chars: DEFAULT_PAGE_CHARS }
    }
}

/// One catalog.
pub trait Catalog: Send + Sync {
    /// The catalog's identifier.
    fn id(&self) -> CatalogId;

    /// The tool names, in the order of `tools/list`.
    fn tool_names(&self) -> Vec<String>;

    /// The names of further tools that can be called, but aren't listed.
    fn unlisted_tool_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The entries of `tools/list`, each JSON text without line breaks, in the same order.
    fn tool_entries(&self) -> Vec<String>;

    /// The policy of `tool`. Every tool of the catalog has one; for any other name the value is unspecified.
    fn policy(&self, tool: &str) -> CallPolicy;

    /// Decodes the `arguments` of a call of `tool`; no arguments count as `{}`. Page sizes are clamped to `sizes.entries`.
    ///
    /// # Errors
    /// INVALID_PARAMS with `details.path` for arguments that don't fit the tool's schema, and for an unknown tool.
    fn decode(&self, tool: &str, arguments: Option<&RawValue>, sizes: PageSizes) -> Result<Query<String>, ToolError>;

    /// One or two sentences that a client should read before its first call. They are part of `instructions`.
    fn guide(&self) -> &'static str;

    /// Encodes the outcome of a call as at most `cap_bytes` bytes of JSON. The caller subtracts the bytes of the envelope
    /// that it adds.
    fn encode(&self, result: Result<&Answer, &ToolError>, cap_bytes: usize) -> EncodedReply;
}
