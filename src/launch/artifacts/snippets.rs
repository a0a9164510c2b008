//! `snippet_catalog.json`: the code that pages may show.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The code of README and examples: what parses, and what was rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SnippetCatalog {
    /// The version of this form, `1.0`.
    pub schema_version: String,
    /// The full commit.
    pub commit: String,
    /// The snippets, by path and line.
    pub snippets: Vec<Snippet>,
    /// What isn't shown, by path and line.
    pub rejected: Vec<RejectedSnippet>,
}

/// One snippet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Snippet {
    /// `snp_` and 12 hexadecimal digits.
    pub id: String,
    /// A title; empty without one.
    pub title: String,
    /// The word after the fence of its code block.
    pub language: String,
    /// The code, without a newline at the end.
    pub code: String,
    /// The file that it is from, relative to the top.
    pub path: String,
    /// The first line of the code, from 1.
    pub line_start: u32,
    /// The last line.
    pub line_end: u32,
    /// The claim, a key of the evidence map.
    pub claim: String,
}

/// Code that isn't shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RejectedSnippet {
    /// The file that it is from, relative to the top.
    pub path: String,
    /// The first line of the code, from 1.
    pub line: u32,
    /// Why.
    pub reason: String,
}
