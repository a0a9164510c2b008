//! The deadlines of the calls that wait for one execution.
//!
//! An execution may outlive the call that started it: other calls join it, and a slow one goes on without any
//! ([`long_questions`](crate::workspace::long_questions)). So it has no deadline of its own. Invariants: the deadline that counts is the next
//! one of a call that still waits; while no call waits nothing is left out of an answer to be in time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep_until;

use codeyard_base::clock::{Deadline, Instant};

/// The time for each step of an execution that no call waits for.
const UNAWAITED_STEP: Duration = Duration::from_secs(2);
/// Deadlines that pass within this time of each other are one missed answer.
const MISS_GAP: Duration = Duration::from_secs(1);

/// The calls that wait for one execution. Clones share them.
#[derive(Debug, Clone)]
pub struct Callers(Arc<watch::Sender<BTreeSet<Deadline>>>);

impl Callers {
    /// One call, with this deadline.
    pub fn one(deadline: Deadline) -> Self {
        Self(Arc::new(watch::Sender::new(BTreeSet::from([deadline]))))
    }

    /// Another call waits, with this deadline.
    pub fn join(&self, deadline: Deadline) {
        self.0.send_modify(|deadlines| {
            deadlines.retain(|deadline| !deadline.passed());
            deadlines.insert(deadline);
        });
    }

    /// The next deadline of a call that still waits.
    pub(crate) fn next(&self) -> Option<Deadline> {
        self.0.borrow().iter().find(|deadline| !deadline.passed()).copied()
    }

    /// The deadline of the next step: that of a call that still waits, else a usual one.
    pub(crate) fn deadline(&self) -> Deadline {
        self.next().unwrap_or_else(|| Deadline::after(UNAWAITED_STEP))
    }

    /// Resolves when another call joins.
    pub(crate) async fn joined(&self) {
        let mut deadlines = self.0.subscribe();
        // An error means that no call can join any more.
        if deadlines.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Resolves when a deadline after `from` passes.
    pub(crate) async fn missed(&self, from: Instant) {
        let mut deadlines = self.0.subscribe();
        loop {
            let next = deadlines.borrow_and_update().iter().map(|deadline| deadline.instant()).find(|at| *at > from);
            tokio::select! {
                () = sleep_until(next.unwrap_or(from)), if next.is_some() => return,
                Ok(()) = deadlines.changed() => {}
                else => std::future::pending::<()>().await,
            }
        }
    }

    /// Runs `work`, and calls `miss` for each deadline that passes meanwhile.
    pub(crate) async fn watch<T>(&self, work: impl Future<Output = T>, mut miss: impl FnMut()) -> T {
        let mut work = std::pin::pin!(work);
        let mut from = Instant::now();
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = self.missed(from) => {
                    miss();
                    from = Instant::now() + MISS_GAP;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{advance, sleep};

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn the_next_deadline_that_has_not_passed_counts() {
        let start = Instant::now();
        let callers = Callers::one(Deadline::after(2 * SECOND));
        callers.join(Deadline::after(3 * SECOND));
        assert_eq!(callers.deadline().instant() - start, 2 * SECOND);
        advance(2 * SECOND).await;
        assert_eq!(callers.deadline().instant() - start, 3 * SECOND);
        advance(2 * SECOND).await;
        assert_eq!(callers.next(), None);
        assert_eq!(callers.deadline().left(), UNAWAITED_STEP);
        callers.join(Deadline::after(SECOND));
        assert_eq!(callers.deadline().left(), SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn each_call_that_gets_no_answer_is_a_miss_but_calls_at_once_are_one() {
        let callers = Callers::one(Deadline::after(2 * SECOND));
        for late_ms in [1, 2, 3] {
            callers.join(Deadline::after(2 * SECOND + Duration::from_millis(late_ms)));
        }
        let joining = callers.clone();
        let joins = async {
            for _ in 0..3 {
                sleep(5 * SECOND).await;
                joining.join(Deadline::after(2 * SECOND));
            }
        };
        let mut misses = 0;
        tokio::join!(callers.watch(sleep(16 * SECOND), || misses += 1), joins);
        assert_eq!(misses, 3, "of the calls at 0, 5 and 10 s; the answer came before the last one's deadline");
    }

    #[tokio::test(start_paused = true)]
    async fn work_without_a_call_is_not_missed() {
        let callers = Callers::one(Deadline::after(SECOND));
        advance(2 * SECOND).await;
        callers.watch(sleep(60 * SECOND), || panic!("nobody waits")).await;
    }
}
