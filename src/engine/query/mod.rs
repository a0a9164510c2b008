//! Turns a query into an answer: selects the language servers, sends the requests, makes the answers canonical.
//!
//! [`plan`] selects the servers, and [`execution`] runs one query, in these steps; after the last one the result is final:
//!
//! | step | done by |
//! |---|---|
//! | gather the providers' answers by the policy of the query | [`gather`]; [`provider_call`] sends one request to one server |
//! | complete each of them by what its server leaves out | the crate `complete`, called by [`operations`]; [`asked_provider`] asks for it |
//! | make them one canonical result | [`canonicalise`], with the step of each operation in [`operations`] |
//! | order its rows | [`row_order`] |
//! | compare it with the code index | [`index_comparison`] |
//! | add source lines | [`previews`] |
//!
//! This module changes no state of a workspace: it sends the result there as [`messages::Finish`].

pub(crate) mod asked_provider;
pub mod callers;
pub(crate) mod canonicalise;
mod collected;
pub(crate) mod companions;
mod coverage;
pub mod execution;
pub(crate) mod fallback;
pub mod file_looks;
pub mod gather;
mod identifiers;
pub mod index_comparison;
pub mod known_files;
pub mod messages;
mod missing_servers;
pub mod no_answer;
pub(crate) mod operations;
pub mod plan;
pub(crate) mod position_check;
mod position_encoding;
mod previews;
pub mod provider;
pub(crate) mod provider_call;
pub(crate) mod query_operation;
pub(crate) mod refused_methods;
mod row_order;
mod symbol_names;
mod unanswered;
