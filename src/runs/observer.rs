//! How others follow a run: its status, and who is notified when it changes.
//!
//! Invariant: a status is never older than the last call of the run that has returned.

use std::sync::Arc;

use crate::event::TraceContext;
use crate::run_id::RunId;
use crate::run_view::RunView;
use crate::work_item::{WorkItemId, WorkItemSpec};

/// What a run looks like from outside.
#[derive(Debug, Clone)]
pub struct RunStatus {
    /// What follows from its events.
    pub view: Arc<RunView>,
    /// What the running item does, in words.
    pub message: Option<String>,
    /// Why the run can't be recorded; the next command tries again.
    pub broken: Option<String>,
}

/// Is notified of what happens in a run. Its methods are called from the threads that work on the run, so they must not wait for it.
pub trait RunObserver: Send + Sync + 'static {
    /// The status has changed.
    fn changed(&self, run: &RunId, status: &RunStatus);

    /// An item begins. Returns the span that its events belong to.
    fn item_began(&self, run: &RunId, item: &WorkItemId, spec: &WorkItemSpec, parent: &TraceContext) -> TraceContext;

    /// The item with this span has ended; `error` is the code of its error.
    fn item_ended(&self, run: &RunId, span: &TraceContext, error: Option<&'static str>);
}
