//! The symbol index as a whole: which hits are found, in which order, and what the order depends on.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::{Facts, FileClass, Manifest, Symbol};
use codeyard_model::code::Visibility;

/// A file with symbols, each written as `kind name` or `kind Parent.name`, with a comment behind a `|`.
struct TestFile {
    path: &'static str,
    content: ContentNo,
    symbols: &'static [&'static str],
}

const FILES: &[TestFile] = &[
    TestFile {
        path: "src/config/parse.rs",
        content: 0,
        symbols: &[
            "struct ConfigFile|Where the settings of the program come from.",
            "method ConfigFile.load|Reads the file from the disk.",
            "fn parse_config_file|Turns the text of a file into settings.",
            "fn split_path|Splits a path into its segments.",
            "use std::collections::BTreeMap",
        ],
    },
    TestFile {
        path: "src/net/server.rs",
        content: 1,
        symbols: &["struct HTTPServer", "method HTTPServer.load", "field HTTPServer.port", "fn run"],
    },
    TestFile { path: "tests/server_test.rs", content: 2, symbols: &["fn run", "fn parse_config_file_works"] },
    TestFile { path: "vendor/x/run.rs", content: 3, symbols: &["fn run"] },
    TestFile {
        path: "src/jwt.rs",
        content: 4,
        symbols: &["fn validate_token|Checks the signature of a token.", "const JWT"],
    },
    TestFile { path: "other/branch.rs", content: 9, symbols: &["fn only_elsewhere", "fn run"] },
];

fn facts(symbols: &[&str]) -> Facts {
    let mut facts = Facts::default();
    for (line, text) in (1_u32..).zip(symbols) {
        let (head, doc) = text.split_once('|').unwrap_or((text, ""));
        let (kind, name) = head.split_once(' ').unwrap();
        let kind = SymbolKind::parse(kind).unwrap();
        let (parent, name) = match name.split_once('.').filter(|_| kind != SymbolKind::Use) {
            Some((parent, name)) => (facts.symbols.iter().position(|symbol| symbol.name == parent), name),
            None => (None, name),
        };
        facts.symbols.push(Symbol {
            kind,
            name: name.into(),
            parent: parent.map(|at| at as u32),
            scope: None,
            marker: String::new(),
            visibility: Visibility::Public,
            signature: head.into(),
            doc: doc.into(),
            line_start: line,
            line_end: line,
            name_line: line,
            name_column: 0,
            is_definition: kind != SymbolKind::Use,
        });
    }
    facts
}

fn rust() -> Language {
    Language::by_name("rust").unwrap()
}

/// The manifest of all files but those below `other`.
fn manifest() -> Arc<Manifest> {
    let shown = FILES.iter().filter(|file| !file.path.starts_with("other"));
    Arc::new(Manifest::new(shown.map(|file| entry(file.path, file.content)).collect()))
}

fn entry(path: &str, content: ContentNo) -> ManifestEntry {
    ManifestEntry { path: path.into(), content, language: Some(rust()), size: 1, class: FileClass::of(path) }
}

struct TestIndex {
    index: SymbolIndex,
    folder: tempfile::TempDir,
}

/// The index of these files, in this order, committed after each `every`.
fn built<'a>(files: impl Iterator<Item = &'a TestFile>, every: usize) -> TestIndex {
    let folder = tempfile::tempdir().unwrap();
    let index = SymbolIndex::open(folder.path()).unwrap();
    let mut writer = index.writer().unwrap();
    for (at, file) in files.enumerate() {
        writer.add(index.documents(file.content, rust(), &facts(file.symbols))).unwrap();
        if at % every == every - 1 {
            writer.commit().unwrap();
        }
    }
    writer.commit().unwrap();
    drop(writer);
    index.reload().unwrap();
    TestIndex { index, folder }
}

fn query(text: &str) -> RankedQuery<'_> {
    RankedQuery { text, kind: None, language: None, filter: None, files: true, limit: 10 }
}

