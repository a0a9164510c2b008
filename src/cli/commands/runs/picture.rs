//! What is known of a run from its events, and how it is drawn: states, work items, gates, open issues.
//!
//! It reads nothing itself. Invariant: the same events give the same lines, however they arrive.

use std::collections::BTreeMap;

use codeyard_launch::workflow::states::LAUNCH;
use serde_json::Value;

use super::event_line::{item_name, place};
use crate::terminal_style::{Part, TerminalStyle};

/// Issues that are drawn.
const SHOWN_ISSUES: usize = 10;

/// What is known of a run.
#[derive(Debug, Default)]
pub(super) struct RunPicture {
    state: String,
    visited: Vec<String>,
    workers: Vec<WorkerPicture>,
    items: BTreeMap<String, usize>,
    gates: Vec<(String, GateMark)>,
    issues: BTreeMap<String, Value>,
}

#[derive(Debug)]
struct WorkerPicture {
    name: String,
    all: usize,
    done: usize,
    failed: usize,
    running: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GateMark {
    Running,
    Good,
    Bad,
    Skipped,
}

impl RunPicture {
    pub(super) fn add(&mut self, event: &Value) {
        let payload = &event["payload"];
        let text = |name: &str| payload[name].as_str().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "RUN_CREATED" => self.enter("CREATED"),
            "RUN_STATE_CHANGED" => self.enter(text("to")),
            "WORK_ITEM_QUEUED" => self.queue(text("item"), text("worker")),
            "WORK_ITEM_STARTED" => self.change(text("item"), |worker, name| worker.running.push(name)),
            "WORK_ITEM_FINISHED" => self.change(text("item"), |worker, name| {
                worker.done += 1;
                worker.running.retain(|running| *running != name);
            }),
            "WORK_ITEM_FAILED" => self.change(text("item"), |worker, name| {
                worker.failed += 1;
                worker.running.retain(|running| *running != name);
            }),
            "GATE_RUN_STARTED" => {
                if self.gates.iter().any(|(name, _)| name == text("gate")) {
                    self.gates.clear();
                }
                self.gates.push((text("gate").to_owned(), GateMark::Running));
            }
            "GATE_RUN_FINISHED" => {
                let mark = match (payload["skipped"].is_string(), payload["ok"].as_bool()) {
                    (true, _) => GateMark::Skipped,
                    (false, Some(true)) => GateMark::Good,
                    _ => GateMark::Bad,
                };
                match self.gates.iter_mut().find(|(name, _)| name == text("gate")) {
                    Some(gate) => gate.1 = mark,
                    None => self.gates.push((text("gate").to_owned(), mark)),
                }
            }
            "ISSUE_OPENED" => drop(self.issues.insert(text("issue_id").to_owned(), payload.clone())),
            "ISSUE_RESOLVED" => drop(self.issues.remove(text("issue_id"))),
            _ => {}
        }
    }

    fn enter(&mut self, state: &str) {
        state.clone_into(&mut self.state);
        if !self.visited.iter().any(|visited| visited == state) {
            self.visited.push(state.to_owned());
        }
    }

    fn queue(&mut self, item: &str, worker: &str) {
        let known = self.workers.iter().position(|known| known.name == worker);
        let at = known.unwrap_or_else(|| {
            let name = worker.to_owned();
            self.workers.push(WorkerPicture { name, all: 0, done: 0, failed: 0, running: Vec::new() });
            self.workers.len() - 1
        });
        if self.items.insert(item.to_owned(), at).is_none() {
            self.workers[at].all += 1;
        }
    }

    fn change(&mut self, item: &str, change: impl FnOnce(&mut WorkerPicture, String)) {
        if let Some(worker) = self.items.get(item).and_then(|at| self.workers.get_mut(*at)) {
            let name = item_name(item);
            let scope = name.split_once(' ').map_or(name.clone(), |(_, scope)| scope.to_owned());
            change(worker, scope);
        }
    }

