//! `docs/invariants.md` names a test for each line, and the tests are there.

use crate::source::project;

#[test]
fn every_invariant_names_a_test_that_exists() {
    let text = std::fs::read_to_string(project().join("docs/invariants.md")).unwrap();
    let named: Vec<(String, String)> = text
        .lines()
        .filter_map(|line| line.split("| `").nth(1))
        .map(|cell| {
            let (file, test) = cell.split_once("` ").unwrap();
            (file.to_owned(), test.trim_end_matches(['|', ' ']).to_owned())
        })
        .collect();
    assert!(named.len() >= 25, "{named:?}");
    let missing: Vec<_> = named
        .iter()
        .filter(|(file, test)| {
            let text = std::fs::read_to_string(project().join(file)).unwrap_or_default();
            !text.contains(&format!("fn {test}("))
        })
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
