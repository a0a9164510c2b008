//! Takes queued calls, builds their spans and exports them in batches, until it is stopped.
//!
//! Invariants: an export that fails or takes too long loses its batch, which is counted; every loss, also one at the queue, is
//! logged after the next export.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanExporter;
use tokio_util::sync::CancellationToken;

use super::export_pump;
use super::losses::Losses;
use super::rate_limited_warning::RateLimitedWarning;
use super::settings::Batch;
use super::span_builder::SpanBuilder;
use super::span_queue::{QueuedCall, SpanQueue};

pub(super) struct SpanPumpParts {
    pub(super) queue: Arc<SpanQueue>,
    pub(super) batch: Batch,
    pub(super) losses: Arc<Losses>,
    pub(super) stop: CancellationToken,
    pub(super) resource: Resource,
}

/// Runs until `parts.stop`, then exports the rest of the queue.
pub(super) async fn run<E: SpanExporter>(mut exporter: E, parts: SpanPumpParts) {
    exporter.set_resource(&parts.resource);
    export_pump::run(&parts.stop, pump(&exporter, &parts)).await;
    parts.queue.close();
}

async fn pump<E: SpanExporter>(exporter: &E, parts: &SpanPumpParts) {
    let builder = SpanBuilder::new();
    let mut warning = RateLimitedWarning::new("spans");
    loop {
        let is_last = export_pump::wait(&parts.stop, parts.batch.delay, parts.queue.filled()).await;
        loop {
            let (queued, spans) = parts.queue.take();
            if queued.is_empty() {
                break;
            }
            let pending = PendingSpans { losses: &parts.losses, spans: spans as u64 };
            match export(exporter, &builder, queued, parts.batch.timeout).await {
                Ok(()) => pending.arrived(),
                Err(reason) => {
                    drop(pending);
                    warning.export_failed(&reason, parts.losses.spans_dropped());
                }
            }
            warning.spans_lost(parts.losses.spans_dropped());
        }
        if is_last {
            return;
        }
    }
}

async fn export<E: SpanExporter>(
    exporter: &E,
    builder: &SpanBuilder,
    queued: Vec<QueuedCall>,
    timeout: Duration,
) -> Result<(), String> {
    let mut spans = Vec::new();
    for item in &queued {
        match item {
            QueuedCall::Ended(call) => builder.call(call, &mut spans),
            QueuedCall::LateChild(call, child) => builder.child(call, child, &mut spans),
            QueuedCall::Work(ended) => spans.push(builder.work(ended)),
        }
    }
    drop(queued);
    export_pump::export(timeout, exporter.export(spans)).await
}

/// Spans that are being exported. They count as lost when this is dropped before [`Self::arrived`].
struct PendingSpans<'a> {
    losses: &'a Losses,
    spans: u64,
}

impl PendingSpans<'_> {
    fn arrived(mut self) {
        self.losses.exported.fetch_add(std::mem::take(&mut self.spans), Relaxed);
    }
}

impl Drop for PendingSpans<'_> {
    fn drop(&mut self) {
        self.losses.spans.fetch_add(self.spans, Relaxed);
    }
}
