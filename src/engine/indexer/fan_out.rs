//! Runs one piece of work for each of several units on a few threads, and leaves those behind that don't return in time. It blocks.
//!
//! A unit whose thread is in a call of the system can't be interrupted; another thread takes its place then, and the result is dropped
//! when it comes. Invariants: the results are in the units' order, whatever the threads do; a unit whose work panics or hangs has no
//! result and disturbs no other; once the end is reached, no further unit begins, and the results are there a little later, unless the
//! system has no thread left; no more than the given number of threads work that aren't stuck, and those that are stuck are bounded over
//! all queries.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::indexer::query_end::QueryEnd;
use crate::limits::{MAX_EXTRA_GROUP_THREADS, STUCK_UNIT_MS};
use codeyard_base::clock::Instant;

/// How often the caller looks at the time while it waits.
const POLL: Duration = Duration::from_millis(10);

/// What the threads that take the place of others share, each until it has returned.
static EXTRA_THREADS: Semaphore = Semaphore::const_new(MAX_EXTRA_GROUP_THREADS);

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
    /// How many threads work at once, but for those that are stuck.
    threads: usize,
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
    /// The units that have begun and not ended, and when they began.
    running: Vec<(usize, Instant)>,
    /// The threads that take units.
    workers: usize,
}

impl<T> Progress<T> {
    /// How many units have run for so long that their threads may be stuck.
    fn stuck(&self, now: Instant) -> usize {
        let limit = Duration::from_millis(STUCK_UNIT_MS);
        self.running.iter().filter(|(_, began)| now.saturating_duration_since(*began) >= limit).count()
    }
}

/// Runs `work` for the units `0..count`, in the order of `order`, which has each of them at most once, on `threads` threads and a few more
/// in the place of those that are stuck.
pub(super) fn fan_out<T: Send + 'static>(
    count: usize,
    order: Vec<usize>,
    threads: usize,
    end: &QueryEnd,
    work: impl Fn(usize) -> T + Send + Sync + 'static,
) -> Vec<Done<T>> {
    let results = (0..count).map(|_| Done::Late).collect();
    let workers = threads.clamp(1, order.len().max(1));
    let progress = Mutex::new(Progress { results, begun: 0, ended: 0, running: Vec::new(), workers });
    let units = Arc::new(Units { order, threads: workers, end: end.clone(), work, progress, changed: Condvar::new() });
    let started = (0..workers).take_while(|_| start(&units, None)).count();
    units.progress.lock().workers -= workers - started;
    if started == 0 {
        units.run();
    }
    units.wait()
}

