//! What follows from the events of a run: its state, its work items, its artifacts and its open issues.
//!
//! It is pure: events in, view out. Invariant: the view after a replay is the view that the run had when its last event was written, except that
//! running work counts as interrupted, and a stage that has begun without a work item counts as not begun.

use std::collections::BTreeMap;

use codeyard_base::clock;
use serde_json::{Value, json};

use crate::artifact_store::ArtifactVersion;
use crate::event::{Event, EventType};
use crate::machine::{Activity, Advance, Progress, Work};
use crate::run_id::RunId;
use crate::work_item::{WorkItemId, WorkItemState};
use crate::workflow::Workflow;

/// What follows from the events of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunView {
    pub progress: Progress,
    /// The workspace that it belongs to.
    pub workspace: String,
    /// What it is about.
    pub subject: String,
    /// The work items of all stages.
    pub items: BTreeMap<WorkItemId, ItemView>,
    /// The present artifacts by name.
    pub artifacts: BTreeMap<String, ArtifactVersion>,
    /// The open issues by identifier, as they were opened.
    pub open_issues: BTreeMap<String, Value>,
    /// When it ended, in RFC 3339.
    pub finished_at: Option<String>,
    /// Why it failed; null if it didn't.
    pub failure: Value,
    pub last_event: String,
    /// When it happened, in RFC 3339; empty before the first one.
    pub last_event_at: String,
    /// Why the last stage has failed, if it has and the run goes on; `null` otherwise.
    pub stage_failure: Value,
    /// How long work items have run, in seconds.
    pub worked_s: u64,
}

/// One work item.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemView {
    pub worker: String,
    pub scope: String,
    /// Its place among all items of the run, from 0.
    pub number: usize,
    /// The execution of its stage.
    pub work: Work,
    pub state: WorkItemState,
    /// What it has returned, or why it failed.
    pub result: Value,
}

/// An event that doesn't belong to a run of this workflow.
#[derive(Debug, thiserror::Error)]
#[error(
    "event {event} of run {run} can't be replayed: {reason}; use the version of codeyard that wrote it, or start another run"
)]
pub struct ReplayError {
    pub run: String,
    pub event: String,
    /// What is wrong with it.
    pub reason: String,
}

impl RunView {
    /// The view of a run without events.
    pub(crate) fn new(workflow: &Workflow) -> Self {
        Self {
            // The first event says how the run advances.
            progress: Progress::new(workflow, Advance::Auto),
            workspace: String::new(),
            subject: String::new(),
            items: BTreeMap::new(),
            artifacts: BTreeMap::new(),
            open_issues: BTreeMap::new(),
            finished_at: None,
            failure: Value::Null,
            stage_failure: Value::Null,
            last_event: String::new(),
            last_event_at: String::new(),
            worked_s: 0,
        }
    }

    /// The view after `events`.
    pub(crate) fn replay(workflow: &'static Workflow, events: &[Event]) -> Result<Self, ReplayError> {
        let mut view = Self::new(workflow);
        for event in events {
            view.apply(workflow, event)?;
        }
        // What hasn't ended isn't running after a replay.
        if let Activity::Running(work) = view.progress.activity {
            view.progress.activity = Activity::Interrupted(work);
        }
        Ok(view)
    }

    /// The view after one more event.
    pub(crate) fn apply(&mut self, workflow: &'static Workflow, event: &Event) -> Result<(), ReplayError> {
        if let (true, Some(from), Some(to)) =
            (self.worked_until(event), clock::seconds(&self.last_event_at), clock::seconds(&event.ts))
        {
            self.worked_s += to.saturating_sub(from);
        }
        self.try_apply(workflow, event).map_err(|reason| ReplayError {
            run: event.run_id.clone(),
            event: event.event_id.clone(),
            reason,
        })?;
        self.last_event.clone_from(&event.event_id);
        self.last_event_at.clone_from(&event.ts);
        Ok(())
    }

    /// Whether an item has run from the last event to this one. Events alone say so, so that idle time, a wait for a turn and the time without a server
    /// count neither at once nor after a replay: each of them ends with an item that is queued or begins again.
    fn worked_until(&self, event: &Event) -> bool {
        // Items of work that was stopped for good stay as they were.
        let Some(current) = self.items.values().max_by_key(|item| item.number).map(|item| item.work) else {
            return false;
        };
        let is_running = |item: &ItemView| item.state == WorkItemState::Running && item.work == current;
        match event.event_type {
            EventType::WorkItemQueued => false,
            EventType::WorkItemStarted => {
                let item = event.payload["item"].as_str().and_then(|id| self.items.get(&WorkItemId::from_log(id)));
                !item.is_some_and(is_running) && self.items.values().any(is_running)
            }
            _ => self.items.values().any(is_running),
        }
    }

