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

/// Lowers the priority of the calling thread below that of other background work, and keeps it to half of the processors, so that a call finds one
/// that long work doesn't use. Its children inherit both. Does nothing on systems that can't do this for one thread.
pub fn give_way_to_background() {
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::setpriority_process(None, LONG_WORK_NICENESS);
        if let Ok(allowed) = rustix::thread::sched_getaffinity(None) {
            let _ = rustix::thread::sched_setaffinity(None, &last_half(&allowed));
        }
    }
}

/// The last half of `allowed`, rounded down, and at least one processor. The first processors often serve interrupts, which are part of a call.
#[cfg(target_os = "linux")]
fn last_half(allowed: &rustix::thread::CpuSet) -> rustix::thread::CpuSet {
    use rustix::thread::CpuSet;

    let numbers: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&number| allowed.is_set(number)).collect();
    let mut half = CpuSet::new();
    for &number in numbers.iter().rev().take((numbers.len() / 2).max(1)) {
        half.set(number);
    }
    half
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::thread::{CpuSet, sched_getaffinity};

    use super::*;

    fn set(numbers: &[usize]) -> CpuSet {
        let mut set = CpuSet::new();
        numbers.iter().for_each(|number| set.set(*number));
        set
    }

    #[test]
    fn half_of_the_allowed_processors_are_the_last_ones_and_at_least_one() {
        for (allowed, half) in [
            (vec![], vec![]),
            (vec![3], vec![3]),
            (vec![0, 1], vec![1]),
            (vec![2, 5, 7], vec![7]),
            (vec![0, 1, 2, 3], vec![2, 3]),
        ] {
            assert_eq!(last_half(&set(&allowed)), set(&half), "{allowed:?}");
        }
    }

    #[test]
    fn long_work_leaves_the_thread_that_starts_it_alone() {
        let before = sched_getaffinity(None).unwrap();
        let low = std::thread::spawn(|| {
            give_way_to_background();
            (own(), sched_getaffinity(None).unwrap())
        });
        let (niceness, kept) = low.join().unwrap();
        assert!(niceness >= LONG_WORK_NICENESS, "{niceness}");
        assert_eq!(kept, last_half(&before));
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}
