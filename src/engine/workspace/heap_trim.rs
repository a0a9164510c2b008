//! Returns freed heap memory to the operating system (`malloc_trim`).
//!
//! The allocator keeps freed pages per arena. After large results have expired, those pages count as used memory of the process.
//! Invariant: it runs on the blocking pool, and only after much memory was freed.

use codeyard_base::blocking;

/// Smallest number of freed bytes that is worth a trim, which takes milliseconds.
const WORTH_BYTES: usize = 4 * 1024 * 1024;

/// Trims the heap in the background if `freed` bytes are worth it.
pub(crate) fn if_worthwhile(freed: usize) {
    if freed >= WORTH_BYTES {
        // The result is not needed.
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
