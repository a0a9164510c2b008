//! One event of a run: what happened, when, in which trace, chained to the event before it by a hash.
//!
//! It is data, not a file ([`crate::event_log`] writes it). Invariant: the hash covers the identifier, the time, the type, the payload
//! and the hash of the event before, so no event can be changed, removed or moved without a break in the chain.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use codeyard_base::digest::sha256hex;
use codeyard_base::stable_json;
use codeyard_base::words;

/// An event as the log has it (`docs/internals/reference/contract-launch.md#events`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The place in the log, `e_000001` for the first one.
    pub event_id: String,
    pub run_id: String,
    /// The time in RFC 3339, UTC.
    pub ts: String,
    #[serde(rename = "type")]
    pub event_type: EventType,
    /// Details, an object.
    pub payload: Value,
    /// The trace in which it happened; empty where there is none.
    pub trace_id: String,
    /// The span in which it happened; empty where there is none.
    pub span_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_span_id: Option<String>,
    /// The hash of the event before; empty for the first one.
    pub prev_hash: String,
    pub event_hash: String,
}

words! {
    /// What can happen to a run (`docs/internals/reference/contract-launch.md#events`).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    pub enum EventType {
        /// The run exists.
        RunCreated => "RUN_CREATED",
        /// The inputs are there, at pinned versions.
        InputsCloned => "INPUTS_CLONED",
        ArtifactWritten => "ARTIFACT_WRITTEN",
        /// A work item waits for its turn.
        WorkItemQueued => "WORK_ITEM_QUEUED",
        /// A work item runs.
        WorkItemStarted => "WORK_ITEM_STARTED",
        /// A work item has ended well. It is never repeated.
        WorkItemFinished => "WORK_ITEM_FINISHED",
        WorkItemFailed => "WORK_ITEM_FAILED",
        GateRunStarted => "GATE_RUN_STARTED",
        /// A gate has ended.
        GateRunFinished => "GATE_RUN_FINISHED",
        /// A fault was found.
        IssueOpened => "ISSUE_OPENED",
        /// A fault is gone.
        IssueResolved => "ISSUE_RESOLVED",
        /// The run has entered another state.
        RunStateChanged => "RUN_STATE_CHANGED",
        PrOpened => "PR_OPENED",
        /// The run has ended well.
        RunCompleted => "RUN_COMPLETED",
        RunFailed => "RUN_FAILED",
        RunCancelled => "RUN_CANCELLED",
        /// A language model is called.
        LlmCallStarted => "LLM_CALL_STARTED",
        /// A language model has answered.
        LlmCallFinished => "LLM_CALL_FINISHED",
        /// A language model has not answered.
        LlmCallFailed => "LLM_CALL_FAILED",
    }
    /// The name in the log.
    fn as_str;
}

/// What is wrong with the chain at one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChainBreak {
    /// The event doesn't follow the one before it.
    #[error("it doesn't follow the event before it")]
    Order,
    /// The content isn't what was hashed.
    #[error("its content doesn't match its hash")]
    Content,
    /// It belongs to another run.
    #[error("it belongs to another run")]
    Run,
}

/// In which trace an event happens. Empty where nothing is traced.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceContext {
    /// The trace, 32 hexadecimal digits.
    pub trace_id: String,
    /// The span, 16 hexadecimal digits.
    pub span_id: String,
    pub parent_span_id: Option<String>,
}

impl Event {
    /// The event that follows `previous`.
    pub(crate) fn following(
        previous: Option<&Self>,
        run_id: &str,
        ts: String,
        event_type: EventType,
        payload: Value,
        trace: &TraceContext,
    ) -> Self {
        let prev_hash = previous.map(|event| event.event_hash.clone()).unwrap_or_default();
        let event_id = event_id(previous.map_or(0, |event| event.number()) + 1);
        let event_hash = hash(&event_id, &ts, event_type, &payload, &prev_hash);
        Self {
            event_id,
            run_id: run_id.to_owned(),
            ts,
            event_type,
            payload,
            trace_id: trace.trace_id.clone(),
            span_id: trace.span_id.clone(),
            parent_span_id: trace.parent_span_id.clone(),
            prev_hash,
            event_hash,
        }
    }

    /// Its place in the log, from 1; 0 if the identifier has another form.
    pub fn number(&self) -> u64 {
        self.event_id.strip_prefix("e_").and_then(|digits| digits.parse().ok()).unwrap_or_default()
    }

    /// Checks that this event follows `previous` in the log of `run_id`.
    pub(crate) fn check(&self, previous: Option<&Self>, run_id: &str) -> Result<(), ChainBreak> {
        let number = previous.map_or(0, |event| event.number()) + 1;
        let prev_hash = previous.map_or("", |event| event.event_hash.as_str());
        if self.event_id != event_id(number) || self.prev_hash != prev_hash {
            return Err(ChainBreak::Order);
        }
        if self.run_id != run_id {
            return Err(ChainBreak::Run);
        }
        let hash = hash(&self.event_id, &self.ts, self.event_type, &self.payload, &self.prev_hash);
        if hash == self.event_hash { Ok(()) } else { Err(ChainBreak::Content) }
    }
}

fn event_id(number: u64) -> String {
    format!("e_{number:06}")
}

fn hash(event_id: &str, ts: &str, event_type: EventType, payload: &Value, prev_hash: &str) -> String {
    sha256hex([event_id, ts, event_type.as_str(), &stable_json::stringify(payload), prev_hash].join("|"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn first() -> Event {
        let payload = json!({"b": 1, "a": "ä|\n"});
        let ts = "2026-01-21T10:00:00Z".to_owned();
        Event::following(None, "r", ts, EventType::RunCreated, payload, &TraceContext::default())
    }

    #[test]
    fn the_hash_is_that_of_the_joined_fields() {
        let event = first();
        let text = "e_000001|2026-01-21T10:00:00Z|RUN_CREATED|{\"a\":\"ä|\\n\",\"b\":1}|";
        assert_eq!(event.event_hash, sha256hex(text));
        let line = serde_json::to_string(&event).unwrap();
        assert!(line.contains("\"type\":\"RUN_CREATED\"") && !line.contains("parent_span_id"), "{line}");
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event);
    }

    #[test]
    fn names_in_the_log_are_those_of_the_hash() {
        for event_type in
            [EventType::RunCreated, EventType::LlmCallFailed, EventType::PrOpened, EventType::GateRunFinished]
        {
            assert_eq!(serde_json::to_value(event_type).unwrap(), event_type.as_str());
        }
    }

    #[test]
    fn every_change_breaks_the_chain() {
        let first = first();
        let next = |payload| {
            let ts = "2026-01-21T10:00:01Z".to_owned();
            Event::following(Some(&first), "r", ts, EventType::RunStateChanged, payload, &TraceContext::default())
        };
        let event = next(json!({"to": "A"}));
        assert_eq!(event.check(Some(&first), "r"), Ok(()));
        assert_eq!(event.check(None, "r"), Err(ChainBreak::Order));
        assert_eq!(event.check(Some(&event), "r"), Err(ChainBreak::Order));
        assert_eq!(event.check(Some(&first), "other"), Err(ChainBreak::Run));
        let changes: [fn(&mut Event); 4] = [
            |event| event.payload = json!({"to": "B"}),
            |event| event.ts.push('0'),
            |event| event.event_type = EventType::RunFailed,
            |event| event.event_hash = sha256hex("x"),
        ];
        for change in changes {
            let mut changed = event.clone();
            change(&mut changed);
            assert_eq!(changed.check(Some(&first), "r"), Err(ChainBreak::Content));
        }
    }
}
