//! The product with real language servers: its answers equal theirs, from a cold start on, and reflect the disk.

#[path = "../support/bare.rs"]
mod bare;
#[path = "../support/bare_process.rs"]
mod bare_process;
#[path = "../support/e2e.rs"]
#[expect(dead_code, reason = "shared with the tests of the binary")]
mod e2e;
#[path = "../support/git.rs"]
mod git;
#[path = "../support/mcp.rs"]
mod mcp;
#[path = "../support/question.rs"]
mod question;
#[path = "../support/real_servers.rs"]
mod real_servers;

mod agent;
mod call_shares;
mod call_sites;
mod cold;
mod commonjs;
mod compact;
mod compile_database;
mod confirm;
mod corpus;
mod edits;
mod encodings;
mod environments;
mod equality;
mod freshness;
mod history;
mod linked_modules;
mod memory_budget;
mod monorepo;
mod operations;
mod outcome;
mod outline;
mod pages;
mod partial_views;
mod paths;
mod positions;
mod reader;
mod restricted;
mod rust;
mod server_limits;
mod several;
mod starts;
mod storm;
mod trees;
mod unconfigured;
