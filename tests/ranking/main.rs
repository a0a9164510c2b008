//! How often ranked search finds what was meant, in three real repositories. `docs/ranking.md` says how to read the figures.
//!
//! The questions are committed (`questions.jsonl`). They are drawn, by seed, from what real language servers list as symbols, from
//! comments and from messages; nothing of the product decides what the right answer is.

#[path = "../support/bare.rs"]
#[expect(dead_code, reason = "shared with the tests of real servers")]
mod bare;
#[path = "../support/mcp.rs"]
#[expect(dead_code, reason = "shared with the tests of real servers")]
mod mcp;
#[path = "../support/question.rs"]
#[expect(dead_code, reason = "shared with the tests of real servers")]
mod question;
#[path = "../support/real_servers.rs"]
#[expect(dead_code, reason = "shared with the tests of real servers")]
mod real_servers;

mod draw;
mod evaluate;
mod repository;
mod sources;
