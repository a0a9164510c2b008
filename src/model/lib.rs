//! Rank 1: the words every other module speaks. Queries, answers, errors, positions, symbols, diagnostics, epochs.
//!
//! Two kinds of value live here and never mix: *raw* values as an untrusted language server gave them (positions already
//! in UTF-16, URIs still text), and canonical values whose URIs came through the path gate. `catalog` and `engine` meet
//! only in [`query::Query`] and [`answer::Answer`].

pub mod answer;
pub mod code;
pub mod diagnostic;
pub mod epoch;
pub mod error;
pub mod hover;
pub mod limits;
pub mod lsp_items;
pub mod operation;
pub mod position;
pub mod query;
pub mod roots;
pub mod symbol;
pub mod uri;
