//! The accept loop that all listeners of this crate share, and the end of their connections.
//!
//! Invariants: while the cap is reached no connection is accepted, so the kernel's backlog holds the others; a failing
//! `accept` is retried after a pause and never ends the loop.

use std::io;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Pause after a failed `accept`, such as one without free file descriptors.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections until `shutdown` while fewer than `cap` are open. `serve` gets each of them and spawns its task.
/// `listener` names the listener in log messages. Returns the tasks that still run.
pub(crate) async fn accept_until_shutdown<T, F>(
    listener: &'static str,
    cap: usize,
    shutdown: &CancellationToken,
    accept: impl Fn() -> F,
    mut serve: impl FnMut(T, &mut JoinSet<()>),
) -> JoinSet<()>
where
    F: Future<Output = io::Result<T>>,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => return connections,
            Some(_) = connections.join_next() => {}
            accepted = accept(), if connections.len() < cap => match accepted {
                Ok(accepted) => serve(accepted, &mut connections),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection to the {listener}");
                    sleep(RETRY_PAUSE).await;
                }
            },
        }
    }
}

/// Waits until `connections` have ended, at most for `limit`, and aborts the rest.
pub(crate) async fn drain(mut connections: JoinSet<()>, limit: Duration) {
    let ended = async { while connections.join_next().await.is_some() {} };
    // A timeout is no error: the rest is aborted.
    let _ = timeout(limit, ended).await;
    connections.shutdown().await;
}
