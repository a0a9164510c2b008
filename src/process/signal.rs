//! Sends signals to processes and process groups.
//!
//! Invariant: the ids 0 and 1 are never signalled, so that no signal reaches all processes.

use libc::{c_int, pid_t};

use super::proc_tree::{self, ProcessIdentity};

/// Sends `signal` to a process. `false` if it doesn't exist or the permission is missing.
pub(super) fn to_process(pid: u32, signal: c_int) -> bool {
    target(pid).is_some_and(|pid| send(pid, signal))
}

/// Sends `signal` to exactly this process: opens a handle first, then compares the start time. `false` if it has ended, or can't be signalled.
#[cfg(target_os = "linux")]
pub(super) fn to_exactly(process: ProcessIdentity, signal: c_int) -> bool {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    let Some((pid, named)) = target(process.pid).and_then(Pid::from_raw).zip(Signal::from_named_raw(signal)) else {
        return false;
    };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) => proc_tree::is_alive(process) && pidfd_send_signal(handle, named).is_ok(),
        // A kernel without handles: the race between the comparison and the signal is accepted.
        Err(rustix::io::Errno::NOSYS) => proc_tree::is_alive(process) && to_process(process.pid, signal),
        Err(_) => false,
    }
}

/// Without `/proc` no process can be identified, so none is signalled.
#[cfg(not(target_os = "linux"))]
pub(super) fn to_exactly(process: ProcessIdentity, signal: c_int) -> bool {
    proc_tree::is_alive(process) && to_process(process.pid, signal)
}

/// Sends `signal` to every process of a group. `false` if there is none or the permission is missing.
pub(super) fn to_group(group: u32, signal: c_int) -> bool {
    target(group).is_some_and(|group| send(-group, signal))
}

/// Whether the group has any process, including ended ones that aren't reaped and those of other users. One system call.
pub(super) fn group_exists(group: u32) -> bool {
    let Some(group) = target(group) else { return false };
    send(-group, 0) || std::io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

fn target(id: u32) -> Option<pid_t> {
    pid_t::try_from(id).ok().filter(|&id| id > 1)
}

fn send(target: pid_t, signal: c_int) -> bool {
    // SAFETY: `kill` takes two numbers and accesses no memory of this process.
    unsafe { libc::kill(target, signal) == 0 }
}
