//! Foreign crates are used only where `docs/architecture.md` allows, and processes are started only where they may be.

use std::collections::BTreeSet;

use crate::source::{Source, project, sources};
use crate::table::{names, rows};

/// Crates that rank 3 and above may use freely, and the only files below that may.
const EFFECTS: [&str; 6] = ["parking_lot", "tokio", "rustix", "libc", "rand", "futures"];
/// Below rank 3 these alone touch what runs.
const FOR_ALL: [&str; 3] = ["src/base/clock.rs", "src/base/blocking.rs", "src/base/priority.rs"];
const BELOW_EFFECTS: [&str; 5] = ["base", "model", "canon", "paging", "catalog"];

fn uses(source: &Source, name: &str) -> bool {
    source.statements().any(|line| names_crate(line, name))
}

fn names_crate(line: &str, name: &str) -> bool {
    line.match_indices(&format!("{name}::")).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '"'))
    })
}

#[test]
fn crates_stay_where_they_belong() {
    let document = std::fs::read_to_string(project().join("docs/architecture.md")).unwrap();
    let mut complaints = BTreeSet::new();
    for row in rows(&document, "Foreign crates") {
        let allowed = names(&row[1]);
        for name in names(&row[0]) {
            for source in sources().iter().filter(|source| uses(source, &name)) {
                if !allowed.iter().any(|module| module == source.module()) {
                    complaints.insert(format!("{} must not use {name}", source.path));
                }
            }
        }
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn effects_begin_at_rank_three() {
    let mut complaints = BTreeSet::new();
    for source in sources().iter().filter(|source| BELOW_EFFECTS.contains(&source.module())) {
        for name in EFFECTS.iter().filter(|name| uses(source, name)) {
            if !FOR_ALL.contains(&source.path.as_str()) {
                complaints.insert(format!("{} must not use {name}", source.path));
            }
        }
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn processes_start_in_few_places() {
    let starts = |line: &str| line.contains("Command::new(") || line.contains("process::Command");
    let may =
        |path: &str| ["spawn", "guard", "install"].iter().any(|part| path.starts_with(&format!("src/lsp/{part}")));
    let offenders: Vec<String> = sources()
        .iter()
        .filter(|source| source.statements().any(starts) && !may(&source.path))
        .map(|source| source.path.clone())
        .collect();
    assert_eq!(offenders, Vec::<String>::new());
}

#[test]
fn every_crate_asked_for_is_used() {
    let manifest = std::fs::read_to_string(project().join("Cargo.toml")).unwrap();
    let section = |name: &str| {
        let below = manifest.split_once(&format!("\n[{name}]\n")).unwrap().1;
        let lines = below.lines().take_while(|line| !line.starts_with('['));
        lines.filter_map(|line| line.split_once(" =").map(|(name, _)| name.replace('-', "_"))).collect::<Vec<_>>()
    };
    let all = sources();
    let used = |name: &str| all.iter().any(|source| source.text.lines().any(|line| names_crate(line, name)));
    let unused: Vec<String> = section("dependencies").into_iter().filter(|name| !used(name)).collect();
    assert_eq!(unused, Vec::<String>::new(), "dependencies that nothing uses");
}
