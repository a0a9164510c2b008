//! Modules import only what the rank table of `docs/architecture.md` allows.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Source, project, sources};
use crate::table::{names, rows};

/// Modules' ranks, and the pairs of one rank that are allowed.
struct Ranks {
    of: BTreeMap<String, u32>,
    allowed: BTreeSet<(String, String)>,
}

fn ranks() -> Ranks {
    let document = std::fs::read_to_string(project().join("docs/architecture.md")).unwrap();
    let mut ranks = Ranks { of: BTreeMap::new(), allowed: BTreeSet::new() };
    for row in rows(&document, "Ranks") {
        for name in names(&row[1]) {
            ranks.of.insert(name, row[0].parse().unwrap());
        }
        // "`a` sees `b`", several with a semicolon between.
        for pair in row[3].split(';').map(names).filter(|pair| pair.len() == 2) {
            ranks.allowed.insert((pair[0].clone(), pair[1].clone()));
        }
    }
    ranks
}

fn complaint(ranks: &Ranks, module: &str, target: &str) -> Option<String> {
    let (Some(own), Some(other)) = (ranks.of.get(module), ranks.of.get(target)) else {
        return Some(format!("{module} or {target} isn't in the rank table"));
    };
    let pair = (module.to_owned(), target.to_owned());
    let fine = module == target || other < own || ranks.allowed.contains(&pair);
    (!fine).then(|| format!("{module} (rank {own}) must not see {target} (rank {other})"))
}

/// The modules named by `crate::x` or `codeyard::x`, also in braces.
fn targets(source: &Source) -> BTreeSet<String> {
    let text: String = source.statements().collect::<Vec<_>>().join(" ");
    let mut found = BTreeSet::new();
    for prefix in ["crate::", "codeyard::"] {
        for (at, _) in text.match_indices(prefix) {
            let before = text[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '"')) {
                continue;
            }
            let rest = &text[at + prefix.len()..];
            match rest.strip_prefix('{') {
                Some(list) => found.extend(top_level_names(list)),
                None => found.extend(word(rest)),
            }
        }
    }
    found
}

fn word(text: &str) -> Option<String> {
    let word: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    // Macros and items of the crate's root aren't modules.
    (word.starts_with(char::is_lowercase) && !text[word.len()..].starts_with('!')).then_some(word)
}

fn top_level_names(list: &str) -> Vec<String> {
    let (mut depth, mut found, mut fresh) = (0, Vec::new(), true);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => fresh = true,
            c if fresh && c.is_alphabetic() => {
                found.extend(word(&list[at..]));
                fresh = false;
            }
            _ => {}
        }
    }
    found
}

#[test]
fn modules_see_only_lower_ranks() {
    let ranks = ranks();
    let mut complaints = BTreeSet::new();
    for source in sources().iter().filter(|source| source.path != "src/lib.rs") {
        for target in targets(source) {
            complaints
                .extend(complaint(&ranks, source.module(), &target).map(|text| format!("{}: {text}", source.path)));
        }
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn the_table_names_exactly_the_modules() {
    let tabled: BTreeSet<String> = ranks().of.into_keys().collect();
    let there: BTreeSet<String> = sources().iter().map(|source| source.module().to_owned()).collect();
    let there: BTreeSet<String> = there.into_iter().filter(|module| module != "lib").collect();
    assert_eq!(tabled, there);
}

#[test]
fn only_the_gate_makes_canonical_uris() {
    let makes = |source: &Source| source.statements().any(|line| line.contains(concat!("of_gated", "_path")));
    let makers: Vec<String> = sources().into_iter().filter(makes).map(|source| source.path).collect();
    assert_eq!(makers, ["src/gate/door.rs", "src/model/uri.rs"]);
}

/// Hash maps below the effects that are only looked up in, never walked through.
const ONLY_LOOKED_UP: [&str; 1] = ["src/canon/gated.rs"];

#[test]
fn pure_ranks_know_no_time_chance_or_hash_order() {
    let effects = ["Instant::now", "SystemTime", "wall_ns(", "Deadline::after", "rand::", "TcpStream", "std::process"];
    let ranks = ranks();
    let mut complaints = Vec::new();
    for source in sources().iter().filter(|source| ranks.of.get(source.module()).is_some_and(|rank| *rank <= 2)) {
        let hashes = |line: &str| line.contains("HashMap") || line.contains("HashSet");
        let may_hash = ONLY_LOOKED_UP.contains(&source.path.as_str());
        for line in source.statements().filter(|_| source.path != "src/base/clock.rs") {
            if effects.iter().any(|word| line.contains(word)) || (hashes(line) && !may_hash) {
                complaints.push(format!("{}: {line}", source.path));
            }
        }
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn the_check_itself_finds_what_it_should() {
    let source = |text: &str| Source { path: "src/model/x.rs".into(), text: text.into(), is_test: false };
    let ranks = ranks();
    for (text, targets_expected) in [
        ("use crate::gate::Gate;", vec!["gate"]),
        ("use crate::{base::ids::{A, B}, engine};", vec!["base", "engine"]),
        ("use crate::{\n    watch::X,\n};", vec!["watch"]),
        ("let x = crate::lsp::y();", vec!["lsp"]),
        ("// use crate::gate::Gate;", vec![]),
        ("#[cfg(all(test, unix))]\nmod tests {\n    use crate::gate::Gate;\n}", vec![]),
        ("$crate::engine::x()", vec![]),
    ] {
        assert_eq!(targets(&source(text)).into_iter().collect::<Vec<_>>(), targets_expected, "{text}");
    }
    assert!(complaint(&ranks, "model", "gate").is_some());
    assert!(complaint(&ranks, "gate", "watch").is_some());
    assert!(complaint(&ranks, "gate", "model").is_none());
    assert!(complaint(&ranks, "gate", "unknown").is_some());
}