    fn try_apply(&mut self, workflow: &'static Workflow, event: &Event) -> Result<(), String> {
        let payload = &event.payload;
        let text = |key: &str| payload[key].as_str().ok_or_else(|| format!("it has no text {key:?}"));
        match event.event_type {
            EventType::RunCreated => {
                if text("workflow")? != workflow.name {
                    return Err(format!("the run belongs to the workflow {}", text("workflow")?));
                }
                (self.workspace, self.subject) = (text("workspace")?.to_owned(), text("subject")?.to_owned());
                self.progress.advance = serde_json::from_value(payload["advance"].clone())
                    .map_err(|error| format!("its way to advance is unknown ({error})"))?;
            }
            EventType::RunStateChanged => {
                let name = text("to")?;
                self.progress.state = workflow.state(name).ok_or_else(|| format!("the state {name} is unknown"))?;
                self.progress.activity = Activity::Idle;
                self.progress.report = payload["report_ok"].as_bool();
                self.stage_failure = payload["error"].clone();
            }
            EventType::WorkItemQueued => {
                let (id, mut item) = queued_item(workflow, payload)?;
                item.number = self.items.len();
                self.progress.attempts.insert(item.work.stage, item.work.attempt);
                self.progress.activity = Activity::Running(item.work);
                self.items.insert(id, item);
            }
            EventType::WorkItemStarted => self.set_item(text("item")?, WorkItemState::Running, Value::Null),
            EventType::WorkItemFinished => {
                self.set_item(text("item")?, WorkItemState::Finished, payload["result"].clone());
            }
            EventType::WorkItemFailed => self.set_item(text("item")?, WorkItemState::Failed, payload["error"].clone()),
            EventType::ArtifactWritten => {
                let version: ArtifactVersion = serde_json::from_value(payload.clone())
                    .map_err(|error| format!("it describes no artifact ({error})"))?;
                self.artifacts.insert(version.name.clone(), version);
            }
            EventType::IssueOpened => {
                self.open_issues.insert(text("issue_id")?.to_owned(), payload.clone());
            }
            EventType::IssueResolved => {
                self.open_issues.remove(text("issue_id")?);
            }
            EventType::RunCompleted => self.end(event),
            EventType::RunCancelled => self.end(event),
            EventType::RunFailed => {
                self.failure = payload["error"].clone();
                self.end(event);
            }
            EventType::InputsCloned
            | EventType::GateRunStarted
            | EventType::GateRunFinished
            | EventType::PrOpened
            | EventType::LlmCallStarted
            | EventType::LlmCallFinished
            | EventType::LlmCallFailed => {}
        }
        Ok(())
    }

    fn set_item(&mut self, id: &str, state: WorkItemState, result: Value) {
        if let Some(item) = self.items.get_mut(&WorkItemId::from_log(id))
            && item.state != WorkItemState::Finished
        {
            (item.state, item.result) = (state, result);
        }
    }

    fn end(&mut self, event: &Event) {
        self.finished_at = Some(event.ts.clone());
        for item in self.items.values_mut().filter(|item| !item.state.is_end()) {
            item.state = WorkItemState::Skipped;
        }
    }

    /// The readable state of the run, for people and for other programs.
    pub(crate) fn snapshot(&self, id: &RunId) -> Value {
        let items: BTreeMap<&str, Value> = self
            .items
            .iter()
            .map(|(id, item)| (id.as_str(), json!({"state": item.state, "stage": item.work.stage})))
            .collect();
        json!({
            "run_id": id,
            "state": self.progress.state.name,
            "advance": self.progress.advance,
            "report_ok": self.progress.report,
            "last_event": self.last_event,
            "work_items": items,
            "artifacts": self.artifacts.values().collect::<Vec<_>>(),
            "open_issues": self.open_issues.values().collect::<Vec<_>>(),
            "finished_at": self.finished_at,
            "failure": self.failure,
        })
    }
}

