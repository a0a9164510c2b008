//! Reads the metrics at intervals and exports them, until it is stopped.
//!
//! Invariant: an export that fails or takes too long is given up and counted; the next one tells the sums anew, so nothing
//! is lost by it.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use opentelemetry_otlp::MetricExporter;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::reader::MetricReader;
use opentelemetry_sdk::metrics::{InstrumentKind, ManualReader, Pipeline as SdkPipeline, Temporality};
use tokio_util::sync::CancellationToken;

use super::complaint::Complaint;
use super::export::Losses;
use super::otlp;
use super::settings::Destination;
use crate::limits;

/// What a pump works with.
pub(super) struct Parts {
    pub(super) to: Destination,
    pub(super) reader: Arc<ManualReader>,
    pub(super) interval: Duration,
    pub(super) timeout: Duration,
    pub(super) losses: Arc<Losses>,
    pub(super) stop: CancellationToken,
}

/// A reader that the provider and the pump both hold.
#[derive(Debug, Clone)]
pub(super) struct SharedReader(pub(super) Arc<ManualReader>);

/// The pump of `parts`, if its exporter can be built.
pub(super) fn start(parts: Parts) -> Result<BoxFuture<'static, ()>, String> {
    let exporter = otlp::metrics(&parts.to).map_err(|why| format!("metrics can't be exported: {why}"))?;
    Ok(run(exporter, parts).boxed())
}

async fn run(exporter: MetricExporter, parts: Parts) {
    let flushed = async {
        parts.stop.cancelled().await;
        tokio::time::sleep(Duration::from_millis(limits::TELEMETRY_FLUSH_MS)).await;
    };
    tokio::select! {
        () = pump(&exporter, &parts) => {}
        () = flushed => {}
    }
}

async fn pump(exporter: &MetricExporter, parts: &Parts) {
    let mut complaint = Complaint::new("metrics");
    let mut metrics = ResourceMetrics::default();
    loop {
        tokio::select! {
            () = tokio::time::sleep(parts.interval) => {}
            () = parts.stop.cancelled() => {}
        }
        let stopping = parts.stop.is_cancelled();
        if parts.reader.collect(&mut metrics).is_ok() {
            let exported = match tokio::time::timeout(parts.timeout, exporter.export(&metrics)).await {
                Ok(done) => done.map_err(|error| error.to_string()),
                Err(_) => Err("the receiver took too long".to_owned()),
            };
            if let Err(why) = exported {
                parts.losses.metric_exports_failed.fetch_add(1, Relaxed);
                complaint.about(&why, 0);
            }
        }
        if stopping {
            return;
        }
    }
}

impl MetricReader for SharedReader {
    fn register_pipeline(&self, pipeline: Weak<SdkPipeline>) {
        self.0.register_pipeline(pipeline);
    }

    fn collect(&self, metrics: &mut ResourceMetrics) -> OTelSdkResult {
        self.0.collect(metrics)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn temporality(&self, kind: InstrumentKind) -> Temporality {
        self.0.temporality(kind)
    }
}
