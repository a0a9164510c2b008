//! `top` from recorded answers of the admin API.

use std::time::Duration;

use ratatui::crossterm::event::KeyCode;

use super::frame_text;
use super::model::{Action, Model, Sort};
use super::sample::Sample;

fn recorded() -> Sample {
    serde_json::from_str(include_str!("recorded.json")).unwrap()
}

fn model() -> Model {
    let mut model = Model::new(recorded());
    let mut later = recorded();
    later.at = model.sample.at + Duration::from_secs(2);
    later.service.calls[0].count += 40;
    later.metrics = later.metrics.replace("} 10", "} 50");
    model.see(later);
    model
}

#[test]
fn a_frame_shows_all_of_it() {
    let text = frame_text(&model(), 140, 20);
    for part in [
        "process 4711",
        "up 1 h 2 m",
        "calls/s 20.0",
        "p50 0.50 ms",
        "p99 0.99 ms",
        "in flight 3",
        "memory 30 + 512 MiB",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    let line =
        |word: &str| text.lines().find(|line| line.starts_with(word)).unwrap_or_else(|| panic!("{word}:\n{text}"));
    assert!(line("shop*").contains("open") && line("shop*").contains("/srv/shop"));
    assert!(line("gone").contains("failed") && line("gone").contains("not there"));
    assert!(text.contains("down quarantined") && text.contains("ready") && text.contains("s sort (name)"));
}

#[test]
fn small_terminals_are_no_reason_to_panic() {
    for (width, height) in [(1, 1), (10, 2), (40, 5), (300, 100)] {
        frame_text(&model(), width, height);
    }
}

#[test]
fn keys_sort_choose_and_restart_after_a_confirmation() {
    let mut model = model();
    let ids = |model: &Model| model.servers().iter().map(|server| server.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&model), ["clangd-1", "ty-2"]);
    assert_eq!(model.press(KeyCode::Char('s')), Action::None);
    assert_eq!((model.sort, ids(&model)), (Sort::Memory, vec!["ty-2".to_owned(), "clangd-1".to_owned()]));
    model.press(KeyCode::Down);
    model.press(KeyCode::Down);
    assert_eq!(model.chosen(), Some(1), "the last one");
    model.press(KeyCode::Char('r'));
    assert!(frame_text(&model, 120, 20).contains("restart clangd-1 of shop? y / n"));
    assert_eq!(model.press(KeyCode::Char('n')), Action::None);
    model.press(KeyCode::Char('r'));
    let wanted = Action::Restart { workspace: "shop".into(), id: "clangd-1".into() };
    assert_eq!(model.press(KeyCode::Char('y')), wanted);
    assert_eq!(model.press(KeyCode::Char('q')), Action::Quit);
}

#[test]
fn a_server_that_is_gone_is_said() {
    let mut model = model();
    model.lose("no server runs here".into());
    assert!(frame_text(&model, 120, 20).contains("no server runs here"));
    model.see(recorded());
    assert!(!frame_text(&model, 120, 20).contains("no server runs here"));
}
