//! Builds the OpenTelemetry spans of a finished call: one of kind SERVER, and its children.
//!
//! It runs on the telemetry thread, not on a call's. Invariant: every attribute is one of [`names::SPAN_ATTRIBUTES`] and comes from the
//! call's record.

use std::time::SystemTime;

use opentelemetry::trace::{Link, SpanContext, SpanId, SpanKind, Status, TraceFlags};
use opentelemetry::{InstrumentationScope, KeyValue, Value};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SpanData, SpanEvents, SpanLinks};

use super::call_trace::{CallTrace, ChildSpan, WorkKind};
use super::names;
use super::record::{CallRecord, Outcome};
use super::trace_context::SpanIdentity;
use super::work_span::EndedWork;

pub(super) struct SpanBuilder {
    scope: InstrumentationScope,
    ids: RandomIdGenerator,
}

impl SpanBuilder {
    pub(super) fn new() -> Self {
        let scope = InstrumentationScope::builder(names::SCOPE).with_version(env!("CARGO_PKG_VERSION")).build();
        Self { scope, ids: RandomIdGenerator::default() }
    }

    /// Appends the spans of a call that has ended, its own first.
    pub(super) fn call(&self, call: &CallTrace, into: &mut Vec<SpanData>) {
        let Some(span) = call.span().map(SpanIdentity::full) else { return };
        let parent = call.parent().map(SpanIdentity::bare);
        let link = call.link().map(SpanIdentity::full);
        call.read(|finished| {
            let record = finished.record;
            let start = call.wall(call.started());
            into.push(SpanData {
                span_context: span.clone(),
                parent_span_id: parent.map_or(SpanId::INVALID, SpanContext::span_id),
                parent_span_is_remote: parent.is_some(),
                span_kind: SpanKind::Server,
                name: span_name(record).into(),
                start_time: start,
                end_time: start + record.total,
                attributes: attributes(record),
                dropped_attributes_count: 0,
                events: SpanEvents::default(),
                links: links([link, finished.shared.map(SpanIdentity::full)]),
                status: status(record.outcome),
                instrumentation_scope: self.scope.clone(),
            });
            into.extend(finished.children.iter().map(|child| self.child_span(call, &span, child)));
        });
    }

    /// Appends the span of one child of a call.
    pub(super) fn child(&self, call: &CallTrace, child: &ChildSpan, into: &mut Vec<SpanData>) {
        into.extend(call.span().map(|span| self.child_span(call, &span.full(), child)));
    }

    pub(super) fn work(&self, ended: &EndedWork) -> SpanData {
        ended.data(&self.scope)
    }

    fn child_span(&self, call: &CallTrace, parent: &SpanContext, child: &ChildSpan) -> SpanData {
        let start_time: SystemTime = call.wall(child.from);
        let end_time: SystemTime = call.wall(child.to);
        let state = parent.trace_state().clone();
        let mut span = SpanData {
            span_context: SpanContext::new(
                parent.trace_id(),
                self.ids.new_span_id(),
                TraceFlags::SAMPLED,
                false,
                state,
            ),
            parent_span_id: parent.span_id(),
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: "".into(),
            start_time,
            end_time,
            attributes: Vec::new(),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: self.scope.clone(),
        };
        match &child.work {
            WorkKind::Queue => span.name = names::SPAN_QUEUE.into(),
            WorkKind::Person => span.name = names::SPAN_PERSON.into(),
            WorkKind::Canonicalise => span.name = names::SPAN_CANONICALISE.into(),
            WorkKind::IndexWait => span.name = names::SPAN_INDEX_WAIT.into(),
            WorkKind::Index(workspace) => {
                span.name = names::SPAN_INDEX.into();
                let named = workspace.iter().map(|name| KeyValue::new(names::WORKSPACE, name.as_str().to_owned()));
                span.attributes.extend(named);
            }
            WorkKind::Wait(phase) => {
                span.name = names::SPAN_WAIT.into();
                span.attributes.push(KeyValue::new(names::READINESS, phase.as_str()));
            }
            WorkKind::Lsp { method, server, outcome } => {
                span.name = (*method).into();
                span.span_kind = SpanKind::Client;
                span.attributes.extend([
                    KeyValue::new(names::RPC_SYSTEM, names::JSON_RPC),
                    KeyValue::new(names::RPC_METHOD, *method),
                    KeyValue::new(names::SERVER_KIND, server.as_str().to_owned()),
                ]);
                if let Some(error) = outcome.error_type() {
                    if let super::record::RpcOutcome::Error(code) = outcome {
                        span.attributes.push(KeyValue::new(names::RPC_STATUS, code.to_string()));
                    }
                    span.attributes.push(KeyValue::new(names::ERROR_TYPE, error));
                    span.status = Status::error("");
                }
            }
        }
        span
    }
}

