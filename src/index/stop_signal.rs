//! The signal that stops a job.
//!
//! tokio-util's `CancellationToken` has no blocking wait with a timeout, and jobs run on plain threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Stops jobs. Cheap to clone; all clones are the same signal.
#[derive(Debug, Clone, Default)]
pub struct StopSignal(Arc<StopState>);

#[derive(Debug, Default)]
struct StopState {
    is_set: AtomicBool,
    lock: Mutex<()>,
    condvar: Condvar,
}

impl StopSignal {
    /// Stops the job.
    pub fn set(&self) {
        self.0.is_set.store(true, Ordering::SeqCst);
        let _held = self.0.lock.lock();
        self.0.condvar.notify_all();
    }

    /// Whether the signal is set.
    pub fn is_set(&self) -> bool {
        self.0.is_set.load(Ordering::Relaxed)
    }

    /// Waits for this time or until the signal is set. Returns whether it is set.
    pub(crate) fn wait(&self, time: Duration) -> bool {
        let mut held = self.0.lock.lock();
        if !self.is_set() {
            self.0.condvar.wait_for(&mut held, time);
        }
        self.is_set()
    }
}
