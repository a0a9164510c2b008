//! Tests of `top` with recorded answers of the admin API.

use std::time::Duration;

use ratatui::crossterm::event::KeyCode;

use super::model::{KeyAction, SortKey, TopModel};
use super::sample::AdminSample;
use super::{text, view};
use codeyard_server::admin::documents::{CallCount, WorkspaceDocument};

fn recorded() -> AdminSample {
    serde_json::from_str(include_str!("recorded.json")).unwrap()
}

/// A frame of the terminal view as text.
fn frame_text(model: &TopModel, width: u16, height: u16) -> String {
    super::frame_text(width, height, |frame| view::draw(frame, model))
}

fn model() -> TopModel {
    let mut model = TopModel::new(recorded());
    let mut later = recorded();
    later.at = model.sample.at + Duration::from_secs(2);
    later.service.calls[0].count += 40;
    later.metrics = later.metrics.replace("} 10", "} 50");
    model.update(later);
    model
}

#[test]
fn a_frame_shows_summary_workspaces_and_servers() {
    let text = frame_text(&model(), 140, 20);
    for part in [
        "process 4711", "up 1 h 2 m", "calls/s 20.0", "p50 0.50 ms", "p99 0.99 ms", "in flight 3",
        "memory 30 + 512 MiB",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    let line =
        |word: &str| text.lines().find(|line| line.starts_with(word)).unwrap_or_else(|| panic!("{word}:\n{text}"));
    assert!(line("shop*").split_whitespace().any(|word| word == "812"), "{text}");
    assert!(line("shop*").contains("open") && line("shop*").contains("/srv/shop"));
    assert!(line("gone").contains("failed") && line("gone").contains("not there"));
    assert!(text.contains("down quarantined") && text.contains("ready") && text.contains("s sort (name)"));
}

#[test]
fn refused_calls_are_calls_and_no_failures() {
    let shown = |outcome: &str| {
        let mut model = TopModel::new(recorded());
        let mut later = recorded();
        later.at = model.sample.at + Duration::from_secs(1);
        let first = &later.service.calls[0];
        later.service.calls.push(CallCount { tool: first.tool.clone(), outcome: outcome.into(), count: 3 });
        model.update(later);
        frame_text(&model, 140, 20).lines().find(|line| line.starts_with("calls/s")).expect("a line").to_owned()
    };
    for outcome in ["INVALID_PARAMS", "NOT_FOUND", "WORKSPACE_DENIED"] {
        assert!(shown(outcome).starts_with("calls/s 3.0  failed/s 0.0  "), "{outcome}: {}", shown(outcome));
    }
    for outcome in ["INTERNAL", "CAP_EXCEEDED", "PROVIDER_UNAVAILABLE", "CANCELLED"] {
        assert!(shown(outcome).starts_with("calls/s 3.0  failed/s 3.0  "), "{outcome}: {}", shown(outcome));
    }
}

#[test]
fn small_terminals_do_not_panic() {
    for (width, height) in [(1, 1), (10, 2), (40, 5), (300, 100)] {
        frame_text(&model(), width, height);
    }
}

#[test]
fn keys_sort_select_and_restart_after_confirmation() {
    let mut model = model();
    let ids = |model: &TopModel| model.servers().iter().map(|server| server.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&model), ["clangd-1", "ty-2"]);
    assert_eq!(model.press(KeyCode::Char('s')), KeyAction::None);
    assert_eq!((model.sort, ids(&model)), (SortKey::Memory, vec!["ty-2".to_owned(), "clangd-1".to_owned()]));
    model.press(KeyCode::Down);
    model.press(KeyCode::Down);
    assert_eq!(model.selected(), Some(1), "the last one");
    model.press(KeyCode::Char('r'));
    assert!(frame_text(&model, 120, 20).contains("restart clangd-1 of shop? y / n"));
    assert_eq!(model.press(KeyCode::Char('n')), KeyAction::None);
    model.press(KeyCode::Char('r'));
    let wanted = KeyAction::Restart { workspace: "shop".into(), id: "clangd-1".into() };
    assert_eq!(model.press(KeyCode::Char('y')), wanted);
    assert_eq!(model.press(KeyCode::Char('q')), KeyAction::Quit);
}

#[test]
fn a_stopped_server_is_shown() {
    let mut model = model();
    model.set_error("no server runs here".into());
    assert!(frame_text(&model, 120, 20).contains("no server runs here"));
    model.update(recorded());
    assert!(!frame_text(&model, 120, 20).contains("no server runs here"));
}

#[test]
fn a_hanging_server_is_shown_above_the_last_frame() {
    let mut model = model();
    model.unanswered_s = 1;
    assert!(!frame_text(&model, 120, 20).contains("not answering"));
    model.unanswered_s = 9;
    let text = frame_text(&model, 120, 20);
    assert!(text.contains("not answering for 9 s") && text.contains("shop*"), "{text}");
}

#[test]
fn rows_without_room_are_counted_and_text_output_has_all_rows() {
    let mut sample = recorded();
    let workspace = sample.workspaces.workspaces[0].clone();
    let server = sample.servers.servers[0].clone();
    sample.workspaces.workspaces = (0..47).map(|at| named(&workspace, at)).collect();
    sample.servers.servers = vec![server; 30];
    let model = TopModel::new(sample);
    let live = frame_text(&model, 120, 30);
    assert!(live.contains("w11*") && !live.contains("w12*") && live.contains("and 35 more"), "{live}");
    // 30 rows minus 3 of the summary, 14 of workspaces, the header, the keys, and the line with the count.
    assert!(live.contains("and 20 more") && live.contains("q quit"), "{live}");
    let printed = text(&model);
    assert!(printed.contains("w46*") && !printed.contains(" more") && !printed.contains("q quit"), "{printed}");
    assert_eq!(printed.lines().count(), 3 + 47 + 2 + 30 + 1, "{printed}");
}

fn named(workspace: &WorkspaceDocument, at: usize) -> WorkspaceDocument {
    WorkspaceDocument { name: format!("w{at}"), ..workspace.clone() }
}
