//! Collects the metrics at intervals and exports them, until it is stopped.
//!
//! Invariant: an export that fails or takes too long is dropped and counted. Sums are cumulative, so the next export repeats them and
//! nothing is lost.

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

use super::losses::Losses;
use super::rate_limited_warning::RateLimitedWarning;
use super::settings::Destination;
use super::{export_pump, otlp};

pub(super) struct MetricPumpParts {
    pub(super) to: Destination,
    pub(super) reader: Arc<ManualReader>,
    pub(super) interval: Duration,
    pub(super) timeout: Duration,
    pub(super) losses: Arc<Losses>,
    pub(super) stop: CancellationToken,
}

/// A reader that the meter provider and the pump share.
#[derive(Debug, Clone)]
pub(super) struct SharedReader(pub(super) Arc<ManualReader>);

/// Builds the pump.
///
/// # Errors
/// If its exporter can't be built.
pub(super) fn start(parts: MetricPumpParts) -> Result<BoxFuture<'static, ()>, String> {
    let exporter = otlp::metrics(&parts.to).map_err(|why| format!("metrics can't be exported: {why}"))?;
    Ok(run(exporter, parts).boxed())
}

async fn run(exporter: MetricExporter, parts: MetricPumpParts) {
    export_pump::run(&parts.stop, pump(&exporter, &parts)).await;
}

async fn pump(exporter: &MetricExporter, parts: &MetricPumpParts) {
    let mut warning = RateLimitedWarning::new("metrics");
    let mut metrics = ResourceMetrics::default();
    loop {
        let is_last = export_pump::wait(&parts.stop, parts.interval, std::future::pending()).await;
        if parts.reader.collect(&mut metrics).is_ok() {
            let exported = export_pump::export(parts.timeout, exporter.export(&metrics)).await;
            if let Err(reason) = exported {
                parts.losses.metric_exports_failed.fetch_add(1, Relaxed);
                warning.export_failed(&reason, 0);
            }
        }
        if is_last {
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
