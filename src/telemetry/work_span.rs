//! Spans of work that outlives the call which asked for it: the work items of runs, and their parts.
//!
//! They belong to the trace of that call, and are sampled as it is. Invariants: a span is exported when its work ends; identifiers exist where no
//! spans are exported too, because a run's events name them; no attribute holds a path or an argument.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::trace::{IdGenerator, SpanData, SpanEvents, SpanLinks};

use super::{CallTrace, SpanSink, Telemetry, names};
use codeyard_base::clock::Instant;

/// Which part of a run a span covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanPart<'a> {
    /// A work item of this worker.
    Item(&'static str),
    /// The check with this name.
    Gate(&'a str),
    /// A process of the program with this name.
    Process(&'a str),
}

/// What a span of work is about.
#[derive(Debug, Clone, Copy)]
pub struct WorkSpanStart<'a> {
    pub part: SpanPart<'a>,
    pub run: &'a str,
    /// The trace, 32 hexadecimal digits; a new one for another text.
    pub trace_id: &'a str,
    /// The span above it, 16 hexadecimal digits; none for another text.
    pub parent_span_id: &'a str,
}

/// Work that is going on.
#[derive(Debug)]
pub struct WorkSpan {
    context: SpanContext,
    parent: SpanId,
    name: String,
    attribute: Option<KeyValue>,
    run: String,
    from: Instant,
    wall: SystemTime,
}

/// Work that has ended, on its way to the exporter.
#[derive(Debug)]
pub(super) struct EndedWork {
    span: WorkSpan,
    took: Duration,
    error: Option<&'static str>,
}

impl SpanPart<'_> {
    fn name(self) -> String {
        match self {
            Self::Item(worker) => format!("{} {worker}", names::SPAN_WORK_ITEM),
            Self::Gate(name) => format!("{} {name}", names::SPAN_GATE),
            Self::Process(program) => format!("{} {program}", names::SPAN_PROCESS),
        }
    }

    fn attribute(self) -> Option<KeyValue> {
        match self {
            Self::Item(worker) => Some(KeyValue::new(names::RUN_WORKER, worker)),
            Self::Gate(_) => None,
            Self::Process(program) => Some(KeyValue::new(names::PROCESS_NAME, program.to_owned())),
        }
    }
}

impl WorkSpan {
    /// The trace, 32 hexadecimal digits.
    pub fn trace_id(&self) -> String {
        self.context.trace_id().to_string()
    }

    /// The span, 16 hexadecimal digits.
    pub fn span_id(&self) -> String {
        self.context.span_id().to_string()
    }
}

impl CallTrace {
    /// The trace and the span of the call, in hexadecimal digits: what its work belongs to, also when it has ended. Empty texts if it has none. Work
    /// below this span is sampled as the call is.
    pub fn identity(&self) -> (String, String) {
        self.keep_decision();
        let trace = self.span().or(self.parent()).map(|span| span.bare().trace_id().to_string());
        let span = self.span().map(|span| span.bare().span_id().to_string());
        (trace.unwrap_or_default(), span.unwrap_or_default())
    }
}

impl Telemetry {
    /// Remembers a span that is sampled otherwise than the sampler decides for its trace alone.
    pub(super) fn keep_decision(&self, span: &SpanContext) {
        let differs = |spans: &Arc<dyn SpanSink>| spans.samples(None, span.trace_id()) != span.is_sampled();
        if self.0.spans.as_ref().is_some_and(differs) {
            self.0.work_decisions.add(span.span_id());
        }
    }

    /// The identifier of a new trace, 32 hexadecimal digits.
    pub fn new_trace(&self) -> String {
        self.0.ids.new_trace_id().to_string()
    }

    /// Begins a span of work.
    pub fn begin_work(&self, start: &WorkSpanStart<'_>) -> WorkSpan {
        let parent = SpanId::from_hex(start.parent_span_id).unwrap_or(SpanId::INVALID);
        let trace = TraceId::from_hex(start.trace_id).ok().filter(|trace| *trace != TraceId::INVALID);
        let trace = trace.unwrap_or_else(|| self.0.ids.new_trace_id());
        let span = self.0.ids.new_span_id();
        let is_sampled = self.0.spans.as_ref().is_some_and(|spans| {
            let differs = self.0.work_decisions.has(parent);
            if differs {
                self.0.work_decisions.add(span);
            }
            spans.samples(None, trace) != differs
        });
        let flags = if is_sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
        WorkSpan {
            context: SpanContext::new(trace, span, flags, false, TraceState::default()),
            parent,
            name: start.part.name(),
            attribute: start.part.attribute(),
            run: start.run.to_owned(),
            from: Instant::now(),
            wall: SystemTime::now(),
        }
    }

    /// A span of work that has passed; `error` is the code of its error.
    pub fn passed_work(
        &self,
        start: &WorkSpanStart<'_>,
        began: SystemTime,
        took: Duration,
        error: Option<&'static str>,
    ) {
        let span = WorkSpan { wall: began, ..self.begin_work(start) };
        self.0.work_decisions.remove(span.context.span_id());
        if let Some(spans) = self.0.spans.as_ref().filter(|_| span.context.is_sampled()) {
            spans.work(EndedWork { span, took, error });
        }
    }

    /// Ends a span of work; `error` is the code of its error.
    pub fn end_work(&self, span: WorkSpan, error: Option<&'static str>) {
        self.0.work_decisions.remove(span.context.span_id());
        if let Some(spans) = self.0.spans.as_ref().filter(|_| span.context.is_sampled()) {
            let took = span.from.elapsed();
            spans.work(EndedWork { span, took, error });
        }
    }
}

impl EndedWork {
    /// The bytes that it holds besides itself.
    pub(super) fn held_bytes(&self) -> usize {
        self.span.run.len() + self.span.name.len()
    }

    pub(super) fn data(&self, scope: &InstrumentationScope) -> SpanData {
        let mut attributes = vec![KeyValue::new(names::RUN_ID, self.span.run.clone())];
        attributes.extend(self.span.attribute.clone());
        attributes.extend(self.error.map(|error| KeyValue::new(names::ERROR_TYPE, error)));
        SpanData {
            span_context: self.span.context.clone(),
            parent_span_id: self.span.parent,
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: self.span.name.clone().into(),
            start_time: self.span.wall,
            end_time: self.span.wall + self.took,
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: self.error.map_or(Status::Unset, Status::error),
            instrumentation_scope: scope.clone(),
        }
    }
}
