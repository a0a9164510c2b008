//! The metrics as text for Prometheus.
//!
//! It is a separate reader: a scrape takes nothing from the OTLP export. Invariant: gathering waits for no actor, so a hung workspace
//! never delays a scrape.

use opentelemetry_sdk::metrics::{Instrument, MeterProviderBuilder, Stream};
use prometheus::{Registry, TextEncoder};

use super::Pipeline;
use super::settings::Settings;
use crate::limits::MAX_SERIES;

/// The registry that Prometheus scrapes. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Prometheus(Registry);

impl Prometheus {
    /// The content type of [`Prometheus::render`].
    pub const CONTENT_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// Adds a reader for Prometheus to a provider of meters, and bounds the series of each instrument for all readers.
    fn attach(builder: MeterProviderBuilder) -> (MeterProviderBuilder, Self) {
        let registry = Registry::new();
        let exporter = opentelemetry_prometheus::exporter()
            .with_registry(registry.clone())
            .scope_info_enabled(false)
            .without_target_info()
            .build();
        let builder = builder.with_view(bounded);
        match exporter {
            Ok(exporter) => (builder.with_reader(exporter), Self(registry)),
            Err(error) => {
                tracing::error!(%error, "the Prometheus exporter can't be built; /metrics will be empty");
                (builder, Self(registry))
            }
        }
    }

    /// A pipeline for `settings` with a reader for Prometheus, and a warning for each part that can't be set up.
    pub fn with_pipeline(settings: &Settings) -> (Pipeline, Self, Vec<String>) {
        let mut prometheus = None;
        let (pipeline, warnings) = Pipeline::start(settings, |builder| {
            let (builder, attached) = Self::attach(builder);
            prometheus = Some(attached);
            builder
        });
        (pipeline, prometheus.unwrap_or_else(|| Self(Registry::new())), warnings)
    }

    /// All series in Prometheus's text format. Takes about a millisecond of processor time; call it on a thread that may work so long.
    pub fn render(&self) -> String {
        let mut text = String::new();
        if let Err(error) = TextEncoder::new().encode_utf8(&self.0.gather(), &mut text) {
            tracing::error!(%error, "metrics can't be rendered");
        }
        text
    }
}

/// Bounds the series of an instrument. Further ones are summed up under `otel.metric.overflow`.
fn bounded(_: &Instrument) -> Option<Stream> {
    Stream::builder().with_cardinality_limit(MAX_SERIES).build().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;
    use crate::Observers;

    #[test]
    fn losses_are_exported_by_signal() {
        let (pipeline, prometheus, warnings) = Prometheus::with_pipeline(&Settings::default());
        assert_eq!(warnings, [""; 0]);
        let losses = pipeline.losses();
        losses.register_with(&Observers::new(&pipeline.meter()), None);
        losses.spans.fetch_add(3, Relaxed);
        losses.metric_exports_failed.fetch_add(2, Relaxed);
        let text = prometheus.render();
        for (signal, count) in [("traces", 3), ("metrics", 2), ("logs", 0)] {
            let line = format!("codeyard_telemetry_dropped_total{{codeyard_signal=\"{signal}\"}} {count}\n");
            assert!(text.contains(&line), "{line}{text}");
        }
    }

    #[test]
    fn without_its_pipeline_the_text_is_empty() {
        let (pipeline, prometheus, _) = Prometheus::with_pipeline(&Settings::default());
        drop(pipeline);
        assert_eq!(prometheus.render(), "");
    }
}