/// The hits as `path#symbol`; a file is its path alone.
fn shown_hits(view: &SymbolIndexView, found: &RankedHits) -> Vec<String> {
    let name = |hit: &RankedHit| {
        let file = FILES.iter().find(|file| file.content == hit.content).unwrap();
        let path = &view.manifest().entries()[hit.entry].path;
        let symbol = hit.ordinal.map(|ordinal| facts(file.symbols).symbols[ordinal as usize].name.clone());
        symbol.map_or_else(|| path.to_string(), |symbol| format!("{path}#{symbol}"))
    };
    found.hits.iter().map(name).collect()
}

fn search(view: &SymbolIndexView, text: &str) -> Vec<String> {
    shown_hits(view, &view.search(&query(text), &Weights::default()).unwrap())
}

fn locate(view: &SymbolIndexView, text: &str) -> Vec<String> {
    shown_hits(view, &view.locate(&query(text), &Weights::default()).unwrap())
}

const QUERIES: &[(&str, &str)] = &[
    ("parse_config_file", "src/config/parse.rs#parse_config_file"),
    ("parseConfigFile", "src/config/parse.rs#parse_config_file"),
    ("parse_conf", "src/config/parse.rs#parse_config_file"),
    ("ConfFile", "src/config/parse.rs#ConfigFile"),
    ("parse config file", "src/config/parse.rs#parse_config_file"),
    ("split a path into segments", "src/config/parse.rs#split_path"),
    ("checks the signature", "src/jwt.rs#validate_token"),
    ("ConfigFile::load", "src/config/parse.rs#load"),
    ("HTTPServer.load", "src/net/server.rs#load"),
    ("server.rs:load", "src/net/server.rs#load"),
    ("server::load", "src/net/server.rs#load"),
    ("http server", "src/net/server.rs#HTTPServer"),
    ("run", "src/net/server.rs#run"),
    ("run test", "tests/server_test.rs#run"),
    ("method load", "src/config/parse.rs#load"),
    ("jwt.rs", "src/jwt.rs"),
    ("config/parse.rs", "src/config/parse.rs"),
    ("BTreeMap", "src/config/parse.rs#std::collections::BTreeMap"),
    ("parse_confgi_file", "src/config/parse.rs#parse_config_file"),
    ("HTPServer", "src/net/server.rs#HTTPServer"),
    ("valdate_token", "src/jwt.rs#validate_token"),
    ("token validaton", "src/jwt.rs#validate_token"),
    ("where is the signature of a token verified", "src/jwt.rs#validate_token"),
    ("splitting paths", "src/config/parse.rs#split_path"),
];

#[test]
fn the_expected_hit_is_first() {
    let built = built(FILES.iter(), 100);
    let view = built.index.view(manifest()).unwrap();
    for (text, first) in QUERIES {
        assert_eq!(search(&view, text).first().map(String::as_str), Some(*first), "{text}: {:?}", search(&view, text));
    }
    assert_eq!(search(&view, "zzz"), [""; 0]);
    assert_eq!(search(&view, ""), [""; 0]);
    assert_eq!(search(&view, "("), [""; 0]);
}

#[test]
fn unknown_names_have_nearest_names_of_the_manifest() {
    let built = built(FILES.iter(), 2);
    let view = built.index.view(manifest()).unwrap();
    let nearest = |text: &str| {
        let found = view.search(&query(text), &Weights::default()).unwrap();
        (found.is_unknown_name, found.nearest)
    };
    assert_eq!(nearest("validate_tokne"), (true, vec![(1, "validatetoken".to_owned())]));
    assert_eq!(nearest("ValidateToken"), (false, vec![]));
    assert_eq!(nearest("only_elsewhre"), (true, vec![]), "only another branch has it");
    assert_eq!(nearest("rum"), (true, vec![]), "too short");
    assert_eq!(nearest("load run"), (false, vec![]), "not one name");
    assert_eq!(nearest(&"x".repeat(900)), (true, vec![]));
    let found = view.nearest(&query("httpservr"), &Weights::default()).unwrap();
    assert_eq!(shown_hits(&view, &found), ["src/net/server.rs#HTTPServer"]);
    assert_eq!(found.nearest, [(1, "httpserver".to_owned())]);
}

