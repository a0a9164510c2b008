//! The crates keep the order of `docs/internals/architecture.md`, use what they declare, and the pure ones have no effects.

use std::collections::BTreeSet;

use crate::manifest::manifests;
use crate::source::{Source, project, sources};
use crate::table::{names, rows};

/// Crates without a clock, randomness, network, processes and hash-map order.
const PURE: [&str; 7] = ["base", "model", "canon", "paging", "catalog", "protocol", "config"];
/// Foreign crates that a pure crate doesn't depend on.
const EFFECTS: [&str; 9] = ["parking_lot", "tokio", "rustix", "libc", "rand", "futures", "actix", "hyper", "rusqlite"];
/// Foreign crates with effects that a pure crate may have after all, and the only files that use them.
const EFFECTS_ALLOWED: [(&str, &str, &str); 3] = [
    ("base", "tokio", "src/base/clock.rs"),
    ("base", "tokio", "src/base/blocking.rs"),
    ("base", "rustix", "src/base/priority.rs"),
];
/// Texts in statements that mean an effect or an order that isn't fixed.
const IMPURE: [&str; 12] = [
    "Instant::now", "SystemTime", "wall_ns(", "Deadline::after", "rand::", "TcpStream", "std::process", "std::fs",
    "std::net", "std::thread", "HashMap", "HashSet",
];
/// Files of pure crates that contain one of [`IMPURE`], and why that is right.
const IMPURE_ALLOWED: [(&str, &str, &str); 8] = [
    ("src/base/clock.rs", "Instant::now", "it is the clock"),
    ("src/base/clock.rs", "SystemTime", "it is the clock"),
    ("src/base/clock.rs", "wall_ns(", "it is the clock"),
    ("src/canon/uri_admission.rs", "HashMap", "entries are looked up, never iterated"),
    ("src/config/sections.rs", "std::net", "an address is data"),
    ("src/config/validate.rs", "std::net", "an address is data"),
    ("src/base/atomic_file.rs", "std::fs", "it replaces files"),
    ("src/base/file_lock.rs", "std::fs", "it locks files"),
];

/// Texts in statements that only a reader of a package manifest needs: the names of the manifests, and of their members.
const MANIFESTS: [&str; 14] = [
    "\"package.json\"", "\"pnpm-workspace.yaml\"", "\"Cargo.toml\"", "\"pyproject.toml\"", "\"setup.py\"",
    "\"setup.cfg\"", "\"go.mod\"", "\"go.work\"", "\"exports\"", "\"typesVersions\"", "\"packageManager\"",
    "\"devDependencies\"", "\"dependencies\"", "\"dev-dependencies\"",
];
/// Files of other crates that contain one of [`MANIFESTS`], and why they read no manifest.
const MANIFESTS_ALLOWED: [(&str, &str); 7] = [
    ("src/bench/code_index/group_search.rs", "it writes a project"),
    ("src/bench/corpus.rs", "it writes projects"),
    ("src/bench/scenarios/fleet/packages.rs", "it writes packages"),
    ("src/complete/commonjs/sources.rs", "it looks for the object of CommonJS"),
    ("src/files/ignores.rs", "it lists files that are watched"),
    ("src/index/commonjs/reader.rs", "it reads the object of CommonJS"),
    ("src/lsp/registry/schema.rs", "the registry's names of manifests are text of TOML"),
];

/// The crates table of the architecture document: name, and the foreign crates that only it has.
fn documented() -> Vec<(String, Vec<String>)> {
    let document = std::fs::read_to_string(project().join("docs/internals/architecture.md")).unwrap();
    rows(&document, "Crates").iter().map(|row| (names(&row[0]).remove(0), names(&row[2]))).collect()
}

/// Whether a line of code uses the foreign crate or crate of this workspace `name`, spelt with underscores.
fn names_crate(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = &line[at + name.len()..];
        let is_whole = !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '"' | '.'));
        is_whole && ["::", "!", ";", " as "].iter().any(|end| after.starts_with(end))
    })
}

#[test]
fn the_table_lists_the_crates_in_the_order_of_their_dependencies() {
    let manifests = manifests();
    let order: Vec<String> = documented().into_iter().map(|(name, _)| name).collect();
    assert_eq!(order.iter().collect::<BTreeSet<_>>(), manifests.keys().collect(), "the table names other crates");
    let place = |name: &str| order.iter().position(|known| known == name);
    let mut complaints = Vec::new();
    for manifest in manifests.values() {
        for own in manifest.own.iter().filter(|own| place(own) >= place(&manifest.name)) {
            complaints.push(format!("{} depends on {own}, which the table lists below it", manifest.name));
        }
    }
    assert_eq!(complaints, Vec::<String>::new());
}

#[test]
fn foreign_crates_of_one_owner_have_one_owner() {
    let manifests = manifests();
    let mut complaints = Vec::new();
    for (owner, foreign) in documented() {
        for name in foreign {
            let users: Vec<&str> = manifests
                .values()
                .filter(|manifest| manifest.foreign.contains(&name))
                .map(|m| m.name.as_str())
                .collect();
            if users != [owner.as_str()] {
                complaints.push(format!("{name} belongs to {owner}, and these depend on it: {users:?}"));
            }
        }
    }
    assert_eq!(complaints, Vec::<String>::new());
}

