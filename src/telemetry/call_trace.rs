//! One tool call while it runs: its record and its child spans.
//!
//! A [`CallTrace`] goes with the call from the gateway through the workspace to the requests to language servers. Nothing is exported
//! while the call runs: record, span and children leave together when its [`OpenCall`] ends. Invariants: that happens exactly once, with
//! an outcome, and as cancelled if the value is dropped; a child that ends later, because other calls wait for the same execution, is
//! exported by itself; a child costs no allocation of its own, and nothing where no spans are built.

mod call_facts;
mod finished;
mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

use super::record::{CacheUse, CallRecord, CursorOutcome, Outcome, PermissionOutcome, PrincipalHash, RpcOutcome};
use super::trace_context::SpanIdentity;
use super::{Telemetry, names};
use crate::limits;
use codeyard_base::clock::Instant;
use codeyard_base::ids::{ServerKind, WorkspaceName};
use codeyard_model::error::{CallPhase, ErrorCode, ToolError};

pub use call_facts::{AuditedCall, CallReply, CallStart};
pub use work::{LspCall, PermissionWait, RequestOrigin, SharedWait, WorkTimer};

/// Child spans of one call. Further ones are dropped and counted.
const MAX_CHILD_SPANS: usize = 128;

/// A handle of a call. Clones are handles of the same call.
#[derive(Clone)]
pub struct CallTrace(Arc<Call>);

/// The right to end a call. Dropped, it ends the call as cancelled.
pub struct OpenCall {
    trace: CallTrace,
    ended: bool,
}

struct Call {
    telemetry: Telemetry,
    started: Instant,
    wall: SystemTime,
    parent: Option<SpanIdentity>,
    link: Option<SpanIdentity>,
    span: Option<SpanIdentity>,
    /// Bytes that the call holds once it has ended. Read while `state` may be locked.
    held: AtomicUsize,
    state: Mutex<State>,
}

struct State {
    record: CallRecord,
    /// Until the call ends, if there is an audit log.
    audited: Option<Box<AuditedCall>>,
    children: Vec<ChildSpan>,
    shared: Option<SpanIdentity>,
    has_cursor: bool,
    is_admitted: bool,
    /// The call waits for a person, not for its workspace.
    waits_for_person: bool,
    ended: bool,
    /// Requests in flight to language servers, and since when there is one.
    in_flight: u32,
    in_flight_since: Instant,
}

/// A child span of a call, as it will be exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChildSpan {
    pub(super) work: WorkKind,
    pub(super) from: Instant,
    pub(super) to: Instant,
}

/// The kind of work that a child span measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WorkKind {
    /// Waiting until the workspace starts with the call.
    Queue,
    /// Waiting for a person's answer.
    Person,
    /// Waiting for a language server in this state.
    Wait(CallPhase),
    /// A request to a language server.
    Lsp { method: &'static str, server: ServerKind, outcome: RpcOutcome },
    /// Building the canonical answer.
    Canonicalise,
    /// Waiting for the first index.
    IndexWait,
    /// A query to the code index; of a group, to that of one workspace.
    Index(Option<WorkspaceName>),
}

impl OpenCall {
    /// Starts the record of a call that has just arrived.
    pub fn begin(telemetry: &Telemetry, start: CallStart<'_>) -> Self {
        let started = Instant::now();
        let (parent, link) = start.context.parent_and_link();
        let span = telemetry.identify(parent.as_ref());
        let record = CallRecord {
            tool: start.tool.unwrap_or_else(|| Arc::from(names::UNKNOWN_TOOL)),
            catalog: start.catalog,
            workspace: start.workspace,
            group: None,
            principal: PrincipalHash::of(start.principal),
            tenant: start.principal.tenant.clone(),
            transport: start.transport,
            request_id: truncated_id(start.request_id),
            session: start.session,
            protocol_version: start.protocol_version,
            operation: None,
            run: None,
            language: None,
            servers: Vec::new(),
            epochs: None,
            cache: None,
            cursor: None,
            waited_for: None,
            repeats: 0,
            permission: None,
            freshness: None,
            completeness: None,
            index: Duration::ZERO,
            asked: Duration::ZERO,
            outcome: Outcome::Cancelled,
            rpc_code: None,
            reason: None,
            cap: None,
            bytes: 0,
            items: None,
            items_total: None,
            queue: Duration::ZERO,
            wait: Duration::ZERO,
            server: Duration::ZERO,
            canonicalise: Duration::ZERO,
            outside: 0,
            total: Duration::ZERO,
            trace_id: span.as_ref().or(parent.as_ref()).map(|span| span.bare().trace_id()),
            span_id: span.as_ref().map(|span| span.bare().span_id()),
        };
        let audited = telemetry.0.audit.as_ref().map(|_| {
            let tool = Box::from(first_bytes(start.asked_tool, limits::MAX_REQUEST_ID_BYTES));
            let arguments = start.arguments.map(Box::from);
            Box::new(AuditedCall { principal: start.principal.clone(), tool, peer: start.peer, arguments })
        });
        let state = State {
            record,
            audited,
            children: Vec::new(),
            shared: None,
            has_cursor: false,
            is_admitted: false,
            waits_for_person: false,
            ended: false,
            in_flight: 0,
            in_flight_since: started,
        };
        telemetry.0.gauges.arrive();
        let call = Call {
            telemetry: telemetry.clone(),
            started,
            wall: SystemTime::now(),
            parent,
            link,
            span,
            held: AtomicUsize::new(0),
            state: Mutex::new(state),
        };
        Self { trace: CallTrace(Arc::new(call)), ended: false }
    }

