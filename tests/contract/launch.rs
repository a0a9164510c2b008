//! `docs/contract-launch.md`: its diagram, its events and its gates are those of the code.

use std::path::PathBuf;

use codeyard_launch::issue::GateName;
use codeyard_launch::states::LAUNCH;
use codeyard_launch::validator::GATES;
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
    let rows = page.lines().skip_while(|line| *line != "| gate | looks for | repairs |").skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let names: Vec<GateName> =
        rows.map(|row| serde_json::from_value(row.split('`').nth(1).unwrap().into()).unwrap()).collect();
    assert_eq!(names, GATES);
}
