//! Durations measured with OpenTelemetry's histograms, together with the counters.
//!
//! Invariant: recording allocates nothing and takes a few hundred nanoseconds. Keys are constants, texts are shared, and the attributes
//! of a measurement always have the same order, which the SDK finds without sorting.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry::metrics::{Histogram, Meter};
use opentelemetry::{KeyValue, StringValue, Value};

use super::{Counts, Metrics, Observers, RequestRecord, process};
use crate::names::instruments::{self as known, Instrument, Kind};
use crate::names::{
    ERROR_TYPE, JSON_RPC, METHOD, RPC_METHOD, RPC_STATUS, RPC_SYSTEM, SERVER_KIND, TOOL, TOOLS_CALL, TRANSPORT,
};
use crate::record::{CallRecord, Outcome, RpcOutcome, RpcRecord, TransportKind};

/// The histograms and counters of a process.
#[derive(Debug)]
pub struct Meters {
    counts: Arc<Counts>,
    operation: Histogram<f64>,
    session: Histogram<f64>,
    rpc: Histogram<f64>,
    queue: Histogram<f64>,
    readiness: Histogram<f64>,
    start_wait: Histogram<f64>,
    index_job: Histogram<f64>,
}

impl Meters {
    /// Creates the histograms at `meter`, and registers `counts` and the process's own figures. `version` is the program's.
    pub fn new(meter: &Meter, counts: Arc<Counts>, version: &'static str) -> Self {
        let observers = Observers::new(meter);
        counts.register_with(&observers);
        process::observe(&observers, version);
        let histogram = |instrument: &'static Instrument| {
            let made = meter.f64_histogram(instrument.name).with_unit(instrument.unit);
            let made = made.with_description(instrument.about);
            match instrument.kind {
                Kind::Histogram(bounds) => made.with_boundaries(bounds.to_vec()).build(),
                _ => made.build(),
            }
        };
        Self {
            counts,
            operation: histogram(&known::OPERATION),
            session: histogram(&known::SESSION),
            rpc: histogram(&known::RPC_CALL),
            queue: histogram(&known::QUEUE_WAIT),
            readiness: histogram(&known::READINESS),
            start_wait: histogram(&known::START_WAIT),
            index_job: histogram(&known::INDEX_JOB),
        }
    }

    /// Resident memory of this process in bytes.
    pub fn own_memory_bytes() -> Option<u64> {
        process::resident_bytes()
    }

    fn operation(&self, method: &'static str, tool: Option<&Arc<str>>, ended: RequestEnd, total: Duration) {
        let method = KeyValue::new(METHOD, method);
        let transport = KeyValue::new(TRANSPORT, ended.transport.as_str());
        let seconds = total.as_secs_f64();
        let tool = tool.map(|tool| KeyValue::new(TOOL, Value::String(StringValue::from(tool.clone()))));
        let error = ended.error.map(|error| KeyValue::new(ERROR_TYPE, error));
        let code = ended.code.map(|code| KeyValue::new(RPC_STATUS, status(i64::from(code))));
        match (tool, error, code) {
            (Some(tool), None, _) => self.operation.record(seconds, &[method, tool, transport]),
            (Some(tool), Some(error), None) => self.operation.record(seconds, &[method, tool, error, transport]),
            (Some(tool), Some(error), Some(code)) => {
                self.operation.record(seconds, &[method, tool, error, code, transport]);
            }
            (None, Some(error), Some(code)) => self.operation.record(seconds, &[method, error, code, transport]),
            (None, ..) => self.operation.record(seconds, &[method, transport]),
        }
    }
}

struct RequestEnd {
    error: Option<&'static str>,
    code: Option<i32>,
    transport: TransportKind,
}

impl Metrics for Meters {
    fn call(&self, record: &CallRecord) {
        self.counts.call(record);
        let error = (record.outcome != Outcome::Ok).then(|| record.outcome.as_str());
        let ended = RequestEnd { error, code: record.rpc_code, transport: record.transport };
        self.operation(TOOLS_CALL, Some(&record.tool), ended, record.total.saturating_sub(record.asked));
        self.queue.record(record.queue.as_secs_f64(), &[]);
    }

    fn request(&self, record: &RequestRecord) {
        let method = known::METHOD_WORDS.iter().find(|known| **known == record.method);
        let error = record.error.map(|code| status(i64::from(code)));
        let ended = RequestEnd { error, code: record.error, transport: record.transport };
        self.operation(method.unwrap_or(&known::OTHER_METHOD), None, ended, record.total);
    }

    fn rpc(&self, record: &RpcRecord) {
        let system = KeyValue::new(RPC_SYSTEM, JSON_RPC);
        let method = KeyValue::new(RPC_METHOD, record.method);
        let kind = KeyValue::new(SERVER_KIND, Value::String(StringValue::from(record.server.shared())));
        let seconds = record.duration.as_secs_f64();
        let error = match record.outcome {
            RpcOutcome::Ok => return self.rpc.record(seconds, &[system, method, kind]),
            RpcOutcome::Error(code) => status(code),
            RpcOutcome::Lost => "lost",
            RpcOutcome::Cancelled => "cancelled",
        };
        self.rpc.record(seconds, &[system, method, kind, KeyValue::new(ERROR_TYPE, error)]);
    }

    fn session(&self, transport: TransportKind, length: Duration) {
        self.session.record(length.as_secs_f64(), &[KeyValue::new(TRANSPORT, transport.as_str())]);
    }

    fn rejected(&self, reason: &str) {
        self.counts.rejected(reason);
    }

    fn shed(&self, full: &str) {
        self.counts.shed(full);
    }

    fn restart(&self, kind: &str, reason: &'static str) {
        self.counts.restart(kind, reason);
    }

    fn ready(&self, kind: &str, after: Duration) {
        self.readiness.record(after.as_secs_f64(), &[KeyValue::new(SERVER_KIND, kind.to_owned())]);
        self.counts.add_server_evictions(kind, 0);
    }

    fn server_evicted(&self, kind: &str) {
        self.counts.server_evicted(kind);
    }

    fn start_admitted(&self, after: Duration) {
        self.start_wait.record(after.as_secs_f64(), &[]);
    }

    fn index_job(&self, mode: &'static str, status: &'static str, took: Duration) {
        let labels = [KeyValue::new(known::JOB_MODE, mode), KeyValue::new(known::STATE, status)];
        self.index_job.record(took.as_secs_f64(), &labels);
    }

    fn retained_hit(&self) {
        self.counts.retained_hit();
    }

    fn evicted(&self, reason: &str, count: u64) {
        self.counts.evicted(reason, count);
    }
}

/// The number of a JSON-RPC error as a constant text. A number that no specification defines is `_OTHER`, because a language server may
/// send any.
fn status(code: i64) -> &'static str {
    match code {
        -32_700 => "-32700",
        -32_600 => "-32600",
        -32_601 => "-32601",
        -32_602 => "-32602",
        -32_603 => "-32603",
        -32_800 => "-32800",
        -32_801 => "-32801",
        -32_802 => "-32802",
        -32_803 => "-32803",
        -32_000 => "-32000",
        -32_001 => "-32001",
        -32_002 => "-32002",
        _ => "_OTHER",
    }
}