#[test]
fn a_sentence_that_asks_for_tests_finds_their_files() {
    let built = built(FILES.iter(), 2);
    let view = built.index.view(manifest()).unwrap();
    let files = |text: &str| -> Vec<String> {
        let found = view.search(&query(text), &Weights::default()).unwrap();
        let files = found.hits.iter().filter(|hit| hit.ordinal.is_none());
        files.map(|hit| view.manifest.entries()[hit.entry].path.to_string()).collect()
    };
    assert_eq!(files("where is the server tested"), ["tests/server_test.rs"]);
    assert_eq!(files("tests for the server"), ["tests/server_test.rs"]);
    assert_eq!(files("where is the server started"), [""; 0]);
    assert_eq!(files("where is the token tested"), [""; 0]);
}

#[test]
fn a_listing_has_the_symbols_that_pass_in_the_order_of_the_files() {
    let built = built(FILES.iter(), 2);
    let view = built.index.view(manifest()).unwrap();
    let list = |kinds: &[SymbolKind], name: Option<&dyn Fn(&str) -> bool>, limit| {
        let filter = |entry: &ManifestEntry| entry.path.starts_with("src");
        let excluded = &[SymbolKind::Field];
        let of = SymbolListing { kinds, excluded_kinds: excluded, language: None, filter: &filter, name, limit };
        let found = view.list(of).unwrap();
        (shown_hits(&view, &found), found.total)
    };
    let (functions, total) = list(&[SymbolKind::Fn], None, 2);
    assert_eq!(
        (functions.as_slice(), total),
        (["src/config/parse.rs#load", "src/config/parse.rs#parse_config_file"].map(String::from).as_slice(), 6),
        "methods are functions"
    );
    assert_eq!(list(&[SymbolKind::Method], None, 2).1, 2);
    let begins = |name: &str| name.starts_with("load") || name.ends_with("Map") || name == "port";
    let (named, total) = list(&[], Some(&begins), 9);
    assert_eq!(
        (named.as_slice(), total),
        (["src/config/parse.rs#load", "src/net/server.rs#load"].map(String::from).as_slice(), 2)
    );
    let (imports, total) = list(&[SymbolKind::Use], Some(&begins), 9);
    assert_eq!((imports.len(), total), (1, 1), "an import has several names, and is listed once");
}

#[test]
fn locate_finds_names_only_and_prefers_their_exact_spelling() {
    let built = built(FILES.iter(), 100);
    let view = built.index.view(manifest()).unwrap();
    assert_eq!(locate(&view, "run"), ["src/net/server.rs#run", "vendor/x/run.rs#run", "tests/server_test.rs#run"]);
    assert_eq!(locate(&view, "httpserver"), ["src/net/server.rs#HTTPServer"]);
    assert_eq!(locate(&view, "HTTPServer::load"), ["src/net/server.rs#load"]);
    assert_eq!(locate(&view, "Unknown::load"), [""; 0]);
    assert_eq!(locate(&view, "std::collections::BTreeMap"), ["src/config/parse.rs#std::collections::BTreeMap"]);
    assert_eq!(locate(&view, "parse_conf"), [""; 0]);
}

#[test]
fn filters_apply_and_contents_outside_the_manifest_are_not_found() {
    let built = built(FILES.iter(), 100);
    let view = built.index.view(manifest()).unwrap();
    let weights = Weights::default();
    assert_eq!(search(&view, "only_elsewhere"), [""; 0]);
    assert_eq!(view.symbol_count(), built.index.symbol_count() - 2);
    let found = view.search(&RankedQuery { kind: Some(SymbolKind::Field), ..query("server port") }, &weights).unwrap();
    assert_eq!(shown_hits(&view, &found), ["src/net/server.rs#port"]);
    let source = |entry: &ManifestEntry| entry.path.starts_with("src/");
    let found = view.search(&RankedQuery { filter: Some(&source), ..query("run") }, &weights).unwrap();
    assert_eq!((shown_hits(&view, &found), found.total), (vec!["src/net/server.rs#run".to_owned()], 1));
    let found = view.search(&RankedQuery { limit: 1, ..query("run") }, &weights).unwrap();
    assert_eq!((found.hits.len(), found.total), (1, 4), "three functions and the file run.rs");
    let found = view.search(&RankedQuery { limit: 0, ..query("run") }, &weights).unwrap();
    assert_eq!((found.hits.len(), found.total), (0, 4));
    // No content has another language.
    if let Some(other) = (0..=255).filter_map(Language::from_number).find(|language| *language != rust()) {
        let found = view.search(&RankedQuery { language: Some(other), ..query("run") }, &weights).unwrap();
        assert_eq!((found.hits.len(), found.total), (0, 0));
    }
}

