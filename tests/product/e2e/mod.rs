//! The real binary with real language servers: official clients on both transports, sharing, crashes and leftover processes.

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
pub(crate) mod place;
mod soak;
