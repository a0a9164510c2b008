//! What re-exports that refer to each other can cost.

use super::super::tests::parsed;
use super::*;

fn crate_root() -> Vec<CrateRoot> {
    vec![CrateRoot { name: "shapes".into(), path: "src/lib.rs".into() }]
}

#[test]
fn a_module_is_read_once_under_its_best_path() {
    let aliases: String = (0..4).map(|number| format!("pub use crate::a as alias_{number};\n")).collect();
    let stop = StopFlag::default();
    let files = parsed(&[
        ("src/lib.rs", "pub mod a;\npub mod b;\n"),
        ("src/a.rs", &format!("{aliases}pub use crate::b as other;\npub fn one() {{}}\n")),
        ("src/b.rs", "pub use crate::a as back;\npub use super::*;\npub fn two() {}\n"),
    ]);
    let graph = published(&files, &crate_root(), &stop);
    assert_eq!((graph.published.len(), graph.offered.len()), (3, 3), "each module has one path");
    let names: Vec<(String, String)> = graph.found.into_values().collect();
    assert_eq!(names, [("shapes::a".to_owned(), "one".to_owned()), ("shapes::b".to_owned(), "two".to_owned())]);
}

#[test]
fn modules_that_re_export_each_other_have_the_shortest_paths() {
    // Each module re-exports all others: the paths are as many as the orders of the modules.
    const COUNT: usize = 12;
    let modules: String = (0..COUNT).map(|module| format!("pub mod m{module};\n")).collect();
    let mut sources = vec![("src/lib.rs".to_owned(), modules)];
    for module in 0..COUNT {
        let others = (0..COUNT).filter(|other| *other != module);
        let uses: String = others.map(|other| format!("pub use crate::m{other} as n{other};\n")).collect();
        sources.push((format!("src/m{module}.rs"), format!("{uses}pub fn f{module}() {{}}\n")));
    }
    let long = "x".repeat(MAX_API_NAME_BYTES + 1);
    sources.push(("src/long.rs".to_owned(), "pub fn g() {}\n".to_owned()));
    sources[0].1 += &format!("mod long;\npub use long as {long};\npub use long::g as {long};\n");
    let sources: Vec<(&str, &str)> = sources.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let files = parsed(&sources);
    let stop = StopFlag::default();
    let graph = published(&files, &crate_root(), &stop);
    assert_eq!(graph.published.len(), COUNT + 1);
    assert_eq!(graph.found.len(), COUNT, "names that are too long are left out");
    for (path, name) in graph.found.values() {
        assert_eq!(*path, format!("shapes::{}", name.replace('f', "m")));
    }
}