#[test]
fn a_content_of_several_paths_is_found_at_each() {
    let built = built(FILES.iter(), 100);
    let entries = vec![entry("b/jwt.rs", 4), entry("a/jwt.rs", 4), entry("tests/jwt.rs", 4)];
    let view = built.index.view(Arc::new(Manifest::new(entries))).unwrap();
    let names = ["a/jwt.rs#validate_token", "b/jwt.rs#validate_token", "tests/jwt.rs#validate_token"];
    assert_eq!(search(&view, "validate_token"), names);
    assert_eq!(locate(&view, "validate_token"), names);
}

#[test]
fn the_score_follows_from_the_returned_factors() {
    let built = built(FILES.iter(), 100);
    let view = built.index.view(manifest()).unwrap();
    let weights = Weights { exact_match: 3.3, bm25: 1.7, ..Weights::default() };
    let mut seen = 0;
    for (text, _) in QUERIES {
        let hits = view.search(&query(text), &weights).unwrap().hits;
        assert!(hits.is_sorted_by(|one, two| one.reasons.final_score >= two.reasons.final_score));
        for RankedHit { reasons, .. } in hits {
            let text = |number: f64| number.to_string().parse::<f64>().unwrap();
            let factors = [
                (weights.exact_match, text(reasons.exact_match_boost)),
                (weights.qualified_name, text(reasons.qualified_name_boost)),
                (weights.path_affinity, text(reasons.path_affinity)),
                (weights.definition, text(reasons.definition_boost)),
                (weights.kind_match, text(reasons.kind_match)),
            ];
            assert!(factors.iter().all(|(_, factor)| (0.0..=1.0).contains(factor)), "{reasons:?}");
            let bm25 = text(reasons.bm25_score);
            let all: f64 = factors.iter().map(|(weight, _)| weight).sum::<f64>() + weights.bm25;
            let sum: f64 = factors.iter().map(|(weight, factor)| weight * factor).sum();
            let score = (sum + weights.bm25 * bm25 / (bm25 + weights.bm25_half)) / all;
            assert_eq!((score * 10_000.0).round() / 10_000.0, reasons.final_score, "{reasons:?}");
            seen += 1;
        }
    }
    assert!(seen > 30);
}

#[test]
fn answers_do_not_depend_on_order_commits_or_other_contents() {
    let answers = |built: &TestIndex| {
        let view = built.index.view(manifest()).unwrap();
        let all = QUERIES.iter().map(|(text, _)| view.search(&query(text), &Weights::default()).unwrap());
        all.chain(QUERIES.iter().map(|(text, _)| view.locate(&query(text), &Weights::default()).unwrap()))
            .collect::<Vec<_>>()
    };
    let right = answers(&built(FILES.iter(), 100));
    assert_eq!(answers(&built(FILES.iter().rev(), 1)), right, "order and commits");
    assert_eq!(answers(&built(FILES.iter().filter(|file| file.content != 9), 2)), right, "other contents");
    let with_removed = built(FILES.iter(), 2);
    let mut writer = with_removed.index.writer().unwrap();
    writer.remove(&[3, 9]);
    writer.add(with_removed.index.documents(3, rust(), &facts(FILES[3].symbols))).unwrap();
    writer.commit().unwrap();
    drop(writer);
    with_removed.index.reload().unwrap();
    assert_eq!(answers(&with_removed), right, "removed and added again");
    assert_eq!(with_removed.index.view(manifest()).unwrap().symbol_count(), 14);
}

