//! The catalog `launch`: runs from a repository to a validated pull request (`docs/internals/reference/contract-launch.md#tools`).
//!
//! It doesn't know what a run does. Invariants: every outcome is a tool result whose object has `ok`, and whose only text is the same JSON;
//! errors have the contract's shape; what doesn't fit is cut at the end of a list or of a part, and the answer says so.

mod decode;
mod encode;
mod listed_schema;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use serde_json::value::RawValue;

use codeyard_model::answer::Answer;
use codeyard_model::error::ToolError;
use codeyard_model::launch::tools;
use codeyard_model::query::Query;

use super::schema::{ToolDecl, tool};
use super::{CallPolicy, Catalog, CatalogId, EncodedReply, OnDeparture, PageSizes};
use crate::limits::MAX_LAUNCH_CALL_MS;
use codeyard_access::Operation;

/// The catalog.
pub(super) static LAUNCH: Launch = Launch;

/// The catalog of launch runs.
pub(super) struct Launch;

/// The permission that all tools need.
const PERMISSION: &str = "launch";

/// The policy of tools that answer at once.
const SHORT: CallPolicy =
    CallPolicy { permission: Some(PERMISSION), operation: Operation::Launch, ..CallPolicy::INTERACTIVE_TOOL_RESULT };

/// The policy of tools that wait for a run. The run goes on without them.
const LONG: CallPolicy = CallPolicy { deadline_ms: MAX_LAUNCH_CALL_MS, on_departure: OnDeparture::Continue, ..SHORT };

/// All listed tools, in the contract's order.
const TOOLS: [ToolDecl; 11] = [
    tool!(
        tools::START,
        "launch_start_run",
        "Start a run that turns a product's source repository into its documentation pages, validated, as one pull request. Returns at once; launch_get_status shows how far it is."
    ),
    tool!(
        tools::START_FROM_URL,
        "launch_start_run_from_product_url",
        "Start a run from the URL of a product page; everything else is derived."
    ),
    tool!(
        tools::START_FROM_REPOSITORY,
        "launch_start_run_from_github_repo_url",
        "Start a run from a public GitHub repository; family and platform are inferred. If they are ambiguous, the error suggests values."
    ),
    tool!(tools::STATUS, "launch_get_status", "Show a run's state, its sections, open issues and artifacts."),
    tool!(
        tools::ARTIFACT,
        "launch_get_artifact",
        "Read an artifact. Large ones come in parts: pass next_offset as offset."
    ),
    tool!(
        tools::VALIDATE,
        "launch_validate",
        "Run all gates on the run's working copy. ok says that they ran; validation_report.ok whether they passed."
    ),
    tool!(
        tools::FIX,
        "launch_fix_next",
        "Repair the next fixable issue, then validate again. Call until the report is ok."
    ),
    tool!(tools::RESUME, "launch_resume", "Go on with a run to its next boundary. Attaches to a run that is active."),
    tool!(tools::CANCEL, "launch_cancel", "End a run; what it has made stays readable."),
    tool!(tools::OPEN_PR, "launch_open_pr", "Open the pull request of a run in READY_FOR_PR."),
    tool!(tools::LIST, "launch_list_runs", "List runs, the latest first."),
];

/// The schemas of the answers as the list has them, in the order of [`TOOLS`].
static LISTED_ANSWERS: LazyLock<Vec<String>> =
    LazyLock::new(|| TOOLS.iter().map(|tool| listed_schema::listed(tool.output_schema)).collect());

impl Catalog for Launch {
    fn id(&self) -> CatalogId {
        CatalogId::Launch
    }

    fn tool_names(&self) -> Vec<String> {
        TOOLS.iter().map(|tool| tool.name.to_owned()).collect()
    }

    fn unlisted_tool_names(&self) -> Vec<String> {
        vec![tools::START_FROM_URL_ALIAS.to_owned()]
    }

    fn tool_entries(&self) -> Vec<String> {
        let entry = |tool: &ToolDecl| match tool.name {
            tools::STATUS | tools::ARTIFACT | tools::LIST => tool.entry(tool.name),
            tools::OPEN_PR => tool.publishing_entry(tool.name),
            _ => tool.writing_entry(tool.name),
        };
        let listed = TOOLS.iter().zip(LISTED_ANSWERS.iter());
        listed.map(|(tool, output_schema)| entry(&ToolDecl { output_schema, ..*tool })).collect()
    }

    fn policy(&self, tool: &str) -> CallPolicy {
        match tool {
            tools::VALIDATE | tools::FIX | tools::RESUME | tools::OPEN_PR | tools::START_FROM_REPOSITORY => LONG,
            _ => SHORT,
        }
    }

    fn decode(&self, tool: &str, arguments: Option<&RawValue>, sizes: PageSizes) -> Result<Query<String>, ToolError> {
        decode::decode(tool, arguments, sizes.entries).map(Query::Launch)
    }

    fn encode(&self, result: Result<&Answer, &ToolError>, cap_bytes: usize) -> EncodedReply {
        encode::encode(result, cap_bytes)
    }

    fn guide(&self) -> &'static str {
        "launch_start_run starts a run and returns its run_id; launch_get_status shows its state. In VALIDATING with open issues call \
         launch_fix_next until the report is ok, in READY_FOR_PR launch_open_pr. A run outlives the call and the connection."
    }
}
