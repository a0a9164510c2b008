//! Catalogs: fixed lists of tools, each with its dialect of arguments, payloads and errors (contract §2, decisions §1).
//! A catalog is pure: JSON in, [`Query`] out; [`Answer`] in, [`Reply`] out. It knows no engine, no transport, no clock.
//!
//! Invariants: a name stands for one tool in a set; what `tools/list` shows is exactly what `decode` takes; a reply never
//! exceeds the bytes it was given.

mod agent;
mod arguments;
mod code;
mod dialect;
mod id;
pub mod limits;
mod lsp_v1;
mod reply;
mod schema;
mod set;

use serde_json::value::RawValue;

use codeyard_model::answer::Answer;
use codeyard_model::error::ToolError;
use codeyard_model::query::Query;

pub use dialect::{CODE_PREFIX, catalog_error, error_reply, json_rpc_number, unknown_tool};
pub use id::{CatalogId, Error};
pub use reply::Reply;
pub use set::CatalogSet;

/// One catalog.
pub trait Catalog: Send + Sync {
    /// Which one.
    fn id(&self) -> CatalogId;

    /// Its tools' names, in the order they are listed.
    fn tool_names(&self) -> Vec<String>;

    /// The tools' entries of `tools/list`, each JSON text without line breaks, in the same order.
    fn tool_entries(&self) -> Vec<String>;

    /// The permission that its tools need, if they need one.
    fn permission(&self) -> Option<&'static str> {
        None
    }

    /// The question that `tool` asks with `arguments` (none counts as `{}`). Page sizes are clamped to `max_page_size`.
    /// INVALID_PARAMS with `details.path` for what doesn't fit the tool's schema, or for a tool that isn't here.
    fn decode(
        &self,
        tool: &str,
        arguments: Option<&RawValue>,
        max_page_size: usize,
    ) -> Result<Query<String>, ToolError>;

    /// What a client should know before it calls, in a sentence or two.
    fn guide(&self) -> &'static str;

    /// The reply to a call, its own text at most `cap_bytes` long: the caller takes off what it wraps around it.
    fn encode(&self, result: Result<&Answer, &ToolError>, cap_bytes: usize) -> Reply;
}
