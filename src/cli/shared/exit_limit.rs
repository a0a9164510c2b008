//! Ends a serving process that doesn't end by itself after SIGTERM or SIGINT, whatever is stuck: a thread, the start, the state directory.
//!
//! A thread of its own counts the time, so that no runtime can hold it up. Language servers end with this process: each one's guard sees it.

use std::sync::mpsc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use crate::Failure;
use crate::limits::EXIT_LIMIT_MS;
use crate::shared::logging;
use crate::shared::signals::no_handler;

/// Watches for the signals until it is dropped.
#[must_use = "dropping it ends the watch"]
pub(crate) struct ExitLimit {
    _end: mpsc::Sender<()>,
}

impl ExitLimit {
    /// Begins to watch. From the first signal on, the process has [`EXIT_LIMIT_MS`] to end. Must run inside a tokio runtime.
    pub(crate) fn watch() -> Result<Self, Failure> {
        let receive = |kind| signal(kind).map_err(|error| no_handler(&error));
        let mut term = receive(SignalKind::terminate())?;
        let mut int = receive(SignalKind::interrupt())?;
        let (end, ended) = mpsc::channel::<()>();
        tokio::spawn(async move {
            tokio::select! {
                _ = term.recv() => {}
                _ = int.recv() => {}
            }
            let counting = std::thread::Builder::new().name("exit-limit".into()).spawn(move || {
                let limit = Duration::from_millis(EXIT_LIMIT_MS);
                if ended.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                    tracing::error!("the service did not end in time; what is stuck ends with this process");
                    logging::flush();
                    codeyard_process::confined::end_all();
                    std::process::exit(0);
                }
            });
            if let Err(error) = counting {
                tracing::warn!(%error, "the time until the exit can't be bounded");
            }
        });
        Ok(Self { _end: end })
    }
}
