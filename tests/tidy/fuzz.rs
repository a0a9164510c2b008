//! The fuzz targets of `tests/fuzz`: the manifest, the files and the page that lists them say the same.

use std::collections::BTreeSet;

use crate::source::{files_below, project, relative};
use crate::table::{names, rows};

/// The targets of the manifest, with their files.
fn declared() -> BTreeSet<(String, String)> {
    let text = std::fs::read_to_string(project().join("tests/fuzz/Cargo.toml")).unwrap();
    let table: toml::Table = toml::from_str(&text).unwrap();
    let text_of = |target: &toml::Value, key: &str| target[key].as_str().unwrap().to_owned();
    let targets = table["bin"].as_array().unwrap().iter();
    targets.map(|target| (text_of(target, "name"), text_of(target, "path"))).collect()
}

#[test]
fn the_page_lists_every_fuzz_target() {
    let page = std::fs::read_to_string(project().join("docs/internals/reliability.md")).unwrap();
    let listed: Vec<String> = rows(&page, "Fuzzing").iter().flat_map(|row| names(&row[0])).collect();
    let declared: Vec<String> = declared().into_iter().map(|(name, _)| name).collect();
    assert_eq!(listed, declared, "sorted, each once");
}

#[test]
fn every_fuzz_target_has_its_file_and_seeds() {
    let folder = project().join("tests/fuzz");
    let files: BTreeSet<String> = files_below(&folder.join("targets")).iter().map(|path| relative(path)).collect();
    let expected: BTreeSet<String> = declared().iter().map(|(_, path)| format!("tests/fuzz/{path}")).collect();
    assert_eq!(files, expected);
    for (name, path) in declared() {
        assert_eq!(path, format!("targets/{name}.rs"));
        assert!(!files_below(&folder.join("seeds").join(&name)).is_empty(), "{name} has no seeds");
    }
    let seeds = files_below(&folder.join("seeds")).iter().map(|path| path.metadata().unwrap().len()).sum::<u64>();
    assert!(seeds < 200_000, "{seeds} bytes of seeds");
}
