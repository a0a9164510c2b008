//! `page_plan.json`: the pages that a run writes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The pages, in the order of sections, languages and weights.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PagePlan {
    /// The version of this form, `1.0`.
    pub schema_version: String,
    /// The full commit of the product.
    pub commit: String,
    /// The pages.
    pub pages: Vec<PlannedPage>,
}

/// One page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedPage {
    /// `docs/en/getting-started`: section, language and name; unique.
    pub id: String,
    /// The section.
    pub section: String,
    /// The language.
    pub locale: String,
    /// The template that writes it.
    pub template: PageTemplate,
    /// The file, relative to the top of the site.
    pub path: String,
    /// The path of its address.
    pub url: String,
    /// Whether the page exists under an address that its path doesn't lead to, so that its front matter has to name it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_own_url: bool,
    /// The title.
    pub title: String,
    /// The place among its siblings, from 1.
    pub weight: u32,
    /// What it is about: the module of an API page, the path of an example; empty if the template needs none. An API page with a part of a
    /// module has `#` and the numbers of its first and last item after the module: `items_of` of the planner reads it.
    pub subject: String,
    /// The snippets that it shows.
    pub snippets: Vec<String>,
    /// The identifiers of the pages that it links to.
    pub links: Vec<String>,
}

/// The templates of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PageTemplate {
    /// The product page.
    Product,
    /// How to install the product and write the first program.
    GettingStarted,
    /// The list of modules of the API.
    ApiIndex,
    /// One module of the API.
    ApiModule,
    /// One example program.
    Example,
    /// The list of examples.
    ExampleIndex,
    /// The announcement of the release.
    Release,
}
