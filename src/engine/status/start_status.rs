//! The start of one language server as calls see it: whether a call needs it, and when to ask again.
//!
//! The actor writes it, calls read it through the server's state. Invariant: it never holds a place in the queue.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::admission::start_queue::StartPlace;
use codeyard_base::clock::Instant;

/// A server that takes longer than usual is asked again after this part of the time it has taken so far.
const OVERDUE_PART: u32 = 4;

/// The status of a start. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct StartStatus(Arc<Mutex<Start>>);

#[derive(Debug, Default)]
struct Start {
    is_needed: bool,
    place: Option<StartPlace>,
    admitted: Option<Instant>,
}

impl StartStatus {
    /// A call needs the server: its start comes before those that none needs.
    pub fn need(&self) {
        let mut start = self.0.lock();
        start.is_needed = true;
        if let Some(place) = &start.place {
            place.need();
        }
    }

    /// Whether a call needs the server.
    pub(crate) fn is_needed(&self) -> bool {
        self.0.lock().is_needed
    }

    /// The start joined the queue.
    pub(crate) fn joined(&self, place: StartPlace) {
        let mut start = self.0.lock();
        if start.is_needed {
            place.need();
        }
        (start.place, start.admitted) = (Some(place), None);
    }

    /// The start was admitted.
    pub(crate) fn admitted(&self) {
        self.0.lock().admitted = Some(Instant::now());
    }

    /// The server is ready for the first time since its start was admitted.
    pub(crate) fn ready(&self) {
        let start = self.0.lock();
        if let (Some(place), Some(admitted)) = (&start.place, start.admitted) {
            place.record_ready(admitted.elapsed());
        }
    }

    /// The number of starts before this one; `None` if it doesn't wait for others.
    pub fn ahead(&self) -> Option<usize> {
        self.0.lock().place.as_ref()?.ahead()
    }

    /// How long a start of its kind takes until the server is ready. `None`: it was never in the queue.
    pub fn usual(&self) -> Option<Duration> {
        Some(self.0.lock().place.as_ref()?.expected_ready())
    }

    /// The time until the server is expected to be ready, from the starts before it and the measured times of its kind. `None` if it
    /// isn't in the queue yet.
    pub fn expected_ready(&self) -> Option<Duration> {
        let now = Instant::now();
        let start = self.0.lock();
        let place = start.place.as_ref()?;
        let usual = place.expected_ready();
        Some(match start.admitted {
            Some(admitted) => {
                let elapsed = now.saturating_duration_since(admitted);
                usual.checked_sub(elapsed).unwrap_or(elapsed / OVERDUE_PART)
            }
            None => place.expected_wait(now).unwrap_or_default() + usual,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::start_queue::StartQueue;
    use codeyard_base::ids::{ServerKind, WorkspaceName};

    #[tokio::test(start_paused = true)]
    async fn the_expected_time_counts_down_and_grows_when_overdue() {
        let queue = StartQueue::new(1);
        let workspace = WorkspaceName::new("w").unwrap();
        let kind = ServerKind::new("ty");
        let measured = queue.join(&workspace, &kind, true);
        let status = StartStatus::default();
        status.joined(measured.place());
        status.admitted();
        tokio::time::sleep(Duration::from_secs(8)).await;
        status.ready();
        measured.release();

        let first = queue.join(&workspace, &kind, true);
        let status = StartStatus::default();
        assert_eq!(status.expected_ready(), None);
        let unneeded = queue.join(&workspace, &kind, false);
        let ticket = queue.join(&workspace, &kind, false);
        status.joined(ticket.place());
        assert_eq!(status.ahead(), Some(1));
        status.need();
        assert_eq!(status.ahead(), Some(0));
        assert_eq!(status.expected_ready(), Some(Duration::from_secs(16)));
        tokio::time::sleep(Duration::from_secs(8)).await;
        first.release();
        status.admitted();
        assert_eq!((status.ahead(), status.expected_ready()), (None, Some(Duration::from_secs(8))));
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(status.expected_ready(), Some(Duration::from_secs(5)));
        tokio::time::sleep(Duration::from_secs(9)).await;
        assert_eq!(status.expected_ready(), Some(Duration::from_secs(3)), "it has taken 12 s so far");
        drop((ticket, unneeded));
    }
}
