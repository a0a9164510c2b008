//! The launch workflow: from a product's source repository to its pages on a documentation site, validated, as one pull request.
//!
//! It says what the stages of a run do; `codeyard-runs` makes runs durable and decides how they go on. Invariants: what a page claims is
//! proven by a line of code at a pinned commit; nothing is written outside the paths that the run's configuration allows; equal inputs give
//! equal bytes.
//!
//! # Code map
//!
//! A folder imports only folders above it in this table, which a test checks; the files beside this one may be imported by all.
//!
//! | folder | holds |
//! |---|---|
//! | [`request`] | from what a caller gives to the configuration of a run |
//! | [`artifacts`] | what stages leave behind for each other, and the form of each |
//! | [`repository`] | git repositories at one commit: their addresses, clones, files |
//! | [`public_api`] | what of a product's source its users see |
//! | [`product`] | what is known of a product: facts and snippets, with their evidence |
//! | [`markdown`] | Markdown: pages, blocks, claims, and what is safe to show |
//! | [`site`] | the documentation site: its layout, its working copy, its build |
//! | [`validation`] | the gates, their report, the repair of one issue |
//! | [`publication`] | the working copy's changes as one pull request |
//! | [`writing`] | from facts to pages: plan, templates, language model |
//! | [`workflow`] | the states and stages of a run, its settings and its status |

pub mod artifacts;
mod http_client;
pub mod limits;
pub mod markdown;
pub mod product;
mod public_api;
pub mod publication;
pub mod repository;
pub mod request;
pub mod sample;
pub mod site;
#[cfg(test)]
mod test_product;
#[cfg(test)]
mod testing;
pub mod validation;
pub mod workflow;
pub mod writing;
