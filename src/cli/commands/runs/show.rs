//! The status of a run as text, and the command that comes next.

use serde_json::Value;

use super::follow::is_settled;
use crate::Failure;
use crate::terminal_style::{Part, TerminalStyle};

/// Exit code of a run that waits for a repair, or has failed.
const NEEDS_REPAIR: u8 = 4;
/// Issues that are listed.
const SHOWN_ISSUES: usize = 20;

pub(super) fn status_text(status: &Value, style: TerminalStyle) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: &str, part: Option<Part>| {
        text.push_str(&format!("{name:<10}"));
        let value = style.safe(value);
        match part {
            Some(part) => style.paint(part, &value, &mut text),
            None => text.push_str(&value),
        }
        text.push('\n');
    };
    let run = status["run_id"].as_str().unwrap_or_default();
    row("run", run, None);
    let state = status["state"].as_str().unwrap_or_default();
    row("state", state, Some(if needs_repair(status) { Part::Match } else { Part::Line }));
    if let Some(stage) = status["activity"]["stage"].as_str() {
        let done = format!("{}/{} items", status["activity"]["items_done"], status["activity"]["items_total"]);
        let word = if is_settled(status) { "interrupted in" } else { "works on" };
        row("", &format!("{word} {stage}, {done}"), None);
    }
    if let Some(why) = status["interrupted"].as_str() {
        row("", why, Some(Part::Match));
    }
    if let Some(message) = status["failure"]["message"].as_str() {
        let code = status["failure"]["code"].as_str().unwrap_or_default();
        row("failure", &format!("{code}: {message}"), Some(Part::Match));
    }
    let sections = status["section_states"].as_object().into_iter().flatten();
    let sections: Vec<String> =
        sections.map(|(name, state)| format!("{name} {}", state.as_str().unwrap_or_default())).collect();
    row("sections", &sections.join(", "), None);
    let issues = status["open_issues"].as_array().map_or(&[][..], Vec::as_slice);
    for (number, issue) in issues.iter().take(SHOWN_ISSUES).enumerate() {
        let of = |name: &str| issue[name].as_str().unwrap_or_default();
        let shown = format!("{:<8} {:<14} {}", of("severity"), of("gate"), of("title"));
        row(if number == 0 { "issues" } else { "" }, &shown, None);
    }
    if issues.len() > SHOWN_ISSUES {
        row(
            "",
            &format!("and {} more; the artifact validation_report.json has all", issues.len() - SHOWN_ISSUES),
            None,
        );
    }
    if let Some(url) = status["pr_url"].as_str() {
        row("result", url, Some(Part::Path));
    }
    if let Some(next) = next_command(status) {
        row("next", &next, Some(Part::Kind));
    }
    text
}

/// The command that takes the run further.
pub(super) fn next_command(status: &Value) -> Option<String> {
    let run = status["run_id"].as_str()?;
    let has_issues = status["open_issues"].as_array().is_some_and(|issues| !issues.is_empty());
    let command = match status["state"].as_str()? {
        _ if !is_settled(status) => format!("show {run} --follow"),
        "DONE" | "CANCELLED" => return None,
        "FAILED" => format!("logs {run}"),
        _ if !status["activity"].is_null() || status["interrupted"].is_string() => format!("resume {run}"),
        "VALIDATING" if has_issues => format!("fix {run} --all"),
        "READY_FOR_PR" => format!("open-pr {run}"),
        _ => format!("resume {run}"),
    };
    Some(format!("codeyard runs {command}"))
}

/// Whether a person has to look at it.
fn needs_repair(status: &Value) -> bool {
    let is_bad = |issue: &Value| matches!(issue["severity"].as_str(), Some("blocker" | "error"));
    match status["state"].as_str() {
        Some("FAILED") => true,
        Some("VALIDATING") => status["open_issues"].as_array().is_some_and(|issues| issues.iter().any(is_bad)),
        _ => false,
    }
}

/// The outcome of a command whose run has this status: exit code 4 if it needs a repair.
pub(super) fn outcome(status: &Value) -> Result<(), Failure> {
    // What there is to say has been printed.
    if needs_repair(status) { Err(Failure { message: String::new(), code: NEEDS_REPAIR }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(state: &str, more: Value) -> Value {
        let mut status =
            json!({"run_id": "r_1", "state": state, "section_states": {"docs": "DONE"}, "open_issues": []});
        for (key, value) in more.as_object().unwrap() {
            status[key] = value.clone();
        }
        status
    }

    #[test]
    fn each_state_has_its_next_command_and_exit_code() {
        let issue = json!([{"issue_id": "i", "severity": "error", "gate": "Schema", "title": "t"}]);
        let warning = json!([{"issue_id": "i", "severity": "warn", "gate": "Schema", "title": "t"}]);
        let working = json!({"stage": "draft", "items_done": 1, "items_total": 2});
        let interrupted = json!({"stage": "draft", "items_done": 1, "items_total": 2, "interrupted": true});
        for (state, more, next, code) in [
            ("DRAFTING", json!({"activity": working}), "show r_1 --follow", 0),
            ("DRAFTING", json!({"activity": interrupted}), "resume r_1", 0),
            ("PLAN_READY", json!({}), "resume r_1", 0),
            ("VALIDATING", json!({"open_issues": issue}), "fix r_1 --all", 4),
            ("VALIDATING", json!({"open_issues": warning}), "fix r_1 --all", 0),
            ("VALIDATING", json!({}), "resume r_1", 0),
            ("READY_FOR_PR", json!({}), "open-pr r_1", 0),
            ("FAILED", json!({"failure": {"code": "INTERNAL", "message": "m"}}), "logs r_1", 4),
            ("DONE", json!({"pr_url": "https://x"}), "", 0),
        ] {
            let status = status(state, more);
            let expected = (!next.is_empty()).then(|| format!("codeyard runs {next}"));
            assert_eq!(next_command(&status), expected, "{state}");
            assert_eq!(outcome(&status).map_or_else(|failure| failure.code, |()| 0), code, "{state}");
            assert!(status_text(&status, TerminalStyle::default()).contains(state));
        }
    }

    #[test]
    fn text_of_a_repository_writes_no_escape_sequence() {
        let issue = json!([{"issue_id": "i", "severity": "error", "gate": "Schema", "title": "\u{1b}]0;x\u{7}"}]);
        let terminal = TerminalStyle { is_terminal: true, ..TerminalStyle::default() };
        let text = status_text(&status("VALIDATING", json!({"open_issues": issue})), terminal);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text:?}");
    }
}
