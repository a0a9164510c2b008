//! Runs one piece of work for each of several units on a few threads. It blocks.
//!
//! Invariants: the results are in the units' order, whatever the threads do; a unit whose work panics has no result and disturbs no
//! other; once the work is told to end, no further unit begins.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::indexer::code_query::StopCheck;

/// What became of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Done<T> {
    /// The result of its work.
    Result(T),
    /// The work was told to end before this unit began.
    NotReached,
    /// The work panicked.
    Panicked,
}

/// Runs `work` for the units `0..count`, in the order of `order`, which has each of them once.
pub(super) fn fan_out<T: Send>(
    count: usize,
    order: &[usize],
    threads: usize,
    ends: StopCheck<'_>,
    work: impl Fn(usize) -> T + Sync,
) -> Vec<Done<T>> {
    let results: Vec<Mutex<Done<T>>> = (0..count).map(|_| Mutex::new(Done::NotReached)).collect();
    let next = AtomicUsize::new(0);
    let run = || {
        while let Some(unit) = order.get(next.fetch_add(1, Ordering::Relaxed)).copied() {
            if ends() {
                return;
            }
            let done = catch_unwind(AssertUnwindSafe(|| work(unit))).map_or(Done::Panicked, Done::Result);
            if let Some(place) = results.get(unit) {
                *place.lock() = done;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(order.len()) {
            scope.spawn(run);
        }
        run();
    });
    results.into_iter().map(Mutex::into_inner).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn results_keep_their_order_and_a_panic_disturbs_no_other_unit() {
        for threads in [1, 2, 7, 100] {
            let order: Vec<usize> = (0..20).rev().collect();
            let done = fan_out(20, &order, threads, &|| false, |unit| {
                assert!(unit != 13, "meant to panic");
                unit * unit
            });
            for (unit, done) in done.into_iter().enumerate() {
                let expected = if unit == 13 { Done::Panicked } else { Done::Result(unit * unit) };
                assert_eq!(done, expected, "{threads} threads");
            }
        }
    }

    #[test]
    fn no_unit_begins_after_the_end() {
        let ended = AtomicBool::new(false);
        let done = fan_out(3, &[2, 0, 1], 1, &|| ended.load(Ordering::Relaxed), |unit| {
            ended.store(unit == 0, Ordering::Relaxed);
            unit
        });
        assert_eq!(done, [Done::Result(0), Done::NotReached, Done::Result(2)]);
        assert_eq!(fan_out(0, &[], 4, &|| false, |unit| unit), []);
    }
}
