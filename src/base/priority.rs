//! How urgent a thread is: work that nobody waits for gives way to work that somebody does.
//!
//! Not a scheduler. Invariant: only the calling thread changes, so it must be one that ends with its work: without privileges no
//! thread becomes as urgent again as it was.

/// The niceness of threads that give way: beside one busy thread on its processor such a thread still gets a quarter of the
/// time. Not more, because the watcher's walk is awaited in the end, and a telemetry thread that starves loses spans.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 5;

/// Has other threads go first where processors are short. Where that can't be said of one thread alone nothing changes.
pub fn give_way() {
    // On Linux no process means the calling thread. It's a courtesy: a refusal leaves all threads alike.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICENESS);
}
