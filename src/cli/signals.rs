//! The signals that a serving process heeds: TERM and INT end it, HUP reloads.
//!
//! Invariant: from the moment [`Signals`] is made no such signal is lost.

use tokio::signal::unix::{Signal as Receiver, SignalKind, signal};

use super::Failure;
use super::serve::Running;

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Drain and end.
    End,
    /// Read the configuration again.
    Reload,
}

/// Receives them.
pub(crate) struct Signals {
    term: Receiver,
    int: Receiver,
    hup: Receiver,
}

/// Writing beyond a limit of file sizes fails from now on, as writing on a full disk does, and doesn't end the process.
pub(crate) fn outlive_file_limits() -> Result<(), Failure> {
    let failed = |error| Failure::new(format!("signals can't be received: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(failed)?;
    let _inside = runtime.enter();
    // Whoever listens once has it handled for good; that it came is nobody's news.
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop).map_err(failed)
}

impl Signals {
    /// From now on signals are kept until they are looked at.
    pub(crate) fn new() -> Result<Self, Failure> {
        let receive = |kind| signal(kind).map_err(|error| Failure::new(format!("signals can't be received: {error}")));
        Ok(Self {
            term: receive(SignalKind::terminate())?,
            int: receive(SignalKind::interrupt())?,
            hup: receive(SignalKind::hangup())?,
        })
    }

    /// The next one; also ends when `running` was stopped otherwise.
    pub(crate) async fn next(&mut self, running: &Running) -> Signal {
        tokio::select! {
            _ = self.term.recv() => Signal::End,
            _ = self.int.recv() => Signal::End,
            () = running.stopped() => Signal::End,
            _ = self.hup.recv() => Signal::Reload,
        }
    }
}
