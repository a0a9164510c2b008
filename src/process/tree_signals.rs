//! Signals to the guard of a server, and to what a guard left.
//!
//! Invariant: a process or a group is signalled only while it is that of the guard; the kernel gives the id of a process that was waited for to
//! another one.

use std::sync::atomic::{AtomicBool, Ordering};

use super::control_groups::ControlGroup;
use super::proc_tree::{self, ProcessIdentity};
use super::signal;

/// Whether the group of an ended guard still has members. If another process has the guard's id by now, the kernel has
/// reused the id, which it does only for an empty group.
pub(crate) fn owns_group(guard: ProcessIdentity) -> bool {
    // Usually the group is empty, and one system call shows it. The other checks read all of `/proc`.
    if !signal::group_exists(guard.pid) {
        return false;
    }
    let reused = proc_tree::identity(guard.pid).is_some_and(|found| found != guard);
    !reused && proc_tree::group_has_members(guard.pid)
}

/// Sends a signal to a guard. If it was waited for, so that it has no id any more: to what it left in its process group.
pub(crate) fn signal_guard(guard: ProcessIdentity, is_reaped: &AtomicBool, number: i32) {
    if !is_reaped.load(Ordering::Acquire) {
        signal::to_process(guard.pid, number);
    } else if owns_group(guard) {
        let number = if number == libc::SIGTERM { number } else { libc::SIGKILL };
        signal::to_group(guard.pid, number);
    }
}

/// Kills a guard that hasn't ended with all its processes, those of its control group included; otherwise what it left in its process group.
pub(crate) fn kill_tree(guard: ProcessIdentity, is_reaped: &AtomicBool, group: Option<&ControlGroup>) {
    let lives = || !is_reaped.load(Ordering::Acquire);
    if lives() {
        if let Some(group) = group {
            group.kill();
        }
        for process in proc_tree::descendants(guard.pid) {
            signal::to_process(process.pid, libc::SIGKILL);
        }
    }
    if lives() || owns_group(guard) {
        signal::to_group(guard.pid, libc::SIGKILL);
        if lives() {
            signal::to_process(guard.pid, libc::SIGKILL);
        }
    }
}
