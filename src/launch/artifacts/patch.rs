//! `patch_bundle.json`, `diff_report.json` and `patch_NNN.json`: how a run changes the site.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Files to write. The same form is the bundle of all pages and the delta of one fix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchBundle {
    /// The version of this form, `1.0`.
    pub schema_version: String,
    /// `patch_001` for the bundle of all pages, then one number for each fix.
    pub patch_id: String,
    /// The full commit of the site that it is for.
    pub base_commit: String,
    /// The files, by path.
    pub files: Vec<PatchedFile>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchedFile {
    /// The path, relative to the top of the site.
    pub path: String,
    /// The digest of its content before; `None` if it didn't exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256_before: Option<String>,
    /// Its content afterwards; `None` if it is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// What the site's working copy changes, compared with the pinned commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiffReport {
    /// The version of this form, `1.0`.
    pub schema_version: String,
    /// The full commit of the site.
    pub base_commit: String,
    /// The files, by path.
    pub files: Vec<ChangedFile>,
    /// Added lines of all files.
    pub lines_added: usize,
    /// Removed lines of all files.
    pub lines_removed: usize,
    /// The unified diff, as `git diff` writes it. Cut at a file if it would be too large.
    pub diff: String,
    /// Whether `diff` lacks files.
    pub is_cut: bool,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangedFile {
    /// The path, relative to the top of the site.
    pub path: String,
    /// `added`, `modified` or `removed`.
    pub change: String,
    /// Added lines.
    pub lines_added: usize,
    /// Removed lines.
    pub lines_removed: usize,
}
