//! Signals that end `top`, so that it can put the terminal right before it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::Failure;

/// The signal that came, if one came.
pub(super) struct Ending(Arc<AtomicI32>);

/// From now on TERM, HUP and INT are noted instead of ending the process.
pub(super) fn receive(runtime: &Runtime) -> Result<Ending, Failure> {
    let came = Arc::new(AtomicI32::new(0));
    for kind in [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()] {
        let _inside = runtime.enter();
        let receiver = signal(kind).map_err(|error| Failure::new(format!("signals can't be received: {error}")));
        let (mut receiver, came) = (receiver?, came.clone());
        runtime.spawn(async move {
            receiver.recv().await;
            came.store(kind.as_raw_value(), Ordering::Relaxed);
        });
    }
    Ok(Ending(came))
}

impl Ending {
    /// How the command ends by the signal that came: by convention with 128 and its number.
    pub(super) fn failure(&self) -> Option<Failure> {
        let signal = u8::try_from(self.0.load(Ordering::Relaxed)).ok().filter(|signal| *signal > 0)?;
        Some(Failure { message: format!("ended by signal {signal}"), code: 128_u8.saturating_add(signal) })
    }
}
