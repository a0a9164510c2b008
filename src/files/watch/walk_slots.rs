//! Places for first walks. After a start many workspaces are asked at once, and their walks together would slow down everything else.
//!
//! This isn't a strict limit: a walk waits only for a bounded time. Invariant: walks of huge trees delay the walk of another workspace by no
//! more than that time.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// The walks of one process that run.
#[derive(Debug)]
pub(super) struct WalkSlots {
    most: usize,
    running: Mutex<usize>,
    ended: Condvar,
}

/// A running walk, until it is dropped.
pub(super) struct RunningWalk<'a>(&'a WalkSlots);

impl WalkSlots {
    /// Slots for `most` walks.
    pub(super) fn new(most: usize) -> Self {
        Self { most, running: Mutex::new(0), ended: Condvar::new() }
    }

    /// Waits until fewer than `most` walks run, at most for `patience`. Blocks.
    pub(super) fn enter(&self, patience: Duration) -> RunningWalk<'_> {
        let mut running = self.running.lock();
        self.ended.wait_while_for(&mut running, |running| *running >= self.most, patience);
        *running += 1;
        RunningWalk(self)
    }
}

impl Drop for RunningWalk<'_> {
    fn drop(&mut self) {
        *self.0.running.lock() -= 1;
        self.0.ended.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_walk_waits_for_the_end_of_another() {
        let slots = WalkSlots::new(1);
        let first = slots.enter(LONG);
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _second = slots.enter(LONG);
                order.lock().push("second");
            });
            order.lock().push("first");
            drop(first);
        });
        assert_eq!(*order.lock(), ["first", "second"]);
        assert_eq!(*slots.running.lock(), 0);
    }

    #[test]
    fn a_walk_that_has_waited_long_runs_beside_the_others() {
        let slots = WalkSlots::new(1);
        let _huge = slots.enter(LONG);
        let _late = slots.enter(Duration::ZERO);
        assert_eq!(*slots.running.lock(), 2);
    }
}
