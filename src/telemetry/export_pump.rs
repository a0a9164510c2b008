//! What the pumps of spans and of metrics share: the end, the wait for the next export, and the time of one export.
//!
//! Invariants: once stopped a pump ends within `TELEMETRY_FLUSH_MS`; an export ends within its timeout.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::limits;

/// Runs `pump` until it ends, but no longer than `TELEMETRY_FLUSH_MS` after `stop`.
pub(super) async fn run(stop: &CancellationToken, pump: impl Future<Output = ()>) {
    let flush_time_is_over = async {
        stop.cancelled().await;
        tokio::time::sleep(Duration::from_millis(limits::TELEMETRY_FLUSH_MS)).await;
    };
    tokio::select! {
        () = pump => {}
        () = flush_time_is_over => {}
    }
}

/// Waits for the next export: until `interval` has passed, `is_due` ends, or `stop`. Returns whether the pump is to stop after it.
pub(super) async fn wait(stop: &CancellationToken, interval: Duration, is_due: impl Future<Output = ()>) -> bool {
    tokio::select! {
        () = tokio::time::sleep(interval) => {}
        () = is_due => {}
        () = stop.cancelled() => {}
    }
    stop.is_cancelled()
}

/// The outcome of an export that may take `timeout`.
pub(super) async fn export<E: std::fmt::Display>(
    timeout: Duration,
    export: impl Future<Output = Result<(), E>>,
) -> Result<(), String> {
    match tokio::time::timeout(timeout, export).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err("the receiver took too long".to_owned()),
    }
}