    /// The handle for the layers that serve the call.
    pub fn trace(&self) -> &CallTrace {
        &self.trace
    }

    /// Ends the call. Returns whether its answer may be given: not if an audit line that it needs can't be written.
    #[must_use]
    pub fn end(mut self, result: Result<(), &ToolError>, reply: CallReply) -> bool {
        self.ended = true;
        self.trace.end(result.map_err(Some), reply)
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        if !self.ended {
            self.trace.end(Err(None), CallReply::default());
        }
    }
}

impl CallTrace {
    /// Changes the record. Does nothing once the call has ended.
    pub fn update(&self, fact: impl FnOnce(&mut CallRecord)) {
        let mut state = self.0.state.lock();
        if !state.ended {
            fact(&mut state.record);
        }
    }

    /// Records that the call brought a cursor.
    pub fn record_cursor(&self) {
        self.0.state.lock().has_cursor = true;
    }

    /// The workspace starts with the call. Only the first time counts.
    pub fn mark_admitted(&self) {
        let mut state = self.0.state.lock();
        if !std::mem::replace(&mut state.is_admitted, true) {
            let from = self.0.started + state.record.asked;
            let to = Instant::now();
            state.record.queue = to.saturating_duration_since(from);
            self.0.telemetry.0.gauges.leave_queue();
            self.add_child(&mut state, ChildSpan { work: WorkKind::Queue, from, to });
        }
    }

    /// Records the outcome of the permission check.
    pub fn permission(&self, outcome: PermissionOutcome) {
        self.update(|record| record.permission = Some(outcome));
    }

    /// Begins to wait for a person's answer.
    pub fn wait_for_permission(&self) -> PermissionWait {
        PermissionWait::begin(self.clone())
    }

    /// Records that the answer comes from an execution that `other` started.
    pub fn record_shared(&self, other: &CallTrace) {
        let mut state = self.0.state.lock();
        state.record.cache = Some(CacheUse::Shared);
        if self.is_recorded() {
            state.shared = other.0.span.clone().filter(|span| span.bare().is_sampled());
        }
    }

    /// Begins to wait for a language server that is in the state `phase`.
    pub fn wait(&self, phase: CallPhase) -> WorkTimer {
        self.timed(WorkKind::Wait(phase))
    }

    /// Begins to wait for the first index of the workspace.
    pub fn wait_for_index(&self) -> WorkTimer {
        self.timed(WorkKind::IndexWait)
    }

    /// Begins a query to the code index.
    pub fn time_index_query(&self) -> WorkTimer {
        self.timed(WorkKind::Index(None))
    }

    /// Records the part of a query to the code indexes of a group that one workspace took.
    pub fn record_index_query_of(&self, workspace: &WorkspaceName, from: Instant, to: Instant) {
        let mut state = self.0.state.lock();
        self.add_child(&mut state, ChildSpan { work: WorkKind::Index(Some(workspace.clone())), from, to });
    }

    /// Begins to wait for another call's execution.
    pub fn wait_for_shared(&self) -> SharedWait {
        SharedWait { trace: self.clone(), from: Instant::now() }
    }

    /// Whether its spans are exported.
    pub(super) fn is_recorded(&self) -> bool {
        self.0.span.as_ref().is_some_and(|span| span.bare().is_sampled())
    }

