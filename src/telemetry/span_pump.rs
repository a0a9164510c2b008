//! Takes waiting calls, makes spans of them and exports them in batches, until it is stopped.
//!
//! Invariants: an export that fails or takes too long loses its batch, which is counted; every loss, also at the
//! queue, is said in the log after the next export; once stopped it ends within `TELEMETRY_FLUSH_MS`.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanExporter;
use tokio_util::sync::CancellationToken;

use super::complaint::Complaint;
use super::export::Losses;
use super::settings::Batch;
use super::span_data::Weaver;
use super::span_queue::{SpanQueue, Waiting};
use crate::limits;

/// What a pump works with.
pub(super) struct Parts {
    pub(super) queue: Arc<SpanQueue>,
    pub(super) batch: Batch,
    pub(super) losses: Arc<Losses>,
    pub(super) stop: CancellationToken,
    pub(super) resource: Resource,
}

/// Runs until `parts.stop`, and a little longer for what still waits then.
pub(super) async fn run<E: SpanExporter>(mut exporter: E, parts: Parts) {
    exporter.set_resource(&parts.resource);
    let flushed = async {
        parts.stop.cancelled().await;
        tokio::time::sleep(Duration::from_millis(limits::TELEMETRY_FLUSH_MS)).await;
    };
    tokio::select! {
        () = pump(&exporter, &parts) => {}
        () = flushed => {}
    }
    parts.queue.close();
}

async fn pump<E: SpanExporter>(exporter: &E, parts: &Parts) {
    let weaver = Weaver::new();
    let mut complaint = Complaint::new("spans");
    loop {
        tokio::select! {
            () = tokio::time::sleep(parts.batch.delay) => {}
            () = parts.queue.filled() => {}
            () = parts.stop.cancelled() => {}
        }
        let stopping = parts.stop.is_cancelled();
        loop {
            let (waiting, spans) = parts.queue.take();
            if waiting.is_empty() {
                break;
            }
            let lost = Lost { losses: &parts.losses, spans: spans as u64 };
            match export(exporter, &weaver, waiting, parts.batch.timeout).await {
                Ok(()) => lost.none(),
                Err(why) => {
                    parts.losses.span_exports_failed.fetch_add(1, Relaxed);
                    drop(lost);
                    complaint.about(&why, parts.losses.spans_dropped());
                }
            }
            complaint.about_lost(parts.losses.spans_dropped());
        }
        if stopping {
            return;
        }
    }
}

async fn export<E: SpanExporter>(
    exporter: &E,
    weaver: &Weaver,
    waiting: Vec<Waiting>,
    timeout: Duration,
) -> Result<(), String> {
    let mut spans = Vec::new();
    for item in &waiting {
        match item {
            Waiting::Call(call) => weaver.call(call, &mut spans),
            Waiting::Child(call, child) => weaver.child(call, child, &mut spans),
        }
    }
    drop(waiting);
    match tokio::time::timeout(timeout, exporter.export(spans)).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err("the receiver took too long".to_owned()),
    }
}

/// Spans that are under way: lost, unless they arrive.
struct Lost<'a> {
    losses: &'a Losses,
    spans: u64,
}

impl Lost<'_> {
    fn none(mut self) {
        self.losses.exported.fetch_add(std::mem::take(&mut self.spans), Relaxed);
    }
}

impl Drop for Lost<'_> {
    fn drop(&mut self) {
        self.losses.spans.fetch_add(self.spans, Relaxed);
    }
}
