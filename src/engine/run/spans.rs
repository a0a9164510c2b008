//! Follows a run: publishes its status, keeps the list of runs true, and makes a span for each work item.
//!
//! It is called from the threads that work on the run. Invariant: the list has a state only after the run's log has it.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use tokio::sync::watch;

use codeyard_runs::event::TraceContext;
use codeyard_runs::observer::{RunObserver, RunStatus};
use codeyard_runs::run_id::RunId;
use codeyard_runs::work_item::{WorkItemId, WorkItemSpec};
use codeyard_telemetry::{WorkSpan, WorkSpanStart};

use super::service::RunService;

/// The observer of one run.
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
        let Some(service) = self.service.upgrade() else { return parent.clone() };
        let start = WorkSpanStart {
            worker: spec.worker,
            run: run.as_str(),
            trace_id: &parent.trace_id,
            parent_span_id: &parent.span_id,
        };
        let span = service.telemetry().begin_work(&start);
        let trace = TraceContext {
            trace_id: span.trace_id(),
            span_id: span.span_id(),
            parent_span_id: Some(parent.span_id.clone()).filter(|id| !id.is_empty()),
        };
        self.spans.lock().insert(trace.span_id.clone(), span);
        trace
    }

    fn item_ended(&self, _: &RunId, trace: &TraceContext, error: Option<&'static str>) {
        if let (Some(span), Some(service)) = (self.spans.lock().remove(&trace.span_id), self.service.upgrade()) {
            service.telemetry().end_work(span, error);
        }
    }
}
