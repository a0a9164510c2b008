//! `site_context.json`: what a run needs to know of the documentation site.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The site at its pinned commit, before the run changes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SiteContext {
    /// The version of this form, `1.0`.
    pub schema_version: String,
    /// The full commit.
    pub commit: String,
    /// Its committer's date, RFC 3339 in UTC.
    pub commit_date: String,
    /// The branch that the pull request is for; `None` if the configuration names a commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// What builds it: `hugo` or `markdown`.
    pub kind: String,
    /// The site's configuration files, in the order in which they apply.
    pub config_files: Vec<String>,
    /// The title; empty without one.
    pub title: String,
    /// The address of its top; empty without one.
    pub base_url: String,
    /// The language that has no folder or prefix of its own, or the only one.
    pub default_language: String,
    /// The folder of the pages of each language, relative to the top.
    pub content_dirs: BTreeMap<String, String>,
    /// The order of folders: `v1` (language above product) or `v2` (product above language).
    pub layout: String,
    /// Whether the path of a page has a folder for its language, above or below the product's folder as `layout` says. If not, each language
    /// has a content folder of its own, or there is only one language, or languages share a content folder and all but the default one have
    /// their name before the ending of a file: `start.de.md`.
    pub has_locale_folders: bool,
    /// Whether the default language has a folder in addresses.
    pub default_language_in_subdir: bool,
    /// The folder of each section below the content folder; empty if the section is the top.
    pub section_dirs: BTreeMap<String, String>,
    /// The front matter of each section, as its existing pages and archetypes have it. A section without an entry needs none.
    pub front_matter: BTreeMap<String, FrontMatterRules>,
    /// The existing pages, by path; the first ones if there are very many.
    pub pages: Vec<SitePage>,
    /// Files that pages can link to besides other pages, relative to the top of the built site.
    pub static_files: Vec<String>,
    /// The marker of list items in most of the existing pages.
    pub bullet: char,
}

/// The front matter of one section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrontMatterRules {
    /// `yaml` or `toml`.
    pub form: String,
    /// The keys that every page has, each with the type of its value: `string`, `number`, `boolean`, `date`, `list` or `table`.
    pub required: BTreeMap<String, String>,
    /// The values that are the same on every page.
    pub constants: BTreeMap<String, serde_json::Value>,
}

/// An existing page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SitePage {
    /// The path of its file, relative to the top.
    pub path: String,
    /// The path of its address, `/docs/en/start/`.
    pub url: String,
    /// Its title.
    pub title: String,
}
