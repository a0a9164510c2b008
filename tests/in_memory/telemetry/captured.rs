//! An exporter that keeps spans, and a textual form of spans.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use codeyard_telemetry::Pipeline;
use codeyard_telemetry::settings::Settings;
use opentelemetry::trace::{SpanId, Status};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use parking_lot::Mutex;

use crate::engine::harness::{Plan, Yard};

/// Attributes whose values differ from run to run.
const VOLATILE: [&str; 5] =
    ["codeyard.epochs", "codeyard.queue_ms", "codeyard.server_ms", "codeyard.bytes", "codeyard.index_ms"];

/// Buffer of a log.
#[derive(Clone, Default)]
pub(crate) struct Memory(pub Arc<Mutex<Vec<u8>>>);

impl io::Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Caught(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Caught {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().extend(batch);
        Ok(())
    }
}

impl Caught {
    /// What has been exported.
    pub(crate) fn spans(&self) -> Vec<SpanData> {
        self.0.lock().clone()
    }
}

/// A service whose spans are captured.
pub(crate) struct Watched {
    pub yard: Yard,
    pub pipeline: Arc<Pipeline>,
    captured: Caught,
}

impl Watched {
    pub(crate) async fn open(plan: Plan, settings: Settings) -> Self {
        let captured = Caught::default();
        let (pipeline, warnings) = Pipeline::start_with(&settings, captured.clone(), |builder| builder);
        assert_eq!(warnings, Vec::<String>::new());
        let pipeline = Arc::new(pipeline);
        let for_calls = pipeline.clone();
        let yard = plan.telemetry_setup(move |telemetry| telemetry.with_spans(&for_calls)).open().await;
        Self { yard, pipeline, captured }
    }

    /// Ends the service and returns all spans.
    pub(crate) async fn spans(self) -> Vec<SpanData> {
        let Self { yard, pipeline, captured } = self;
        yard.drain().await;
        pipeline.shutdown();
        assert_eq!(pipeline.losses().spans_dropped(), 0);
        captured.spans()
    }
}

/// Text of all spans without times and random ids: a call's span, then its children in the order of their starts.
pub(crate) fn written(spans: &[SpanData]) -> String {
    let mut text = String::new();
    let ids: HashSet<SpanId> = spans.iter().map(|span| span.span_context.span_id()).collect();
    let roots = spans.iter().filter(|span| !ids.contains(&span.parent_span_id));
    for root in roots {
        write_span(&mut text, root, "", spans);
        let mut children: Vec<&SpanData> =
            spans.iter().filter(|span| span.parent_span_id == root.span_context.span_id()).collect();
        children.sort_by_key(|span| span.start_time);
        for child in children {
            assert_eq!(child.span_context.trace_id(), root.span_context.trace_id());
            assert!(child.start_time >= root.start_time && child.end_time >= child.start_time);
            write_span(&mut text, child, "  ", spans);
        }
    }
    text
}

fn write_span(text: &mut String, span: &SpanData, indent: &str, all: &[SpanData]) {
    let status = match &span.status {
        Status::Unset => "unset".to_owned(),
        Status::Ok => "ok".to_owned(),
        Status::Error { description } => format!("error {description}").trim_end().to_owned(),
    };
    let parent = if span.parent_span_is_remote { " remote-parent" } else { "" };
    writeln!(text, "{indent}{:?} {} [{status}]{parent}", span.span_kind, span.name).unwrap();
    let mut attributes: Vec<String> = span
        .attributes
        .iter()
        .map(|pair| {
            let value = if VOLATILE.contains(&pair.key.as_str()) { "*".into() } else { pair.value.as_str() };
            format!("{indent}    {} = {value}", pair.key)
        })
        .collect();
    attributes.sort();
    for attribute in attributes {
        writeln!(text, "{attribute}").unwrap();
    }
    for link in &span.links.links {
        let to = all.iter().find(|other| other.span_context.span_id() == link.span_context.span_id());
        writeln!(text, "{indent}    link to {}", to.map_or("a span of the client", |span| &*span.name)).unwrap();
    }
}

pub(crate) fn took(span: &SpanData) -> Duration {
    span.end_time.duration_since(span.start_time).unwrap()
}

/// The spans of kind SERVER.
pub(crate) fn servers(spans: &[SpanData]) -> Vec<&SpanData> {
    spans.iter().filter(|span| span.span_kind == opentelemetry::trace::SpanKind::Server).collect()
}

pub(crate) fn attribute(span: &SpanData, name: &str) -> Option<String> {
    span.attributes.iter().find(|pair| pair.key.as_str() == name).map(|pair| pair.value.as_str().into_owned())
}