#[test]
fn every_dependency_is_used() {
    let sources = sources();
    let mut unused = Vec::new();
    for manifest in manifests().values() {
        let own: Vec<&Source> = sources.iter().filter(|source| source.crate_name() == manifest.name).collect();
        let is_used = |name: &String| {
            let name = name.replace('-', "_");
            own.iter().any(|source| source.text.lines().any(|line| names_crate(line, &name)))
        };
        let all = manifest.foreign.iter().chain(&manifest.foreign_of_tests);
        // Queries name their grammars by what the manifest calls them, in the table of languages.
        unused.extend(all.filter(|name| !is_used(name)).map(|name| format!("{}: {name}", manifest.name)));
    }
    assert_eq!(unused, Vec::<String>::new(), "dependencies that nothing uses");
}

#[test]
fn pure_crates_depend_on_no_effects() {
    let mut complaints = Vec::new();
    for manifest in manifests().values().filter(|manifest| PURE.contains(&manifest.name.as_str())) {
        for effect in EFFECTS.iter().filter(|effect| manifest.foreign.contains(**effect)) {
            if !EFFECTS_ALLOWED.iter().any(|(owner, name, _)| owner == &manifest.name && name == effect) {
                complaints.push(format!("{} must not depend on {effect}", manifest.name));
            }
        }
    }
    for source in sources().iter().filter(|source| PURE.contains(&source.crate_name())) {
        for effect in EFFECTS.iter().filter(|effect| source.statements().any(|line| names_crate(line, effect))) {
            if !EFFECTS_ALLOWED.iter().any(|(_, name, file)| name == effect && *file == source.path) {
                complaints.push(format!("{} must not use {effect}", source.path));
            }
        }
    }
    assert_eq!(complaints, Vec::<String>::new());
}

#[test]
fn pure_crates_have_no_effects_of_the_standard_library() {
    let mut complaints = Vec::new();
    let mut used = BTreeSet::new();
    for source in sources().iter().filter(|source| PURE.contains(&source.crate_name())) {
        for line in source.statements() {
            for word in IMPURE.iter().filter(|word| line.contains(**word)) {
                match IMPURE_ALLOWED.iter().find(|(file, allowed, _)| *file == source.path && allowed == word) {
                    Some(row) => drop(used.insert((row.0, row.1))),
                    None => complaints.push(format!("{}: {line}", source.path)),
                }
            }
        }
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
    let stale: Vec<_> = IMPURE_ALLOWED.iter().filter(|row| !used.contains(&(row.0, row.1))).collect();
    assert!(stale.is_empty(), "exceptions that nothing needs: {stale:#?}");
}

#[test]
fn processes_start_in_one_crate() {
    let starts = |line: &str| {
        line.contains("Command::new(") || line.contains("process::Command") && !line.contains("CommandExt")
    };
    let offenders: Vec<String> = sources()
        .into_iter()
        .filter(|source| source.crate_name() != "process" && !source.is_build_script())
        .filter(|source| source.statements().any(starts))
        .map(|source| source.path)
        .collect();
    assert_eq!(offenders, Vec::<String>::new());
}

#[test]
fn package_manifests_are_read_in_one_crate() {
    let reads = |line: &str| MANIFESTS.iter().any(|text| line.contains(text));
    let readers: BTreeSet<String> = sources()
        .into_iter()
        .filter(|source| source.crate_name() != "ecosystems" && !source.is_build_script())
        .filter(|source| source.statements().any(reads))
        .map(|source| source.path)
        .collect();
    let allowed: BTreeSet<String> = MANIFESTS_ALLOWED.iter().map(|(path, _)| (*path).to_owned()).collect();
    let offenders: Vec<_> = readers.difference(&allowed).collect();
    assert!(offenders.is_empty(), "these read a manifest; `ecosystems` answers what it says: {offenders:#?}");
    let stale: Vec<_> = allowed.difference(&readers).collect();
    assert!(stale.is_empty(), "exceptions that nothing needs: {stale:#?}");
}

#[test]
fn only_the_gate_makes_canonical_uris() {
    let makes = |source: &Source| source.statements().any(|line| line.contains(concat!("of_gated", "_path")));
    let makers: Vec<String> = sources().into_iter().filter(makes).map(|source| source.path).collect();
    let gate_only = |path: &String| {
        path.starts_with("src/files/gate/") || path == "src/model/uri.rs" || path == "src/canon/testing.rs"
    };
    assert!(makers.iter().any(|path| path.starts_with("src/files/gate/")), "the gate wasn't found");
    assert!(makers.iter().all(gate_only), "{makers:?}");
}

#[test]
fn a_use_of_a_crate_is_recognised() {
    for (line, expected) in [
        ("use rand::Rng;", true),
        ("let x = rand::random();", true),
        ("use operand::Rng;", false),
        ("\"rand::x\"", false),
        ("rand_core::x", false),
        ("tokio::select! {", true),
    ] {
        let name = if line.contains("tokio") { "tokio" } else { "rand" };
        assert_eq!(names_crate(line, name), expected, "{line}");
    }
}
