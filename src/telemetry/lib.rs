//! Rank 3: what is told about calls: one span a tool call with its children, one log line, and counters.
//!
//! All of it is made of one value, [`CallRecord`]. Invariants: span, attribute and metric names come from [`names`] only;
//! nothing that is told holds an argument, a path, a token or source text; telling never makes a call wait.

mod call_line;
mod call_trace;
mod export;
mod export_pump;
pub mod limits;
mod log_queue;
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

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use opentelemetry::trace::{SpanContext, TraceFlags, TraceId};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator};

use call_trace::ChildSpan;
use trace_context::SpanIdentity;

pub use call_line::{CALL_TARGET, LineFormat};
pub use call_trace::{Asker, CallStart, CallTrace, LspCall, OpenCall, PersonWait, Reply, SharedWait, Timed};
pub use export::{Losses, Pipeline};
pub use log_queue::{LineWriter, LogQueue};
pub use metrics::{Counts, Meters, Metrics, NoMetrics, Observers, RequestRecord, Sink, Tally};
pub use prometheus::Prometheus;
pub use record::{
    CacheUse, CallRecord, CursorOutcome, Outcome, PermissionOutcome, PrincipalHash, RpcOutcome, RpcRecord,
    TransportKind,
};
pub use trace_context::TraceContext;

/// Where calls are told. Cheap to clone.
#[derive(Clone)]
pub struct Telemetry(Arc<Parts>);

#[derive(Clone)]
struct Parts {
    metrics: Arc<dyn Metrics>,
    spans: Option<Arc<dyn Spans>>,
    log: Option<Arc<dyn CallLog>>,
    ids: RandomIdGenerator,
    flow: Arc<Flow>,
}

/// How many calls have no reply yet, and how many of them no workspace has taken up.
#[derive(Debug, Default)]
struct Flow {
    open: AtomicU64,
    queued: AtomicU64,
}

impl Flow {
    fn arrived(&self) {
        self.open.fetch_add(1, Relaxed);
        self.queued.fetch_add(1, Relaxed);
    }

    fn taken_up(&self) {
        self.queued.fetch_sub(1, Relaxed);
    }

    fn waits_again(&self) {
        self.queued.fetch_add(1, Relaxed);
    }

    fn left(&self) {
        self.open.fetch_sub(1, Relaxed);
    }
}

/// Takes what becomes spans. Never waits.
trait Spans: Send + Sync {
    /// Whether a call is sampled: `parent` is the client's span.
    fn samples(&self, parent: Option<&SpanContext>, trace: TraceId) -> bool;
    /// A sampled call has ended.
    fn call(&self, call: &CallTrace);
    /// A child of a sampled call has ended after it.
    fn child(&self, call: &CallTrace, child: ChildSpan);
    /// A child is left out because its call has too many.
    fn child_dropped(&self);
}

/// Takes what becomes log lines. Never waits.
pub trait CallLog: Send + Sync {
    /// A call has ended.
    fn call(&self, call: &CallTrace);
    /// Lines dropped so far.
    fn dropped(&self) -> u64;
}

impl Telemetry {
    /// Counters only.
    pub fn new(metrics: Arc<dyn Metrics>) -> Self {
        Self(Arc::new(Parts {
            metrics,
            spans: None,
            log: None,
            ids: RandomIdGenerator::default(),
            flow: Arc::default(),
        }))
    }

    /// With spans, if `pipeline` exports them.
    pub fn with_spans(self, pipeline: &Pipeline) -> Self {
        let spans = pipeline.spans().map(|queue| queue as Arc<dyn Spans>);
        Self(Arc::new(Parts { spans, ..self.0.as_ref().clone() }))
    }

    /// With a log line for each call.
    pub fn with_log(self, log: Arc<dyn CallLog>) -> Self {
        Self(Arc::new(Parts { log: Some(log), ..self.0.as_ref().clone() }))
    }

    /// The counters.
    pub fn metrics(&self) -> &Arc<dyn Metrics> {
        &self.0.metrics
    }

    /// Has the numbers of calls in flight and in queues exported.
    pub fn observed_by(&self, observers: &Observers<'_>) {
        let flow = self.0.flow.clone();
        observers.observe(&names::instruments::IN_FLIGHT, move |sink| sink.tell(flow.open.load(Relaxed), &[]));
        let flow = self.0.flow.clone();
        observers.observe(&names::instruments::QUEUE_DEPTH, move |sink| sink.tell(flow.queued.load(Relaxed), &[]));
    }

    /// The identity of a new span below `parent`; `None` where no spans are made.
    fn identify(&self, parent: Option<&SpanIdentity>) -> Option<SpanIdentity> {
        let spans = self.0.spans.as_ref()?;
        let bare = parent.map(SpanIdentity::bare);
        let trace = bare.map_or_else(|| self.0.ids.new_trace_id(), SpanContext::trace_id);
        let flags = if spans.samples(bare, trace) { TraceFlags::SAMPLED } else { TraceFlags::default() };
        Some(SpanIdentity::own(trace, self.0.ids.new_span_id(), flags, parent))
    }

    fn ended(&self, call: &CallTrace) {
        call.read(|finished| self.0.metrics.call(finished.record));
        if let Some(log) = &self.0.log {
            log.call(call);
        }
        if let Some(spans) = &self.0.spans
            && call.is_recorded()
        {
            spans.call(call);
        }
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