    fn timed(&self, work: WorkKind) -> WorkTimer {
        WorkTimer { trace: self.clone(), work, from: Instant::now() }
    }

    /// Stores a child until the call ends, or queues it at once if it has ended.
    fn add_child(&self, state: &mut State, child: ChildSpan) {
        if !self.is_recorded() {
            return;
        }
        if state.ended {
            self.0.telemetry.late_child(self, child);
        } else if state.children.len() < MAX_CHILD_SPANS {
            state.children.push(child);
        } else {
            self.0.telemetry.child_dropped();
        }
    }

    fn end(&self, result: Result<(), Option<&ToolError>>, reply: CallReply) -> bool {
        let mut guard = self.0.state.lock();
        let state = &mut *guard;
        let now = Instant::now();
        self.0.telemetry.0.gauges.leave();
        if !std::mem::replace(&mut state.is_admitted, true) && !state.waits_for_person {
            self.0.telemetry.0.gauges.leave_queue();
            let child = ChildSpan { work: WorkKind::Queue, from: self.0.started + state.record.asked, to: now };
            state.record.queue = now.saturating_duration_since(child.from);
            self.add_child(state, child);
        }
        if state.in_flight > 0 {
            state.record.server += now - state.in_flight_since;
        }
        let record = &mut state.record;
        record.total = now - self.0.started;
        record.bytes = reply.bytes;
        record.rpc_code = reply.rpc_code;
        (record.items, record.items_total) = (reply.items.map(|items| items.0), reply.items.map(|items| items.1));
        record.outcome = match result {
            Ok(()) => Outcome::Ok,
            Err(Some(error)) => Outcome::Failed(error.code),
            Err(None) => Outcome::Cancelled,
        };
        if let Err(Some(error)) = result {
            record.reason = error.details.get("reason").and_then(|reason| reason.as_str()).map(names::reason);
        }
        record.cap = cap(record, reply.is_cut);
        record.cursor = state.has_cursor.then(|| CursorOutcome::of(record.outcome));
        state.ended = true;
        let audited = state.audited.take();
        self.0.held.store(self.measure_bytes(state), Relaxed);
        drop(guard);
        self.0.telemetry.ended(self, audited.as_deref())
    }
}

/// The cap that a call hit.
fn cap(record: &CallRecord, is_cut: bool) -> Option<&'static str> {
    match record.outcome {
        Outcome::Failed(ErrorCode::CapExceeded) => record.reason.or(Some(names::OTHER)),
        Outcome::Failed(ErrorCode::SnapshotTooLarge) => Some(names::CAP_SNAPSHOT),
        Outcome::Ok if is_cut => Some(names::CAP_ITEMS),
        _ => None,
    }
}

/// The first bytes of a JSON-RPC id as text, a string without its quotes.
fn truncated_id(json: &str) -> String {
    let text = if json.starts_with('"') { serde_json::from_str(json).unwrap_or_default() } else { json.to_owned() };
    first_bytes(&text, limits::MAX_REQUEST_ID_BYTES).to_owned()
}

/// The beginning of a text, of at most `most` bytes.
fn first_bytes(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
pub(super) mod samples {
    use super::*;
    use crate::{NoMetrics, TraceContext, TransportKind};
    use codeyard_access::Principal;

    /// A call that has ended, with a session id of `bytes` bytes.
    pub(crate) fn call_of(bytes: usize) -> CallTrace {
        let telemetry = Telemetry::new(Arc::new(NoMetrics));
        let start = CallStart {
            tool: None,
            asked_tool: "",
            catalog: "",
            workspace: None,
            principal: &Principal::local(),
            peer: None,
            arguments: None,
            transport: TransportKind::Pipe,
            request_id: &format!("\"{}\"", "é".repeat(limits::MAX_REQUEST_ID_BYTES)),
            session: Some("s".repeat(bytes)),
            protocol_version: "",
            context: &TraceContext::default(),
        };
        let open = OpenCall::begin(&telemetry, start);
        let trace = open.trace().clone();
        drop(open);
        trace
    }

    #[test]
    fn the_bytes_of_a_queued_call_are_counted_and_few() {
        let small = call_of(0).held_bytes();
        assert_eq!(call_of(10_000).held_bytes() - small, 10_000);
        assert!(small <= 1024 + limits::MAX_REQUEST_ID_BYTES, "{small}");
        call_of(0)
            .read(|finished| assert_eq!(finished.record.request_id, "é".repeat(limits::MAX_REQUEST_ID_BYTES / 2)));
    }
}
