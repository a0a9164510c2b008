//! Export by OTLP: the spans of finished calls, and the metrics of one provider.
//!
//! It runs on one thread, `codeyard-telemetry`, with a runtime of its own, which starts only if the environment names a receiver.
//! `docs/internals/decisions/telemetry-export.md` says why the SDK's processors aren't used. Invariants: a call never waits for an export;
//! queues are bounded; losses are counted and logged at most once a minute; the end is bounded too, whatever the receiver does.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Meter, MeterProvider as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{ManualReader, MeterProviderBuilder, SdkMeterProvider};
use opentelemetry_sdk::resource::TelemetryResourceDetector;
use opentelemetry_sdk::trace::SpanExporter;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::losses::Losses;
use super::metric_pump::{self, SharedReader};
use super::settings::Settings;
use super::span_pump;
use super::span_queue::SpanQueue;
use super::{names, otlp};
use crate::limits;
use codeyard_base::priority::give_way;

/// Time that the telemetry thread has to end after that, in milliseconds.
const TELEMETRY_END_MS: u64 = 500;

/// The process's export as the environment configures it. Built once, when the service is assembled.
pub struct Pipeline {
    meters: SdkMeterProvider,
    spans: Option<Arc<SpanQueue>>,
    losses: Arc<Losses>,
    stop: CancellationToken,
    ended: Mutex<Option<mpsc::Receiver<()>>>,
}

/// A pump: runs until it is stopped.
type Pump = BoxFuture<'static, ()>;

impl Pipeline {
    /// Exports to the receivers that `settings` names. `readers` adds readers and views to the meter provider. The second value holds a
    /// warning for each part that can't be set up and is left out.
    pub fn start(
        settings: &Settings,
        readers: impl FnOnce(MeterProviderBuilder) -> MeterProviderBuilder,
    ) -> (Self, Vec<String>) {
        let traces = settings.traces.clone();
        Self::launch(settings, readers, move |parts| {
            let exporter = otlp::spans(&traces?).map_err(|why| format!("traces can't be exported: {why}"));
            Some(exporter.map(|exporter| span_pump::run(exporter, parts).boxed()))
        })
    }

    /// Exports spans to `exporter`, whatever receiver `settings` names.
    pub fn start_with<E: SpanExporter + 'static>(
        settings: &Settings,
        exporter: E,
        readers: impl FnOnce(MeterProviderBuilder) -> MeterProviderBuilder,
    ) -> (Self, Vec<String>) {
        Self::launch(settings, readers, move |parts| Some(Ok(span_pump::run(exporter, parts).boxed())))
    }

    fn launch(
        settings: &Settings,
        readers: impl FnOnce(MeterProviderBuilder) -> MeterProviderBuilder,
        spans: impl FnOnce(span_pump::SpanPumpParts) -> Option<Result<Pump, String>> + Send + 'static,
    ) -> (Self, Vec<String>) {
        let losses = Arc::new(Losses::default());
        let stop = CancellationToken::new();
        let resource = resource(settings);
        let reader = settings.metrics.as_ref().map(|_| Arc::new(ManualReader::builder().build()));
        let mut builder = SdkMeterProvider::builder().with_resource(resource.clone());
        if let Some(reader) = &reader {
            builder = builder.with_reader(SharedReader(reader.clone()));
        }
        let meters = readers(builder).build();
        let queue = Arc::new(SpanQueue::new(settings.sampler, settings.batch, losses.clone()));
        let parts = span_pump::SpanPumpParts {
            queue: queue.clone(),
            batch: settings.batch,
            losses: losses.clone(),
            stop: stop.clone(),
            resource,
        };
        let metrics = settings.metrics.clone().zip(reader).map(|(to, reader)| metric_pump::MetricPumpParts {
            to,
            reader,
            interval: settings.metric_interval,
            timeout: settings.metric_timeout,
            losses: losses.clone(),
            stop: stop.clone(),
        });
        let build = move || {
            let metrics = metrics.map(metric_pump::start);
            (spans(parts), metrics)
        };
        let started = run_thread(build);
        let mut pipeline = Self { meters, spans: None, losses, stop, ended: Mutex::new(None) };
        match started {
            Ok((ended, exports_spans, warnings)) => {
                pipeline.spans = exports_spans.then_some(queue);
                pipeline.ended = Mutex::new(Some(ended));
                (pipeline, warnings)
            }
            Err(why) => (pipeline, vec![format!("telemetry can't be exported: {why}")]),
        }
    }

    /// The meter that creates instruments.
    pub fn meter(&self) -> Meter {
        self.meters.meter(names::SCOPE)
    }

    /// The losses so far.
    pub fn losses(&self) -> Arc<Losses> {
        self.losses.clone()
    }

    pub(super) fn spans(&self) -> Option<Arc<SpanQueue>> {
        self.spans.clone()
    }

    /// Exports the rest of the queues, for at most [`limits::TELEMETRY_FLUSH_MS`], and ends. Blocks as long. A second call does nothing.
    pub fn shutdown(&self) {
        self.stop.cancel();
        if let Some(ended) = self.ended.lock().take() {
            let patience = Duration::from_millis(limits::TELEMETRY_FLUSH_MS + TELEMETRY_END_MS);
            // A thread that takes longer is abandoned: the process is about to end.
            ended.recv_timeout(patience).ok();
        }
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The channel of the thread's end, whether spans are exported, and warnings.
type StartedThread = (mpsc::Receiver<()>, bool, Vec<String>);
type BuiltPumps = (Option<Result<Pump, String>>, Option<Result<Pump, String>>);

/// Starts the thread, builds the pumps on it, and runs them. Without pumps the thread ends at once.
fn run_thread(build: impl FnOnce() -> BuiltPumps + Send + 'static) -> std::io::Result<StartedThread> {
    let (built_tx, built_rx) = mpsc::channel();
    let (ended_tx, ended_rx) = mpsc::channel();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let work = move || {
        give_way();
        let inside = runtime.enter();
        let (spans, metrics) = build();
        drop(inside);
        let mut pumps = Vec::new();
        let mut warnings = Vec::new();
        let exports_spans = matches!(spans, Some(Ok(_)));
        for built in [spans, metrics].into_iter().flatten() {
            match built {
                Ok(pump) => pumps.push(pump),
                Err(why) => warnings.push(why),
            }
        }
        built_tx.send((exports_spans, warnings)).ok();
        drop(runtime.block_on(futures::future::join_all(pumps)));
        runtime.shutdown_background();
        ended_tx.send(()).ok();
    };
    std::thread::Builder::new().name("codeyard-telemetry".to_owned()).spawn(work)?;
    let (exports_spans, warnings) = built_rx.recv().map_err(std::io::Error::other)?;
    Ok((ended_rx, exports_spans, warnings))
}

fn resource(settings: &Settings) -> Resource {
    let own = [KeyValue::new(names::SERVICE_VERSION, env!("CARGO_PKG_VERSION"))];
    let named = settings.resource.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
    Resource::builder_empty()
        .with_detector(Box::new(TelemetryResourceDetector))
        .with_attributes(own)
        .with_attributes(named)
        .build()
}
