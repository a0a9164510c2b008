//! The priority of a thread: background work yields to work that a call waits for.
//!
//! Invariant: only the calling thread changes. Its thread must end with the work, because a process without privileges can't raise the
//! priority again.

/// The niceness of background threads. Beside one busy thread on its processor such a thread still gets a quarter of the time. It isn't
/// higher, because calls wait for the watcher's walk in the end, and a starved telemetry thread loses spans.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 5;

/// The niceness of work that takes seconds to minutes and that nobody waits for keystroke by keystroke. Beside one busy thread on its processor such a
/// thread gets a tenth of the time, so limits of a minute hold.
#[cfg(target_os = "linux")]
const LONG_WORK_NICENESS: i32 = 10;

/// Lowers the priority of the calling thread below that of other background work. Its children inherit that. Does nothing on systems that can't
/// do this for one thread.
pub fn give_way_to_background() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, LONG_WORK_NICENESS);
}

/// The niceness of the calling thread; 0 where that isn't known.
pub fn own() -> i32 {
    #[cfg(target_os = "linux")]
    return rustix::process::getpriority_process(None).unwrap_or(0);
    #[cfg(not(target_os = "linux"))]
    0
}

/// Lowers the priority of the calling thread. Does nothing on systems that can't do this for one thread.
pub fn give_way() {
    // On Linux no process means the calling thread. If the system refuses, all threads keep the same priority.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICENESS);
}
