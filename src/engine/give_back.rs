//! Memory that was freed goes back to the system.
//!
//! The allocator keeps freed pages for later, in as many places as threads have asked it for memory. After large results have expired
//! that is memory which nobody needs and everybody sees. Not a garbage collector: it frees nothing. Invariant: it runs where blocking
//! is allowed, and only after much was freed.

use codeyard_base::blocking;

/// So many bytes are worth the milliseconds that it takes.
const WORTH_BYTES: usize = 4 * 1024 * 1024;

/// Gives back what can be given, if `freed` bytes are worth it.
pub(crate) fn after(freed: usize) {
    if freed >= WORTH_BYTES {
        // Nobody waits for it.
        drop(blocking::spawn(trim));
    }
}

fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes a number and changes nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}
