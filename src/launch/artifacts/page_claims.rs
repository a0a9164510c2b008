//! `page_claims.json`: which claims stand behind each block of each page.
//!
//! A block is a heading, a paragraph, a list item, a row of a table or a code block. It is identified by the digest of its text
//! without markup, so a changed list marker or link target leaves it the same, and a changed word doesn't.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The pages, by path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageClaims {
    /// The version of this form, `1.0`.
    pub schema_version: String,
    /// The full commit of the product.
    pub commit: String,
    /// The pages.
    pub pages: Vec<ClaimedPage>,
}

/// The blocks of one page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimedPage {
    /// The file, relative to the top of the site.
    pub path: String,
    /// The blocks, in the order of the page.
    pub blocks: Vec<ClaimedBlock>,
}

/// One block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimedBlock {
    /// The digest of its text without markup, lower-case hexadecimal.
    pub sha256: String,
    /// The claims; empty if the block claims nothing about the product: a heading of a template, a list of links.
    pub claims: Vec<String>,
}