    /// The lines of the picture, each at most `width` characters. `more` is what the server says of the work.
    pub(super) fn lines(&self, run: &str, more: &str, width: usize, style: TerminalStyle) -> Vec<String> {
        let mut lines = Lines { style, width: width.max(20), done: Vec::new() };
        lines.add(&[(None, run), (None, "  "), (Some(Part::Kind), &self.state), (None, "  "), (Some(Part::Dim), more)]);
        let is_visited = |name: &str| self.visited.iter().any(|visited| visited == name);
        // Repairs and bad ends are shown where they happen.
        let is_usual = |name: &str| !matches!(name, "FIXING" | "FAILED" | "CANCELLED");
        let states = LAUNCH.states.iter().map(|state| state.name).filter(|name| is_usual(name) || is_visited(name));
        lines.wrap(
            "states",
            states.map(|name| {
                let (mark, part) = match name {
                    name if name == self.state => ("●", Part::Kind),
                    name if is_visited(name) => ("✓", Part::Line),
                    _ => ("·", Part::Dim),
                };
                (format!("{mark} {name}"), Some(part))
            }),
        );
        for worker in &self.workers {
            let counts = format!("{}/{}", worker.done, worker.all);
            let failed = if worker.failed > 0 { format!("  {} failed", worker.failed) } else { String::new() };
            let part = if worker.done == worker.all { Part::Line } else { Part::Kind };
            let running = worker.running.join(", ");
            let name = format!("{:<15}", worker.name);
            lines.add(&[
                (None, "  "),
                (None, &name),
                (Some(part), &counts),
                (Some(Part::Match), &failed),
                (None, "  "),
                (Some(Part::Dim), &running),
            ]);
        }
        lines.wrap(
            "gates",
            self.gates.iter().map(|(name, mark)| match mark {
                GateMark::Running => (format!("● {name}"), Some(Part::Kind)),
                GateMark::Good => (format!("✓ {name}"), Some(Part::Line)),
                GateMark::Bad => (format!("✗ {name}"), Some(Part::Match)),
                GateMark::Skipped => (format!("- {name}"), Some(Part::Dim)),
            }),
        );
        for issue in self.issues.values().take(SHOWN_ISSUES) {
            let text = |name: &str| issue[name].as_str().unwrap_or_default();
            let severity = format!("{:<8}", text("severity"));
            lines.add(&[
                (None, "  "),
                (Some(Part::Match), &severity),
                (Some(Part::Path), &place(issue)),
                (None, "  "),
                (None, text("title")),
            ]);
        }
        if self.issues.len() > SHOWN_ISSUES {
            let rest = format!("  and {} more issues", self.issues.len() - SHOWN_ISSUES);
            lines.add(&[(Some(Part::Dim), &rest)]);
        }
        lines.done
    }
}

/// Lines in the making.
struct Lines {
    style: TerminalStyle,
    width: usize,
    done: Vec<String>,
}

impl Lines {
    /// A line of parts, cut at the width.
    fn add(&mut self, parts: &[(Option<Part>, &str)]) {
        let mut line = String::new();
        let mut left = self.width;
        for (part, text) in parts {
            let safe = self.style.safe(text);
            let kept: String = safe.chars().take(left).collect();
            left -= kept.chars().count();
            match part {
                Some(part) if !kept.is_empty() => self.style.paint(*part, &kept, &mut line),
                _ => line.push_str(&kept),
            }
        }
        self.done.push(line.trim_end().to_owned());
    }

