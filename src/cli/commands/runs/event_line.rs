//! One event of a run as a line for a person.
//!
//! Invariant: every type of event has a line; text from repositories is made safe by whoever prints it.

use serde_json::Value;

/// The line: the time, then what happened.
pub(super) fn event_line(event: &Value) -> String {
    let time = event["ts"].as_str().and_then(|ts| ts.get(11..19)).unwrap_or("        ");
    format!("{time}  {}", words(event))
}

fn words(event: &Value) -> String {
    let payload = &event["payload"];
    let text = |name: &str| payload[name].as_str().unwrap_or("?");
    let item = || item_name(text("item"));
    match event["type"].as_str().unwrap_or_default() {
        "RUN_CREATED" => format!("run of {} created", text("subject")),
        "INPUTS_CLONED" => {
            let of = |name: &str| short(payload[name]["commit"].as_str().unwrap_or("?"));
            format!("cloned: product at {}, site at {}", of("repo"), of("site"))
        }
        "ARTIFACT_WRITTEN" => format!("artifact {}, {} bytes", text("name"), payload["bytes"]),
        "WORK_ITEM_QUEUED" => format!("{} {} waits", text("worker"), text("scope")),
        "WORK_ITEM_STARTED" => format!("{} begins", item()),
        "WORK_ITEM_FINISHED" => format!("{} is finished", item()),
        "WORK_ITEM_FAILED" => {
            let error = &payload["error"];
            format!("{} has failed: {}", item(), error["message"].as_str().or(error["code"].as_str()).unwrap_or("?"))
        }
        "GATE_RUN_STARTED" => format!("gate {} runs", text("gate")),
        "GATE_RUN_FINISHED" => match (payload["skipped"].as_str(), payload["ok"].as_bool()) {
            (Some(why), _) => format!("gate {} skipped: {why}", text("gate")),
            (None, Some(true)) => format!("gate {} ok", text("gate")),
            _ => format!("gate {} not ok", text("gate")),
        },
        "ISSUE_OPENED" => format!("{} {} {}: {}", text("severity"), text("gate"), place(payload), text("title")),
        "ISSUE_RESOLVED" => format!("issue {} is gone", text("issue_id")),
        "RUN_STATE_CHANGED" if payload["from"] == payload["to"] => format!("state {} again", text("to")),
        "RUN_STATE_CHANGED" => format!("state {} (was {})", text("to"), text("from")),
        "PR_OPENED" => format!("pull request {}", text("pr_url")),
        "RUN_COMPLETED" => "run is done".to_owned(),
        "RUN_FAILED" => format!("run has failed: {}", payload["error"]["message"].as_str().unwrap_or("?")),
        "RUN_CANCELLED" => "run was cancelled".to_owned(),
        "LLM_CALL_STARTED" => format!("{} is asked for {}", text("model"), text("page")),
        "LLM_CALL_FINISHED" => format!("{} has answered for {}: {}", text("model"), text("page"), text("outcome")),
        "LLM_CALL_FAILED" => format!("{} has not answered for {}: {}", text("model"), text("page"), text("reason")),
        other => format!("{other} {payload}"),
    }
}

/// A work item without its run: worker and scope.
pub(super) fn item_name(item: &str) -> String {
    // RUN:WORKER:ATTEMPT:SCOPE
    let mut parts = item.splitn(4, ':').skip(1);
    match (parts.next(), parts.nth(1)) {
        (Some(worker), Some(scope)) => format!("{worker} {scope}"),
        _ => item.to_owned(),
    }
}

pub(super) fn place(issue: &Value) -> String {
    let location = &issue["location"];
    match (location["path"].as_str(), location["line"].as_u64()) {
        (Some(path), Some(line)) => format!("{path}:{line}"),
        (Some(path), None) => path.to_owned(),
        _ => "the site".to_owned(),
    }
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

#[cfg(test)]
mod tests {
    use codeyard_runs::event::EventType;
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_shown_in_words() {
        let of = |kind: &str, payload: Value| {
            event_line(&json!({"ts": "2026-01-20T10:00:07Z", "type": kind, "payload": payload}))
        };
        assert_eq!(
            of("WORK_ITEM_FINISHED", json!({"item": "r_1:SectionWriter:1:docs/en:a"})),
            "10:00:07  SectionWriter docs/en:a is finished"
        );
        assert_eq!(of("RUN_STATE_CHANGED", json!({"from": "A", "to": "B"})), "10:00:07  state B (was A)");
        let issue = json!({"severity": "error", "gate": "InternalLinks", "title": "Dead link", "location": {"path": "a.md", "line": 3}});
        assert_eq!(of("ISSUE_OPENED", issue), "10:00:07  error InternalLinks a.md:3: Dead link");
    }

    #[test]
    fn every_type_of_event_has_words() {
        let all = [
            EventType::RunCreated,
            EventType::InputsCloned,
            EventType::ArtifactWritten,
            EventType::WorkItemQueued,
            EventType::WorkItemStarted,
            EventType::WorkItemFinished,
            EventType::WorkItemFailed,
            EventType::GateRunStarted,
            EventType::GateRunFinished,
            EventType::IssueOpened,
            EventType::IssueResolved,
            EventType::RunStateChanged,
            EventType::PrOpened,
            EventType::RunCompleted,
            EventType::RunFailed,
            EventType::RunCancelled,
            EventType::LlmCallStarted,
            EventType::LlmCallFinished,
            EventType::LlmCallFailed,
        ];
        for kind in all {
            let line = event_line(&json!({"ts": "2026-01-20T10:00:07Z", "type": kind, "payload": {}}));
            assert!(!line.contains('_') && !line.contains('{'), "{line}");
        }
    }
}
