//! When a query must end: at a time, or as soon as nobody waits for it any more.
//!
//! Invariant: an end that is reached stays reached.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use codeyard_base::clock::Instant;

/// The end of a query.
#[derive(Debug, Clone, Default)]
pub struct QueryEnd {
    is_cancelled: Arc<AtomicBool>,
    /// `None`: it takes the time that it needs.
    at: Option<Instant>,
}

impl QueryEnd {
    /// The end at this time; earlier if the flag becomes true.
    pub fn new(is_cancelled: Arc<AtomicBool>, at: Instant) -> Self {
        Self { is_cancelled, at: Some(at) }
    }

    /// Whether it is reached.
    pub fn is_reached(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed) || self.at.is_some_and(|at| at <= Instant::now())
    }

    /// The end of a step after which others follow: it may use two thirds of the time that is left.
    pub(super) fn of_step(&self) -> Self {
        let now = Instant::now();
        let at = self.at.map(|at| now + at.saturating_duration_since(now) * 2 / 3);
        Self { is_cancelled: self.is_cancelled.clone(), at }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_step_leaves_time_to_those_after_it_and_ends_with_the_query() {
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let end = QueryEnd::new(is_cancelled.clone(), Instant::now() + Duration::from_millis(900));
        let step = end.of_step();
        tokio::time::advance(Duration::from_millis(599)).await;
        assert!(!step.is_reached() && !end.is_reached());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(step.is_reached() && !end.is_reached());
        let next = end.of_step();
        is_cancelled.store(true, Ordering::Relaxed);
        assert!(next.is_reached() && end.is_reached());
        assert!(!QueryEnd::default().of_step().is_reached());
    }
}
