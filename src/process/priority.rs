//! The priority of child processes, below that of codeyard's own threads.
//!
//! Linux schedules in two levels. Where each session has a scheduling group of its own (autogroup), the groups share the processor by the
//! niceness of the *group*, and the niceness of a process counts only within its group. Without such groups, as in most containers and
//! services, the niceness of the process counts alone. A language server leads a session, so both are set. Lowering a priority needs no
//! privilege. A system that can't do it leaves the priority as it is.

use std::fs::OpenOptions;
use std::io::{self, Write};

/// The scheduling group of the calling process.
const SESSION_GROUP: &str = "/proc/self/autogroup";

/// The result of lowering the priority of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionPriority {
    /// It is lowered, or the system has no such groups.
    Settled,
    /// The kernel allows only some changes per second to unprivileged processes: try again later.
    TryLater,
}

/// Sets the niceness of the scheduling group of the calling process's session.
pub(super) fn lower_session(niceness: i32) -> SessionPriority {
    let written = OpenOptions::new().write(true).open(SESSION_GROUP);
    match written.and_then(|mut file| file.write_all(niceness.to_string().as_bytes())) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => SessionPriority::TryLater,
        _ => SessionPriority::Settled,
    }
}

/// Sets the niceness of one process; 0 is the calling one. Async-signal-safe.
pub(super) fn lower_process(pid: u32, niceness: i32) {
    // SAFETY: the call takes numbers and accesses no memory of this process.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, pid, niceness);
    }
}

/// Sets the niceness of all processes of a group.
pub(super) fn lower_group(group: u32, niceness: i32) {
    // SAFETY: the call takes numbers and accesses no memory of this process.
    unsafe {
        libc::setpriority(libc::PRIO_PGRP, group, niceness);
    }
}
