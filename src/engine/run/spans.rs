//! Follows a run: publishes its status, keeps the list of runs true, and makes a span for each work item.
//!
//! It is called from the threads that work on the run. Invariants: the list has a state only after the run's log has it; work that goes on after a
//! restart belongs to the call that asked for it, as the log says.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use tokio::sync::watch;

use codeyard_runs::event::{Event, EventType, TraceContext};
use codeyard_runs::live_run::LiveRun;
use codeyard_runs::observer::{PassedPart, RunObserver, RunStatus, WorkPart};
use codeyard_runs::run_id::RunId;
use codeyard_runs::work_item::{WorkItemId, WorkItemSpec};
use codeyard_telemetry::{SpanPart, WorkSpan, WorkSpanStart};

use super::service::RunService;

/// The error of a process that exited with something else than 0, or was ended.
const FAILED_PART: &str = "failed";

pub(crate) struct RunWatch {
    service: Weak<RunService>,
    status: OnceLock<watch::Sender<RunStatus>>,
    /// The state that the list has.
    listed: Mutex<Option<&'static str>>,
    spans: Mutex<BTreeMap<String, WorkSpan>>,
}

impl RunWatch {
    /// An observer. [`Self::receiver`] connects it to the run.
    pub(crate) fn new(service: &Arc<RunService>) -> Arc<Self> {
        Arc::new(Self {
            service: Arc::downgrade(service),
            status: OnceLock::new(),
            listed: Mutex::new(None),
            spans: Mutex::default(),
        })
    }

    /// Receives the status from now on. The first call decides what it is now.
    pub(super) fn receiver(&self, now: RunStatus) -> watch::Receiver<RunStatus> {
        self.status.get_or_init(|| watch::Sender::new(now)).subscribe()
    }
}

impl RunWatch {
    /// The span of the call that has asked for what a run works on, as its log has it; `None` if the log names no trace. Blocks.
    pub(crate) fn last_asked(run: &LiveRun) -> Option<TraceContext> {
        // The run is open, so its log was found to be whole.
        let log = std::fs::read(run.folder().events()).ok()?;
        let mut events =
            log.rsplit(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Event>(line).ok());
        // Events of other types belong to the spans of items.
        let is_asked = |event: &Event| {
            matches!(event.event_type, EventType::RunCreated | EventType::RunStateChanged | EventType::WorkItemQueued)
        };
        let asked = events.find(is_asked).filter(|event| !event.trace_id.is_empty())?;
        Some(TraceContext { trace_id: asked.trace_id, span_id: asked.span_id, parent_span_id: asked.parent_span_id })
    }

    fn begin(&self, run: &RunId, part: SpanPart<'_>, parent: &TraceContext) -> TraceContext {
        let Some(service) = self.service.upgrade() else { return parent.clone() };
        let span = service.telemetry().begin_work(&start(run, part, parent));
        let trace = TraceContext {
            trace_id: span.trace_id(),
            span_id: span.span_id(),
            parent_span_id: Some(parent.span_id.clone()).filter(|id| !id.is_empty()),
        };
        self.spans.lock().insert(trace.span_id.clone(), span);
        trace
    }
}

fn start<'s>(run: &'s RunId, part: SpanPart<'s>, parent: &'s TraceContext) -> WorkSpanStart<'s> {
    WorkSpanStart { part, run: run.as_str(), trace_id: &parent.trace_id, parent_span_id: &parent.span_id }
}

fn span_part(part: WorkPart<'_>) -> SpanPart<'_> {
    match part {
        WorkPart::Gate(name) => SpanPart::Gate(name),
        WorkPart::Process(program) => SpanPart::Process(program),
    }
}

impl RunObserver for RunWatch {
    fn changed(&self, run: &RunId, status: &RunStatus) {
        let state = status.view.progress.state.name;
        let mut listed = self.listed.lock();
        if *listed != Some(state)
            && let Some(service) = self.service.upgrade()
        {
            match service.host().list(run, &status.view) {
                Ok(()) => *listed = Some(state),
                Err(error) => {
                    tracing::warn!(%run, %error, "the list of runs can't be written; the next change tries again")
                }
            }
        }
        drop(listed);
        if let Some(sender) = self.status.get() {
            sender.send_replace(status.clone());
        }
    }

    fn item_began(&self, run: &RunId, _: &WorkItemId, spec: &WorkItemSpec, parent: &TraceContext) -> TraceContext {
        self.begin(run, SpanPart::Item(spec.worker), parent)
    }

    fn part_began(&self, run: &RunId, part: WorkPart<'_>, parent: &TraceContext) -> TraceContext {
        self.begin(run, span_part(part), parent)
    }

    fn part_passed(&self, run: &RunId, part: WorkPart<'_>, passed: &PassedPart, parent: &TraceContext) {
        let Some(service) = self.service.upgrade() else { return };
        let error = (!passed.is_good).then_some(FAILED_PART);
        service.telemetry().passed_work(&start(run, span_part(part), parent), passed.began, passed.took, error);
    }

    fn item_ended(&self, _: &RunId, trace: &TraceContext, error: Option<&'static str>) {
        if let (Some(span), Some(service)) = (self.spans.lock().remove(&trace.span_id), self.service.upgrade()) {
            service.telemetry().end_work(span, error);
        }
    }
}
