//! Counts the processes of a server's tree for its guard, cheaply.
//!
//! The processes are counted only if there may be too many. The tree can have gained as many as the system has gained tasks since the last
//! count, and as many as it had threads then, which may have ended meanwhile. Tasks of others may have ended too, so the processes are also
//! counted when some time has passed. Invariant: a tree with too many processes is found at the latest `GUARD_RECOUNT_MS` after it has grown.

use std::time::Duration;

use codeyard_base::clock::Instant;

use super::proc_tree::{self, TreeSize};

/// The guard process: how often it checks whether there may be too many processes, in milliseconds.
const GUARD_COUNT_MS: u64 = 250;
/// The guard process: how often it counts the processes although nothing suggests that there are too many, in milliseconds.
const GUARD_RECOUNT_MS: u64 = 2_000;

pub(crate) struct CrowdWatch {
    most: Option<usize>,
    /// Tasks of the system at the last count, the tasks of the tree then, and when it was.
    counted: (usize, usize, Instant),
}

impl CrowdWatch {
    /// Watches a tree that may have `most` processes.
    pub(crate) fn new(most: Option<u64>) -> Self {
        let most = most.filter(|_| cfg!(target_os = "linux")).and_then(|most| usize::try_from(most).ok());
        Self { most, counted: (tasks_of_system(), 0, Instant::now()) }
    }

    /// Pause between two looks.
    pub(crate) fn interval(&self) -> Option<Duration> {
        self.most.map(|_| Duration::from_millis(GUARD_COUNT_MS))
    }

    /// Whether the tree has too many processes.
    pub(crate) fn is_over(&mut self) -> bool {
        self.most.is_some()
            && self.look(tasks_of_system(), Instant::now(), || proc_tree::size_below(std::process::id()))
    }

    fn look(&mut self, tasks: usize, now: Instant, count: impl FnOnce() -> TreeSize) -> bool {
        let Some(most) = self.most else { return false };
        let (tasks_then, tree_then, at) = self.counted;
        let gained = tasks.saturating_sub(tasks_then);
        let is_old = now.saturating_duration_since(at) >= Duration::from_millis(GUARD_RECOUNT_MS);
        if tree_then + gained <= most && !is_old {
            // Other trees end while this one grows.
            self.counted.0 = tasks_then.min(tasks);
            return false;
        }
        let size = count();
        self.counted = (tasks, size.tasks, now);
        size.processes > most
    }
}

fn tasks_of_system() -> usize {
    #[cfg(target_os = "linux")]
    {
        usize::from(rustix::system::sysinfo().procs)
    }
    #[cfg(not(target_os = "linux"))]
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_counted_when_it_may_have_too_many_processes_or_some_time_has_passed() {
        let began = Instant::now();
        let after = |ms| began + Duration::from_millis(ms);
        let watch = || CrowdWatch { most: Some(10), counted: (1_000, 0, began) };
        let size = |processes, tasks| move || TreeSize { processes, tasks };
        let unneeded = || panic!("it isn't counted");

        let mut quiet = watch();
        assert!(!quiet.look(1_010, after(250), unneeded) && !quiet.look(900, after(500), unneeded));
        assert!(quiet.look(911, after(750), size(11, 11)), "as many tasks as others have lost");

        let mut swaps = watch();
        assert!(!swaps.look(1_050, after(250), size(1, 50)));
        assert!(swaps.look(1_050, after(500), size(50, 50)), "its threads have become processes");

        let mut others_end = watch();
        assert!(!others_end.look(1_000, after(GUARD_RECOUNT_MS - 1), unneeded));
        assert!(others_end.look(1_000, after(GUARD_RECOUNT_MS), size(50, 50)), "tasks of others have ended");

        let mut unlimited = CrowdWatch { most: None, ..watch() };
        assert!(!unlimited.look(9_000, after(9_000), unneeded) && unlimited.interval().is_none());
    }
}
