//! How others follow a run: its status, and who is notified when it changes.
//!
//! Invariant: a status is never older than the last call of the run that has returned.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::event::TraceContext;
use crate::run_id::RunId;
use crate::run_view::RunView;
use crate::work_item::{WorkItemId, WorkItemSpec};

/// A part of a work item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkPart<'p> {
    Gate(&'p str),
    /// A process; the file name of its program.
    Process(&'p str),
}

/// When a part was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassedPart {
    /// When it began.
    pub began: SystemTime,
    pub took: Duration,
    /// Whether it ended well.
    pub is_good: bool,
}

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

    /// A part of an item begins, such as a gate. Returns the span that its events belong to.
    fn part_began(&self, run: &RunId, part: WorkPart<'_>, parent: &TraceContext) -> TraceContext;

    /// A part of an item, such as a process, has passed.
    fn part_passed(&self, run: &RunId, part: WorkPart<'_>, passed: &PassedPart, parent: &TraceContext);

    /// The item or part with this span has ended; `error` is the code of its error.
    fn item_ended(&self, run: &RunId, span: &TraceContext, error: Option<&'static str>);
}