    /// Words after a name, in as many lines as they need.
    fn wrap(&mut self, name: &str, words: impl Iterator<Item = (String, Option<Part>)>) {
        let head = format!("{name:<7}");
        let mut line = head.clone();
        let mut used = head.len();
        let mut has_words = false;
        for (word, part) in words {
            // A word that is longer than a narrow terminal would break the line, and with it the count of lines.
            let word: String = word.chars().take(self.width - head.len()).collect();
            let length = word.chars().count() + 1;
            if used + length > self.width && has_words {
                self.done.push(std::mem::replace(&mut line, " ".repeat(head.len())).trim_end().to_owned());
                used = head.len();
            }
            match part {
                Some(part) => self.style.paint(part, &word, &mut line),
                None => line.push_str(&word),
            }
            line.push(' ');
            used += length;
            has_words = true;
        }
        if has_words {
            self.done.push(line.trim_end().to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn picture(events: &[(&str, Value)]) -> RunPicture {
        let mut picture = RunPicture::default();
        for (kind, payload) in events {
            picture.add(&json!({"type": kind, "payload": payload}));
        }
        picture
    }

    #[test]
    fn a_run_is_drawn_with_states_items_gates_and_issues() {
        let picture = picture(&[
            ("RUN_CREATED", json!({"subject": "tidy"})),
            ("RUN_STATE_CHANGED", json!({"from": "CREATED", "to": "DRAFTING"})),
            (
                "WORK_ITEM_QUEUED",
                json!({"item": "r:SectionWriter:1:docs/a", "worker": "SectionWriter", "scope": "docs/a"}),
            ),
            (
                "WORK_ITEM_QUEUED",
                json!({"item": "r:SectionWriter:1:docs/b", "worker": "SectionWriter", "scope": "docs/b"}),
            ),
            ("WORK_ITEM_STARTED", json!({"item": "r:SectionWriter:1:docs/a"})),
            ("WORK_ITEM_FINISHED", json!({"item": "r:SectionWriter:1:docs/a"})),
            ("WORK_ITEM_STARTED", json!({"item": "r:SectionWriter:1:docs/b"})),
            ("GATE_RUN_STARTED", json!({"gate": "Schema"})),
            ("GATE_RUN_FINISHED", json!({"gate": "Schema", "ok": true, "skipped": null})),
            ("GATE_RUN_STARTED", json!({"gate": "SiteBuild"})),
            (
                "ISSUE_OPENED",
                json!({"issue_id": "i1", "severity": "error", "title": "Evil \u{1b}[31m", "location": {"path": "a.md", "line": 3}}),
            ),
            ("ISSUE_OPENED", json!({"issue_id": "i2", "severity": "warn", "title": "Gone"})),
            ("ISSUE_RESOLVED", json!({"issue_id": "i2"})),
        ]);
        let terminal = TerminalStyle { is_terminal: true, ..TerminalStyle::default() };
        let lines = picture.lines("r_1", "3 s", 60, terminal);
        assert_eq!(
            lines,
            [
                "r_1  DRAFTING  3 s",
                "states ✓ CREATED · CLONED_INPUTS · INGESTED · FACTS_READY",
                "       · PLAN_READY ● DRAFTING · DRAFT_READY · LINKING",
                "       · VALIDATING · READY_FOR_PR · PR_OPENED · DONE",
                "  SectionWriter  1/2  docs/b",
                "gates  ✓ Schema ● SiteBuild",
                "  error   a.md:3  Evil \\x1b[31m",
            ]
        );
        assert!(picture.lines("r_1", "", 20, terminal).iter().all(|line| line.chars().count() <= 20), "narrow");
        let colored = TerminalStyle { has_colors: true, ..terminal };
        assert!(picture.lines("r_1", "", 60, colored)[0].contains("\x1b[36mDRAFTING\x1b[0m"));
    }

    #[test]
    fn a_second_validation_begins_with_no_gate() {
        let picture = picture(&[
            ("GATE_RUN_STARTED", json!({"gate": "Schema"})),
            ("GATE_RUN_FINISHED", json!({"gate": "Schema", "ok": false})),
            ("GATE_RUN_STARTED", json!({"gate": "Schema"})),
        ]);
        assert_eq!(picture.gates, [("Schema".to_owned(), GateMark::Running)]);
    }
}