fn span_name(record: &CallRecord) -> String {
    let tool = &record.tool;
    // The name of an unknown tool is the caller's text. The convention's name without a target is used instead.
    if record.catalog.is_empty() { names::TOOLS_CALL.to_owned() } else { format!("{} {tool}", names::TOOLS_CALL) }
}

fn attributes(record: &CallRecord) -> Vec<KeyValue> {
    let mut list = Vec::with_capacity(32);
    let mut put = |name: &'static str, value: Option<Value>| {
        if let Some(value) = value {
            list.push(KeyValue::new(name, value));
        }
    };
    let text = |text: &str| Some(Value::from(text.to_owned()));
    let word = |word: &'static str| Some(Value::from(word));
    let ms = |time: std::time::Duration| Some(Value::from(time.as_secs_f64() * 1_000.0));
    put(names::METHOD, word(names::TOOLS_CALL));
    put(names::OPERATION, word(names::EXECUTE_TOOL));
    if !record.catalog.is_empty() {
        put(names::TOOL, Some(Value::from(record.tool.clone())));
        put(names::CATALOG, word(record.catalog));
    }
    put(names::REQUEST_ID, text(&record.request_id));
    put(names::PROTOCOL_VERSION, word(record.protocol_version));
    put(names::SESSION, record.session.as_deref().and_then(text));
    put(names::TRANSPORT, word(record.transport.as_str()));
    put(names::WORKSPACE, record.workspace_name().and_then(|name| text(&name)));
    put(names::PRINCIPAL, Some(Value::from(record.principal.to_string())));
    put(names::LSP_OPERATION, record.operation.and_then(word));
    put(names::RUN_ID, record.run.as_deref().and_then(text));
    put(names::LANGUAGE, record.language.as_ref().and_then(|language| text(language.as_str())));
    put(names::SERVER_KIND, kinds(record));
    if let Some(epochs) = record.epochs {
        let four = [epochs.roots, epochs.text, epochs.fs, epochs.diagnostics];
        put(names::EPOCHS, text(&four.map(|epoch| epoch.to_string()).join(",")));
    }
    put(names::CACHE, record.cache.and_then(|cache| word(cache.as_str())));
    put(names::CACHE_HIT, record.cache.is_some().then(|| Value::from(record.is_cache_hit())));
    put(names::CURSOR, record.cursor.and_then(|cursor| word(cursor.as_str())));
    put(names::PERMISSION, record.permission.and_then(|outcome| word(outcome.as_str())));
    put(names::INDEX_FRESHNESS, record.freshness.and_then(word));
    put(names::INDEX_COMPLETENESS, record.completeness.and_then(word));
    put(names::INDEX_MS, (!record.index.is_zero()).then(|| ms(record.index)).flatten());
    put(names::READINESS, word(record.readiness()));
    put(names::REPEATS, (record.repeats > 0).then(|| Value::from(i64::from(record.repeats))));
    put(names::ITEMS, record.items.map(whole));
    put(names::ITEMS_TOTAL, record.items_total.map(whole));
    put(names::BYTES, Some(whole(record.bytes)));
    put(names::QUEUE_MS, ms(record.queue));
    put(names::SERVER_MS, ms(record.server));
    put(names::OUTCOME, word(record.outcome.as_str()));
    put(names::REASON, record.reason.and_then(word));
    put(names::CAP, record.cap.and_then(word));
    if record.outcome != Outcome::Ok {
        put(names::ERROR_TYPE, word(record.outcome.as_str()));
        put(names::RPC_STATUS, record.rpc_code.map(|code| Value::from(code.to_string())));
    }
    list
}

fn kinds(record: &CallRecord) -> Option<Value> {
    let kinds: Vec<&str> = record.servers.iter().map(|kind| kind.as_str()).collect();
    (!kinds.is_empty()).then(|| Value::from(kinds.join(",")))
}

fn whole(number: usize) -> Value {
    Value::from(i64::try_from(number).unwrap_or(i64::MAX))
}

fn status(outcome: Outcome) -> Status {
    match outcome {
        Outcome::Ok => Status::Unset,
        failed => Status::error(failed.as_str()),
    }
}

fn links(contexts: [Option<SpanContext>; 2]) -> SpanLinks {
    let mut links = SpanLinks::default();
    links.links = contexts.into_iter().flatten().map(Link::with_context).collect();
    links
}
