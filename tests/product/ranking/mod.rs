//! Quality of ranked search in three real repositories. `docs/internals/ranking.md` explains the scores.
//!
//! The queries are committed (`questions.jsonl`). A seed selects them from the symbols that real language servers list, from
//! comments and from messages; the product has no influence on the expected answers.

mod asked;
mod draw;
mod evaluate;
mod repository;
mod sources;
