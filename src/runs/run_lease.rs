//! Which runs are open in this process: one holder at a time, so that two never write one log.
//!
//! The folder of runs belongs to one process (see [`crate::run_host::RunHost`]), so this needs no file. Invariant: a lease is given up when its holder
//! is dropped, whatever else fails.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::run_id::RunId;

#[derive(Debug, Clone, Default)]
pub(crate) struct RunLeases(Arc<Mutex<BTreeSet<RunId>>>);

/// The right to write a run. Dropping it gives it up.
#[derive(Debug)]
pub(crate) struct RunLease {
    leases: RunLeases,
    run: RunId,
}

impl RunLeases {
    /// The lease of a run; `None` while somebody else holds it.
    pub(crate) fn take(&self, run: &RunId) -> Option<RunLease> {
        let is_free = self.0.lock().insert(run.clone());
        is_free.then(|| RunLease { leases: self.clone(), run: run.clone() })
    }
}

impl Drop for RunLease {
    fn drop(&mut self) {
        self.leases.0.lock().remove(&self.run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_one_holder_at_a_time() {
        let leases = RunLeases::default();
        let one = RunId::new(0, 1);
        let other = RunId::new(0, 2);
        let first = leases.take(&one).unwrap();
        assert!(leases.take(&one).is_none() && leases.take(&other).is_some());
        drop(first);
        assert!(leases.take(&one).is_some());
    }
}
