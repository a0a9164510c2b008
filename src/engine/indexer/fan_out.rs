//! Runs one piece of work for each of several units on a few threads, and leaves those behind that don't return in time. It blocks.
//!
//! A unit whose thread is in a call of the system can't be interrupted; another thread takes its place then, and the result is dropped
//! when it comes. Invariants: the results are in the units' order, whatever the threads do; a unit whose work panics or hangs has no
//! result and disturbs no other; once the end is reached, no further unit begins, and the results are there a little later; the threads
//! that take the place of others are bounded over all queries.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::indexer::query_end::QueryEnd;
use crate::limits::{LATE_UNIT_MS, MAX_EXTRA_GROUP_THREADS, STUCK_UNIT_MS};
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
    let progress = Mutex::new(Progress { results, begun: 0, ended: 0, running: Vec::new() });
    let units = Arc::new(Units { order, end: end.clone(), work, progress, changed: Condvar::new() });
    let most = threads.clamp(1, units.order.len().max(1));
    let started = (0..most).take_while(|_| start(&units, None)).count();
    if started == 0 {
        // The system has no thread left.
        units.run();
    }
    units.wait()
}

/// Starts a thread that works on the units. Whether there is one.
fn start<T: Send + 'static>(
    units: &Arc<Units<T, impl Fn(usize) -> T + Send + Sync + 'static>>,
    place: Option<SemaphorePermit<'static>>,
) -> bool {
    let (units, runtime) = (units.clone(), Handle::try_current().ok());
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
        let unit = *self.order.get(progress.begun)?;
        if self.end.is_reached() {
            return None;
        }
        progress.begun += 1;
        progress.running.push((unit, Instant::now()));
        Some(unit)
    }

    /// The results, once all units have ended, or a little after the end.
    fn wait(self: &Arc<Self>) -> Vec<Done<T>> {
        let (mut replaced, mut reached_at) = (0, None);
        let mut progress = self.progress.lock();
        while progress.ended < self.order.len() {
            let now = Instant::now();
            let stuck = progress.stuck(now);
            if self.end.is_reached() {
                let late = now.saturating_duration_since(*reached_at.get_or_insert(now));
                if progress.running.is_empty() || late >= Duration::from_millis(LATE_UNIT_MS) {
                    break;
                }
            } else if stuck > replaced
                && progress.begun < self.order.len()
                && let Ok(place) = EXTRA_THREADS.try_acquire()
            {
                replaced += 1;
                start(self, Some(place));
            } else if stuck > 0 && stuck == progress.running.len() && self.end.is_impatient() {
                break;
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
    use crate::indexer::query_end::QuerySlots;
    use crate::indexer::running_queries::QueryTurn;

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

    /// Units of which the first hangs until something is sent; the others count.
    fn first_hangs(begun: &Arc<AtomicUsize>) -> (mpsc::Sender<()>, impl Fn(usize) -> usize + Send + Sync + use<>) {
        let (release, released) = mpsc::channel::<()>();
        let (released, begun) = (Mutex::new(released), begun.clone());
        let work = move |unit| {
            begun.fetch_add(1, Ordering::Relaxed);
            if unit == 0 {
                released.lock().recv().ok();
            }
            unit
        };
        (release, work)
    }

    #[tokio::test(start_paused = true)]
    async fn units_that_hang_have_no_result_and_the_others_have_theirs() {
        let (is_cancelled, begun) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let end = end_after(Duration::from_secs(3_600), &is_cancelled);
        let (release, work) = first_hangs(&begun);
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
        drop(release);
    }

    #[tokio::test(start_paused = true)]
    async fn a_step_is_over_when_only_units_that_hang_are_left_and_patience_ends() {
        let begun = Arc::new(AtomicUsize::new(0));
        let end = end_after(Duration::from_secs(3), &Arc::default());
        let (release, work) = first_hangs(&begun);
        let step = end.of_step();
        let done = tokio::task::spawn_blocking(move || fan_out(3, (0..3).collect(), 2, &step, work));
        until_begun(&begun, 3).await;
        pass(2_000).await;
        // Without any further time.
        let done = done.await.unwrap();
        assert_eq!(done, [Done::Late, Done::Result(1), Done::Result(2)]);
        assert!(!end.is_reached());
        drop(release);
    }
}
