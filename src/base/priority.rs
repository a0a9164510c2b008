//! The priority of a thread: background work yields to work that a call waits for.
//!
//! Invariant: only the calling thread changes. Its thread must end with the work, because a process without privileges can't raise the
//! priority again.

/// The niceness of background threads. Beside one busy thread on its processor such a thread still gets a quarter of the time. It isn't
/// higher, because calls wait for the watcher's walk in the end, and a starved telemetry thread loses spans.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 5;

/// Lowers the priority of the calling thread. Does nothing on systems that can't do this for one thread.
pub fn give_way() {
    // On Linux no process means the calling thread. If the system refuses, all threads keep the same priority.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICENESS);
}