#[test]
fn a_view_is_immutable_and_other_commits_are_seen_after_reload() {
    let built = built(FILES.iter().take(2), 100);
    let old = built.index.view(manifest()).unwrap();
    let other = SymbolIndex::open(built.folder.path()).unwrap();
    let mut writer = other.writer().unwrap();
    assert!(matches!(built.index.writer(), Err(SymbolIndexError::Busy)));
    writer.add(other.documents(4, rust(), &facts(FILES[4].symbols))).unwrap();
    let before = built.index.view(manifest()).unwrap();
    writer.commit().unwrap();
    assert_eq!(locate(&before, "validate_token"), [""; 0]);
    built.index.reload().unwrap();
    assert_eq!(locate(&built.index.view(manifest()).unwrap(), "validate_token"), ["src/jwt.rs#validate_token"]);
    assert_eq!(locate(&old, "validate_token"), [""; 0]);
    // Uncommitted documents are discarded.
    writer.add(other.documents(9, rust(), &facts(FILES[5].symbols))).unwrap();
    drop(writer);
    drop(other);
    assert_eq!(SymbolIndex::open(built.folder.path()).unwrap().symbol_count(), 11);
}

#[test]
fn a_commit_that_a_killed_process_began_can_be_made_again() {
    let built = built(FILES.iter(), 2);
    let replace = |index: &SymbolIndex| {
        let mut writer = index.writer().unwrap();
        writer.remove(&[3]);
        writer.add(index.documents(3, rust(), &facts(FILES[3].symbols))).unwrap();
        writer.commit()
    };
    let names = |folder: &Path| -> BTreeSet<OsString> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    };
    let folder = built.folder.path();
    let killed = tempfile::tempdir().unwrap();
    let copy = |name: &OsString| {
        std::fs::copy(folder.join(name), killed.path().join(name)).unwrap();
    };
    let before = names(folder);
    before.iter().for_each(copy);
    replace(&built.index).unwrap();
    // As if the process had been killed when it had written all files but the one that names the others.
    let new: Vec<OsString> = names(folder).difference(&before).cloned().collect();
    assert!(new.iter().any(|name| Path::new(name).extension().is_some_and(|ending| ending == "del")), "{new:?}");
    new.iter().for_each(copy);
    copy(&".managed.json".into());
    let index = SymbolIndex::open(killed.path()).unwrap();
    replace(&index).unwrap();
    index.reload().unwrap();
    assert_eq!(index.view(manifest()).unwrap().symbol_count(), 14);
}

#[test]
fn a_damaged_index_or_another_format_is_reported() {
    let built = built(FILES.iter(), 100);
    built.index.verify().unwrap();
    let folder = built.folder.path();
    std::fs::write(folder.join("format"), "77").unwrap();
    assert!(matches!(SymbolIndex::open(folder), Err(SymbolIndexError::OtherFormat { found }) if found == "77"));
    std::fs::write(folder.join("format"), super::schema::FORMAT.to_string()).unwrap();
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().map(|file| file.path()).collect();
    let segment = files.iter().find(|path| path.extension().is_some_and(|ending| ending == "term")).unwrap();
    let whole = std::fs::read(segment).unwrap();
    // Not written in place, because the open index still maps the old file.
    std::fs::remove_file(segment).unwrap();
    std::fs::write(segment, &whole[..whole.len() / 2]).unwrap();
    assert!(matches!(SymbolIndex::open(folder), Err(SymbolIndexError::Damaged(_))), "cut short");
    std::fs::remove_file(segment).unwrap();
    assert!(matches!(SymbolIndex::open(folder), Err(SymbolIndexError::Damaged(_))), "deleted");
    std::fs::write(folder.join("meta.json"), "{}").unwrap();
    assert!(matches!(SymbolIndex::open(folder), Err(SymbolIndexError::Damaged(_))), "no meta data");
    let text = SymbolIndexError::Damaged(String::new()).to_string();
    assert!(text.contains("codeyard index --force"));
}
