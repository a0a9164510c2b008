//! The byte budget of the diagnostics that language servers have reported, shared by all servers.
//!
//! It counts bytes and drops; it holds no diagnostics itself. Invariants: one server holds at most [`limits::MAX_SERVER_DIAGNOSTICS_BYTES`];
//! a server below [`limits::SERVER_DIAGNOSTICS_SHARE_BYTES`] always gets room; above that, all servers together hold at most
//! [`limits::MAX_DIAGNOSTICS_BYTES`]. Freed memory is returned to the operating system soon after.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;

use crate::heap_trim;
use crate::limits;
use codeyard_base::blocking;
use codeyard_base::clock::Instant;
use codeyard_base::seeded_faults;

/// Why reported diagnostics aren't kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropReason {
    /// The list of one file is too long or too large.
    FileTooLarge,
    /// The server has reported more than one server may.
    ServerBudget,
    /// All servers together have reported more than is kept.
    TotalBudget,
    /// The server has reported on more files than are kept.
    TooManyFiles,
    /// Events of the server were lost, so what it reported before may be out of date.
    EventsLost,
}

/// The reasons as [`DiagnosticsBudget::dropped`] names them, in the order of [`DropReason`].
const REASONS: [&str; 5] = ["file_too_large", "server_budget", "total_budget", "too_many_files", "events_lost"];

impl DropReason {
    /// The reason in metrics.
    pub fn as_str(self) -> &'static str {
        REASONS[self as usize]
    }
}

/// The bytes of diagnostics that all language servers hold.
#[derive(Debug, Default)]
pub struct DiagnosticsBudget {
    held: AtomicUsize,
    dropped: [AtomicU64; REASONS.len()],
    /// Freed since the heap was trimmed last.
    freed: AtomicUsize,
    is_trim_due: AtomicBool,
    warned: Mutex<Option<Instant>>,
}

impl DiagnosticsBudget {
    /// Bytes held now.
    pub fn held(&self) -> usize {
        self.held.load(Relaxed)
    }

    /// How many lists were dropped so far, by reason.
    pub fn dropped(&self) -> Vec<(&'static str, u64)> {
        REASONS.iter().zip(&self.dropped).map(|(reason, count)| (*reason, count.load(Relaxed))).collect()
    }

    /// Counts dropped lists, and returns whether a warning about them is due: at most one in [`limits::DROP_WARNING_MS`].
    pub(in crate::server) fn count(&self, reason: DropReason, lists: usize) -> bool {
        self.dropped[reason as usize].fetch_add(lists as u64, Relaxed);
        let mut warned = self.warned.lock();
        let now = Instant::now();
        let pause = Duration::from_millis(limits::DROP_WARNING_MS);
        let is_due = warned.is_none_or(|last| now.saturating_duration_since(last) >= pause);
        if is_due {
            *warned = Some(now);
        }
        is_due
    }

    /// Memory of diagnostics was freed. The allocator would keep it; it is returned once enough has come together.
    pub(in crate::server) fn freed(self: &Arc<Self>, bytes: usize) {
        let freed = self.freed.fetch_add(bytes, Relaxed) + bytes;
        if freed < limits::TRIM_AFTER_BYTES || self.is_trim_due.swap(true, Relaxed) {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            self.is_trim_due.store(false, Relaxed);
            return;
        };
        let budget = self.clone();
        runtime.spawn(async move {
            // A flood frees memory all the time. One trim serves all that was freed meanwhile.
            tokio::time::sleep(Duration::from_millis(limits::TRIM_DELAY_MS)).await;
            budget.freed.store(0, Relaxed);
            budget.is_trim_due.store(false, Relaxed);
            drop(blocking::spawn(heap_trim::now));
        });
    }

    fn take(&self, bytes: usize, is_guaranteed: bool) -> bool {
        let within =
            |held: usize| (is_guaranteed || held + bytes <= limits::MAX_DIAGNOSTICS_BYTES).then(|| held + bytes);
        self.held.fetch_update(Relaxed, Relaxed, within).is_ok()
    }
}

/// The part of the budget that one server holds. Dropping it gives the part back.
#[derive(Debug)]
pub(in crate::server) struct BudgetShare {
    budget: Arc<DiagnosticsBudget>,
    held: usize,
}

impl BudgetShare {
    /// An empty part.
    pub(in crate::server) fn new(budget: Arc<DiagnosticsBudget>) -> Self {
        Self { budget, held: 0 }
    }

    /// The whole budget.
    pub(in crate::server) fn budget(&self) -> &Arc<DiagnosticsBudget> {
        &self.budget
    }

    /// Takes `bytes`, or says which bound is in the way.
    pub(in crate::server) fn take(&mut self, bytes: usize) -> Result<(), DropReason> {
        let own = self.held + bytes;
        if seeded_faults::is_on("diagnostics_unbounded") {
            return Ok(());
        }
        if own > limits::MAX_SERVER_DIAGNOSTICS_BYTES {
            return Err(DropReason::ServerBudget);
        }
        if !self.budget.take(bytes, own <= limits::SERVER_DIAGNOSTICS_SHARE_BYTES) {
            return Err(DropReason::TotalBudget);
        }
        self.held = own;
        Ok(())
    }

    /// Gives `bytes` back.
    pub(in crate::server) fn release(&mut self, bytes: usize) {
        self.held -= bytes;
        self.budget.held.fetch_sub(bytes, Relaxed);
        self.budget.freed(bytes);
    }
}

impl Drop for BudgetShare {
    fn drop(&mut self) {
        self.release(self.held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_server_gets_room_however_much_the_others_hold() {
        let budget = Arc::<DiagnosticsBudget>::default();
        let full = limits::MAX_DIAGNOSTICS_BYTES / limits::MAX_SERVER_DIAGNOSTICS_BYTES;
        let mut large: Vec<_> = (0..full).map(|_| BudgetShare::new(budget.clone())).collect();
        for share in &mut large {
            assert_eq!(share.take(limits::MAX_SERVER_DIAGNOSTICS_BYTES), Ok(()));
            assert_eq!(share.take(1), Err(DropReason::ServerBudget));
        }
        let mut small = BudgetShare::new(budget.clone());
        assert_eq!(small.take(limits::SERVER_DIAGNOSTICS_SHARE_BYTES), Ok(()));
        assert_eq!(small.take(1), Err(DropReason::TotalBudget));
        drop(large);
        assert_eq!(small.take(1), Ok(()));
        assert_eq!(budget.held(), limits::SERVER_DIAGNOSTICS_SHARE_BYTES + 1);
        drop(small);
        assert_eq!(budget.held(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn warnings_are_rare_and_drops_are_counted() {
        let budget = DiagnosticsBudget::default();
        assert!(budget.count(DropReason::ServerBudget, 1));
        assert!(!budget.count(DropReason::EventsLost, 3));
        tokio::time::advance(Duration::from_millis(limits::DROP_WARNING_MS)).await;
        assert!(budget.count(DropReason::ServerBudget, 1));
        assert!(budget.dropped().contains(&("server_budget", 2)) && budget.dropped().contains(&("events_lost", 3)));
    }
}
