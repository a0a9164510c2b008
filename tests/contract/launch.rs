//! `docs/contract-launch.md`: its diagram, its events and its gates are those of the code.

use std::path::PathBuf;

use codeyard_launch::issue::GateName;
use codeyard_launch::states::LAUNCH;
use codeyard_runs::event::EventType;

fn page() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/contract-launch.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_diagram_is_that_of_the_state_machine() {
    let page = page();
    let drawn = page.split("```mermaid\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert_eq!(drawn, LAUNCH.diagram());
}

#[test]
fn every_event_has_its_row() {
    let page = page();
    let rows = page
        .lines()
        .skip_while(|line| *line != "| type | happens when |")
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let names: Vec<&str> = rows.map(|row| row.split('`').nth(1).unwrap()).collect();
    assert_eq!(names, EventType::ALL.map(EventType::as_str));
}

#[test]
fn the_gates_are_listed_in_their_order() {
    let page = page();
    let text =
        page.split("The gates, in their order: ").nth(1).and_then(|rest| rest.split(". A report").next()).unwrap();
    let names: Vec<GateName> =
        text.split('`').skip(1).step_by(2).map(|name| serde_json::from_value(name.into()).unwrap()).collect();
    assert_eq!(names.len(), 11);
    assert!(names.is_sorted() && names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
}
