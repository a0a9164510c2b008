//! Telemetry of calls: one span for each tool call with its children, one log line, and metrics.
//!
//! All of it is built from one value, [`CallRecord`]. Invariants: names of spans, attributes and metrics come from [`names`] only; no
//! argument, path, token or source text is exported; recording never makes a call wait.
//!
//! # Code map
//!
//! A place imports only places above it in this table, which a test checks; the files beside this one may be imported by all.
//!
//! | place | holds |
//! |---|---|
//! | [`names`] | the names of spans, attributes and metrics |
//! | `trace_context` | the client's own trace |
//! | `record` | the facts of one finished call |
//! | `call_line` | a finished call as one line of the log |
//! | `call_trace` | one call while it runs |
//! | `work_span` | spans of work that outlives its call |
//! | `metrics` | metrics, behind the trait that other crates use |
//! | [`settings`] | the settings of the standard variables |
//! | `prometheus` | the metrics as text for Prometheus |
//! | `log_queue` | the queue of log lines |
//! | `losses` | what the export lost, and what it delivered |
//! | `otlp` | exporters that speak OTLP |
//! | `metric_pump` | the export of metrics at intervals |
//! | `span_builder` | the spans of a finished call |
//! | `span_queue` | the queue of calls that become spans |
//! | `span_pump` | the export of spans in batches |
//! | `export` | the thread of the export, with its pumps |

mod call_line;
mod call_trace;
mod export;
mod export_pump;
pub mod limits;
mod log_queue;
mod losses;
mod metric_pump;
mod metrics;
pub mod names;
mod otlp;
mod prometheus;
mod rate_limited_warning;
mod record;
mod sampler;
pub mod settings;
mod span_builder;
mod span_pump;
mod span_queue;
mod trace_context;
mod work_decisions;
mod work_span;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use opentelemetry::trace::{SpanContext, TraceFlags, TraceId};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator};

use call_trace::ChildSpan;
use trace_context::SpanIdentity;
use work_decisions::WorkDecisions;
use work_span::EndedWork;

pub use call_line::{CALL_TARGET, LineFormat};
pub use call_trace::{
    AuditedCall, CallReply, CallStart, CallTrace, LspCall, OpenCall, PermissionWait, RequestOrigin, SharedWait,
    WorkTimer,
};
pub use export::Pipeline;
pub use log_queue::{LineWriter, LogQueue};
pub use losses::Losses;
pub use metrics::{Counts, Meters, MetricSink, Metrics, NoMetrics, Observers, RequestRecord, Tally};
pub use prometheus::Prometheus;
pub use record::{
    CacheUse, CallRecord, CursorOutcome, Outcome, PermissionOutcome, PrincipalHash, RpcOutcome, RpcRecord,
    TransportKind,
};
pub use trace_context::TraceContext;
pub use work_span::{SpanPart, WorkSpan, WorkSpanStart};

/// The telemetry of a process. Cheap to clone.
#[derive(Clone)]
pub struct Telemetry(Arc<TelemetryParts>);

#[derive(Clone)]
struct TelemetryParts {
    metrics: Arc<dyn Metrics>,
    spans: Option<Arc<dyn SpanSink>>,
    log: Option<Arc<dyn CallLog>>,
    audit: Option<Arc<dyn CallAudit>>,
    ids: RandomIdGenerator,
    gauges: Arc<CallGauges>,
    work_decisions: Arc<WorkDecisions>,
}

/// The numbers of calls without a reply, and of those among them that no workspace has started with.
#[derive(Debug, Default)]
struct CallGauges {
    open: AtomicU64,
    queued: AtomicU64,
}

impl CallGauges {
    fn arrive(&self) {
        self.open.fetch_add(1, Relaxed);
        self.queued.fetch_add(1, Relaxed);
    }

    fn leave_queue(&self) {
        self.queued.fetch_sub(1, Relaxed);
    }

    fn enter_queue(&self) {
        self.queued.fetch_add(1, Relaxed);
    }

    fn leave(&self) {
        self.open.fetch_sub(1, Relaxed);
    }
}

/// Receives what becomes spans. Never waits.
trait SpanSink: Send + Sync {
    /// Whether a call is sampled. `parent` is the client's span.
    fn samples(&self, parent: Option<&SpanContext>, trace: TraceId) -> bool;
    /// A sampled call has ended.
    fn call(&self, call: &CallTrace);
    /// A child of a sampled call has ended after it.
    fn child(&self, call: &CallTrace, child: ChildSpan);
    /// Sampled work has ended.
    fn work(&self, ended: EndedWork);
    /// A child is dropped because its call has too many.
    fn child_dropped(&self);
}

