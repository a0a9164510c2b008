//! Decodes the arguments of the tools of launch runs.
//!
//! It checks names and types; what a run's configuration holds, the workflow checks. Invariants: a refused call has no effect; what is refused is what
//! the tool's schema refuses, a run's configuration aside.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::arguments::Arguments;
use crate::dialect::unknown_tool;
use crate::limits::MAX_LAUNCH_RUNS;
use codeyard_model::error::ToolError;
use codeyard_model::launch::{LaunchRequest, LaunchSource, RunAction, tools};

/// Longest text in an argument of the catalog `launch`, in code points.
const MAX_LAUNCH_TEXT_CHARS: usize = 2_048;
/// Longest idempotency key, in code points.
const MAX_LAUNCH_KEY_CHARS: usize = 200;

/// Decodes the `arguments` of `tool`, with at most `max_rows` runs in a list.
///
/// # Errors
/// INVALID_PARAMS with `details.path` and `details.reason`.
pub(super) fn decode(tool: &str, arguments: Option<&RawValue>, max_rows: usize) -> Result<LaunchRequest, ToolError> {
    let read = |known: &[&str]| Arguments::read(arguments, known);
    match tool {
        tools::START => {
            let given = read(&["run_config", "idempotency_key"])?;
            let config = Value::Object(given.value("run_config")?);
            start(&given, LaunchSource::Config(config))
        }
        tools::START_FROM_URL | tools::START_FROM_URL_ALIAS => {
            let given = read(&["url", "idempotency_key"])?;
            start(&given, LaunchSource::ProductUrl(text(&given, "url")?))
        }
        tools::START_FROM_REPOSITORY => {
            let given = read(&["github_repo_url", "idempotency_key"])?;
            start(&given, LaunchSource::RepositoryUrl(text(&given, "github_repo_url")?))
        }
        tools::ARTIFACT => {
            let given = read(&["run_id", "artifact_name", "offset", "length"])?;
            let number = |name, range| Ok(given.integer(name, range)?.map(|number| number as u64));
            let action = RunAction::Artifact {
                name: text(&given, "artifact_name")?,
                offset: number("offset", 0..=usize::MAX)?.unwrap_or_default(),
                length: number("length", 1..=usize::MAX)?,
            };
            Ok(LaunchRequest::Run { run_id: text(&given, "run_id")?, action })
        }
        tools::LIST => list(&read(&["filter", "limit", "cursor"])?, max_rows),
        _ => {
            let action = action(tool).ok_or_else(|| unknown_tool(tool))?;
            Ok(LaunchRequest::Run { run_id: text(&read(&["run_id"])?, "run_id")?, action })
        }
    }
}

/// The action of a tool whose only argument is the run.
fn action(tool: &str) -> Option<RunAction> {
    Some(match tool {
        tools::STATUS => RunAction::Status,
        tools::VALIDATE => RunAction::Validate,
        tools::FIX => RunAction::FixNext,
        tools::RESUME => RunAction::Resume,
        tools::CANCEL => RunAction::Cancel,
        tools::OPEN_PR => RunAction::OpenPr,
        _ => return None,
    })
}

fn start(given: &Arguments<'_>, source: LaunchSource) -> Result<LaunchRequest, ToolError> {
    let idempotency_key = given.text_if_given("idempotency_key")?;
    if let Some(key) = &idempotency_key {
        if key.is_empty() {
            return Err(given.rejected("idempotency_key", "empty"));
        }
        if key.chars().count() > MAX_LAUNCH_KEY_CHARS {
            return Err(given.rejected("idempotency_key", "range"));
        }
    }
    Ok(LaunchRequest::Start { source, idempotency_key })
}

fn list(given: &Arguments<'_>, max_rows: usize) -> Result<LaunchRequest, ToolError> {
    let filter = given.object_if_given("filter", "filter.", &["product_slug", "state"])?;
    let of_filter = |name| filter.as_ref().map_or(Ok(None), |filter| filter.text_if_given(name));
    Ok(LaunchRequest::List {
        product_slug: of_filter("product_slug")?,
        state: of_filter("state")?,
        limit: given.integer("limit", 1..=MAX_LAUNCH_RUNS)?.map(|limit| limit.min(max_rows)),
        cursor: given.text_if_given("cursor")?,
    })
}

fn text(given: &Arguments<'_>, name: &str) -> Result<String, ToolError> {
    let text = given.text(name)?;
    if text.is_empty() {
        return Err(given.rejected(name, "empty"));
    }
    if text.chars().count() > MAX_LAUNCH_TEXT_CHARS {
        return Err(given.rejected(name, "range"));
    }
    Ok(text)
}
