//! When a query must end, and the slots that it has until then.
//!
//! A query ends at a time, or as soon as nobody waits for it any more. Its slots are free when its last thread has returned, or when they
//! are taken from it. Invariant: an end that is reached stays reached.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;

use crate::indexer::running_queries::QueryTurn;
use crate::limits::LATE_UNIT_MS;
use codeyard_base::clock::Instant;

/// The slots of a query. They are free when it is dropped.
#[derive(Debug)]
pub struct QuerySlots(Mutex<Option<(OwnedSemaphorePermit, QueryTurn)>>);

impl QuerySlots {
    /// These slots of the process, and the share of them that the query used.
    pub fn new(slots: OwnedSemaphorePermit, turn: QueryTurn) -> Self {
        Self(Mutex::new(Some((slots, turn))))
    }

    /// Takes the slots from the query, whose thread hasn't returned.
    pub fn take_back(&self) {
        self.0.lock().take();
    }
}

/// The end of a query.
#[derive(Debug, Clone, Default)]
pub struct QueryEnd {
    is_cancelled: Arc<AtomicBool>,
    /// `None`: it takes the time that it needs.
    at: Option<Instant>,
    /// From here on nobody waits for work that makes no progress.
    patient_until: Option<Instant>,
    /// Time after the end within which threads return what they have.
    late_by: Option<Duration>,
    /// Every thread of the query has a share in them.
    _slots: Option<Arc<QuerySlots>>,
}

impl QueryEnd {
    /// The end at this time; earlier if the flag becomes true. The slots are held as long as one of the clones is there.
    pub fn new(is_cancelled: Arc<AtomicBool>, at: Instant, slots: Arc<QuerySlots>) -> Self {
        Self { is_cancelled, at: Some(at), _slots: Some(slots), ..Self::default() }
    }

    /// Whether it is reached.
    pub fn is_reached(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed) || self.at.is_some_and(|at| at <= Instant::now())
    }

    /// Whether work that makes no progress must be left behind.
    pub(super) fn is_impatient(&self) -> bool {
        self.patient_until.is_some_and(|until| until <= Instant::now()) || self.is_reached()
    }

    /// Whether it comes by itself.
    pub(super) fn has_time(&self) -> bool {
        self.at.is_some()
    }

    /// Time after the end within which threads return what they have.
    pub(super) fn late_by(&self) -> Duration {
        self.late_by.unwrap_or(Duration::from_millis(LATE_UNIT_MS))
    }

    /// The end of a step after which others follow. It may use seven eighths of the time that is left, and two thirds if it makes no
    /// progress then.
    pub(super) fn of_step(&self) -> Self {
        let now = Instant::now();
        let left = self.at.map(|at| at.saturating_duration_since(now));
        let at = left.map(|left| now + left * 7 / 8);
        let patient_until = left.map(|left| now + left * 2 / 3);
        // Half of what the step leaves to the others.
        let late_by = left.map(|left| self.late_by().min(left / 16));
        Self { at, patient_until, late_by, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_step_leaves_time_to_those_after_it_and_ends_with_the_query() {
        let slots = Arc::new(Semaphore::new(2));
        let taken = || slots.clone().try_acquire_owned().unwrap();
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let held = Arc::new(QuerySlots::new(taken(), QueryTurn::from(taken())));
        let end = QueryEnd::new(is_cancelled.clone(), Instant::now() + Duration::from_millis(2_400), held.clone());
        let step = end.of_step();
        let pass = async |milliseconds| tokio::time::advance(Duration::from_millis(milliseconds)).await;
        pass(1_599).await;
        assert!(!step.is_impatient() && !end.is_impatient());
        pass(1).await;
        assert!(step.is_impatient() && !step.is_reached() && !end.is_impatient());
        pass(499).await;
        assert!(!step.is_reached());
        pass(1).await;
        assert!(step.is_reached() && !end.is_reached());
        assert_eq!(step.late_by(), Duration::from_millis(LATE_UNIT_MS));
        let next = end.of_step();
        assert_eq!(next.late_by(), Duration::from_micros(18_750), "of the 300 ms that are left");
        is_cancelled.store(true, Ordering::Relaxed);
        assert!(next.is_reached() && end.is_reached());
        assert!(!QueryEnd::default().of_step().is_impatient());
        drop((held, end, step));
        assert_eq!(slots.available_permits(), 0, "a thread still has a clone");
        drop(next);
        assert_eq!(slots.available_permits(), 2);
    }

    #[test]
    fn slots_can_be_taken_back_before_the_threads_return() {
        let slots = Arc::new(Semaphore::new(2));
        let taken = || slots.clone().try_acquire_owned().unwrap();
        let held = QuerySlots::new(taken(), QueryTurn::from(taken()));
        held.take_back();
        assert_eq!(slots.available_permits(), 2);
        drop(held);
        assert_eq!(slots.available_permits(), 2);
    }
}
