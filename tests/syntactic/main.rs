//! The embedded language server: the real binary over its pipes, and as codeyard starts it where a language has no server.

#[path = "../support/e2e.rs"]
#[expect(dead_code, reason = "shared with the tests of the binary")]
mod e2e;
#[path = "../support/mcp.rs"]
#[expect(dead_code, reason = "shared with the tests of the binary")]
mod mcp;
#[path = "../support/real_servers.rs"]
#[expect(dead_code, reason = "shared with the tests of the real servers")]
mod real_servers;

mod client;
mod conversation;
mod served;
mod sources;
