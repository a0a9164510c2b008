//! The domain types of codeyard: queries, answers, errors, positions, symbols, diagnostics, epochs, URIs.
//!
//! It holds two kinds of values and never mixes them: *raw* values from an untrusted language server (positions already in
//! UTF-16, URIs as text), and canonical values whose URIs passed the path gate. The catalogs and the engine exchange only
//! [`query::Query`] and [`answer::Answer`].

pub mod answer;
pub mod code;
pub mod compact;
pub mod coverage;
pub mod diagnostic;
pub mod epoch;
pub mod error;
pub mod hover;
pub mod index_disagreement;
pub mod launch;
pub mod limits;
pub mod lsp_items;
pub mod lsp_sentences;
pub mod name_list;
pub mod next_steps;
pub mod operation;
pub mod position;
pub mod query;
pub mod roots;
pub mod symbol;
pub mod uri;
