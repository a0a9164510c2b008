//! `pr.json`: the pull request of a run. Unlike other artifacts it names the run and differs from run to run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PullRequest {
    /// The version of this form, `1.0`.
    pub schema_version: String,
    /// Who published it: `local`, `http` or `github`.
    pub service: String,
    /// Where it can be seen. For `local` the address of the branch in the site's repository.
    pub pr_url: String,
    /// Its number, where the service gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// The branch, `launch/RUN/PRODUCT`.
    pub branch: String,
    /// The branch that it is for.
    pub base: String,
    /// The branch with the changes: `branch`, as pull requests call it.
    pub head: String,
    /// The full commit.
    pub commit_sha: String,
    /// The title.
    pub title: String,
    /// The text in Markdown.
    pub body: String,
    /// The unified diff, as `diff_report.json` has it. Cut at a file if it would be too large.
    pub diff: String,
    /// Whether `diff` lacks files.
    pub is_cut: bool,
}
