//! Quality of ranked search in three real repositories. `docs/internals/ranking.md` explains the scores.
//!
//! The queries are committed (`questions.jsonl`). A seed selects them from the symbols that real language servers list, from
//! comments and from messages; the product has no influence on the expected answers.

#[path = "../support/bare.rs"]
#[expect(dead_code, reason = "shared with the tests of real servers")]
mod bare;
#[path = "../support/bare_process.rs"]
mod bare_process;
#[path = "../support/mcp.rs"]
#[expect(dead_code, reason = "shared with the tests of real servers")]
mod mcp;
#[path = "../support/question.rs"]
#[expect(dead_code, reason = "shared with the tests of real servers")]
mod question;
#[path = "../support/real_servers.rs"]
#[expect(dead_code, reason = "shared with the tests of real servers")]
mod real_servers;

mod asked;
mod draw;
mod evaluate;
mod repository;
mod sources;
