//! The command line as a user meets it: the real binary, its words, its exit codes, its signals.

#[path = "../support/mcp.rs"]
#[expect(dead_code, reason = "this target asks few questions")]
mod mcp;
#[path = "../support/real_servers.rs"]
#[expect(dead_code, reason = "this target needs the servers only")]
mod real_servers;

mod calls;
mod configuration;
mod connect;
mod doctor;
mod full_disk;
mod harness;
mod hostile_output;
mod index;
mod permissions;
mod quickstart;
mod reload;
mod runs;
mod search;
mod serving;
mod session;
mod tokens;
mod usage;
