//! Returns freed heap memory to the operating system (`malloc_trim`), and bounds what the allocator keeps of it (`mallopt`).
//!
//! The allocator keeps freed pages per arena. After large results have expired or a first index was built, those pages count as used memory
//! of the process. Invariant: a trim runs on a thread that may block, and only after much memory was
//! freed or the process has grown.

use std::fs;
use std::time::Duration;

use codeyard_base::blocking;
use codeyard_base::clock::Instant;
use codeyard_base::proc_status;
use parking_lot::Mutex;

/// Smallest number of freed bytes that is worth a trim, which takes milliseconds.
const WORTH_BYTES: usize = 4 * 1024 * 1024;

/// Blocks of at least this many bytes are mapped on their own, so that they are returned when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_BYTES: libc::c_int = 256 * 1024;
/// Free bytes at the end of an arena above which they are returned.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES: libc::c_int = 1024 * 1024;

/// The most arenas. Each keeps the pages that its threads freed, and by default there are eight for each processor.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ARENAS: std::ops::RangeInclusive<usize> = 2..=16;
/// Shortest time between two trims because of growth.
const GROWTH_PAUSE: Duration = Duration::from_secs(60);
/// Growth since the last trim that is worth another one: at least this many bytes, and this part of what was used. A trim takes time in
/// proportion to the heap.
const WORTH_GROWTH: (u64, u64) = (1024 * 1024, 50);

/// The last trim because of growth.
struct LastTrim {
    at: Instant,
    /// Memory of this process after it that isn't backed by files, in bytes.
    bytes: u64,
}

static LAST_TRIM: Mutex<Option<LastTrim>> = Mutex::new(None);

/// Bounds what the allocator keeps of freed memory. By default it raises both thresholds up to 64 MiB for each arena, and a process with
/// many threads has many arenas: after the first indexes of 60 repositories it kept 780 MiB of which 55 MiB were in use. [`now`] can't
/// return the free end of an arena. A process calls it before it starts threads: arenas that exist already stay.
pub fn bound_retained_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes numbers, and changes what the allocator does from now on.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        libc::mallopt(libc::M_ARENA_MAX, processors.clamp(*ARENAS.start(), *ARENAS.end()) as libc::c_int);
    }
}

/// Trims the heap if this process has grown by 2 % since the last time, at most once a minute. Threads free memory in parts of an arena
/// that others still use; without a trim such pages stay, and a process that runs for weeks grows by some MiB an hour.
pub(crate) fn if_grown() {
    let mut last = LAST_TRIM.lock();
    let Some(used) = private_bytes() else { return };
    let is_due = last.as_ref().is_none_or(|last| {
        let (least, part) = WORTH_GROWTH;
        last.at.elapsed() >= GROWTH_PAUSE && used.saturating_sub(last.bytes) >= least.max(last.bytes / part)
    });
    if is_due {
        now();
        *last = private_bytes().map(|bytes| LastTrim { at: Instant::now(), bytes });
    } else if let Some(last) = &mut *last {
        last.bytes = last.bytes.min(used);
    }
}

/// Memory of this process that isn't backed by files, in bytes.
fn private_bytes() -> Option<u64> {
    proc_status::bytes_in(&fs::read_to_string("/proc/self/status").ok()?, "RssAnon:")
}

/// Trims the heap in the background if `freed` bytes are worth it.
pub(crate) fn if_worthwhile(freed: usize) {
    if freed >= WORTH_BYTES {
        // The result is not needed.
        drop(blocking::spawn(now));
    }
}

/// Trims the heap. Takes milliseconds, and blocks other threads that allocate meanwhile.
pub fn now() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes a number and changes nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}
