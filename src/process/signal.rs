//! Signals to processes and groups, in the few words that are needed.
//!
//! Invariant: 0 and 1 are never named as a process or a group, so that nothing of ours can hit everything.

use libc::{c_int, pid_t};

/// Sends `signal` to the process; `false` if it isn't there or isn't ours.
pub(super) fn to_process(pid: u32, signal: c_int) -> bool {
    target(pid).is_some_and(|pid| send(pid, signal))
}

/// Sends `signal` to every process of the group; `false` if there is none or none is ours.
pub(super) fn to_group(group: u32, signal: c_int) -> bool {
    target(group).is_some_and(|group| send(-group, signal))
}

/// Whether the group has any process, ended ones that aren't reaped included.
pub(super) fn group_exists(group: u32) -> bool {
    to_group(group, 0)
}

fn target(id: u32) -> Option<pid_t> {
    pid_t::try_from(id).ok().filter(|&id| id > 1)
}

fn send(target: pid_t, signal: c_int) -> bool {
    // SAFETY: `kill` takes two numbers and touches no memory of ours.
    unsafe { libc::kill(target, signal) == 0 }
}