fn queued_item(workflow: &'static Workflow, payload: &Value) -> Result<(WorkItemId, ItemView), String> {
    let text = |key: &str| payload[key].as_str().ok_or_else(|| format!("it has no text {key:?}"));
    let name = text("stage")?;
    let stages = workflow.states.iter().filter_map(|state| state.role.stage());
    let stage =
        stages.into_iter().find(|stage| *stage == name).ok_or_else(|| format!("the stage {name} is unknown"))?;
    let attempt = payload["attempt"].as_u64().and_then(|attempt| u32::try_from(attempt).ok());
    let attempt = attempt.ok_or_else(|| "it has no number \"attempt\"".to_owned())?;
    let item = ItemView {
        worker: text("worker")?.to_owned(),
        scope: text("scope")?.to_owned(),
        number: 0,
        work: Work { stage, attempt },
        state: WorkItemState::Queued,
        result: Value::Null,
    };
    Ok((WorkItemId::from_log(text("item")?), item))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::TraceContext;
    use crate::event_log::{EventLog, NewEvent};
    use crate::testing::SAMPLE;
    use crate::work_item::WorkItemSpec;

    #[test]
    fn only_the_time_in_which_items_run_counts() {
        use EventType::{
            GateRunStarted, RunCreated, RunStateChanged, WorkItemFinished, WorkItemQueued, WorkItemStarted,
        };
        let dir = tempfile::tempdir().unwrap();
        let id = RunId::new(0, 1);
        let mut log = EventLog::create(&dir.path().join("events.ndjson"), &id).unwrap();
        let item = |stage: &str, attempt: u32, scope: &'static str| {
            let id = WorkItemId::new(&id, attempt, &WorkItemSpec { worker: "Writer", scope: scope.into() });
            json!({"item": id.as_str(), "worker": "Writer", "scope": scope, "stage": stage, "attempt": attempt})
        };
        let plan = item("plan", 1, "all");
        let a = item("write", 1, "a");
        let b = item("write", 1, "b");
        let check = item("check", 1, "all");
        let created = json!({"workflow": "sample", "workspace": "w", "subject": "s", "advance": "auto"});
        let to = |state: &str| json!({"from": "CREATED", "to": state});
        let events = [
            // A day in the queue.
            ("2026-01-21T00:00:00Z", RunCreated, created),
            ("2026-01-22T00:00:00Z", WorkItemQueued, plan.clone()),
            ("2026-01-22T00:00:01Z", WorkItemStarted, plan.clone()),
            ("2026-01-22T00:00:03Z", WorkItemFinished, plan), // 2
            ("2026-01-22T00:00:03Z", RunStateChanged, to("WRITING")),
            ("2026-01-22T00:00:03Z", WorkItemQueued, a.clone()),
            ("2026-01-22T00:00:03Z", WorkItemQueued, b.clone()),
            ("2026-01-22T00:00:03Z", WorkItemStarted, a.clone()),
            ("2026-01-22T00:00:05Z", WorkItemStarted, b.clone()), // 2: the other one runs
            ("2026-01-22T00:00:06Z", WorkItemFinished, b),        // 1
            // The server was killed, and began again a day later.
            ("2026-01-23T00:00:00Z", WorkItemStarted, a.clone()),
            ("2026-01-23T00:00:04Z", WorkItemFinished, a), // 4
            ("2026-01-23T00:00:04Z", RunStateChanged, to("CHECKING")),
            // A person came back after a day.
            ("2026-01-24T00:00:00Z", WorkItemQueued, check.clone()),
            ("2026-01-24T00:00:00Z", WorkItemStarted, check.clone()),
            ("2026-01-24T00:00:10Z", GateRunStarted, json!({"gate": "Schema"})), // 10
            ("2026-01-24T00:00:11Z", WorkItemFinished, check),                   // 1
        ];
        let mut view = RunView::new(&SAMPLE);
        for (ts, event_type, payload) in events {
            let new = vec![NewEvent { event_type, payload }];
            for event in log.append(ts, &TraceContext::default(), new).unwrap() {
                view.apply(&SAMPLE, &event).unwrap();
                // What a command has begun counts only from its first item on.
                if !view.progress.is_active() {
                    view.progress.activity = Activity::Running(Work { stage: "check", attempt: 1 });
                }
            }
        }
        assert_eq!(view.worked_s, 20);
        let (_, events) = EventLog::open(&dir.path().join("events.ndjson"), &id).unwrap();
        assert_eq!(RunView::replay(&SAMPLE, &events).unwrap().worked_s, 20);
    }
}
