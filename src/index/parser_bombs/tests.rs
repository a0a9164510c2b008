//! Every source costs at most its budget, every job ends, and the text of what isn't parsed is found.

use std::fs;
use std::path::Path;

use super::shapes::{ParserBomb, bombs};
use crate::Project;
use crate::extract::extract_counted;
use crate::language::Language;
use crate::limits::{MAX_FILE_FACT_BYTES, MAX_SYMBOL_DEPTH};
use crate::settings::IndexSettings;
use codeyard_model::code::{SearchMode, SearchQuery};

/// The last line of each bomb has this word.
const MARKER: &str = "markerzebra";
/// Units that a source may spend beyond its budget, before the next check.
const SLACK: u64 = 20_000;

/// Extracts a bomb, and checks its cost. Returns whether it is too complex.
fn check(bomb: &ParserBomb) -> bool {
    let (facts, (spent, allowed)) = extract_counted(bomb.language, &bomb.text);
    assert!(spent <= allowed + SLACK, "{}: {spent} of {allowed} units", bomb.name);
    assert!(facts.approximate_bytes() <= 2 * MAX_FILE_FACT_BYTES, "{}", bomb.name);
    if facts.is_too_complex {
        assert!(facts.symbols.is_empty() && facts.references.is_empty(), "{}", bomb.name);
    }
    facts.is_too_complex
}

fn all(bytes: usize, line: Option<usize>) -> impl Iterator<Item = ParserBomb> {
    Language::with_grammar().into_iter().flat_map(move |language| {
        let bombs = bombs(language, bytes, line, MARKER);
        assert!(bombs.len() > 40, "{} has no bombs", language.name());
        bombs
    })
}

/// Indexes a root, and returns the number of files that are too complex and of those whose last line is found.
fn index(root: &Path, state: &Path, settings: IndexSettings) -> (u64, usize) {
    let project = Project::new(state, root, false, settings).unwrap();
    let job = || {
        let ticket = project.prepare(None, false).unwrap_or_else(|active| panic!("{active:?}"));
        project.run(&ticket).unwrap();
    };
    job();
    let complex = || {
        let status = project.status(None).unwrap();
        status.left_out.iter().find(|(why, _)| *why == "too_complex").map_or(0, |(_, files)| *files)
    };
    let first = complex();
    // What is too complex isn't parsed again.
    job();
    assert_eq!(complex(), first);
    let mut query = SearchQuery { text: MARKER.to_owned(), mode: SearchMode::Text, ..SearchQuery::default() };
    query.shape.limit = 200;
    (first, project.search(&query, &|| false).unwrap().rows.len())
}

#[test]
fn each_shape_in_each_language_costs_at_most_its_budget() {
    let complex = all(1_000, None).filter(check).count();
    assert!(complex > 0, "such as indentation that a scanner can't hold");
}

#[test]
fn known_expensive_shapes_cost_at_most_their_budget() {
    for (language, shape, bytes) in [
        (Language::BASH, "nested \"f(\"", 30_000),
        (Language::BASH, "nested \"$(\"", 30_000),
        (Language::TYPESCRIPT, "unclosed \"`${\"", 60_000),
        (Language::TYPESCRIPT, "nested \"if (a) { \"", 30_000),
        (Language::GO, "nested \"interface { m(\"", 30_000),
        (Language::C, "repeated \"int a,\"", 30_000),
        (Language::LUA, "repeated \"é \" as an expression", 30_000),
    ] {
        let name = format!("{} {shape}", language.name());
        let found = bombs(language, bytes, None, MARKER).into_iter().find(|bomb| bomb.name == name);
        check(&found.unwrap_or_else(|| panic!("no shape {name}")));
    }
}

#[test]
fn states_that_crowd_at_one_place_cost_more() {
    let (facts, (spent, _)) = extract_counted(Language::NIX, &"<a>".repeat(50_000));
    assert!(!facts.is_too_complex);
    // Without the higher price, it is 269,000.
    assert!(spent > 280_000, "{spent}");
}

#[test]
fn a_job_ends_and_finds_the_text_of_what_is_too_complex() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap().join("root");
    fs::create_dir_all(&root).unwrap();
    let bomb =
        bombs(Language::BASH, 30_000, Some(40), MARKER).into_iter().find(|bomb| bomb.name == "bash nested \"f(\"");
    fs::write(root.join("a.sh"), bomb.unwrap().text).unwrap();
    fs::write(root.join("b.py"), format!("{}a\n{MARKER} = 1\n", " ".repeat(900))).unwrap();
    fs::write(root.join("c.py"), format!("def {MARKER}(): pass\n")).unwrap();
    assert_eq!(index(&root, &dir.path().join("state"), IndexSettings::new(2, 1 << 20, 1 << 18)), (2, 3));
}

/// A field of `/proc/self/status` in MiB.
fn status_mib(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}

#[test]
#[ignore = "minutes: all shapes at 400 kB and 2 MiB"]
fn every_shape_of_every_size_costs_at_most_its_budget() {
    for bytes in [400_000, 2 << 20] {
        let mut complex = 0;
        let mut count = 0;
        let mut slowest = (0, String::new());
        for bomb in all(bytes, None) {
            let begun = codeyard_base::clock::Instant::now();
            complex += usize::from(check(&bomb));
            count += 1;
            slowest = slowest.max((begun.elapsed().as_millis(), bomb.name));
        }
        println!(
            "{count} sources of {bytes} bytes: {complex} too complex, slowest {slowest:?} ms, peak {} MiB",
            status_mib("VmHWM:")
        );
    }
}

#[test]
#[ignore = "minutes: a repository of 51 MB of bombs"]
fn a_repository_of_bombs_is_indexed() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap().join("root");
    fs::create_dir_all(&root).unwrap();
    let mut bytes = 0;
    let mut count = 0;
    // The same number of each language, spread over its shapes.
    for nth in 0.. {
        if bytes > 51_000_000 {
            break;
        }
        let languages = Language::with_grammar();
        let language = languages[nth % languages.len()];
        let mut of_language = bombs(language, 390_000, Some(30), MARKER);
        let bomb = of_language.swap_remove((nth / languages.len() * 13) % of_language.len());
        bytes += bomb.text.len();
        count += 1;
        fs::write(root.join(format!("{nth}.{}", language.extensions()[0])), bomb.text).unwrap();
    }
    let begun = codeyard_base::clock::Instant::now();
    let (complex, found) = index(&root, &dir.path().join("state"), IndexSettings::new(2, 16 << 20, 2 << 20));
    println!(
        "{count} files, {bytes} bytes: {:?}, {complex} too complex, peak {} MiB",
        begun.elapsed(),
        status_mib("VmHWM:")
    );
    assert_eq!(found, count);
}

#[test]
fn symbols_nest_only_so_deeply() {
    let source = format!("{}fn f() {{}}{}", "mod m { ".repeat(3_000), " }".repeat(3_000));
    let (facts, _) = extract_counted(Language::RUST, &source);
    let mut depths: Vec<usize> = Vec::new();
    for symbol in &facts.symbols {
        depths.push(symbol.parent.map_or(0, |parent| depths[parent as usize] + 1));
    }
    assert_eq!((depths.len(), depths.iter().max()), (3_001, Some(&MAX_SYMBOL_DEPTH)));
}
