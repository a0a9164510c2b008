//! Returns freed heap memory to the operating system (`malloc_trim`), and bounds what the allocator keeps of it (`mallopt`).
//!
//! The allocator keeps freed pages per arena. After large results have expired or a first index was built, those pages count as used memory
//! of the process. Invariant: it runs on a thread that may block, and only after much memory was freed.

use codeyard_base::blocking;

/// Smallest number of freed bytes that is worth a trim, which takes milliseconds.
const WORTH_BYTES: usize = 4 * 1024 * 1024;

/// Blocks of at least this many bytes are mapped on their own, so that they are returned when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_BYTES: libc::c_int = 256 * 1024;
/// Free bytes at the end of an arena above which they are returned.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES: libc::c_int = 1024 * 1024;

/// Bounds what the allocator keeps of freed memory. By default it raises both thresholds up to 64 MiB for each arena, and a process with
/// many threads has many arenas: after the first indexes of 60 repositories it kept 780 MiB of which 55 MiB were in use.
pub(crate) fn bound_retained_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes numbers, and changes what the allocator does from now on.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES);
    }
}

/// Trims the heap in the background if `freed` bytes are worth it.
pub(crate) fn if_worthwhile(freed: usize) {
    if freed >= WORTH_BYTES {
        // The result is not needed.
        drop(blocking::spawn(now));
    }
}

/// Trims the heap. Takes milliseconds, and blocks other threads that allocate meanwhile.
pub(crate) fn now() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes a number and changes nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}
