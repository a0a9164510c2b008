//! Shows whether a thread of the engine still runs its actors: a task on the thread writes the time once a second.
//!
//! The state that an actor publishes is current as long as its thread runs, so the age of the heartbeat is the age of that state. It makes
//! no decision. Invariant: one timer for each thread, however many workspaces the thread has; the task ends with its last reader.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::Duration;

use actix_rt::ArbiterHandle;

use crate::limits::{HEARTBEAT_MS, STALLED_AFTER_MS};
use codeyard_base::clock::Instant;

/// The heartbeat of one thread.
#[derive(Debug)]
pub struct Heartbeat {
    began: Instant,
    /// Milliseconds from `began` to the last beat.
    last: AtomicU64,
}

impl Default for Heartbeat {
    fn default() -> Self {
        Self { began: Instant::now(), last: AtomicU64::new(0) }
    }
}

impl Heartbeat {
    /// The heartbeat of a thread. It counts as alive until the first beat is late.
    pub fn of(thread: &ArbiterHandle) -> Arc<Self> {
        let heartbeat = Arc::new(Self::default());
        thread.spawn(beat(Arc::downgrade(&heartbeat)));
        heartbeat
    }

    /// Time since the thread last ran its tasks. Up to a second also for a thread that has nothing to do.
    pub fn age(&self) -> Duration {
        self.began.elapsed().saturating_sub(Duration::from_millis(self.last.load(Relaxed)))
    }

    /// The age, if the thread has run no task for longer than a busy thread needs for one.
    pub fn stalled(&self) -> Option<Duration> {
        Some(self.age()).filter(|age| *age >= Duration::from_millis(STALLED_AFTER_MS))
    }

    fn set_beaten(&self) {
        self.last.store(u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX), Relaxed);
    }
}

async fn beat(heartbeat: Weak<Heartbeat>) {
    while let Some(alive) = heartbeat.upgrade() {
        alive.set_beaten();
        drop(alive);
        tokio::time::sleep(Duration::from_millis(HEARTBEAT_MS)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_runs_is_young_and_a_blocked_one_grows_old() {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().start_paused(true).build().unwrap().block_on(async {
            let heartbeat = Arc::new(Heartbeat::default());
            let task = tokio::spawn(beat(Arc::downgrade(&heartbeat)));
            tokio::time::sleep(Duration::from_millis(10 * HEARTBEAT_MS + 1)).await;
            assert!(heartbeat.age() <= Duration::from_millis(HEARTBEAT_MS), "{:?}", heartbeat.age());
            assert_eq!(heartbeat.stalled(), None);
            // The thread runs nothing while time passes.
            tokio::time::advance(Duration::from_millis(STALLED_AFTER_MS)).await;
            assert!(heartbeat.stalled().is_some_and(|age| age >= Duration::from_millis(STALLED_AFTER_MS)));
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert_eq!(heartbeat.stalled(), None, "it runs again");
            drop(heartbeat);
            tokio::time::sleep(Duration::from_millis(2 * HEARTBEAT_MS)).await;
            assert!(task.is_finished());
        });
    }
}
