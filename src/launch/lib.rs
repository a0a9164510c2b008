//! The launch workflow: from a product's source repository to its pages on a documentation site, validated, as one pull request.
//!
//! It says what the stages of a run do; `codeyard-runs` makes runs durable and decides how they go on. Invariants: what a page claims is
//! proven by a line of code at a pinned commit; nothing is written outside the paths that the run's configuration allows; equal inputs give
//! equal bytes.

pub mod allowed_paths;
pub mod artifacts;
pub mod checkout;
pub mod cited_markdown;
pub mod config_text;
pub mod discovery;
mod doc_comment;
pub mod facts_builder;
mod file_kinds;
pub mod fixer;
pub mod front_matter;
mod gates;
mod git_errors;
mod http_client;
pub mod hugo;
pub mod issue;
pub mod limits;
pub mod link_checker;
pub mod linker;
mod manifests;
pub mod markdown_page;
pub mod openai_writer;
mod outer_address;
pub mod page_blocks;
pub mod page_draft;
mod page_front_matter;
mod page_paths;
pub mod planner;
mod product_sources;
pub mod product_url;
mod public_api;
pub mod publication;
mod readme;
mod remote_refs;
pub mod repo_scout;
pub mod repository_address;
pub mod repository_inference;
pub mod run_config;
pub mod run_request;
pub mod run_status;
mod safe_markdown;
pub mod sample;
pub mod section_writer;
pub mod settings;
pub mod site_scout;
pub mod sites;
pub mod snippet_curator;
pub mod stages;
pub mod states;
#[cfg(test)]
mod test_product;
#[cfg(test)]
mod testing;
pub mod validator;
