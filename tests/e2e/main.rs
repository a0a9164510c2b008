//! The real binary with real language servers: official clients on both transports, sharing, crashes and leftover processes.

// Other test targets use the rest of this module.
#[path = "../support/e2e.rs"]
mod e2e;
#[path = "../support/mcp.rs"]
#[expect(dead_code, reason = "shared with the tests of answers")]
mod mcp;
#[path = "../support/real_servers.rs"]
#[expect(dead_code, reason = "shared with the tests of answers")]
mod real_servers;

mod clients;
mod code;
mod death;
mod launch;
mod launch_faults;
mod launch_kills;
mod launch_services;
mod place;
