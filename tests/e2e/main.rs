//! The real binary with real language servers: official clients on both transports, sharing, crashes and leftover processes.

// Other test targets use the rest of this module.
#[path = "../support/e2e.rs"]
mod e2e;
#[path = "../support/mcp.rs"]
#[expect(dead_code, reason = "shared with the tests of answers")]
mod mcp;
#[path = "../support/mcp_stream.rs"]
mod mcp_stream;
#[path = "../support/real_servers.rs"]
#[expect(dead_code, reason = "shared with the tests of answers")]
mod real_servers;
#[path = "../support/slow_hugo.rs"]
mod slow_hugo;

mod clients;
mod code;
mod death;
mod hostile_repositories;
mod kills;
mod launch;
mod launch_endpoints;
mod launch_events;
mod launch_faults;
mod launch_fixes;
mod launch_kills;
mod launch_quick_starts;
mod launch_services;
mod launch_slow_build;
mod launch_tools;
mod launch_turns;
mod launch_writer;
mod link_races;
mod overload;
mod paths;
mod place;
mod soak;
