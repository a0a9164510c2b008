//! Tests of the engine and the gateway with fake language servers: faults, timing, races. Time is paused, so that a deadline of two
//! seconds or a quarantine of five minutes is exact to the millisecond and takes no real time.

pub(crate) mod harness;

mod caps;
mod code;
mod code_groups;
mod code_language;
mod codes;
mod companions;
mod confirm;
mod crashes;
mod diagnostics;
mod documents;
mod drain;
mod first_page;
mod flights;
mod floods;
mod fresh;
mod groups;
mod hanging_files;
mod hangs;
mod hierarchy;
mod hostile_files;
mod hostile_servers;
mod ignored;
mod isolation;
mod long_questions;
mod lsp_tool;
mod memory;
mod memory_limits;
mod merged;
mod metrics;
mod missed_changes;
mod multi_root;
mod named;
mod operators;
mod overload;
mod paging;
mod permissions;
mod places;
mod poison;
mod readiness;
mod retry_hints;
mod simulated;
mod starts;
mod state_faults;
mod stuck_threads;
