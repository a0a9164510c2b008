//! What is known of a product: facts and snippets, each with its evidence, from its source, its README and its doc comments.

pub(crate) mod doc_comment;
pub mod facts_builder;
pub(crate) mod readme;
pub mod snippet_curator;
