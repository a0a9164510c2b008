//! `repo_inventory.json`: what a product's source repository consists of.

pub use codeyard_ecosystems::metadata::{ManifestKind, ManifestValue, PackageManifest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The files, languages and manifests of a repository at its pinned commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RepoInventory {
    /// The version of this form, `1.0`.
    pub schema_version: String,
    /// The full commit.
    pub commit: String,
    /// Its committer's date, RFC 3339 in UTC.
    pub commit_date: String,
    /// The tags that point to it, sorted.
    pub tags: Vec<String>,
    /// Its files, by path.
    pub files: Vec<InventoryFile>,
    /// All files, the omitted ones included.
    pub files_total: usize,
    /// Files that are not read further, with the reason; the first ones by path.
    pub omitted: Vec<OmittedFile>,
    /// The languages of the source files, the one with the most bytes first.
    pub languages: Vec<LanguageShare>,
    /// The package manifests, by path.
    pub manifests: Vec<PackageManifest>,
    /// The path of the README at the top, or of the file that it links to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readme: Option<String>,
    /// The paths of the licence texts at the top.
    pub license_files: Vec<String>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InventoryFile {
    /// The path, relative to the top.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// What it is for.
    pub kind: FileKind,
    /// Its language, as the code index names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// Source of the product.
    Source,
    /// A test or benchmark.
    Test,
    /// An example program.
    Example,
    /// A package manifest.
    Manifest,
    /// The README at the top.
    Readme,
    /// A licence text.
    License,
    /// Other prose.
    Doc,
    /// Anything else.
    Other,
}

/// A file that isn't read further.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OmittedFile {
    /// The path, relative to the top.
    pub path: String,
    /// Why: `link`, `submodule`, `large file storage`, `too large`, `too many files`, `not UTF-8 path`.
    pub reason: String,
}

/// A language's share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LanguageShare {
    /// The language, as the code index names it.
    pub language: String,
    /// Its source files.
    pub files: usize,
    /// Their size.
    pub bytes: u64,
}
