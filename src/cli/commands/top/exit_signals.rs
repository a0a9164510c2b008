//! The signals that end `top`. They are recorded, so that `top` restores the terminal before it exits.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::Failure;
use crate::shared::signals::no_handler;

/// The last received signal; 0 for none.
pub(super) struct ExitSignals(Arc<AtomicI32>);

/// Records TERM, HUP and INT from now on instead of ending the process.
pub(super) fn receive(runtime: &Runtime) -> Result<ExitSignals, Failure> {
    let received = Arc::new(AtomicI32::new(0));
    for kind in [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()] {
        let _inside = runtime.enter();
        let receiver = signal(kind).map_err(|error| no_handler(&error));
        let mut receiver = receiver?;
        let received = received.clone();
        runtime.spawn(async move {
            receiver.recv().await;
            received.store(kind.as_raw_value(), Ordering::Relaxed);
        });
    }
    Ok(ExitSignals(received))
}

impl ExitSignals {
    /// The failure for a received signal: exit code 128 plus its number, as shells expect.
    pub(super) fn failure(&self) -> Option<Failure> {
        let signal = u8::try_from(self.0.load(Ordering::Relaxed)).ok().filter(|signal| *signal > 0)?;
        Some(Failure { message: format!("ended by signal {signal}"), code: 128_u8.saturating_add(signal) })
    }
}