/// Receives what becomes log lines. Never waits.
pub trait CallLog: Send + Sync {
    /// A call has ended.
    fn call(&self, call: &CallTrace);
    /// Lines dropped so far.
    fn dropped(&self) -> u64;
}

/// Receives what becomes audit lines. It may wait for the disk.
pub trait CallAudit: Send + Sync {
    /// Whether calls are to begin: not while their lines can't be written, unless the configuration allows it.
    fn accepts_calls(&self) -> bool;
    /// Records a call that has ended. Returns whether its answer may be given.
    fn call(&self, record: &CallRecord, call: &AuditedCall) -> bool;
}

impl Telemetry {
    /// Metrics only.
    pub fn new(metrics: Arc<dyn Metrics>) -> Self {
        Self(Arc::new(TelemetryParts {
            metrics,
            spans: None,
            log: None,
            audit: None,
            ids: RandomIdGenerator::default(),
            gauges: Arc::default(),
            work_decisions: Arc::default(),
        }))
    }

    /// Adds spans, if `pipeline` exports them.
    pub fn with_spans(self, pipeline: &Pipeline) -> Self {
        let spans = pipeline.spans().map(|queue| queue as Arc<dyn SpanSink>);
        Self(Arc::new(TelemetryParts { spans, ..self.0.as_ref().clone() }))
    }

    /// Adds a log line for each call.
    pub fn with_log(self, log: Arc<dyn CallLog>) -> Self {
        Self(Arc::new(TelemetryParts { log: Some(log), ..self.0.as_ref().clone() }))
    }

    /// Adds an audit line for each call.
    #[must_use]
    pub fn with_audit(self, audit: Arc<dyn CallAudit>) -> Self {
        Self(Arc::new(TelemetryParts { audit: Some(audit), ..self.0.as_ref().clone() }))
    }

    /// Whether calls are to begin.
    pub fn accepts_calls(&self) -> bool {
        self.0.audit.as_ref().is_none_or(|audit| audit.accepts_calls())
    }

    /// The metrics.
    pub fn metrics(&self) -> &Arc<dyn Metrics> {
        &self.0.metrics
    }

    /// Registers the numbers of calls in flight and in queues.
    pub fn register_with(&self, observers: &Observers<'_>) {
        let gauges = self.0.gauges.clone();
        observers.observe(&names::instruments::IN_FLIGHT, move |sink| sink.record(gauges.open.load(Relaxed), &[]));
        let gauges = self.0.gauges.clone();
        observers.observe(&names::instruments::QUEUE_DEPTH, move |sink| sink.record(gauges.queued.load(Relaxed), &[]));
    }

    /// The identity of a new child span of `parent`; `None` where no spans are exported.
    fn identify(&self, parent: Option<&SpanIdentity>) -> Option<SpanIdentity> {
        let spans = self.0.spans.as_ref()?;
        let bare = parent.map(SpanIdentity::bare);
        let trace = bare.map_or_else(|| self.0.ids.new_trace_id(), SpanContext::trace_id);
        let flags = if spans.samples(bare, trace) { TraceFlags::SAMPLED } else { TraceFlags::default() };
        Some(SpanIdentity::own(trace, self.0.ids.new_span_id(), flags, parent))
    }

    /// Whether the call's answer may be given.
    fn ended(&self, call: &CallTrace, audited: Option<&AuditedCall>) -> bool {
        let is_audited = call.read(|finished| {
            self.0.metrics.call(finished.record);
            let audit = self.0.audit.as_ref().zip(audited);
            audit.is_none_or(|(audit, call)| audit.call(finished.record, call))
        });
        if let Some(log) = &self.0.log {
            log.call(call);
        }
        if let Some(spans) = &self.0.spans
            && call.is_recorded()
        {
            spans.call(call);
        }
        is_audited
    }

    fn late_child(&self, call: &CallTrace, child: ChildSpan) {
        if let Some(spans) = &self.0.spans {
            spans.child(call, child);
        }
    }

    fn child_dropped(&self) {
        if let Some(spans) = &self.0.spans {
            spans.child_dropped();
        }
    }
}
