//! What callers see of a run: its status, the report of a validation, the result of a fix.
//!
//! It is made from the run's view, which follows from its events. Invariants: equal views give equal answers; what a run waits for and why it
//! failed is always said. Source: `docs/internals/reference/contract-launch.md#tools`.

use codeyard_runs::machine::Activity;
use codeyard_runs::observer::RunStatus;
use codeyard_runs::run_view::{ItemView, RunView};
use codeyard_runs::work_item::WorkItemState;
use serde_json::{Map, Value, json};

use crate::request::run_config::{RunConfig, Section, section_name};

/// The names of the workers.
pub mod workers {
    /// Clones and inventories.
    pub const REPO_SCOUT: &str = "RepoScout";
    /// Collects facts and their evidence.
    pub const FACTS_BUILDER: &str = "FactsBuilder";
    /// Collects code.
    pub const SNIPPET_CURATOR: &str = "SnippetCurator";
    /// Plans pages.
    pub const PLANNER: &str = "Planner";
    /// Writes pages.
    pub const SECTION_WRITER: &str = "SectionWriter";
    /// Puts pages into the working copy.
    pub const LINKER: &str = "Linker";
    /// Runs gates.
    pub const VALIDATOR: &str = "Validator";
    /// Repairs issues.
    pub const FIXER: &str = "Fixer";
    /// Publishes.
    pub const PUBLISHER: &str = "PrManager";
}

/// The status of a run. `position` is the number of runs that wait before it, if it waits for its turn. Without a configuration, because another version has
/// written it, no sections are shown.
pub fn status(
    run_id: &str,
    status: &RunStatus,
    config: Option<&RunConfig>,
    position: Option<usize>,
) -> Map<String, Value> {
    let view = &*status.view;
    let mut object = object(json!({
        "run_id": run_id,
        "state": view.progress.state.name,
        "section_states": config.map(|config| section_states(view, config)).unwrap_or_default(),
        "open_issues": open_issues(view),
        "artifacts": view.artifacts.values().map(|artifact| json!({"name": artifact.name, "sha256": artifact.sha256})).collect::<Vec<_>>(),
    }));
    if let Some(activity) = activity(status, position) {
        object.insert("activity".into(), activity);
    }
    if let Some(why) = &status.broken {
        object.insert("interrupted".into(), why.clone().into());
    }
    let failure = if view.failure.is_null() { &view.stage_failure } else { &view.failure };
    if !failure.is_null() && !view.progress.is_active() {
        object.insert("failure".into(), failure.clone());
    }
    if let Some(url) = pull_request(view).and_then(|result| result.get("pr_url")) {
        object.insert("pr_url".into(), url.clone());
    }
    object
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// What a run works on, or what it waits for.
fn activity(status: &RunStatus, position: Option<usize>) -> Option<Value> {
    let (Activity::Running(work) | Activity::Interrupted(work)) = status.view.progress.activity else { return None };
    let items = status.view.items.values().filter(|item| item.work == work);
    let (done, total) = items.fold((0_usize, 0_usize), |(done, total), item| {
        (done + usize::from(item.state == WorkItemState::Finished), total + 1)
    });
    let mut activity = json!({"stage": work.stage, "attempt": work.attempt, "items_done": done, "items_total": total});
    if let Some(message) = &status.message {
        activity["message"] = message.clone().into();
    }
    if let Some(position) = position {
        activity["queue_position"] = position.into();
    }
    if let Activity::Interrupted(_) = status.view.progress.activity {
        activity["interrupted"] = true.into();
    }
    Some(activity)
}

/// What a run does, in a few words, for progress.
pub fn progress_text(status: &RunStatus, position: Option<usize>) -> String {
    let state = status.view.progress.state.name;
    let Activity::Running(work) = status.view.progress.activity else { return state.to_owned() };
    match (position, &status.message) {
        (Some(0), _) => format!("{state}: waits for its turn, as the next one"),
        (Some(1), _) => format!("{state}: waits for its turn, 1 other run waits before it"),
        (Some(position), _) => format!("{state}: waits for its turn, {position} other runs wait before it"),
        (None, Some(message)) => format!("{state}: {message}"),
        (None, None) => format!("{state}: {}", work.stage),
    }
}

/// The state of each required section (`docs/internals/reference/contract-launch.md#sections`).
fn section_states(view: &RunView, config: &RunConfig) -> Map<String, Value> {
    let has_finished = |worker: &str| last(view, worker).is_some_and(|item| item.state == WorkItemState::Finished);
    let is_planned = has_finished(workers::PLANNER);
    let is_linked = has_finished(workers::LINKER);
    let state = |section: Section| {
        let name = section_name(section);
        let is_drafted = || {
            let is_own =
                |item: &&ItemView| item.worker == workers::SECTION_WRITER && item.scope.split('/').next() == Some(name);
            let own: Vec<&ItemView> = view.items.values().filter(is_own).collect();
            !own.is_empty() && own.iter().all(|item| item.state == WorkItemState::Finished)
        };
        let is_blocked = || {
            view.open_issues.values().any(|issue| {
                issue["section"] == name && matches!(issue["severity"].as_str(), Some("blocker" | "error"))
            })
        };
        match (is_planned, is_linked, view.progress.report.is_some()) {
            (_, true, _) if is_blocked() => "BLOCKED",
            (_, true, true) => "DONE",
            (_, true, false) => "MERGED_IN_WORKTREE",
            (true, ..) if is_drafted() => "DRAFTED",
            (true, ..) => "OUTLINED",
            _ => "NOT_STARTED",
        }
    };
    config.required_sections.iter().map(|section| (section_name(*section).to_owned(), state(*section).into())).collect()
}

/// The open issues, the worst first.
fn open_issues(view: &RunView) -> Vec<Value> {
    let rank = |issue: &Value| match issue["severity"].as_str() {
        Some("blocker") => 0,
        Some("error") => 1,
        Some("warn") => 2,
        _ => 3,
    };
    let mut issues: Vec<&Value> = view.open_issues.values().collect();
    // Issues of one severity stay in the order of their identifiers.
    issues.sort_by_key(|issue| rank(issue));
    let members = ["issue_id", "severity", "gate", "title"];
    let shown = |issue: &Value| members.into_iter().map(|member| (member.to_owned(), issue[member].clone())).collect();
    issues.into_iter().map(|issue| Value::Object(shown(issue))).collect()
}

/// The last item of a worker.
pub fn last<'v>(view: &'v RunView, worker: &str) -> Option<&'v ItemView> {
    view.items.values().filter(|item| item.worker == worker).max_by_key(|item| item.number)
}

/// The result of the publication, if there is one.
pub fn pull_request(view: &RunView) -> Option<&Value> {
    last(view, workers::PUBLISHER).filter(|item| item.state == WorkItemState::Finished).map(|item| &item.result)
}

/// What a list shows of a run.
pub fn summary(run: &codeyard_runs::run_store::RunSummary) -> Value {
    let mut object = json!({
        "run_id": run.run_id, "product_slug": run.subject, "state": run.state, "started_at": run.started_at,
    });
    if let Some(finished) = &run.finished_at {
        object["finished_at"] = finished.clone().into();
    }
    object
}
