//! The signals that a serving process handles: TERM and INT end it, HUP reloads the configuration.
//!
//! Invariant: no such signal is lost once [`ControlSignals`] exists.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::Failure;
use crate::shared::listeners::Listeners;

/// What a received signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ControlSignal {
    /// Drain and exit.
    Stop,
    /// Read the configuration again.
    Reload,
}

/// Receives TERM, INT and HUP.
pub(crate) struct ControlSignals {
    term: Signal,
    int: Signal,
    hup: Signal,
}

/// Ignores SIGXFSZ from now on: a write beyond the file size limit then fails with an error, as on a full disk, instead of ending
/// the process.
pub(crate) fn ignore_file_size_signal() -> Result<(), Failure> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(|error| no_handler(&error))?;
    let _inside = runtime.enter();
    // tokio keeps its handler for the rest of the process, even when the receiver is dropped.
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop).map_err(|error| no_handler(&error))
}

/// The failure of a command that cannot install a signal handler.
pub(crate) fn no_handler(error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot install a signal handler: {error}"))
}

impl ControlSignals {
    /// Installs the handlers. Signals are queued from now on.
    pub(crate) fn new() -> Result<Self, Failure> {
        let receive = |kind| signal(kind).map_err(|error| no_handler(&error));
        Ok(Self {
            term: receive(SignalKind::terminate())?,
            int: receive(SignalKind::interrupt())?,
            hup: receive(SignalKind::hangup())?,
        })
    }

    /// The next request. Also returns [`ControlSignal::Stop`] when `listeners` were stopped in another way.
    pub(crate) async fn next(&mut self, listeners: &Listeners) -> ControlSignal {
        tokio::select! {
            _ = self.term.recv() => ControlSignal::Stop,
            _ = self.int.recv() => ControlSignal::Stop,
            () = listeners.stopped() => ControlSignal::Stop,
            _ = self.hup.recv() => ControlSignal::Reload,
        }
    }
}
