//! `docs/internals/reference/telemetry.md` lists exactly the existing spans and attributes.

use std::collections::BTreeSet;

use codeyard_telemetry::{PermissionOutcome, names};

const PAGE: &str = include_str!("../../../docs/internals/reference/telemetry.md");

/// Code-formatted names in the first column of the table under `heading`.
fn rows(heading: &str) -> BTreeSet<String> {
    let below = PAGE.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no {heading}")).1;
    let table = below.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    table.filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(name, _)| name.to_owned()).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn the_span_and_attribute_tables_match_the_code() {
    assert_eq!(rows("### Attributes"), set(names::SPAN_ATTRIBUTES));
    let spans = [
        "tools/call <tool>",
        names::TOOLS_CALL,
        names::SPAN_QUEUE,
        names::SPAN_PERSON,
        names::SPAN_WAIT,
        "<LSP method>",
        names::SPAN_CANONICALISE,
        names::SPAN_INDEX_WAIT,
        names::SPAN_INDEX,
        &format!("{} <worker>", names::SPAN_WORK_ITEM),
        &format!("{} <name>", names::SPAN_GATE),
        &format!("{} <program>", names::SPAN_PROCESS),
    ];
    assert_eq!(rows("### Spans"), set(&spans));
}

#[test]
fn every_permission_outcome_is_counted_and_documented() {
    let words: BTreeSet<&str> = names::instruments::PERMISSION_WORDS.iter().copied().collect();
    assert_eq!(words, PermissionOutcome::ALL.iter().map(|outcome| outcome.as_str()).collect());
    let row = PAGE.lines().find(|line| line.starts_with("| `codeyard.permission`")).unwrap();
    assert!(words.iter().all(|word| row.contains(&format!("`{word}`"))), "{row}");
}

#[test]
fn reasons_are_sorted_for_binary_search() {
    assert!(names::REASONS.is_sorted());
    assert!(names::REASONS.iter().all(|reason| names::reason(reason) == *reason));
    assert_eq!(names::reason("a caller's text"), names::OTHER);
}