/// Starts a thread that works on the units. Whether there is one.
fn start<T: Send + 'static>(
    units: &Arc<Units<T, impl Fn(usize) -> T + Send + Sync + 'static>>,
    place: Option<SemaphorePermit<'static>>,
) -> bool {
    let units = units.clone();
    let runtime = Handle::try_current().ok();
    let run = move || {
        let _place = place;
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
            progress.running.retain(|(running, _)| *running != unit);
            drop(progress);
            self.changed.notify_all();
        }
    }

    fn next(&self) -> Option<usize> {
        let mut progress = self.progress.lock();
        let now = Instant::now();
        let unit = self.order.get(progress.begun).copied().filter(|_| !self.end.is_reached());
        // One whose place another thread has taken goes when it returns.
        let unit = unit.filter(|_| progress.workers.saturating_sub(progress.stuck(now)) <= self.threads);
        match unit {
            Some(unit) => {
                progress.begun += 1;
                progress.running.push((unit, now));
            }
            None => progress.workers = progress.workers.saturating_sub(1),
        }
        unit
    }

    /// The results, once all units have ended, or a little after the end.
    fn wait(self: &Arc<Self>) -> Vec<Done<T>> {
        let mut extra = 0;
        let mut reached_at = None;
        let mut progress = self.progress.lock();
        while progress.ended < self.order.len() {
            let now = Instant::now();
            let stuck = progress.stuck(now);
            let is_short = progress.workers.saturating_sub(stuck) < self.threads && progress.begun < self.order.len();
            if self.end.is_reached() {
                let late = now.saturating_duration_since(*reached_at.get_or_insert(now));
                if progress.running.is_empty() || late >= self.end.late_by() {
                    break;
                }
            } else if is_short
                && self.end.has_time()
                && extra < MAX_EXTRA_GROUP_THREADS / 2
                && let Ok(place) = EXTRA_THREADS.try_acquire()
            {
                if start(self, Some(place)) {
                    progress.workers += 1;
                    extra += 1;
                }
            } else if progress.ended > 0 && stuck > 0 && stuck == progress.running.len() && self.end.is_impatient() {
                break;
            }
            self.changed.wait_for(&mut progress, POLL);
        }
        // Those that return later find nothing to do.
        progress.begun = self.order.len();
        std::mem::take(&mut progress.results)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;
    use crate::indexer::query_end::QuerySlots;
    use crate::indexer::running_queries::QueryTurn;
    use crate::limits::LATE_UNIT_MS;

    fn end_after(after: Duration, is_cancelled: &Arc<AtomicBool>) -> QueryEnd {
        let slots = Arc::new(Semaphore::new(2));
        let taken = || slots.clone().try_acquire_owned().unwrap();
        let slots = Arc::new(QuerySlots::new(taken(), QueryTurn::from(taken())));
        QueryEnd::new(is_cancelled.clone(), Instant::now() + after, slots)
    }

    async fn pass(milliseconds: u64) {
        tokio::time::advance(Duration::from_millis(milliseconds)).await;
    }

    async fn until_begun(begun: &AtomicUsize, count: usize) {
        while begun.load(Ordering::Relaxed) < count {
            tokio::task::yield_now().await;
        }
    }

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

    #[tokio::test(start_paused = true)]
    async fn no_unit_begins_after_the_end() {
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let end = end_after(Duration::from_secs(3_600), &is_cancelled);
        let done = fan_out(3, vec![2, 0, 1], 1, &end, move |unit| {
            is_cancelled.store(unit == 0, Ordering::Relaxed);
            unit
        });
        assert_eq!(done, [Done::Result(0), Done::Late, Done::Result(2)]);
        assert_eq!(fan_out(0, Vec::new(), 4, &QueryEnd::default(), |unit| unit), []);
    }

    /// Units that count; these hang until the barrier is opened.
    fn some_hang(begun: &Arc<AtomicUsize>, hang: &'static [usize]) -> (Arc<Barrier>, impl Fn(usize) -> usize + use<>) {
        let barrier = Arc::new(Barrier(Mutex::new(false), Condvar::new()));
        let held = barrier.clone();
        let begun = begun.clone();
        let work = move |unit| {
            begun.fetch_add(1, Ordering::Relaxed);
            let mut is_open = held.0.lock();
            while hang.contains(&unit) && !*is_open {
                held.1.wait(&mut is_open);
            }
            unit
        };
        (barrier, work)
    }

    struct Barrier(Mutex<bool>, Condvar);

    impl Barrier {
        fn open(&self) {
            *self.0.lock() = true;
            self.1.notify_all();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn units_that_hang_have_no_result_and_the_others_have_theirs() {
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let begun = Arc::new(AtomicUsize::new(0));
        let end = end_after(Duration::from_secs(3_600), &is_cancelled);
        let (barrier, work) = some_hang(&begun, &[0]);
        let work = move |unit| {
            is_cancelled.store(unit == 5, Ordering::Relaxed);
            work(unit)
        };
        // One thread, which the first unit holds up.
        let done = tokio::task::spawn_blocking(move || fan_out(6, (0..6).collect(), 1, &end, work));
        until_begun(&begun, 1).await;
        pass(STUCK_UNIT_MS - 1).await;
        assert_eq!(begun.load(Ordering::Relaxed), 1);
        pass(1).await;
        until_begun(&begun, 6).await;
        while !done.is_finished() {
            pass(LATE_UNIT_MS).await;
        }
        let done = done.await.unwrap();
        assert_eq!(done[..5], [Done::Late, Done::Result(1), Done::Result(2), Done::Result(3), Done::Result(4)]);
        barrier.open();
    }

    #[tokio::test(start_paused = true)]
    async fn a_step_is_over_when_only_units_that_hang_are_left_and_patience_ends() {
        let begun = Arc::new(AtomicUsize::new(0));
        let end = end_after(Duration::from_secs(3), &Arc::default());
        let (barrier, work) = some_hang(&begun, &[0, 3]);
        let step = end.of_step();
        let done = tokio::task::spawn_blocking(move || fan_out(4, (0..4).collect(), 2, &step, work));
        until_begun(&begun, 4).await;
        pass(2_000).await;
        // Without any further time.
        let done = done.await.unwrap();
        assert_eq!(done, [Done::Late, Done::Result(1), Done::Result(2), Done::Late]);
        assert!(!end.is_reached());
        barrier.open();
    }

    #[tokio::test(start_paused = true)]
    async fn a_single_unit_has_the_whole_time_of_its_step() {
        let begun = Arc::new(AtomicUsize::new(0));
        let step = end_after(Duration::from_secs(8), &Arc::default()).of_step();
        let (barrier, work) = some_hang(&begun, &[0]);
        let done = tokio::task::spawn_blocking(move || fan_out(1, vec![0], 2, &step, work));
        until_begun(&begun, 1).await;
        pass(6_999).await;
        barrier.open();
        assert_eq!(done.await.unwrap(), [Done::Result(0)]);
    }

    #[tokio::test(start_paused = true)]
    async fn threads_whose_place_was_taken_go_when_they_return() {
        let begun = Arc::new(AtomicUsize::new(0));
        let end = end_after(Duration::from_secs(3_600), &Arc::default());
        let (barrier, work) = some_hang(&begun, &[0, 1, 2, 3]);
        let done = tokio::task::spawn_blocking(move || fan_out(12, (0..12).collect(), 2, &end, work));
        until_begun(&begun, 2).await;
        assert_eq!(begun.load(Ordering::Relaxed), 2);
        pass(STUCK_UNIT_MS).await;
        until_begun(&begun, 4).await;
        barrier.open();
        let done = done.await.unwrap();
        assert_eq!(done, (0..12).map(Done::Result).collect::<Vec<_>>());
    }
}
