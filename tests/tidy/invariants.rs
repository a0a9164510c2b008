//! `docs/internals/invariants.md` names a test for each line, and the tests are there.

use crate::source::project;
use codeyard_test_support::named_test::check_test;

#[test]
fn every_invariant_names_a_test_that_checks_it() {
    let text = std::fs::read_to_string(project().join("docs/internals/invariants.md")).unwrap();
    let named: Vec<(String, String)> = text
        .lines()
        .filter_map(|line| line.split("| `").nth(1))
        .map(|cell| {
            let (file, test) = cell.split_once("` ").unwrap();
            (file.to_owned(), test.trim_end_matches(['|', ' ']).to_owned())
        })
        .collect();
    assert!(named.len() >= 25, "{named:?}");
    let read = |file: &str| std::fs::read_to_string(project().join(file)).unwrap_or_default();
    let problems: Vec<String> = named
        .iter()
        .filter_map(|(file, test)| Some(format!("{file}: {test} {}", check_test(&read(file), test).err()?)))
        .collect();
    assert!(problems.is_empty(), "{problems:#?}");
}
