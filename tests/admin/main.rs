//! The admin API, the probes and the commands that use them: the real binary, its sockets, its answers.

#[path = "../cli/harness.rs"]
mod harness;
#[path = "../support/mcp.rs"]
#[expect(dead_code, reason = "this target uses only a part of the module")]
mod mcp;

mod access;
mod busy;
mod changes;
mod commands;
mod hung;
mod openapi;
mod probes;
mod terminal;
mod wire;
