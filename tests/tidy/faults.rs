//! The deliberate faults: the list, the places in the sources, and the table of the tests that must find them say the same.

use std::collections::BTreeSet;

use codeyard_base::seeded_faults::FAULTS;

use crate::source::{files_below, project};

/// The rows of `tests/faults/faults.txt`: fault, package, target, a part of a test's name.
fn rows() -> Vec<[String; 4]> {
    let text = std::fs::read_to_string(project().join("tests/faults/faults.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let words: Vec<String> = line.split_whitespace().map(String::from).collect();
            words.try_into().unwrap_or_else(|words| panic!("not four words: {words:?}"))
        })
        .collect()
}

fn sources() -> Vec<String> {
    let files = files_below(&project().join("src")).into_iter().chain(files_below(&project().join("tests")));
    let rust = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    rust.map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn every_fault_has_a_place_and_a_test() {
    let names: Vec<&str> = FAULTS.iter().map(|(name, _)| *name).collect();
    let sorted: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(sorted.len(), names.len());
    let rows = rows();
    let tested: BTreeSet<&str> = rows.iter().map(|row| &*row[0]).collect();
    assert_eq!(tested, sorted);
    let is_built = |target: &str| target == "lib" || project().join("tests").join(target).join("main.rs").is_file();
    let lost: Vec<_> = rows.iter().filter(|row| !is_built(&row[2])).collect();
    assert!(lost.is_empty(), "no such target: {lost:?}");
    let sources = sources();
    for name in names {
        let place = format!("seeded_faults::is_on(\"{name}\")");
        let places = sources.iter().map(|text| text.matches(&place).count()).sum::<usize>();
        assert_eq!(places, 1, "{name}");
    }
    for [fault, package, target, filter] in &rows {
        let path = filter.trim_end_matches("::");
        let name = path.rsplit("::").next().unwrap_or(path);
        let known =
            sources.iter().any(|text| text.contains(&format!("fn {name}")) || text.contains(&format!("mod {name};")));
        assert!(known, "{fault}: no test or module {name} of {package} {target}");
    }
}
