//! Snippets of small products.
