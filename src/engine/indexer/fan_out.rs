//! Runs one piece of work for each of several units on a few threads, and leaves those behind that don't return in time. It blocks.
//!
//! A unit whose thread is in a call of the system can't be interrupted; another thread takes its place then, and the result is dropped
//! when it comes. Invariants: the results are in the units' order, whatever the threads do; a unit whose work panics or hangs has no
//! result and disturbs no other; once the end is reached, no further unit begins, and the results are there a little later.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::runtime::Handle;

use crate::indexer::query_end::QueryEnd;
use crate::limits::{LATE_UNIT_MS, MAX_EXTRA_GROUP_THREADS, STUCK_UNIT_MS};
use codeyard_base::clock::Instant;

/// How often the caller looks at the time while it waits.
const POLL: Duration = Duration::from_millis(10);

/// What became of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Done<T> {
    /// The result of its work.
    Result(T),
    /// The end was reached before this unit had a result.
    Late,
    /// The work panicked.
    Panicked,
}

/// The units, shared by the caller and the threads.
struct Units<T, W> {
    order: Vec<usize>,
    end: QueryEnd,
    work: W,
    progress: Mutex<Progress<T>>,
    changed: Condvar,
}

struct Progress<T> {
    results: Vec<Done<T>>,
    /// How many units have begun, in their order.
    begun: usize,
    ended: usize,
    /// When one of them last began or ended, or a thread was added.
    changed_at: Instant,
}

/// Runs `work` for the units `0..count`, in the order of `order`, which has each of them at most once, on `threads` threads and a few more
/// if some of these are stuck.
pub(super) fn fan_out<T: Send + 'static>(
    count: usize,
    order: Vec<usize>,
    threads: usize,
    end: &QueryEnd,
    work: impl Fn(usize) -> T + Send + Sync + 'static,
) -> Vec<Done<T>> {
    let results = (0..count).map(|_| Done::Late).collect();
    let progress = Mutex::new(Progress { results, begun: 0, ended: 0, changed_at: Instant::now() });
    let units = Arc::new(Units { order, end: end.clone(), work, progress, changed: Condvar::new() });
    let most = threads.clamp(1, units.order.len().max(1));
    let started = (0..most).take_while(|_| start(&units)).count();
    if started == 0 {
        // The system has no thread left.
        units.run();
    }
    units.wait(MAX_EXTRA_GROUP_THREADS)
}

/// Starts a thread that works on the units. Whether there is one.
fn start<T: Send + 'static>(units: &Arc<Units<T, impl Fn(usize) -> T + Send + Sync + 'static>>) -> bool {
    let (units, runtime) = (units.clone(), Handle::try_current().ok());
    let run = move || {
        // The clock is that of the runtime.
        let _context = runtime.as_ref().map(Handle::enter);
        units.run();
    };
    std::thread::Builder::new().name("group-query".to_owned()).spawn(run).is_ok()
}

impl<T: Send + 'static, W: Fn(usize) -> T + Send + Sync + 'static> Units<T, W> {
    /// Works on one unit after the other.
    fn run(&self) {
        while let Some(unit) = self.next() {
            let done = catch_unwind(AssertUnwindSafe(|| (self.work)(unit))).map_or(Done::Panicked, Done::Result);
            let mut progress = self.progress.lock();
            // After the end nobody takes results any more.
            if let Some(place) = progress.results.get_mut(unit) {
                *place = done;
            }
            progress.ended += 1;
            progress.changed_at = Instant::now();
            drop(progress);
            self.changed.notify_all();
        }
    }

    fn next(&self) -> Option<usize> {
        let mut progress = self.progress.lock();
        let unit = *self.order.get(progress.begun)?;
        if self.end.is_reached() {
            return None;
        }
        progress.begun += 1;
        progress.changed_at = Instant::now();
        Some(unit)
    }

    /// The results, once all units have ended, or a little after the end.
    fn wait(self: &Arc<Self>, extra_threads: usize) -> Vec<Done<T>> {
        let (mut extra_threads, mut reached_at) = (extra_threads, None);
        let mut progress = self.progress.lock();
        while progress.ended < self.order.len() {
            let now = Instant::now();
            if self.end.is_reached() {
                let late = now.duration_since(*reached_at.get_or_insert(now));
                if progress.ended == progress.begun || late >= Duration::from_millis(LATE_UNIT_MS) {
                    break;
                }
            } else if progress.begun < self.order.len()
                && extra_threads > 0
                && now.duration_since(progress.changed_at) >= Duration::from_millis(STUCK_UNIT_MS)
            {
                extra_threads -= 1;
                progress.changed_at = now;
                start(self);
            }
            self.changed.wait_for(&mut progress, POLL);
        }
        std::mem::take(&mut progress.results)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn results_keep_their_order_and_a_panic_disturbs_no_other_unit() {
        for threads in [1, 2, 7, 100] {
            let order: Vec<usize> = (0..20).rev().collect();
            let done = fan_out(20, order, threads, &QueryEnd::default(), |unit| {
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
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let end = QueryEnd::new(is_cancelled.clone(), Instant::now() + Duration::from_secs(3_600));
        let done = fan_out(3, vec![2, 0, 1], 1, &end, move |unit| {
            is_cancelled.store(unit == 0, Ordering::Relaxed);
            unit
        });
        assert_eq!(done, [Done::Result(0), Done::Late, Done::Result(2)]);
        assert_eq!(fan_out(0, Vec::new(), 4, &QueryEnd::default(), |unit| unit), []);
    }

    #[tokio::test(start_paused = true)]
    async fn units_that_hang_have_no_result_and_the_others_have_theirs() {
        let (is_cancelled, begun) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let end = QueryEnd::new(is_cancelled.clone(), Instant::now() + Duration::from_secs(3_600));
        let (release, released) = mpsc::channel::<()>();
        let released = Mutex::new(released);
        let (has_begun, (returned, returns)) = (begun.clone(), mpsc::channel());
        let work = move |unit| {
            has_begun.fetch_add(1, Ordering::Relaxed);
            if unit == 0 {
                released.lock().recv().ok();
                returned.send(()).unwrap();
            }
            is_cancelled.store(unit == 5, Ordering::Relaxed);
            unit
        };
        // One thread, which the first unit holds up.
        let done = tokio::task::spawn_blocking(move || fan_out(6, (0..6).collect(), 1, &end, work));
        let until = async |count| {
            while begun.load(Ordering::Relaxed) < count {
                tokio::task::yield_now().await;
            }
        };
        until(1).await;
        tokio::time::advance(Duration::from_millis(STUCK_UNIT_MS)).await;
        until(6).await;
        while !done.is_finished() {
            tokio::time::advance(Duration::from_millis(LATE_UNIT_MS)).await;
        }
        let done = done.await.unwrap();
        assert_eq!(done[..5], [Done::Late, Done::Result(1), Done::Result(2), Done::Result(3), Done::Result(4)]);
        release.send(()).unwrap();
        returns.recv().unwrap();
    }
}
