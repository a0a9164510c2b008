//! Child processes: starts language servers under a guard, runs tools to their end, measures memory, ends process trees.
//!
//! It knows no protocol and no workspace. All child processes of codeyard are started here: language servers by [`spawn`] and
//! [`guard`], tools by [`tool`], confined processes by [`confined`], programs that replace this process by [`sibling`]. Invariants: every
//! child has its own process group, and each language server a control group where one is delegated; a language server has an allow-listed
//! environment; when codeyard ends in any way, no language server, no tool and no process that one of them started stays alive.

mod cgroup;
pub mod confined;
mod control_groups;
mod crowd_watch;
mod delegation;
pub mod environment;
pub mod git;
pub mod guard;
mod guard_process;
pub mod interruption;
pub mod launch;
mod launch_sandbox;
pub mod ledger;
pub mod limits;
mod memory;
pub mod orphans;
mod priority;
pub mod proc_tree;
pub mod resource_limits;
#[cfg(target_os = "linux")]
pub mod sandbox;
pub mod sandbox_report;
pub mod sibling;
mod signal;
pub mod spawn;
mod stderr_tail;
pub mod subcommands;
pub mod temp_dirs;
pub mod tool;
pub mod tool_log;
mod tool_output;
mod warden;

pub use cgroup::memory_of_machine;
